"""Forms for models, algorithms and settings, read off their declarations: an input for each field."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from nicegui import events, ui
from nicegui.element import Element

from shoal.recipes.recipe import read_setting_types
from shoal.recipes.settings import DeclaredSetting, list_form_settings
from shoal.studio import theme
from shoal.support.language import translate as _
from shoal.support.language import translate_message

Kind = Literal["choice", "switch", "whole", "number", "text"]
_KINDS: tuple[Kind, ...] = ("choice", "whole", "number", "text", "switch")
"""Kinds of inputs in the order of the form of settings: switches stand at its end."""
_GROUPS = ("search", "table", "goal", "release", "columns")
"""Groups in the order of that form: what is for later tables alone comes last."""


@dataclass(frozen=True, slots=True)
class FormField:
    """One parameter."""

    name: str
    words: str
    """Its documentation, on one line."""
    kind: Kind
    options: tuple[str, ...] = ()
    default: Any = None
    required: bool = False


def list_form_fields(kind: type) -> tuple[FormField, ...]:
    """The parameters of a model or an algorithm."""
    hints, words = get_type_hints(kind), _read_field_docs(kind)
    return tuple(
        _make_form_field(
            field.name, hints[field.name], words.get(field.name, ""), field.default, field.default_factory
        )
        for field in fields(kind)
    )


def describe_component(kind: type) -> str:
    """What a model or an algorithm is, by the first paragraphs of its documentation."""
    paragraphs = inspect.cleandoc(kind.__doc__ or "").split("\n\n")
    told = [" ".join(each.split()) for each in paragraphs]
    # The sections of numpydoc, whose titles are underlined, are for the Python reference.
    return " ".join(told[: next((i for i, each in enumerate(told) if "---" in each), len(told))])


def _make_form_field(name: str, hint: Any, words: str, default: Any, factory: Any) -> FormField:
    required = default is MISSING and factory is MISSING
    usual = None if default is MISSING else default
    # ``int | None`` is an int that may stay empty: an empty input stands for None.
    if get_origin(hint) in (Union, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    if get_origin(hint) is Literal:
        return FormField(name, words, "choice", tuple(map(str, get_args(hint))), usual, required)
    kinds: dict[Any, Kind] = {bool: "switch", int: "whole", float: "number"}
    return FormField(name, words, kinds.get(hint, "text"), (), usual, required)


def _read_field_docs(kind: type) -> dict[str, str]:
    """The texts below the fields."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    # Python keeps no docstrings of fields: they are the strings below annotated names.
    for field, below in zip(body.body, body.body[1:], strict=False):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if is_text and isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            told = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
            # An input of the form is empty where Python says None.
            found[field.target.id] = told.replace("where None", "if this is empty")
    return found


def draw_form(
    kind: type,
    values: Mapping[str, Any],
    change: Callable[[dict[str, Any]], object],
    known: Mapping[str, Sequence[str]],
) -> None:
    """Inputs for all parameters; ``change`` gets those that were said.

    ``known`` has the options of parameters that name something, such as a column.
    """
    said = dict(values)

    def make_handler(name: str) -> Callable[[events.ValueChangeEventArguments[Any]], None]:
        def store_value(event: events.ValueChangeEventArguments[Any]) -> None:
            # An empty input means the default, and the recipe does not mention the parameter.
            if event.value in (None, ""):
                said.pop(name, None)
            else:
                said[name] = event.value
            change(dict(said))  # a copy: the caller keeps it, and the form goes on changing its own

        return store_value

    with theme.box("dials"):
        for dial in list_form_fields(kind):
            with theme.box("dial"):
                _draw_control(dial, said.get(dial.name), make_handler(dial.name), known.get(dial.name))
                if dial.words:
                    theme.text(translate_message(dial.words), "soft small")


