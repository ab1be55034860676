"""How many people live in some regions, where a goal names one instead of a number.

Source: World Bank, World Development Indicators, "Population, total" of 2022, in thousands.
"""

from __future__ import annotations

from typing import Literal

Region = Literal[
    "australia", "austria", "belgium", "brazil", "canada", "china", "czechia", "denmark", "european-union",
    "finland", "france", "germany", "greece", "hungary", "india", "ireland", "italy", "japan", "mexico",
    "netherlands", "new-zealand", "norway", "poland", "portugal", "south-africa", "south-korea", "spain",
    "sweden", "switzerland", "turkiye", "united-kingdom", "united-states", "world",
]  # fmt: skip

THOUSANDS: dict[Region, int] = {
    "australia": 26_019, "austria": 9_042, "belgium": 11_680, "brazil": 210_306, "canada": 38_936,
    "china": 1_412_175, "czechia": 10_672, "denmark": 5_903, "european-union": 447_203, "finland": 5_556,
    "france": 68_184, "germany": 83_178, "greece": 10_437, "hungary": 9_605, "india": 1_425_423,
    "ireland": 5_213, "italy": 59_014, "japan": 125_125, "mexico": 128_613, "netherlands": 17_701,
    "new-zealand": 5_082, "norway": 5_457, "poland": 36_822, "portugal": 10_434, "south-africa": 62_378,
    "south-korea": 51_673, "spain": 47_786, "sweden": 10_487, "switzerland": 8_777, "turkiye": 84_980,
    "united-kingdom": 67_604, "united-states": 334_017, "world": 7_989_545,
}  # fmt: skip


def count_people(region: Region) -> int:
    """How many people live in a region."""
    return THOUSANDS[region] * 1000
