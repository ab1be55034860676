"""Step 2: what the columns are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from nicegui import events, ui

from shoal.studio import hierarchies, theme
from shoal.studio.page import Page
from shoal.studio.state import Workspace
from shoal.studio.steps.open_table import count
from shoal.table import ColumnType, as_text

ROLES = {
    "quasi": "Recognisable",
    "sensitive": "Sensitive",
    "identifier": "Names a person",
    "plain": "Keep as it is",
}
_MEANING = {
    "quasi": "somebody may know it of a person: it is made coarser",
    "sensitive": "nobody should learn it of a person: it stays, but mixed",
    "identifier": "points at one person: it is left out",
    "plain": "neither: it stays as it is",
}
_TYPES = {
    "string": "text",
    "integer": "whole number",
    "float": "number",
    "date": "date",
    "datetime": "date and time",
    "ordered": "ordered text",
    "boolean": "yes or no",
}
_LISTED = 60  # values that are offered to be put in order
_TELLING = 0.01  # a share of rows that is worth a warning


def show(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.heading(
        "Describe the columns",
        "Shoal has guessed what each column is, and says why. You know better: go through them once.",
    )
    if not workspace.proposals:
        _look(workspace)
        return
    _legend()
    with theme.card():
        for name in workspace.choices:
            _line(page, name)
    foot = ui.refreshable(lambda: _foot(page))
    foot()
    page.on_change = page.on_counted = foot.refresh


def _foot(page: Page) -> None:
    workspace = page.workspace
    _together(workspace)
    ready = bool(workspace.of_role("quasi"))
    if not ready:
        theme.note("Mark at least one column as recognisable: what somebody could know of a person.", "warn")
    theme.forward("open", "Choose a goal", "goal", ready)


def _look(workspace: Workspace) -> None:
    """Count and judge the columns, once."""
    source = workspace.source
    assert source is not None
    if workspace.failure:
        theme.note(workspace.failure, "bad")
        return
    with theme.card(), theme.box("rowed"):
        ui.spinner(size="28px")
        theme.text("Looking at the columns", "strong", role="status")

    async def judge() -> None:
        if not workspace.profiles:
            await count(workspace, source)
            return
        profiles = dict(workspace.profiles)
        await workspace.once("proposals", lambda: workspace.suggest(source, profiles), workspace.prefill)

    ui.timer(0.05, judge, once=True)


def _legend() -> None:
    with theme.box("rowed").style("margin-bottom: 16px; gap: 8px 22px"):
        for role, name in ROLES.items():
            with theme.box("rowed").style("gap: 8px"):
                theme.badge(name, role)
                theme.text(_MEANING[role], "soft small", "span")


def _line(page: Page, name: str) -> None:
    workspace = page.workspace
    choice, profile = workspace.choices[name], workspace.profiles[name]
    told = ui.refreshable(lambda: _told(page, name))
    with theme.box("column-line", data_column=name):
        with theme.box():
            theme.text(name, "column-name")
            theme.text(f"{profile.values:,} values", "soft small")
            if profile.missing:
                theme.text(f"{profile.missing:,} missing", "soft small")
        _select(f"Role of {name}", ROLES, choice.role, _choosing(page, name, "role", told.refresh))
        types = {"": f"{_TYPES[profile.type]} (found)", **{t: _TYPES[t] for t in get_args(ColumnType)}}
        _select(f"Type of {name}", types, choice.type or "", _choosing(page, name, "type", told.refresh))
        told()


def _told(page: Page, name: str) -> None:
    """What follows from the choices for a column."""
    workspace = page.workspace
    choice, proposal = workspace.choices[name], workspace.proposals[name]
    with theme.box("why"):
        yours = "" if choice.role == proposal.role else f"Your choice. Suggested was {ROLES[proposal.role]}: "
        theme.text(f"{yours}{proposal.why}")
        for warning in warnings(workspace, name):
            theme.text(warning, "warn strong")
        if choice.type == "ordered":
            _order(page, name)
    with theme.box("tools"):
        if choice.role in ("quasi", "sensitive"):
            label = "Hierarchy ✓" if name in workspace.trees else "Hierarchy"
            made = theme.button(
                label, lambda: hierarchies.open_dialog(page, name), "flat", icon="account_tree"
            )
            made.tooltip("Group the values as they should be released")
            made.props["aria-label"] = f"Hierarchy of {name}"


def _order(page: Page, name: str) -> None:
    """The values of an ordered column, to be put in order."""
    workspace = page.workspace
    assert workspace.source is not None
    known = workspace.choices[name].order or tuple(_values(workspace, name))

    def change(event: events.ValueChangeEventArguments[str | None]) -> None:
        order = tuple(part.strip() for part in (event.value or "").split(",") if part.strip())
        workspace.choose(name, order=order)
        page.changed(redraw=False)

    workspace.choose(name, order=known)
    made = ui.input("Its values, from first to last", value=", ".join(known), on_change=change)
    made.props("outlined dense debounce=400")


def _values(workspace: Workspace, name: str) -> list[str]:
    assert workspace.source is not None
    distinct = workspace.source.table.column(name).drop_nulls().unique().head(_LISTED)
    return [str(value) for value in as_text(distinct).sort()]


def _select(
    label: str,
    options: dict[str, str],
    value: str,
    choose: Callable[[events.ValueChangeEventArguments[str]], None],
) -> None:
    made = ui.select(options, value=value, on_change=choose).props("outlined dense options-dense")
    theme.name(made, label)


def warnings(workspace: Workspace, name: str) -> Iterator[str]:
    """What is dangerous about the choice for a column."""
    choice, profile, proposal = workspace.choices[name], workspace.profiles[name], workspace.proposals[name]
    alone = profile.alone.uniqueness
    if choice.role != "identifier" and alone >= _TELLING:
        as_it_is = " and is released as it is" if choice.role in ("plain", "sensitive") else ""
        yield f"{name} alone singles out {theme.percent(alone)} of the people{as_it_is}"
    if proposal.role == "identifier" and choice.role != "identifier":
        yield "It looks like something that names a person"


def _choosing(
    page: Page, name: str, what: str, draw: Callable[[], object]
) -> Callable[[events.ValueChangeEventArguments[str]], None]:
    def choose(event: events.ValueChangeEventArguments[str]) -> None:
        page.workspace.choose(name, **{what: event.value or None})
        draw()
        page.changed(redraw=False)

    return choose


def _together(workspace: Workspace) -> None:
    """What the recognisable columns do together."""
    quasi = workspace.of_role("quasi")
    if not quasi:
        return
    now = workspace.known_now()
    if now is None:
        theme.text("Counting what these columns tell together", "soft small")
        count_now(workspace)
        return
    if isinstance(now, str):
        theme.note(now, "bad")
        return
    share = now.measures.uniqueness
    told = f"Together, the {len(quasi)} recognisable columns single out {theme.percent(share)} of the people"
    theme.note(f"{told}. This is what the next steps repair.", "warn" if share >= _TELLING else "")


def count_now(workspace: Workspace) -> None:
    """Count what the table has by what is chosen."""
    work = lambda: workspace.once("now", workspace.counting_now(), lambda _: None, quiet=True)  # noqa: E731
    ui.timer(0.05, work, once=True)
