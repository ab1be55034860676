"""The auditor's part of a page: figures, recipe, versions and checksums that can be checked again."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import file_digest, sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import polars as pl

from shoal import __version__
from shoal.errors import InputError
from shoal.recipes.recipe import Recipe
from shoal.report.figures import Report
from shoal.report.statistics import Evidence
from shoal.support.addresses import is_address
from shoal.support.files import read_small
from shoal.support.language import mark
from shoal.support.language import translate as _
from shoal.table import Table
from shoal.verification.verifier import Verification

MEGABYTES = 256  # far above the largest page
BLOCK = re.compile(r'<script type="application/json" id="shoal-report">(.*?)</script>', re.DOTALL)
_BATCH = 1 << 17  # rows that are written as CSV at once; the digest does not depend on it
_PACKAGES = ("polars", "numpy", "numba", "scipy")  # libraries whose version can change a figure


@dataclass(frozen=True, slots=True)
class Check:
    """Something that a page states, and what was found."""

    what: str
    stated: Any
    found: Any

    @property
    def is_same(self) -> bool:
        """Whether they agree."""
        return bool(self.stated == self.found)

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return asdict(self) | {"same": self.is_same}


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
    def from_page(cls, path: Path) -> Audit:
        """Read the auditor's part of a page or of a dossier."""
        record = read_record(path)
        try:
            # Anything in the block may be wrong or of another type. All of that is an error of
            # the input, not a bug.
            figures, release = dict(record["figures"]), dict(record["release"])
            models = {_format_model(model): model["achieved"] for model in figures["models"]}
            return cls(Recipe.from_text(record["recipe"], path), figures, models, release)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path}: the auditor's part of the report is damaged: {error}") from error

    def check_release(self, file: Path, table: Table, found: Verification) -> Iterator[Check]:
        """Compare what the page states with a release: first whether it is the same one, then the figures."""
        # A release that was converted to another format has the same content. Where the content
        # differs, the same bytes are still the same release, read with other options.
        content = compute_content_checksum(table.frame)
        if self.release.get("file") is not None and self.release.get("content") != content:
            yield Check("SHA-256 of the file", self.release["file"], compute_file_checksum(file))
        else:  # the same rows, in whatever format they were written
            yield Check("SHA-256 of the content", self.release.get("content"), content)
        stated = [("released_rows", "rows"), ("classes", "classes"), ("smallest_class", "smallest class")]
        # A release does not say whose row each is, so that nobody else can count people.
        if self.figures.get("people") is not None and found.people is None:
            stated = stated[:2]
        for name, what in stated:
            # The verifier counts rows of a release, so it has no 'released' in its names.
            figure = name.removeprefix("released_")
            yield Check(what, self.figures.get(name), getattr(found, figure))
        for model in (verdict.to_dict() for verdict in found.models if len(stated) > 2):
            if (
                name := _format_model(model)
            ) in self.models:  # a goal may have been given that the page has not
                yield Check(name, self.models[name], model["achieved"])


