"""What a file format is written with."""

from shoal.table.base import TableFormat

__all__ = ["TableFormat"]
