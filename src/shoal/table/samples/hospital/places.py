"""Where the people of the register live: an invented country of eight regions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shoal.support.arithmetic import power
from shoal.table.samples.hospital.curves import Weights

AFFLUENT, URBAN, RURAL = range(3)
# Some begin with 0, as real postcodes do: read as numbers they would lose it.
_REGIONS = {"01": 22.0, "02": 9.0, "04": 15.0, "07": 6.0, "10": 20.0, "13": 5.0, "16": 10.0, "21": 13.0}
# The third digit is the town, the last two the district: per region one city, two towns, four villages.
_TOWNS = ((52.0, 6), (18.0, 3), (12.0, 2), (8.0, 1), (5.0, 1), (3.0, 1), (2.0, 1))


@dataclass(frozen=True, slots=True)
class Places:
    """The postcodes, the share of each and what kind of place it is."""

    postcodes: tuple[str, ...]
    shares: Weights
    kinds: NDArray[np.int64]


@cache
def list_places() -> Places:
    """Every postcode of the invented country, in ascending order."""
    rows = [
        (
            f"{region}{town}{district * 10 + 1:02d}",
            # Districts shrink by a power law, so that some postcodes have very few people.
            weight * size / power(district + 1.0, 1.1),
            _classify_district(town, district),
        )
        for region, weight in _REGIONS.items()
        for town, (size, districts) in enumerate(_TOWNS)
        for district in range(districts)
    ]
    postcodes, shares, kinds = zip(*rows, strict=True)
    return Places(postcodes, np.array(shares), np.array(kinds))


def _classify_district(town: int, district: int) -> int:
    if town >= 3:
        return RURAL
    # The second district of a town, and in the city of six the sixth as well.
    return AFFLUENT if district % 4 == 1 else URBAN
