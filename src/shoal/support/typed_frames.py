"""Types of frames and files in public signatures."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from typing import Any

    # Known to type checkers only: older versions of Python have type variables without defaults.
    from typing_extensions import TypeVar

    FrameT = TypeVar("FrameT", default=Any)
else:
    from typing import TypeVar

    FrameT = TypeVar("FrameT")

PathLike: TypeAlias = Union[str, "os.PathLike[str]", IO[bytes]]
