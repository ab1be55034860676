"""What type checkers are told: a frame of pandas gives a release with a frame of pandas, and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, overload

import polars as pl

from shoal.engines.release import Release
from shoal.support.typed_frames import FrameT, PathLike

P = ParamSpec("P")


class AnonymizeFunction(Protocol[P]):
    """A function that takes a table first, and gives a release with the same kind of frame."""

    @overload
    def __call__(
        self, source: PathLike, /, *arguments: P.args, **settings: P.kwargs
    ) -> Release[pl.DataFrame]: ...

    @overload
    def __call__(self, source: FrameT, /, *arguments: P.args, **settings: P.kwargs) -> Release[FrameT]: ...


def keep_kind_of_frame(function: Callable[Concatenate[Any, P], Release[Any]]) -> AnonymizeFunction[P]:
    """Tell type checkers that the frame of a release is of the kind that came in; changes nothing else."""
    return function
