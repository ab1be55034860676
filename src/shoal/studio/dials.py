"""Forms for models and algorithms, read off their dataclasses: a field each, with its documentation."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from nicegui import events, ui
from nicegui.element import Element

from shoal.studio import theme

Kind = Literal["choice", "switch", "whole", "number", "text"]


@dataclass(frozen=True, slots=True)
class Dial:
    """One parameter."""

    name: str
    words: str
    """Its documentation, on one line."""
    kind: Kind
    options: tuple[str, ...] = ()
    default: Any = None
    required: bool = False


def dials(kind: type) -> tuple[Dial, ...]:
    """The parameters of a model or an algorithm."""
    hints, words = get_type_hints(kind), _documented(kind)
    return tuple(
        _dial(field.name, hints[field.name], words.get(field.name, ""), field.default, field.default_factory)
        for field in fields(kind)
    )


def words_of(kind: type) -> str:
    """What a model or an algorithm is, by the first paragraphs of its documentation."""
    paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    told = [" ".join(each.split()) for each in paragraphs]
    return " ".join(told[: next((i for i, each in enumerate(told) if "---" in each), len(told))])


def _dial(name: str, hint: Any, words: str, default: Any, factory: Any) -> Dial:
    required = default is MISSING and factory is MISSING
    usual = None if default is MISSING else default
    if get_origin(hint) in (Union, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Literal:
        return Dial(name, words, "choice", tuple(map(str, get_args(hint))), usual, required)
    kinds: dict[Any, Kind] = {bool: "switch", int: "whole", float: "number"}
    return Dial(name, words, kinds.get(hint, "text"), (), usual, required)


def _documented(kind: type) -> dict[str, str]:
    """The texts below the fields."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        told = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if told and isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            found[field.target.id] = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
    return found


def form(
    kind: type,
    values: Mapping[str, Any],
    change: Callable[[dict[str, Any]], object],
    known: Mapping[str, Sequence[str]],
) -> None:
    """Inputs for all parameters; ``change`` gets those that were said.

    ``known`` has the options of parameters that name something, such as a column.
    """
    said = dict(values)

    def turned(name: str) -> Callable[[events.ValueChangeEventArguments[Any]], None]:
        def turn(event: events.ValueChangeEventArguments[Any]) -> None:
            if event.value in (None, ""):
                said.pop(name, None)
            else:
                said[name] = event.value
            change(dict(said))

        return turn

    with theme.box("dials"):
        for dial in dials(kind):
            with theme.box("dial"):
                _control(dial, said.get(dial.name), turned(dial.name), known.get(dial.name))
                if dial.words:
                    theme.text(dial.words, "soft small")


def _control(
    dial: Dial,
    value: Any,
    turn: Callable[[events.ValueChangeEventArguments[Any]], None],
    known: Sequence[str] | None,
) -> Element:
    """The input that suits a parameter."""
    shown = dial.default if value is None else value
    if known is not None or dial.kind == "choice":
        options = list(dial.options if known is None else known)
        made: Element = ui.select(
            options, label=dial.name, value=shown, clearable=not dial.required, on_change=turn
        )
    elif dial.kind == "switch":
        return ui.switch(dial.name, value=bool(shown), on_change=turn)
    elif dial.kind in ("whole", "number"):
        step = 1 if dial.kind == "whole" else 0.05
        convert = (lambda e: _whole(e, turn)) if dial.kind == "whole" else turn
        made = ui.number(dial.name, value=shown, step=step, placeholder="not set", on_change=convert)
    else:
        text = (
            ""
            if shown in (None, ())
            else ",".join(map(str, shown))
            if isinstance(shown, tuple)
            else str(shown)
        )
        made = ui.input(dial.name, value=text, placeholder="not set", on_change=turn)
    made.props["aria-label"] = dial.name
    return made.props("outlined dense options-dense stack-label")


def _whole(
    event: events.ValueChangeEventArguments[Any],
    turn: Callable[[events.ValueChangeEventArguments[Any]], None],
) -> None:
    """Browsers know no whole numbers."""
    if isinstance(event.value, float) and event.value.is_integer():
        event.value = int(event.value)
    turn(event)
