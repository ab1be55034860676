"""Tables: reading, writing, column types; frames in and the same kind of frame out."""

from shoal.table.columns import Column
from shoal.table.delimited import check_delimiter
from shoal.table.frames import Origin, Table, as_text
from shoal.table.readers import ReadOptions, read
from shoal.table.types import TYPE_CODES, ColumnType, Inference, infer_type, ordered_values, parse
from shoal.table.writers import check_writable, formula_cells, write

__all__ = [
    "TYPE_CODES",
    "Column",
    "ColumnType",
    "Inference",
    "Origin",
    "ReadOptions",
    "Table",
    "as_text",
    "check_delimiter",
    "check_writable",
    "formula_cells",
    "infer_type",
    "ordered_values",
    "parse",
    "read",
    "write",
]
