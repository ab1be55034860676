"""The auditor's part of a page: figures, recipe, versions and checksums that can be checked again."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from shoal import __version__
from shoal.errors import InputError
from shoal.files import read_small
from shoal.recipe import Recipe
from shoal.report.figures import Report
from shoal.report.tallies import Evidence
from shoal.table import Table
from shoal.verify import Verification

_MEGABYTES = 256  # far above the largest page
_BLOCK = re.compile(r'<script type="application/json" id="shoal-report">(.*?)</script>', re.DOTALL)
_BATCH = 1 << 17
_PACKAGES = ("polars", "numpy", "numba", "scipy")


@dataclass(frozen=True, slots=True)
class Check:
    """Something that a page states, and what was found."""

    what: str
    stated: Any
    found: Any

    @property
    def same(self) -> bool:
        """Whether they agree."""
        return bool(self.stated == self.found)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"same": self.same}


@dataclass(frozen=True, slots=True)
class Audit:
    """What a page says of a release, to be checked against it."""

    recipe: Recipe
    figures: dict[str, Any]
    models: dict[str, Any]
    """By model, with what was asked of it, the parameter that the release reaches."""
    release: dict[str, Any]
    """Its checksums: ``file`` (None where it was not written) and ``content``."""

    @classmethod
    def of(cls, path: Path) -> Audit:
        """Read the auditor's part of a page."""
        try:
            found = _BLOCK.search(read_small(path, _MEGABYTES).decode())
        except OSError as error:
            raise InputError(f"{path}: cannot read the report: {error.strerror}") from error
        except UnicodeDecodeError:
            found = None
        if found is None:
            raise InputError(f"{path} is no report of Shoal: give a page that --report wrote")
        try:
            record = json.loads(found[1])
            figures, release = dict(record["figures"]), dict(record["release"])
            models = {_name(model): model["achieved"] for model in figures["models"]}
            return cls(Recipe.from_text(record["recipe"], path), figures, models, release)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path}: the auditor's part of the report is damaged: {error}") from error

    def checks(self, file: Path, table: Table, found: Verification) -> Iterator[Check]:
        """Compare what the page states with a release: first whether it is the same one, then the figures."""
        content = content_checksum(table.frame)
        if self.release.get("file") is not None and self.release.get("content") != content:
            yield Check("SHA-256 of the file", self.release["file"], checksum(file))
        else:  # the same rows, in whatever format they were written
            yield Check("SHA-256 of the content", self.release.get("content"), content)
        for name, what in (
            ("released_rows", "rows"),
            ("classes", "classes"),
            ("smallest_class", "smallest class"),
        ):
            figure = name.removeprefix("released_")
            yield Check(what, self.figures.get(name), getattr(found, figure))
        for model in (verdict.to_dict() for verdict in found.models):
            if (name := _name(model)) in self.models:  # a goal may have been given that the page has not
                yield Check(name, self.models[name], model["achieved"])


def _name(model: dict[str, Any]) -> str:
    asked = ", ".join(f"{key}={value}" for key, value in model["asked"].items())
    return f"{model['name']}({asked})"


def record(report: Report, evidence: Evidence, folder: Path | None) -> dict[str, Any]:
    """Everything that an auditor needs, as plain values; ``folder`` is where paths in the recipe start."""
    source, output = evidence.table.origin.path, report.output
    given = {"name": source.name, "file": checksum(source)} if source else {"name": None, "file": None}
    return {
        "shoal": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "recipe": evidence.recipe.to_toml(folder),
        "input": given | {"content": None if source else content_checksum(evidence.table.frame)},
        "release": {
            "name": Path(output).name if output else None,
            "file": checksum(Path(output)) if output else None,
            "content": content_checksum(evidence.released.frame),
        },
        "figures": report.to_dict(),
        "risk": {"before": asdict(evidence.before.risk()), "after": asdict(evidence.after.risk())},
    }


def embedded(plain: dict[str, Any]) -> str:
    """Plain values as a block of JSON in a page; no text in it can end the block or be taken for markup."""
    text = json.dumps(plain, ensure_ascii=True).replace("&", "\\u0026")
    text = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="shoal-report">{text}</script>'


def checksum(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot read it for its checksum: {error.strerror}") from error


def content_checksum(frame: pl.DataFrame) -> str:
    """SHA-256 of the rows as CSV in UTF-8 with commas and line feeds, whatever they are stored as.

    An empty text counts as a missing value, since in CSV it is.
    """
    digest = sha256()
    for start in range(0, max(frame.height, 1), _BATCH):
        part = frame.slice(start, _BATCH)
        plain = [
            column.set((column == "").fill_null(False), None) if column.dtype == pl.String else column
            for column in (column.alias(str(j)) for j, column in enumerate(part))
        ]
        named = pl.DataFrame([column.alias(name) for column, name in zip(plain, frame.columns, strict=True)])
        digest.update(named.write_csv(include_header=start == 0).encode())
    return digest.hexdigest()


def checksums_table(plain: dict[str, Any]) -> str:
    """Checksums as rows of an HTML table."""
    rows = []
    for which in ("input", "release"):
        for kind in ("file", "content"):
            if value := plain[which][kind]:
                name = f" ({plain[which]['name']})" if kind == "file" else ""
                what = f"{which}, {kind}{name}"
                rows.append(f"<tr><th>{escape(what)}</th><td><code>{escape(value)}</code></td></tr>")
    return "".join(rows)
