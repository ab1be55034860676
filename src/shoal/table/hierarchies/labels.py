"""Rows of labels that are kept level by level, as most files have them: as many labels in every row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import polars as pl


class LabelTable(Sequence[Sequence[str]]):
    """Rows of equal width, none of which ends in an empty label; reads as a sequence of rows."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame

    def __len__(self) -> int:
        return self.frame.height

    def __iter__(self) -> Iterator[Sequence[str]]:
        return self.frame.iter_rows()

    @overload
    def __getitem__(self, at: int) -> Sequence[str]: ...
    @overload
    def __getitem__(self, at: slice) -> LabelTable: ...
    def __getitem__(self, at: int | slice) -> Any:
        return LabelTable(self.frame[at]) if isinstance(at, slice) else self.frame.row(at)

    @property
    def width(self) -> int:
        """Labels in a row."""
        return self.frame.width

    def find_root(self, root: str) -> str | None:
        """The label that all rows end in; ``root`` where they end in groups below it; None if in both."""
        last = self.frame.to_series(-1)
        if self.width > 1 and last.n_unique() == 1:
            return str(last[0])
        return None if self.width > 1 and (last == root).any() else root

    def number_labels(self) -> Iterator[tuple[npt.NDArray[np.int32], tuple[str, ...]]]:
        """Per level, the labels by first appearance, and which of them each row has."""
        for column in self.frame:
            labels = column.unique(maintain_order=True)
            codes = column.cast(pl.Enum(labels)).to_physical()
            yield codes.to_numpy().astype(np.int32), tuple(labels.to_list())


def read_label_table(text: str, delimiter: str) -> LabelTable | None:
    """The rows of a file without quotes whose lines have all as many cells; None of any other."""
    text = text.replace("\r\n", "\n")
    if '"' in text or "\r" in text:
        return None
    try:
        frame = pl.read_csv(
            text.encode(), separator=delimiter, has_header=False, quote_char=None, infer_schema=False
        )
    except pl.exceptions.PolarsError:  # a line is longer than the first
        return None
    lines = text.count("\n") + (not text.endswith("\n"))
    # Short lines end in no label at all, and what fills them up may be blank.
    last = frame.to_series(-1).str.strip_chars()
    complete = frame.height == lines and frame.null_count().sum_horizontal().item() == 0
    if not complete or (last == "").any():
        return None
    longest = frame.select(pl.all().str.len_chars().max()).max_horizontal().item()
    # What the other reader refuses, it refuses with a message.
    return LabelTable(frame) if longest <= csv.field_size_limit() else None
