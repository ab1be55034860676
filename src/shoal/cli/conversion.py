"""Values of options in the types that commands take; typer loads pydantic for that, which takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from shoal.support.addresses import AddressPath, is_address


def _make_path(text: str) -> Path:
    """A path, or an address as it is."""
    return AddressPath(text) if is_address(text) else Path(text)


_PLAIN: dict[Any, tuple[Callable[[Any], Any], str]] = {
    bool: (bool, "yes or no"),
    str: (str, "a text"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    Path: (_make_path, "a path"),
}


def convert_plainly(parameters: Iterable[Any]) -> None:
    """Let plain types convert the values of parameters; others are left to typer."""
    for each in parameters:
        annotation = getattr(getattr(each, "type_descriptor", None), "annotation", None)
        many = get_origin(annotation) is list
        kind = get_args(annotation)[0] if many else annotation
        if kind in _PLAIN:
            each.get_runtime_param = _Converter(*_PLAIN[kind], many).get_itself


class _Converter:
    """What typer asks to convert the values of one parameter."""

    def __init__(self, convert: Callable[[Any], Any], wanted: str, many: bool) -> None:
        self._convert, self._wanted, self._many = convert, wanted, many

    def get_itself(self) -> _Converter:
        """What a parameter answers when typer asks for its converter."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value, or values, as the function takes them; None where nothing was said."""
        if value is None:
            return () if self._many else None
        try:
            return [self._convert(each) for each in value] if self._many else self._convert(value)
        except ValueError:
            raise typer.BadParameter(f"'{value}' is not {self._wanted}.", ctx=ctx, param=param) from None
