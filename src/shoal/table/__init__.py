"""Tables: reading, writing, column types; frames in and the same kind of frame out."""

from shoal.table.columns import Column
from shoal.table.decimals import check_decimal
from shoal.table.delimited import check_delimiter
from shoal.table.frames import Origin, Table, from_strings, to_strings
from shoal.table.readers import ReadOptions, read_quasi_names, read_released, read_table
from shoal.table.rowwise import RowSource, open_rows
from shoal.table.streams import TableStream, check_streamable, open_stream, read_schema, write_batches
from shoal.table.types import TYPE_CODES, ColumnType, Inference, infer_type, ordered_values, parse_values
from shoal.table.weights import read_weights
from shoal.table.writers import (
    Judge,
    check_writable,
    choose_layout,
    count_formula_cells,
    count_formula_rows,
    find_formula_names,
    neutralize_formulas,
    refuse_nested_columns,
    write_table,
)

__all__ = [
    "TYPE_CODES",
    "Column",
    "ColumnType",
    "Inference",
    "Judge",
    "Origin",
    "ReadOptions",
    "RowSource",
    "Table",
    "TableStream",
    "check_decimal",
    "check_delimiter",
    "check_streamable",
    "check_writable",
    "choose_layout",
    "count_formula_cells",
    "count_formula_rows",
    "find_formula_names",
    "from_strings",
    "infer_type",
    "neutralize_formulas",
    "open_rows",
    "open_stream",
    "ordered_values",
    "parse_values",
    "read_quasi_names",
    "read_released",
    "read_schema",
    "read_table",
    "read_weights",
    "refuse_nested_columns",
    "to_strings",
    "write_batches",
    "write_table",
]
