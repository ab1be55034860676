"""Personal data by the values of a column, whatever its name is."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import polars as pl

from shoal.table import ColumnType, to_strings
from shoal.table.personal import KINDS, PersonalDataKind

LOOKED_AT = 500
"""So many distinct values of a column are looked at."""
_MOST = 0.8  # this share of them has to fit
_LEAST = 2  # and so many at least

_EMAIL = re.compile(r"[^@\s,;]+@[^@\s,;]+\.[A-Za-z]{2,}")
_URL = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
_PHONE = re.compile(r"(?:\+|00)[1-9][0-9 ()./-]{6,18}[0-9]|\(?0[0-9]{1,5}[)/ .-][0-9 ./-]{4,14}[0-9]")
_PHONE_US = re.compile(r"\(?[2-9][0-9]{2}[) .-]{1,2}[0-9]{3}[ .-][0-9]{4}")
_DATE = re.compile(r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]){11,30}")
_CARD = re.compile(r"[0-9](?:[ -]?[0-9]){12,18}")
_MAC = re.compile(r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}")
_SSN = re.compile(r"(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_ICD = re.compile(r"[A-TV-Z][0-9][0-9AB](?:\.[0-9A-Z]{1,4})?")
_MONEY = re.compile(r"(?:<=?|>=?|under|over|up to)?\s*[$€£]?\s*[0-9][0-9.,]*\s*[kK](?:\s*-.*)?\+?")


def is_iban(text: str) -> bool:
    """Whether a text is an IBAN: country, two digits, account, and the remainder by 97 is 1 (ISO 13616)."""
    if not _IBAN.fullmatch(text.upper()):
        return False
    plain = text.upper().replace(" ", "")
    # Base 36 gives the letters 10 to 35, as the standard says.
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def is_card(text: str) -> bool:
    """Whether a text is the number of a payment card: 13 to 19 digits with Luhn's check digit (ISO 7812)."""
    if not _CARD.fullmatch(text):
        return False
    digits = [int(each) for each in text if each.isdigit()]
    # Of a doubled digit both digits are added: 14 counts as 5.
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    # Nothing but zeros passes the check and is no card.
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 and any(digits)


def is_ip(text: str) -> bool:
    """Whether a text is an address of version 4 or 6."""
    try:
        return bool(ip_address(text))
    except ValueError:
        return False


def is_phone(text: str) -> bool:
    """Whether a text is a telephone number, with its country or area code set apart."""
    # Dates such as 01-02-2020 look like a number with its area code.
    written = _PHONE.fullmatch(text) or _PHONE_US.fullmatch(text)
    return bool(written and not _DATE.fullmatch(text))


@dataclass(frozen=True, slots=True)
class ValuePattern:
    """What the values of a kind of personal data look like."""

    what: str
    fits: Callable[[str], object]
    kind: str
    """Name of the kind that it reveals."""


PATTERNS: tuple[ValuePattern, ...] = (
    ValuePattern("e-mail addresses", _EMAIL.fullmatch, "e-mail address"),
    ValuePattern("web addresses", _URL.fullmatch, "web address"),
    ValuePattern("IBANs (the check digits are right)", is_iban, "bank account"),
    ValuePattern("numbers of payment cards (the check digit is right)", is_card, "bank account"),
    ValuePattern("IP addresses", is_ip, "internet address"),
    ValuePattern("MAC addresses", _MAC.fullmatch, "internet address"),
    ValuePattern("US Social Security numbers", _SSN.fullmatch, "official number"),
    ValuePattern("UUIDs", _UUID.fullmatch, "number of a person"),
    ValuePattern("telephone numbers", is_phone, "telephone number"),
    ValuePattern("ICD codes of diseases", _ICD.fullmatch, "diagnosis or health"),
    ValuePattern("brackets of money", _MONEY.fullmatch, "income"),
)


def find_pattern(values: pl.Series, type: ColumnType) -> tuple[ValuePattern, PersonalDataKind] | None:
    """The kind of personal data that the distinct values of a column look like, if any.

    Of numbers only those of payment cards can be told, by their check digits.
    """
    possible = [each for each in PATTERNS if type == "string" or (type == "integer" and each.fits is is_card)]
    texts = [text.strip() for text in to_strings(values.head(LOOKED_AT)) if text and text.strip()]
    if len(texts) < _LEAST:
        return None
    # The first that fits: check digits stand before what only looks alike.
    found = next((each for each in possible if _measure_fit(each, texts) >= _MOST), None)
    if found is None:
        return None
    return found, next(kind for kind in KINDS if kind.name == found.kind)


def _measure_fit(pattern: ValuePattern, texts: Sequence[str]) -> float:
    """Share of texts that fit; a few are enough to see that hardly any do."""
    few = texts[:20]
    if sum(bool(pattern.fits(text)) for text in few) < len(few) / 2:
        return 0.0
    return sum(bool(pattern.fits(text)) for text in texts) / len(texts)
