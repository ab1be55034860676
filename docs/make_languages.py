"""Collects what people read into the catalogues of the languages, and compiles them.

Run by ``make lists``. A new sentence comes into each catalogue without a translation, and a test fails until
it has one: write it into ``src/shoal/languages/de/LC_MESSAGES/shoal.po`` and run this again.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, get_args

from babel.messages import mofile, pofile
from babel.messages.catalog import Catalog

from shoal.algorithms import ALGORITHMS
from shoal.assessment.risks.patterns import PATTERNS
from shoal.privacy import MODELS
from shoal.recipes.settings import list_form_settings
from shoal.report.prose import split_limits
from shoal.studio.goal_settings import describe_component, list_form_fields
from shoal.support.language import ENGLISH, LANGUAGES, MESSAGE, WORD
from shoal.table import ColumnType
from shoal.table.personal import KINDS

SOURCE = Path(__file__).parents[1] / "src" / "shoal"
# Whose sentences are stored in English and translated where they are shown.
STORED = (
    "verification/findings/",
    "assessment/risks/roles.py",
    "assessment/attacks/kinds.py",
    "assessment/attacks/outcome.py",
    "assessment/attacks/people.py",
    "assessment/attacks/combinations.py",
    "privacy/__init__.py",
    "privacy/base.py",
    "privacy/distinct_l.py",
    "privacy/k_anonymity.py",
    "privacy/known_rows.py",
    "privacy/risk.py",
    "privacy/t_closeness.py",
)
# Whose errors somebody meets in the studio: reading a table, hierarchies, a goal that cannot be met.
REPORTED = (
    "studio/",
    "table/delimited.py",
    "table/formats.py",
    "table/hierarchies/",
    "table/readers.py",
    "table/sets.py",
    "table/types.py",
    "engines/base.py",
    "engines/checks.py",
)


# Words of stored messages that are no sentences.
SHORT = (
    "1 row",
    "clear",
    "small",
    "household or family",
    "always",
    "homogeneity",
    "inference",
    "linkage",
    "membership",
    "minimality",
    "never",
    "serious",
)


_SENTENCE = re.compile(r"[a-z]{2,}.* .*[a-z]{2,}")


class Sentence(NamedTuple):
    """A text for the catalogue."""

    text: str
    plural: str = ""
    context: str = ""

    @property
    def key(self) -> str | tuple[str, str]:
        """As babel names it."""
        return (self.text, self.plural) if self.plural else self.text


def list_sentences() -> Iterator[Sentence]:
    """Everything that a catalogue has to have."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        place = path.relative_to(SOURCE).as_posix()
        yield from _list_marked(tree)
        for folders, collect in ((REPORTED, _list_errors), (STORED, _list_stored)):
            if place.startswith(folders):
                yield from (Sentence(text, context=MESSAGE) for text in collect(tree))
    yield from map(Sentence, get_args(ColumnType))
    for text in _list_documented():
        yield Sentence(text, context=MESSAGE)
    for text in (*SHORT, *(kind.name for kind in KINDS), *(pattern.what for pattern in PATTERNS)):
        yield Sentence(text, context=WORD)


def _list_marked(tree: ast.Module) -> Iterator[Sentence]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        texts = [
            each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if node.func.id in ("_", "mark") and texts:
            yield Sentence(texts[0])
        elif node.func.id == "translate_count" and len(texts) == 2:
            yield Sentence(*texts)
        elif node.func.id == "format_count" and len(texts) == 2:
            yield Sentence(*(f"{{number:,}} {text}" for text in texts))


def _list_errors(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and node.args
            and re.fullmatch(r"\w+(Error|NotMet)", _name_called(node))
        ):
            yield from _read_template(node.args[0])


def _name_called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _list_stored(tree: ast.Module) -> Iterator[str]:
    documented = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) not in documented | parts:
            yield from (text for text in _read_template(node) if _SENTENCE.search(text) and "(?:" not in text)


def _read_template(node: ast.AST) -> Iterator[str]:
    """A text with numbered places for its values; nothing where it is no text, or has none of its own."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        text, place = "", 0
        for part in node.values:
            if isinstance(part, ast.Constant):
                text += str(part.value)
            else:
                text, place = f"{text}{{{place}}}", place + 1
        if re.search(r"[a-z]{2}", re.sub(r"\{\d+\}", "", text)):
            yield text


def _list_documented() -> Iterator[str]:
    """What the studio and reports show of the documentation of models, algorithms and settings."""
    for table in (MODELS, ALGORITHMS):
        for name in table.built_in:
            kind = table[name]
            yield describe_component(kind)
            yield from (field.words for field in list_form_fields(kind) if field.words)
    for name in MODELS.built_in:
        yield " ".join((inspect.getdoc(MODELS[name]) or "").partition("\n\n")[0].split())
        yield from split_limits(name)
    yield from ("{0} rows", "'{0}' and '{1}'")
    yield from (kind.why for kind in KINDS)
    for each in list_form_settings():
        yield each.info.label
        yield from each.info.words.values()


def update_catalogue(old: Catalog) -> Catalog:
    """The catalogue with all sentences that there are, and no others."""
    new = Catalog(locale=old.locale, project="Shoal", fuzzy=False, header_comment="# The words of Shoal.")
    for each in sorted(set(list_sentences())):
        before = old.get(each.key if isinstance(each.key, str) else each.text, each.context or None)
        done = before.string if before is not None and before.pluralizable == bool(each.plural) else None
        new.add(each.key, done or (("", "") if each.plural else ""), context=each.context or None)
    return new


def read_catalogue(path: Path) -> Catalog:
    """A catalogue as it stands in its file."""
    with path.open("rb") as stream:
        return pofile.read_po(stream, locale=path.parents[1].name)


def write_catalogue(catalogue: Catalog) -> bytes:
    """The bytes of a catalogue, without the time of day."""
    stream = io.BytesIO()
    pofile.write_po(stream, catalogue, width=108, sort_output=True, omit_header=False)
    return re.sub(rb'"(POT-Creation|PO-Revision)-Date: .*\n', b"", stream.getvalue())


def compile_catalogue(catalogue: Catalog) -> bytes:
    """What gettext reads, without the time of day."""
    catalogue.creation_date = catalogue.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
    stream = io.BytesIO()
    mofile.write_mo(stream, catalogue)
    return stream.getvalue()


def list_catalogues() -> Mapping[str, Path]:
    """The catalogue of every language but English."""
    folder = SOURCE / "languages"
    return {name: folder / name / "LC_MESSAGES" / "shoal.po" for name in LANGUAGES if name != ENGLISH}


def main() -> None:
    """Write every catalogue anew."""
    for name, path in list_catalogues().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        old = read_catalogue(path) if path.exists() else Catalog(locale=name)
        path.write_bytes(write_catalogue(update_catalogue(old)))
        path.with_suffix(".mo").write_bytes(compile_catalogue(read_catalogue(path)))


if __name__ == "__main__":
    main()
