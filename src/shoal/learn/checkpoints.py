"""A file that keeps what a search has done, so that an interrupted one continues."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.learn.configurations import SplitResult
from shoal.support.files import check_target

_FORMAT = "shoal-search-1"


def make_fingerprint(frame: pl.DataFrame, labels: NDArray[Any], settings: Any) -> str:
    """A number for the rows and all settings that change results."""
    made = hashlib.sha256()
    made.update(frame.hash_rows().to_numpy().tobytes())
    made.update(np.asarray(labels).astype(str).tobytes())
    # Addresses in memory differ from one run to the next.
    made.update(re.sub(r" at 0x[0-9a-f]+", "", repr(settings)).encode())
    return made.hexdigest()


@dataclass(frozen=True, slots=True)
class SearchFile:
    """One line of JSON for every split that is done, after one that says of what search."""

    path: Path
    fingerprint: str

    def read(self) -> dict[tuple[str, int], SplitResult]:
        """What is done, by configuration and split; the file is made where there is none."""
        check_target(self.path)
        if not self.path.exists() or self.path.stat().st_size == 0:
            # What stands for cells are values of the table, and those are nobody else's business.
            self.path.touch(mode=0o600)
            self._append({"format": _FORMAT, "fingerprint": self.fingerprint})
            return {}
        head, *lines = self._read_lines()
        if head.get("format") != _FORMAT:
            raise InputError(f"{self.path} is not the file of a search: give another name")
        if head.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"{self.path} is of a search on other rows, or with another model or other settings: give "
                "another file, or delete it to begin anew"
            )
        known = {each.name for each in fields(SplitResult)}
        return {
            (line["configuration"], line["split"]): SplitResult(
                **{name: value for name, value in line["result"].items() if name in known}
            )
            for line in lines
        }

    def add(self, configuration: str, split: int, result: SplitResult) -> None:
        """Keep a result."""
        self._append({"configuration": configuration, "split": split, "result": result.to_dict()})

    def _append(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")

    def _read_lines(self) -> Iterator[dict[str, Any]]:
        text = self.path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(keepends=True)):
            try:
                yield json.loads(line)
            except ValueError:
                # An interrupt can cut the last line short; that split is done again.
                if number == 0 or line.endswith("\n"):
                    raise InputError(f"{self.path}, line {number + 1}: this is not JSON") from None
                self.path.write_text(text[: -len(line)], encoding="utf-8")
