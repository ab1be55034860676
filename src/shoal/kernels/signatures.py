"""What a kernel is called with, read off its annotations, so that it can be compiled before it is called.

``NDArray[np.int64]`` is an array of one dimension, ``Matrix[np.int64]`` has two and ``Cube[np.int64]`` three;
all lie in memory without gaps. Two things vary: codes are of 16 bits, or of 32 where a column has many values
(``np.unsignedinteger``), and rules may be there or not (``Rules | None``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from types import NoneType
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

_Element = TypeVar("_Element", bound=np.generic)

# To numba a read-only array is of another type.
_READ_ONLY = "read-only"
Matrix = Annotated[NDArray[_Element], 2]
Cube = Annotated[NDArray[_Element], 3]
ReadOnly = Annotated[NDArray[_Element], _READ_ONLY]
"""An array of one dimension that belongs to somebody else."""

# Annotations are read when a file of kernels is imported; only what is made of them needs numba.
_PLAIN = {int: "int64", float: "float64", bool: "boolean"}


def list_signatures(
    kernel: Callable[..., Any], wide: bool | None = None, ruled: bool | None = None
) -> Iterator[tuple[Any, ...]]:
    """The types of the arguments of a kernel: each way in which it can be called.

    Parameters
    ----------
    wide : bool, optional
        Only with codes of 32 bits, or only with those of 16.
    ruled : bool, optional
        Only with rules about sensitive columns, or only without.
    """
    function = getattr(kernel, "py_func", kernel)
    hints = _read_hints(function)
    named = [hints[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]
    widths = (False, True) if wide is None else (wide,)
    goals = (False, True) if ruled is None else (ruled,)
    # Where nothing varies, all ways are one.
    yield from dict.fromkeys(
        tuple(_numba_type(hint, *way) for hint in named) for way in product(widths, goals)
    )


def _numba_type(hint: Any, wide: bool, ruled: bool) -> Any:
    """The type that numba has for what an annotation says."""
    from numba import types  # noqa: PLC0415

    if hint in _PLAIN:
        return getattr(types, _PLAIN[hint])
    join = cast("Any", types.BaseTuple).from_types
    if get_origin(hint) is Annotated:
        array, mark = get_args(hint)
        return _array_type(array, wide, 1 if mark == _READ_ONLY else mark, mark == _READ_ONLY)
    if get_origin(hint) is np.ndarray:
        return _array_type(hint, wide, 1, False)
    if get_origin(hint) is tuple:
        return join([_numba_type(each, wide, ruled) for each in get_args(hint)])
    if NoneType in get_args(hint):
        (other,) = (each for each in get_args(hint) if each is not NoneType)
        return _numba_type(other, wide, ruled) if ruled else types.none
    # What is left is a named tuple; its type has the fields' types in their order.
    return join([_numba_type(each, wide, ruled) for each in _read_hints(hint).values()], hint)


@cache
def _read_hints(annotated: Any) -> dict[str, Any]:
    """The annotations of a function or a named tuple; many kernels share a few of these."""
    return get_type_hints(annotated, include_extras=True)


def _array_type(hint: Any, wide: bool, dimensions: int, read_only: bool) -> Any:
    from numba import from_dtype, types  # noqa: PLC0415

    (element,) = get_args(get_args(hint)[1])
    # The width of codes is the one thing about arrays that varies.
    if element is np.unsignedinteger:
        element = np.uint32 if wide else np.uint16
    return types.Array(cast("Any", from_dtype)(np.dtype(element)), dimensions, "C", readonly=read_only)
