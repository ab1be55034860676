"""Step 2: what the columns are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from nicegui import events, ui

from shoal.studio import hierarchies, theme
from shoal.studio.page import Page
from shoal.studio.state import StudioWorkspace
from shoal.studio.steps.open_table import count_columns
from shoal.table import ColumnType, to_strings

ROLES = {
    "quasi": "Recognisable",
    "sensitive": "Sensitive",
    "identifier": "Names a person",
    "person": "Says whose row it is",
    "plain": "Keep as it is",
}
_MEANING = {
    "quasi": "somebody may know it of a person: it is made coarser",
    "sensitive": "nobody should learn it of a person: it stays, but mixed",
    "identifier": "points at one person: it is left out",
    "person": "people have several rows: they are counted by it; it is left out, or a pseudonym",
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


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        "Describe the columns",
        "Shoal has guessed what each column is, and says why. You know better: go through them once.",
    )
    if not workspace.proposals:
        _start_suggesting(workspace)
        return
    _draw_legend()
    with theme.card():
        for name in workspace.choices:
            _draw_column(page, name)
    foot = ui.refreshable(lambda: _draw_footer(page))
    foot()
    # Only the foot depends on all columns. The lines stay, and with them the cursor.
    page.on_change = page.on_counted = foot.refresh


def _draw_footer(page: Page) -> None:
    workspace = page.workspace
    _draw_combined_risk(workspace)
    ready = bool(workspace.of_role("quasi"))
    if not ready:
        theme.note("Mark at least one column as recognisable: what somebody could know of a person.", "warn")
    theme.draw_step_buttons("open", "Choose a goal", "goal", ready)


def _start_suggesting(workspace: StudioWorkspace) -> None:
    """Count and judge the columns, once."""
    source = workspace.source
    assert source is not None
    if workspace.failure:
        theme.note(workspace.failure, "bad")
        return
    with theme.card(), theme.box("rowed"):
        ui.spinner(size="28px")
        theme.text("Looking at the columns", "strong", role="status")

    async def suggest_roles() -> None:
        # Once the columns are counted the page redraws, and the proposals are made then.
        if not workspace.profiles:
            await count_columns(workspace, source)
            return
        profiles = dict(workspace.profiles)
        await workspace.run_once(
            "proposals", lambda: workspace.suggest_roles(source, profiles), workspace.prefill_choices
        )

    ui.timer(0.05, suggest_roles, once=True)


def _draw_legend() -> None:
    with theme.box("rowed").style("margin-bottom: 16px; gap: 8px 22px"):
        for role, name in ROLES.items():
            with theme.box("rowed").style("gap: 8px"):
                theme.badge(name, role)
                theme.text(_MEANING[role], "soft small", "span")


def _draw_column(page: Page, name: str) -> None:
    workspace = page.workspace
    choice, profile = workspace.choices[name], workspace.profiles[name]
    told = ui.refreshable(lambda: _draw_consequences(page, name))
    with theme.box("column-line", data_column=name):
        with theme.box():
            theme.text(name, "column-name")
            theme.text(f"{profile.distinct_values:,} values", "soft small")
            if profile.missing:
                theme.text(f"{profile.missing:,} missing", "soft small")
        _draw_select(
            f"Role of {name}", ROLES, choice.role, _make_choice_handler(page, name, "role", told.refresh)
        )
        # The empty key states no type: the recipe leaves it out, and it is inferred.
        types = {"": f"{_TYPES[profile.type]} (found)", **{t: _TYPES[t] for t in get_args(ColumnType)}}
        _draw_select(
            f"Type of {name}",
            types,
            choice.type or "",
            _make_choice_handler(page, name, "type", told.refresh),
        )
        told()


def _draw_consequences(page: Page, name: str) -> None:
    """What follows from the choices for a column."""
    workspace = page.workspace
    choice, proposal = workspace.choices[name], workspace.proposals[name]
    with theme.box("why"):
        yours = "" if choice.role == proposal.role else f"Your choice. Suggested was {ROLES[proposal.role]}: "
        theme.text(f"{yours}{proposal.why}")
        for warning in list_warnings(workspace, name):
            theme.text(warning, "warn strong")
        if choice.type == "ordered":
            _draw_order_input(page, name)
        if choice.role == "sensitive":
            _draw_fold_checkbox(page, name)
    with theme.box("tools"):
        if choice.role in ("quasi", "sensitive"):
            label = "Hierarchy ✓" if name in workspace.trees else "Hierarchy"
            made = theme.button(
                label, lambda: hierarchies.open_dialog(page, name), "flat", icon="account_tree"
            )
            made.tooltip("Group the values as they should be released")
            made.props["aria-label"] = f"Hierarchy of {name}"


def _draw_fold_checkbox(page: Page, name: str) -> None:
    """Whether spellings of one value are one, such as HIV and hiv."""

    def set_fold(event: events.ValueChangeEventArguments[bool | None]) -> None:
        page.workspace.change_choice(name, fold=bool(event.value))
        page.mark_changed(redraw=False)

    made = ui.checkbox("Count spellings as one", value=page.workspace.choices[name].fold, on_change=set_fold)
    made.props["dense"] = True
    made.props["aria-label"] = f"Count spellings of {name} as one"
    made.tooltip("HIV, hiv and HIV with a blank count as one value. They are released as they are.")


def _draw_order_input(page: Page, name: str) -> None:
    """The values of an ordered column, to be put in order."""
    workspace = page.workspace
    assert workspace.source is not None
    known = workspace.choices[name].order or tuple(_list_values(workspace, name))

    def set_order(event: events.ValueChangeEventArguments[str | None]) -> None:
        order = tuple(part.strip() for part in (event.value or "").split(",") if part.strip())
        workspace.change_choice(name, order=order)
        page.mark_changed(redraw=False)

    # Kept even if nobody changes it: the type needs an order, and the page shows this one.
    workspace.change_choice(name, order=known)
    made = ui.input("Its values, from first to last", value=", ".join(known), on_change=set_order)
    made.props("outlined dense debounce=400")


def _list_values(workspace: StudioWorkspace, name: str) -> list[str]:
    assert workspace.source is not None
    distinct = workspace.source.table.column(name).drop_nulls().unique(maintain_order=True).head(_LISTED)
    return [str(value) for value in to_strings(distinct).sort()]


def _draw_select(
    label: str,
    options: dict[str, str],
    value: str,
    choose: Callable[[events.ValueChangeEventArguments[str]], None],
) -> None:
    made = ui.select(options, value=value, on_change=choose).props("outlined dense options-dense")
    theme.label_control(made, label)


def list_warnings(workspace: StudioWorkspace, name: str) -> Iterator[str]:
    """What is dangerous about the choice for a column."""
    choice, profile, proposal = workspace.choices[name], workspace.profiles[name], workspace.proposals[name]
    alone = profile.alone.uniqueness
    if choice.role != "identifier" and alone >= _TELLING:
        as_it_is = " and is released as it is" if choice.role in ("plain", "sensitive") else ""
        yield f"{name} alone singles out {theme.format_percent(alone)} of the people{as_it_is}"
    if proposal.role == "identifier" and choice.role != "identifier":
        yield "It looks like something that names a person"


def _make_choice_handler(
    page: Page, name: str, what: str, draw: Callable[[], object]
) -> Callable[[events.ValueChangeEventArguments[str]], None]:
    def store_choice(event: events.ValueChangeEventArguments[str]) -> None:
        page.workspace.change_choice(name, **{what: event.value or None})
        draw()
        page.mark_changed(redraw=False)

    return store_choice


def _draw_combined_risk(workspace: StudioWorkspace) -> None:
    """What the recognisable columns do together."""
    quasi = workspace.of_role("quasi")
    if not quasi:
        return
    now = workspace.get_current_measures()
    if now is None:
        theme.text("Counting what these columns tell together", "soft small")
        count_now(workspace)
        return
    if isinstance(now, str):
        theme.note(now, "bad")
        return
    share = now.measures.uniqueness
    told = (
        f"Together, the {len(quasi)} recognisable columns single out {theme.format_percent(share)} "
        "of the people"
    )
    theme.note(f"{told}. This is what the next steps repair.", "warn" if share >= _TELLING else "")


def count_now(workspace: StudioWorkspace) -> None:
    """Count what the table has by what is chosen."""
    # Quiet, since a redraw of the whole page would take the cursor out of an input.
    work = lambda: workspace.run_once("now", workspace.make_current_counter(), lambda _: None, quiet=True)  # noqa: E731
    ui.timer(0.05, work, once=True)