def _draw_control(
    dial: FormField,
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
        # A switch shows its label beside itself, so it needs none of the props below.
        return ui.switch(dial.name, value=bool(shown), on_change=turn)
    elif dial.kind in ("whole", "number"):
        step = 1 if dial.kind == "whole" else 0.05
        convert = (lambda e: _convert_whole_number(e, turn)) if dial.kind == "whole" else turn
        made = ui.number(dial.name, value=shown, step=step, placeholder=_("not set"), on_change=convert)
    else:
        # Tuples are typed as `shoal.support.parameters` reads them: with commas between the values.
        text = (
            ""
            if shown in (None, ())
            else ",".join(map(str, shown))
            if isinstance(shown, tuple)
            else str(shown)
        )
        made = ui.input(dial.name, value=text, placeholder=_("not set"), on_change=turn)
    made.props["aria-label"] = dial.name
    return made.props("outlined dense options-dense stack-label")


def _convert_whole_number(
    event: events.ValueChangeEventArguments[Any],
    turn: Callable[[events.ValueChangeEventArguments[Any]], None],
) -> None:
    """Browsers know no whole numbers."""
    if isinstance(event.value, float) and event.value.is_integer():
        event.value = int(event.value)
    turn(event)


def list_setting_fields(known: Mapping[str, Sequence[str]]) -> list[tuple[DeclaredSetting, FormField]]:
    """The settings that the form has, each with its input, in the order of the form.

    ``known`` has the options of settings that name something, such as a loss.
    """
    types, made = read_setting_types(), []
    for each in list_form_settings():
        dial = _make_form_field(
            each.name, types[each.name], translate_message(each.info.label), each.default, MISSING
        )
        if each.name in known:
            dial = replace(dial, kind="choice", options=tuple(known[each.name]))
        made.append((each, dial))
    return sorted(made, key=lambda pair: (_KINDS.index(pair[1].kind), _GROUPS.index(pair[0].info.group)))


def draw_settings(
    values: Mapping[str, Any],
    change: Callable[[str, Any], object],
    known: Mapping[str, Sequence[str]],
    without: Collection[str] = (),
) -> None:
    """Inputs for settings of the table; ``change`` gets the name of one and its new value.

    Those in ``without`` are elsewhere in the page.
    """

    def make_handler(dial: FormField) -> Callable[[events.ValueChangeEventArguments[Any]], None]:
        def store_setting(event: events.ValueChangeEventArguments[Any]) -> None:
            change(dial.name, convert_input(dial, event.value))

        return store_setting

    with theme.box("dials"):
        for each, dial in list_setting_fields(known):
            if dial.name in without:
                continue
            value = values.get(dial.name, dial.default)
            _draw_setting(dial, name_choices(each, dial), value, make_handler(dial))


def convert_input(dial: FormField, value: Any) -> Any:
    """The value of a setting from what the browser sent; its default where the input is empty."""
    if value in (None, ""):
        return dial.default
    return int(value) if dial.kind == "whole" else value


def name_choices(each: DeclaredSetting, dial: FormField) -> dict[str, str]:
    """What a choice offers, by value; the empty one stands for None."""
    empty = {"": _("not set")} if dial.default is None else {}
    words = {value: translate_message(told) for value, told in each.info.words.items()}
    return words or empty | {option: option for option in dial.options}


def _draw_setting(
    dial: FormField,
    choices: dict[str, str],
    value: Any,
    turn: Callable[[events.ValueChangeEventArguments[Any]], None],
) -> None:
    """The input that suits a setting."""
    if dial.kind == "switch":
        ui.switch(dial.words, value=bool(value), on_change=turn)
        return
    if dial.kind == "choice":
        made: Element = ui.select(choices, label=dial.words, value=value or "", on_change=turn)
    elif dial.kind in ("whole", "number"):
        step = 1 if dial.kind == "whole" else 0.05
        made = ui.number(dial.words, value=value, min=0, step=step, on_change=turn)
    else:
        made = ui.input(dial.words, value=value or "", placeholder=_("not set"), on_change=turn)
    made.props("outlined dense options-dense")
