"""The part of Goal about people: rows that stay together, households, days instead of dates, known items."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import events, ui

from shoal.errors import ShoalError
from shoal.recipes.settings import list_form_settings
from shoal.report.prose import join_names
from shoal.studio import theme
from shoal.studio.keys import KEY
from shoal.studio.page import Page
from shoal.studio.uploader import draw_uploader
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _

PEOPLE = ("pseudonym", "knows", "relative", "group")
"""Settings that this part has; the form of all other settings leaves them out."""
_LARGEST_KEY = 65_536  # bytes
_DATES = ("date", "datetime", "integer", "float")
_ITEMS = {
    "1": mark("one item"),
    "2": mark("any two items"),
    "3": mark("any three items"),
    "all": mark("all items"),
}
_LIMITS = {
    "1": mark("Somebody who knows {two} of a person may find that person."),
    "2": mark("Somebody who knows three {things} of a person may find that person."),
    "3": mark("Somebody who knows four {things} of a person may find that person."),
    "all": mark("Nobody is found by {things}, however many are known. This costs the most detail."),
}


def has_people(page: Page) -> bool:
    """Whether there is anything to say here."""
    return bool(page.workspace.of_role("person") or page.workspace.of_role("set"))


def draw_people(page: Page) -> None:
    """Draw the card."""
    workspace = page.workspace
    person, sets = next(iter(workspace.of_role("person")), None), workspace.of_role("set")
    with theme.card(_("People, and what somebody knows of them"), id="people"), theme.box("stacked"):
        if person is not None:
            theme.text(_describe_counting(page, person), "small")
            _draw_dates(page)
            _draw_group(page)
            _draw_pseudonym(page, bool(sets))
        if sets:
            _draw_known_items(page, sets)


def _describe_counting(page: Page, person: str) -> str:
    workspace = page.workspace
    assert workspace.source is not None
    people, rows = workspace.profiles[person].distinct_values, workspace.source.rows
    if workspace.events:
        further = join_names(list(workspace.events))
        return _(
            "{person} says whose row it is in all tables: {people:,} people, with further rows "
            "in {further}. A group of 5 is then 5 people, however many rows they have.",
            person=person,
            people=people,
            further=further,
        )
    return _(
        "{person} says whose row it is: {people:,} people in {rows:,} rows. A group of 5 is "
        "then 5 people, however many rows they have.",
        person=person,
        people=people,
        rows=rows,
    )


def _describe_setting(name: str) -> tuple[str, dict[str, str]]:
    """What the table of settings calls a setting, and its values."""
    found = next(each for each in list_form_settings() if each.name == name)
    return translate_message(found.info.label), {
        value: translate_message(words) for value, words in found.info.words.items()
    }


def _make_setter(page: Page, name: str) -> Callable[[events.ValueChangeEventArguments[Any]], None]:
    def store_value(event: events.ValueChangeEventArguments[Any]) -> None:
        page.workspace.goal = page.workspace.goal.change_form(**{name: event.value or None})
        page.mark_changed()  # other parts of the page depend on it

    return store_value


def _draw_choice(page: Page, name: str, options: dict[str, str], words: str) -> None:
    """A setting that names a column, with what it does."""
    label = _describe_setting(name)[0]
    value = page.workspace.goal.form.get(name) or ""
    with theme.box("choice"):
        made = ui.select(
            options, label=label, value=value if value in options else "", on_change=_make_setter(page, name)
        )
        made.props("outlined dense options-dense stack-label")
        theme.text(words, "soft small")


def _draw_dates(page: Page) -> None:
    workspace = page.workspace
    fitting = [
        name
        for name, choice in workspace.choices.items()
        if choice.role in ("quasi", "sensitive", "plain") and workspace.type_of(name) in _DATES
    ]
    # Dates first: numbers, which become differences, are rarely meant.
    fitting.sort(key=lambda name: workspace.type_of(name) not in _DATES[:2])
    _draw_choice(
        page,
        "relative",
        {"": _("none"), **{name: name for name in fitting}},
        _("Dates become days since the first row of the person, which is day 0. No date is released."),
    )


def _draw_group(page: Page) -> None:
    left_out = page.workspace.list_own("identifier")
    _draw_choice(
        page,
        "group",
        {"": _("none"), **{name: name for name in left_out}},
        _(
            "A group then has people of as many households as it needs people, so that no family is "
            "alone in it. "
            "Only columns that are left out can be chosen."
        ),
    )


# Rows that stay together.


def _draw_pseudonym(page: Page, sets: bool) -> None:
    label = _describe_setting("pseudonym")[0]
    linked = page.workspace.is_linked
    made = ui.switch(label, value=linked, on_change=_make_setter(page, "pseudonym"))
    if sets:
        made.disable()
        theme.text(_("This cannot be combined with columns of several values in a cell."), "soft small")
        return
    events = bool(page.workspace.events)
    if not linked:
        apart = _(" Each table is then by itself, and cannot be joined with the others.") if events else ""
        theme.text(
            _("Without it, nobody can see which rows are of one person. That is safest, and costs least.")
            + apart,
            "soft small",
        )
        return
    if events:
        theme.text(
            _(
                "A person has the same pseudonym in all tables. Rows that are known are those of the further "
                "tables; the recognisable columns of the table of people are always taken as known."
            ),
            "soft small",
        )
    _draw_known(page, _describe_setting("knows")[1], _("two rows"), _("rows"))
    _draw_key(page)


def _draw_known_items(page: Page, sets: tuple[str, ...]) -> None:
    theme.text(
        _(
            "{sets}: items that few people have become a group of items, or are left out.",
            sets=_(" and ").join(sets),
        ),
        "small",
    )
    _draw_known(
        page,
        {knows: _(words) for knows, words in _ITEMS.items()},
        _("two items"),
        _("items"),
        _("Items of a person that somebody may know"),
    )


def _draw_known(page: Page, words: dict[str, str], two: str, things: str, label: str = "") -> None:
    """How much somebody may know, and what that does not protect from."""
    knows = page.workspace.knows
    with theme.box("choice"):
        made = ui.select(
            words,
            label=label or _describe_setting("knows")[0],
            value=knows if knows in words else "1",
            on_change=_make_setter(page, "knows"),
        )
        made.props("outlined dense options-dense stack-label")
        told = _(_LIMITS[knows], two=two, things=things) if knows in _LIMITS else ""
        rest = "" if knows == "all" else _(" Nothing can be asked of sensitive values, unless all are known.")
        theme.text(told + rest, "soft small")


# The key.


def _draw_key(page: Page) -> None:
    keys = page.workspace.keys
    with theme.box("dial-card", data_part="key"):
        theme.text(_("The secret key"), "", "h3")
        theme.text(
            _(
                "Pseudonyms are made from the ids with a secret key. Whoever has the key can find out which "
                "pseudonym is whose. It is in none of the files that you give away: not in the release, the "
                "report or the recipe."
            ),
            "small",
        )
        theme.text(_describe_key(page), "small strong")
        with theme.box("rowed"):
            draw_key_link("key/0", _("Download the key"))
            if keys.is_given:
                theme.button(_("Make a new key instead"), lambda: _forget_key(page), "flat")
        _draw_key_upload(page)


def _describe_key(page: Page) -> str:
    if page.workspace.keys.is_given:
        return _("You brought a key. People have the same pseudonyms as in all releases made with it.")
    return _(
        "The studio makes a new key for this table, and deletes it when it ends. Download it only if "
        "people must have the same pseudonyms in a later release, and keep it where nobody else can read it."
    )


def draw_key_link(address: str, label: str) -> None:
    """A link that gives the key to the user, and to nobody else."""
    theme.text(label, "link-button", "a", href=address, download=KEY)


def _draw_key_upload(page: Page) -> None:
    async def take_key(path: Path) -> None:
        workspace = page.workspace
        try:
            workspace.keys.take_key(path)
        except ShoalError as error:
            ui.notify(translate_message(str(error)), type="negative", multi_line=True)
        finally:
            workspace.uploads.remove_file(path)
        page.mark_changed()

    made = draw_uploader(page.workspace, take_key, _("Or use a key that you have"), most=_LARGEST_KEY)
    made.props("bordered")


def _forget_key(page: Page) -> None:
    page.workspace.keys.forget_key()
    page.mark_changed()
