"""Tables: reading, writing, column types; frames in and the same kind of frame out."""

from shoal.table.columns import Column
from shoal.table.delimited import check_delimiter
from shoal.table.frames import Origin, Table, as_text
from shoal.table.readers import ReadOptions, read
from shoal.table.streams import Stream, check_streamable, open_stream, outline, write_batches, written_as
from shoal.table.types import TYPE_CODES, ColumnType, Inference, infer_type, ordered_values, parse
from shoal.table.writers import check_writable, formula_cells, formula_names, formula_rows, neutralised, write

__all__ = [
    "TYPE_CODES",
    "Column",
    "ColumnType",
    "Inference",
    "Origin",
    "ReadOptions",
    "Stream",
    "Table",
    "as_text",
    "check_delimiter",
    "check_streamable",
    "check_writable",
    "formula_cells",
    "formula_names",
    "formula_rows",
    "infer_type",
    "neutralised",
    "open_stream",
    "ordered_values",
    "outline",
    "parse",
    "read",
    "write",
    "write_batches",
    "written_as",
]
