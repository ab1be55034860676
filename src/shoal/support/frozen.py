"""A dictionary that nobody can change, and that can therefore be hashed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dictionary that stays as it was made, so that the value it belongs to stays as it was checked.

    It is a dictionary and no other mapping, because writers of TOML and JSON take dictionaries only.

    Examples
    --------
    >>> weights = FrozenDict({"age": 2.0})
    >>> weights["age"], weights == {"age": 2.0}, hash(weights) == hash(FrozenDict({"age": 2.0}))
    (2.0, True, True)
    >>> weights["age"] = 1.0
    Traceback (most recent call last):
        ...
    TypeError: this mapping cannot be changed: make a new one
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("this mapping cannot be changed: make a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle and copy would fill it item by item.
        return (FrozenDict, (dict(self),))


def freeze_mapping(given: Mapping[K, V]) -> FrozenDict[K, V]:
    """A copy that cannot be changed; lists in it become tuples."""
    return FrozenDict({key: _freeze_value(value) for key, value in given.items()})


def _freeze_value(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
