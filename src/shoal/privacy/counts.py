"""What a privacy model looks at: the sizes of the classes and the sensitive values in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """Values of one sensitive column, sparse: ``count`` rows of the class ``class_of`` have ``value``."""

    class_of: NDArray[np.integer]
    value: NDArray[np.integer]
    count: NDArray[np.integer]

    def distinct(self, classes: int) -> NDArray[np.int64]:
        """Number of different values in each class."""
        return np.bincount(self.class_of, minlength=classes)


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The classes of a table."""

    size: NDArray[np.integer]
    """[classes] number of rows."""
    sensitive: Mapping[str, Sensitive]

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self.size.size