def read_record(path: Path) -> dict[str, Any]:
    """The auditor's part of a page, or of a dossier as HTML, JSON or PDF."""
    try:
        # A page comes from somebody else, so its size is bounded before it is read.
        content = read_small(path, MEGABYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot read the report: {error.strerror}") from error
    text = _find_json(content)
    if text is None:
        raise InputError(f"{path} is no report of Shoal: give a page that --report wrote, or a dossier")
    try:
        # In a PDF other things follow.
        plain = json.JSONDecoder().raw_decode(text)[0]
        record = dict(plain["audit"] if "shoal-dossier" in plain else plain)
        _ = [record[key].items() for key in ("figures", "release", "input", "versions", "risk")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: the auditor's part of the report is damaged: {error}") from error
    return record


def _find_json(content: bytes) -> str | None:
    """Where the JSON of a report begins; None if there is none."""
    if content.startswith(b"%PDF"):
        start = content.find(b'{"shoal-dossier"')
        return None if start < 0 else content[start:].decode("latin-1")  # the JSON itself is ASCII
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    if text.startswith("{"):
        return text
    found = BLOCK.search(text)
    return None if found is None else found[1]


def _format_model(model: dict[str, Any]) -> str:
    asked = ", ".join(f"{key}={value}" for key, value in model["asked"].items())
    return f"{model['name']}({asked})"


def build_audit_record(report: Report, evidence: Evidence, folder: Path | None) -> dict[str, Any]:
    """Everything that an auditor needs, as plain values; ``folder`` is where paths in the recipe start."""
    output = report.output
    risk = {
        "before": asdict(evidence.sizes_before.compute_risk()),
        "after": asdict(evidence.sizes_after.compute_risk()),
    }
    if report.released_only:
        # Even the class sizes of the input would tell something of rows that are not released.
        del risk["before"]
    return {
        "shoal": __version__,
        "versions": {"python": platform.python_version(), **dict(_versions())},
        "recipe": evidence.recipe.to_toml(folder),
        "input": _describe_input(evidence),
        "release": {
            # The name only: a path tells how somebody's folders are arranged.
            "name": Path(output).name if output else None,
            # What an address names is no file of this machine any more.
            "file": None if output is None or is_address(output) else compute_file_checksum(Path(output)),
            "content": compute_content_checksum(evidence.released_table.frame),
        },
        "figures": report.to_dict(),
        "risk": risk,
    }


def _versions() -> Iterator[tuple[str, str]]:
    """The versions of the libraries that are there."""
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def _describe_input(evidence: Evidence) -> dict[str, str | None]:
    """What was read, with checksums where these may be told: by them a guess at the table can be checked."""
    source = evidence.table.origin.path
    name = source.name if source else None
    if evidence.released_only:
        return {"name": name, "file": None, "content": None}
    # A file has a checksum of its own; a table in memory, or in several files, needs that of its content.
    file = compute_file_checksum(source) if source is not None and source.is_file() else None
    content = None if file else compute_content_checksum(evidence.table.frame)
    return {"name": name, "file": file, "content": content}


def embed_json(plain: dict[str, Any]) -> str:
    """Plain values as a block of JSON in a page; no text in it can end the block or be taken for markup."""
    # Inside a string of JSON these escapes mean the same characters, so json.loads needs no step
    # back, and '</script>' in a cell stays text.
    text = json.dumps(plain, ensure_ascii=True).replace("&", "\\u0026")
    text = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="shoal-report">{text}</script>'


def compute_file_checksum(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with path.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot read it for its checksum: {error.strerror}") from error


def compute_content_checksum(frame: pl.DataFrame) -> str:
    """SHA-256 of the rows as CSV in UTF-8 with commas and line feeds, whatever they are stored as.

    An empty string counts as a missing value, since in CSV it is.
    """
    digest = sha256()
    # max: a table without rows still has a header, which goes into the digest.
    for start in range(0, max(frame.height, 1), _BATCH):
        part = frame.slice(start, _BATCH)
        plain = [
            column.set((column == "").fill_null(False), None) if column.dtype == pl.String else column
            for column in (column.alias(str(j)) for j, column in enumerate(part))
        ]
        # The own names come back last: polars would take one like '^a$' for a pattern above.
        named = pl.DataFrame([column.alias(name) for column, name in zip(plain, frame.columns, strict=True)])
        digest.update(named.write_csv(include_header=start == 0).encode())
    return digest.hexdigest()


_PARTS = {
    "input": mark("input"),
    "release": mark("release"),
    "file": mark("file"),
    "content": mark("content"),
}


def checksums_table(plain: dict[str, Any]) -> str:
    """Checksums as rows of an HTML table."""
    rows = []
    # Either checksum may be absent: a table in memory has no file, and safepub hides its input.
    for which in ("input", "release"):
        for kind in ("file", "content"):
            if value := plain[which][kind]:
                name = f" ({plain[which]['name']})" if kind == "file" else ""
                what = f"{_(_PARTS[which])}, {_(_PARTS[kind])}{name}"
                rows.append(f"<tr><th>{escape(what)}</th><td><code>{escape(value)}</code></td></tr>")
    return "".join(rows)
