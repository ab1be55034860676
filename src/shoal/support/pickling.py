"""Results that leave rows behind when they are pickled or copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class PartlyPickled:
    """A frozen dataclass that says what of it is kept when it is pickled or copied.

    Who pickles a result means its figures. The table that they are of would travel along unseen.
    """

    __slots__ = ()

    def _collect_kept_state(self) -> dict[str, Any]:
        """What is kept, by the name of the field; every field has a value."""
        raise NotImplementedError

    # Not by __getstate__: a dataclass with slots makes one of its own, which would win over this class.
    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restore_object, (type(self), self._collect_kept_state())


def _restore_object(kind: type, state: dict[str, Any]) -> Any:
    restored: Any = object.__new__(kind)
    for name, value in state.items():
        # The class is frozen: plain assignment is refused even here.
        object.__setattr__(restored, name, value)
    return restored
