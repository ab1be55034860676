"""What every privacy model offers."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from shoal.privacy.counts import Counts


class Model(Protocol):
    """A condition that every class of a release must satisfy.

    Models are frozen dataclasses whose fields are their parameters. One that looks at sensitive values has a
    field ``column`` and is about all sensitive columns where that is None.
    """

    monotone: ClassVar[bool]
    """Whether merging two classes that satisfy it gives one that does: top-down search prunes on that."""
    sensitive: ClassVar[bool]
    """Whether it looks at sensitive values."""

    def holds(self, counts: Counts) -> NDArray[np.bool_]:
        """Whether each class satisfies the model."""
        ...

    def achieved(self, counts: Counts) -> float:
        """The parameter that the table as a whole really reaches."""
        ...

    def within_reach(self, rows: int, distinct: int) -> str | None:
        """Why ``rows`` rows with ``distinct`` sensitive values cannot satisfy it; None if they can."""
        ...
