"""The words that people read, in their language: gettext, with one catalogue for each language.

Sentences stand in the source in English, within `translate`, imported as ``_``. Numbers in them are written
as the language writes them. ``make lists`` collects the sentences into ``languages/de/LC_MESSAGES/shoal.po``
and compiles it.

What is stored is English, so that programs read the same in every language: findings, warnings, notes and
errors. `translate_message` translates those where they are shown.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from typing import Any

from shoal.errors import RecipeError, unknown

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""Languages that have a catalogue, each by its own name; sentences in the source are in the first."""
ENGLISH = "en"
MESSAGE = "message"
"""The context of messages that are stored in English."""
WORD = "word"
"""The context of words within them; a place that holds one is written ``{0:word}`` in the translation."""
_SIGNS = {"de": str.maketrans(",.", ".,")}
"""How numbers are written, where that is not as in English."""
_NUMBERS = re.compile(r"\d[\d,]*\.?\d*(?:e[+-]?\d+)?(?: ?%)?")
_WORDS = re.compile(r"[A-Za-z]{2,}")

_of_process = ENGLISH
_of_task: ContextVar[str | None] = ContextVar("language", default=None)


def use_language(name: str) -> None:
    """Speak a language from now on, wherever no `speaking` says otherwise."""
    global _of_process  # noqa: PLW0603  one process speaks one language
    _of_process = check_language(name)


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Speak a language within a block."""
    token = _of_task.set(check_language(name))
    try:
        yield
    finally:
        _of_task.reset(token)


def current_language() -> str:
    """The language that is spoken now."""
    return _of_task.get() or _of_process


def check_language(name: str) -> str:
    """A language that there is."""
    if name not in LANGUAGES:
        raise RecipeError(unknown("language", name, LANGUAGES))
    return name


def choose_language(wanted: str) -> str:
    """The first language that there is among those that a browser asks for, best first."""
    ranked = []
    for each in wanted.split(","):
        name, _, quality = each.strip().partition(";q=")
        try:
            ranked.append((-float(quality or 1), name[:2].lower()))
        except ValueError:
            continue
    return next((name for _, name in sorted(ranked, key=lambda pair: pair[0]) if name in LANGUAGES), ENGLISH)


def translate(text: str, /, **values: object) -> str:
    """A sentence in the language that is spoken now, with values in the places of their names."""
    # gettext keeps its own notes under the empty text.
    return _fill(_read_catalogue(current_language()).gettext(text), values) if text else ""


def translate_count(one: str, many: str, number: int, /, **values: object) -> str:
    """A sentence about ``number`` things, which fills the place ``{number}``."""
    found = _read_catalogue(current_language()).ngettext(one, many, number)
    return _fill(found, {"number": number, **values})


def mark(text: str, /) -> str:
    """A text for the catalogue that is translated where it is shown."""
    return text


def format_number(value: float, spec: str) -> str:
    """A number in the signs of the language."""
    return format(value, spec).translate(_SIGNS.get(current_language(), {}))


def translate_number(text: str, /) -> str:
    """A number that is written in English, in the signs of the language."""
    return text.translate(_SIGNS.get(current_language(), {}))


def translate_message(text: str, /) -> str:
    """A message that is stored in English, in the language that is spoken now; as it is if it is unknown."""
    if current_language() == ENGLISH or not text:
        return text
    word = _read_catalogue(current_language()).pgettext(WORD, text)
    return word if word != text else _translate_part(text)


class _Formatter(string.Formatter):
    """Writes numbers in the signs of the language."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return format_number(value, format_spec)
        return format(value, format_spec)


_FORMATTER = _Formatter()


def _fill(text: str, values: dict[str, object]) -> str:
    # Without values a brace is a brace.
    return _FORMATTER.vformat(text, (), values) if values else text


def _fill_message(template: str, parts: tuple[str, ...]) -> str:
    """A message with its parts: numbers are written anew, and parts that are messages are translated."""
    signs = _SIGNS.get(current_language(), {})

    def fill_place(found: re.Match[str]) -> str:
        quote, part = found[1], parts[int(found[2])]
        if quote:  # the name of a column, a value or a file, which stays as it is
            return f"{quote}{part}"
        if found[3] and (word := _read_catalogue(current_language()).pgettext(WORD, part)) != part:
            return word
        return part.translate(signs) if _NUMBERS.fullmatch(part) else _translate_part(part)

    return re.sub(r"('?)\{(\d+)(:word)?\}", fill_place, template)


def _translate_part(part: str) -> str:
    """A part of a message: a message itself, or several after one another."""
    if (found := _find_message(part, whole=False)) is not None:
        return found
    for mark in ("; ", ": "):
        first, sign, rest = part.partition(mark)
        if sign and (found := _find_message(first, whole=True)) is not None:
            return f"{found}{sign}{_translate_part(rest)}"
    return _find_message(part, whole=True) or part


def _find_message(text: str, whole: bool) -> str | None:
    """The translation of a message that is in the catalogue, or fits one that is.

    If it may be several after one another, none of its values has another one in it.
    """
    catalogue = _read_catalogue(current_language())
    found = catalogue.pgettext(MESSAGE, text)
    if found != text:
        return found
    for pattern, template in _list_patterns(current_language()):
        match = pattern.fullmatch(text)
        if match and (whole or not any("; " in value for value in match.groups())):
            return _fill_message(template, match.groups())
    return None


@cache
def _read_catalogue(language: str) -> NullTranslations:
    if language == ENGLISH:
        return NullTranslations()
    place = files("shoal").joinpath("languages", language, "LC_MESSAGES", "shoal.mo")
    with place.open("rb") as stream:
        return GNUTranslations(stream)


@cache
def _list_patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Messages with places for values, those with most text of their own first."""
    catalogue: Any = _read_catalogue(language)
    begin = f"{MESSAGE}\x04"  # how a catalogue writes a context
    found = [
        (key.removeprefix(begin), text)
        for key, text in catalogue._catalog.items()
        if isinstance(key, str) and key.startswith(begin) and "{" in key
    ]
    found.sort(key=lambda pair: -len(re.sub(r"\{\d+\}", "", pair[0])))
    return [(_compile_message(key), text) for key, text in found]


def _compile_message(template: str) -> re.Pattern[str]:
    parts = re.split(r"\{\d+\}", template)
    # What has hardly a word of its own would fit too much.
    place = "(.*?)" if "'" in template or len(_WORDS.findall("".join(parts))) > 1 else r"([\d.,]+)"
    return re.compile(place.join(map(re.escape, parts)), re.DOTALL)
