"""Step 2: what the columns are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import get_args

from nicegui import events, ui

from shoal.assessment.risks.suggestion import EQUIVALENT
from shoal.errors import InputError, ShoalError
from shoal.recipes.event_tables import split_column
from shoal.report.prose import capitalize_sentence
from shoal.studio import hierarchies, theme
from shoal.studio.describing.column_picker import ColumnPicker
from shoal.studio.describing.pictures import draw_column_risk, draw_distribution
from shoal.studio.page import Page
from shoal.studio.problems import find_type_problem
from shoal.studio.state import GROUPED, StudioWorkspace
from shoal.studio.steps.open_table import count_columns, draw_recipe_note, open_file
from shoal.studio.uploader import draw_uploader
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _
from shoal.table import ColumnType, to_strings
from shoal.table.formats import list_suffixes
from shoal.table.sets import check_separator, split_sets

ROLES = {
    "quasi": mark("Recognisable"),
    "set": mark("Several values"),
    "sensitive": mark("Sensitive"),
    "identifier": mark("Names a person"),
    "person": mark("Says whose row it is"),
    "plain": mark("Keep as it is"),
}
_MEANING = {
    "quasi": mark("somebody may know it of a person: it is made coarser"),
    "set": mark("cells have several values, as A|B, of which somebody may know some: rare ones are grouped"),
    "sensitive": mark("nobody should learn it of a person: it stays, but mixed"),
    "identifier": mark("points at one person: it is left out"),
    "person": mark("people have several rows: they are counted by it; it is left out, or a pseudonym"),
    "plain": mark("neither: it stays as it is"),
}
_TYPES = {
    "string": mark("text"),
    "integer": mark("whole number"),
    "float": mark("number"),
    "date": mark("date"),
    "datetime": mark("date and time"),
    "ordered": mark("ordered text"),
    "boolean": mark("yes or no"),
}
_FURTHER = mark(
    "Visits, laboratory tests or prescriptions, in files of their own. In the table above everybody then has "
    "one row."
)
_EVENT_ROLES = {role: words for role, words in ROLES.items() if role not in ("set", "person")}
_EXAMPLES = 5  # items of sets that are shown
_LISTED = 60  # values that are offered to be put in order
_TELLING = 0.01  # a share of rows that is worth a warning
_ROWS_OF_PERSON = 2.0, 50.0  # rows per value of a column that may say whose row it is


def draw_step(page: Page) -> None:
    """Draw the step."""
    workspace = page.workspace
    theme.draw_heading(
        _("Describe the columns"),
        _("Shoal has guessed what each column is, and says why. You know better: go through them once."),
    )
    if not workspace.proposals:
        _start_suggesting(workspace)
        return
    draw_recipe_note(workspace)
    _draw_notices(page)
    _draw_legend()
    picker = ColumnPicker(page, _name_roles(ROLES))
    picker.draw()
    risks: list[Callable[[], object]] = []
    for table in ("", *workspace.events):
        _draw_columns(page, table, picker, risks)
    picker.find_columns()  # a redraw keeps what is looked for
    foot = ui.refreshable(lambda: _draw_footer(page))
    foot()

    # Only the foot and the risks depend on all columns. The lines stay, and with them the cursor.
    def redraw_counts() -> None:
        for redraw_risk in risks:
            redraw_risk()
        foot.refresh()

    page.on_change = page.on_counted = redraw_counts


def _draw_columns(page: Page, table: str, picker: ColumnPicker, risks: list[Callable[[], object]]) -> None:
    """The columns of the table of people, or of a further one; not those that only join them."""
    workspace = page.workspace
    names = [
        name
        for name in workspace.choices
        if split_column(workspace.events, name)[0] == table and not workspace.is_join(name)
    ]
    if not table:
        with theme.card():
            risks += [_draw_column(page, name, picker) for name in names]
        return
    found = workspace.events[table]

    def remove_table() -> None:
        workspace.remove_events(table)
        page.mark_changed()

    with theme.card(
        _("Also: {file}", file=found.file), _("{rows:,} rows about the same people.", rows=found.table.rows)
    ):
        risks += [_draw_column(page, name, picker) for name in names]
        made = theme.button(_("Leave this table out"), remove_table, "flat", icon="close")
        made.props["aria-label"] = _("Leave {file} out", file=found.file)


def _draw_event_upload(page: Page) -> None:
    """A place for further tables about the same people."""
    workspace = page.workspace
    person = next(iter(workspace.of_role("person")), None)

    async def add_table(path: Path) -> None:
        source = workspace.source
        try:
            made = await asyncio.to_thread(workspace.load_events, path)
            if workspace.source is not source:
                raise InputError("another table was opened meanwhile: bring the file again")
        except ShoalError as error:
            workspace.further.failure = f"{capitalize_sentence(translate_message(str(error)))}."
            workspace.uploads.remove_file(path)
        else:
            workspace.add_events(made)
        page.mark_changed()

    with theme.card(_("Further tables about the same people"), _(_FURTHER), id="further"):
        for file in workspace.list_missing_events():
            theme.note(
                _("{taken} names the table {file}: bring it along here.", taken=workspace.taken, file=file),
                "warn",
            )
        if person is None:
            theme.text(
                _(
                    "First mark the column that all tables have as {person}, above.",
                    person=_(ROLES["person"]),
                ),
                "soft small",
            )
            return
        theme.text(
            _("{person} says whose row it is. Every further table needs this column, too.", person=person),
            "small",
        ).style("margin-bottom: 10px")
        if workspace.further.failure:
            theme.note(workspace.further.failure, "bad").style("margin-bottom: 10px")
        made = draw_uploader(
            workspace,
            add_table,
            _("A table of events"),
            ",".join(list_suffixes()),
            name=workspace.name_of_other,
        )
        made.props("bordered")


def _draw_footer(page: Page) -> None:
    workspace = page.workspace
    _draw_event_upload(page)
    _draw_combined_risk(workspace)
    count_contributions(workspace)
    for problem in list_type_problems(workspace):
        theme.note(problem, "bad")
    ready = bool(workspace.of_role("quasi")) and not list_type_problems(workspace)
    if not workspace.of_role("quasi"):
        theme.note(
            _(
                "Mark at least one column as recognisable: what somebody could know of a person. Columns of "
                "several values alone are for the command line."
            ),
            "warn",
        )
    theme.draw_step_buttons("open", _("Choose a goal"), "goal", ready)


def _start_suggesting(workspace: StudioWorkspace) -> None:
    """Count and judge the columns, once."""
    source = workspace.source
    assert source is not None
    if workspace.failure:
        theme.note(translate_message(workspace.failure), "bad")
        return
    with theme.card(), theme.box("rowed"):
        ui.spinner(size="28px")
        theme.text(_("Looking at the columns"), "strong", role="status")

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


def _draw_notices(page: Page) -> None:
    """What is seen in the table as a whole: texts that may mean missing, columns that say the same."""
    workspace = page.workspace
    source = workspace.source
    assert source is not None
    if workspace.markers:
        texts = sorted({text for found in workspace.markers.values() for text in found})

        async def read_as_missing() -> None:
            reading = replace(source.reading, na=tuple(dict.fromkeys((*source.reading.na, *texts))))
            await open_file(page, source.path, reading, source.sample)

        told = _(" and ").join(f"'{text}'" for text in texts)
        with theme.box("note warn", role="note", data_notice="missing"):
            ui.icon("help").props("aria-hidden=true")
            theme.text(
                _(
                    "{told} in {markers} looks like a missing value.",
                    told=told,
                    markers=", ".join(workspace.markers),
                )
            )
            theme.button(_("It means missing"), read_as_missing, "outline")
    for first, second in workspace.equivalent:
        theme.note(
            _(
                "{first} and {second} {equivalent}. Mark the other as Names a person to leave it out.",
                first=first,
                second=second,
                equivalent=translate_message(EQUIVALENT),
            )
        )


def _draw_legend() -> None:
    with theme.box("rowed").style("margin-bottom: 16px; gap: 8px 22px"):
        for role, name in _name_roles(ROLES).items():
            with theme.box("rowed").style("gap: 8px"):
                theme.badge(name, role)
                theme.text(_(_MEANING[role]), "soft small", "span")


def _name_roles(roles: Mapping[str, str]) -> dict[str, str]:
    """Roles, each with its name in the language of the reader."""
    return {role: _(name) for role, name in roles.items()}


def _draw_column(page: Page, name: str, picker: ColumnPicker) -> Callable[[], object]:
    """The line of a column; what is returned draws its risk anew, which depends on the other columns."""
    workspace = page.workspace
    choice, profile = workspace.choices[name], workspace.profiles[name]
    told = ui.refreshable(lambda: _draw_consequences(page, name))
    tools = ui.refreshable(lambda: _draw_tools(page, name))
    risk = ui.refreshable(lambda: draw_column_risk(workspace, name))
    with theme.box(f"column-line role-{choice.role}", data_column=name) as line:
        with theme.box("column-head"):
            picker.draw_checkbox(name, line)
            with theme.box():
                theme.text(name, "column-name")
                theme.text(_("{count:,} values", count=profile.distinct_values), "soft small")
                if profile.missing:
                    share = theme.format_percent(profile.missing / profile.alone.rows)
                    theme.text(
                        _("{missing:,} missing ({share})", missing=profile.missing, share=share), "soft small"
                    )
        draw_distribution(profile)

        def redraw_role() -> None:
            role = workspace.choices[name].role
            line.classes(replace=f"column-line role-{role}")  # in the colour of the legend
            told.refresh()
            tools.refresh()

        with theme.box("column-choice"):
            change_role = _make_choice_handler(page, name, "role", redraw_role)
            is_event = bool(split_column(workspace.events, name)[0])
            _draw_select(
                _("Role of {name}", name=name),
                _name_roles(_EVENT_ROLES if is_event else ROLES),
                choice.role,
                change_role,
            )
            # The empty key states no type: the recipe leaves it out, and it is inferred.
            types = {
                "": _("{type} (found)", type=_(_TYPES[profile.type])),
                **{t: _(_TYPES[t]) for t in get_args(ColumnType)},
            }
            change_type = _make_choice_handler(page, name, "type", told.refresh)
            _draw_select(_("Type of {name}", name=name), types, choice.type or "", change_type)
        with theme.box("why"):
            told()
            risk()
        with theme.box("tools"):
            tools()
    return risk.refresh


def _draw_consequences(page: Page, name: str) -> None:
    """What follows from the choices for a column, in words."""
    workspace = page.workspace
    choice, proposal = workspace.choices[name], workspace.proposals[name]
    yours = (
        ""
        if choice.role == proposal.role
        else _("Your choice. Suggested was {role}: ", role=_(ROLES[proposal.role]))
    )
    theme.text(f"{yours}{translate_message(proposal.why)}")
    for warning in list_warnings(workspace, name):
        theme.text(warning, "warn strong")
    if problem := workspace.type_problems.get(name):
        theme.text(problem, "bad strong", role="alert")
    if choice.type == "ordered":
        _draw_order_input(page, name)
    if choice.role == "sensitive":
        _draw_fold_checkbox(page, name)
    if choice.role == "set":
        _draw_separator_input(page, name)
    elif proposal.separator:
        _draw_set_offer(page, name)
    if may_say_person(workspace, name):
        _draw_person_offer(page, name)


def _draw_person_offer(page: Page, name: str) -> None:
    """Offer to count people by a column whose values repeat."""
    workspace = page.workspace
    assert workspace.source is not None
    values, rows = workspace.profiles[name].distinct_values, workspace.source.rows
    theme.text(
        _(
            "It repeats: {values:,} values in {rows:,} rows. Does it say whose row it is?",
            values=values,
            rows=rows,
        ),
        "strong",
    )

    def take_offer() -> None:
        workspace.change_choice(name, role="person")
        page.mark_changed()

    made = theme.button(_("Count people by it"), take_offer, "outline", icon="groups")
    made.props["aria-label"] = made.props["data-key"] = _("Count people by {name}", name=name)


def may_say_person(workspace: StudioWorkspace, name: str) -> bool:
    """Whether a column that is left out may say whose row it is: it repeats, and nobody is counted yet."""
    if workspace.source is None or workspace.of_role("person") or workspace.events:
        return False
    each = max(workspace.source.rows / max(workspace.profiles[name].distinct_values, 1), 1)
    low, high = _ROWS_OF_PERSON
    return workspace.choices[name].role == "identifier" and low <= each <= high


def _draw_tools(page: Page, name: str) -> None:
    """The way to the hierarchy of a column, while its role takes one."""
    workspace = page.workspace
    if workspace.choices[name].role not in GROUPED:
        return
    label = _("Hierarchy ✓") if name in workspace.trees else _("Hierarchy")
    made = theme.button(label, lambda: hierarchies.open_dialog(page, name), "flat", icon="account_tree")
    made.tooltip(_("Group the values as they should be released"))
    made.props["aria-label"] = _("Hierarchy of {name}", name=name)


def _draw_set_offer(page: Page, name: str) -> None:
    """Offer to protect the values of a cell one by one."""
    proposal = page.workspace.proposals[name]
    theme.text(
        _("It looks like a column of sets: {items}.", items=translate_message(proposal.items)), "strong"
    )

    def take_offer() -> None:
        page.workspace.change_choice(name, role="set", separator=proposal.separator)
        page.mark_changed()

    made = theme.button(_("Protect each value of a cell"), take_offer, "outline", icon="join_inner")
    made.props["aria-label"] = _("Protect each value of a cell of {name}", name=name)
    made.props["data-key"] = _("Protect each value of a cell of {name}", name=name)


def _draw_separator_input(page: Page, name: str) -> None:
    """What separates the values of a cell, and what they are then."""
    workspace = page.workspace
    shown = ui.refreshable(lambda: _draw_items(workspace, name))

    def set_separator(event: events.ValueChangeEventArguments[str | None]) -> None:
        workspace.change_choice(name, separator=event.value or "")
        shown.refresh()
        page.mark_changed(redraw=False)

    made = ui.input(
        _("Between two values"), value=workspace.choices[name].separator, on_change=set_separator
    ).props("outlined dense debounce=400")
    made.props["aria-label"] = _("Between two values of {name}", name=name)
    shown()


def _draw_items(workspace: StudioWorkspace, name: str) -> None:
    """The commonest values of the cells, so that a wrong separator is seen."""
    separator = workspace.choices[name].separator
    try:
        check_separator(name, separator)
    except ShoalError as error:
        theme.text(capitalize_sentence(str(error)), "warn strong")
        return
    assert workspace.source is not None
    items, row = split_sets(workspace.source.table.column(name), separator)
    common = (
        items.alias("item")
        .value_counts(name="rows")
        .sort(["rows", "item"], descending=[True, False], maintain_order=True)
    )
    told = ", ".join(common["item"].head(_EXAMPLES).to_list())
    theme.text(
        _(
            "{height:,} different values, {count:,} in all: {told}",
            height=common.height,
            count=len(items),
            told=told,
        ),
        "",
        "div",
    )
    if len(items) and len(items) == len(set(row.tolist())):
        theme.text(
            _("No cell has '{separator}' in it, so that every cell is one value", separator=separator),
            "warn strong",
        )


def _draw_fold_checkbox(page: Page, name: str) -> None:
    """Whether spellings of one value are one, such as HIV and hiv."""

    def set_fold(event: events.ValueChangeEventArguments[bool | None]) -> None:
        page.workspace.change_choice(name, fold=bool(event.value))
        page.mark_changed(redraw=False)

    made = ui.checkbox(
        _("Count spellings as one"), value=page.workspace.choices[name].fold, on_change=set_fold
    )
    made.props["dense"] = True
    made.props["aria-label"] = _("Count spellings of {name} as one", name=name)
    made.tooltip(_("HIV, hiv and HIV with a blank count as one value. They are released as they are."))


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
    made = ui.input(_("Its values, from first to last"), value=", ".join(known), on_change=set_order)
    made.props("outlined dense debounce=400")


def _list_values(workspace: StudioWorkspace, name: str) -> list[str]:
    distinct = (
        workspace.select_values(name).column(name).drop_nulls().unique(maintain_order=True).head(_LISTED)
    )
    return [str(value) for value in to_strings(distinct).sort()]


def _draw_select(
    label: str,
    options: dict[str, str],
    value: str,
    choose: Callable[[events.ValueChangeEventArguments[str]], Awaitable[None]],
) -> None:
    made = ui.select(options, value=value, on_change=choose).props("outlined dense options-dense")
    theme.label_control(made, label)


def list_warnings(workspace: StudioWorkspace, name: str) -> Iterator[str]:
    """What is dangerous about the choice for a column."""
    choice, profile, proposal = workspace.choices[name], workspace.profiles[name], workspace.proposals[name]
    alone = profile.alone.uniqueness
    if choice.role not in ("identifier", "person", "set") and alone >= _TELLING:
        as_it_is = _(" and is released as it is") if choice.role in ("plain", "sensitive") else ""
        whom = _("rows") if split_column(workspace.events, name)[0] else _("people")
        yield _(
            "{name} alone singles out {alone} of the {whom}{as_it_is}",
            name=name,
            alone=theme.format_percent(alone),
            whom=whom,
            as_it_is=as_it_is,
        )
    if proposal.role == "identifier" and choice.role not in ("identifier", "person"):
        yield _("It looks like something that names a person")


def _make_choice_handler(
    page: Page, name: str, what: str, draw: Callable[[], object]
) -> Callable[[events.ValueChangeEventArguments[str]], Awaitable[None]]:
    async def store_choice(event: events.ValueChangeEventArguments[str]) -> None:
        page.workspace.change_choice(name, **{what: event.value or None})
        draw()
        page.mark_changed(redraw=False)
        if what == "type":
            await _check_type(page, name)
            draw()
            page.on_change()

    return store_choice


async def _check_type(page: Page, name: str) -> None:
    """Whether the values of a column are of the type that was chosen."""
    workspace = page.workspace
    assert workspace.source is not None
    column = workspace.build_column(name)
    found = await asyncio.to_thread(find_type_problem, workspace.select_values(name), column)
    if name in workspace.choices:  # another table may be open by now
        workspace.type_problems[name] = found


def list_type_problems(workspace: StudioWorkspace) -> list[str]:
    """Types that do not fit, of columns for which the type matters."""
    return [
        problem
        for name, problem in workspace.type_problems.items()
        if problem and workspace.choices[name].role in ("quasi", "sensitive")
    ]


def _draw_combined_risk(workspace: StudioWorkspace) -> None:
    """What the recognisable columns do together; those of further tables are not counted here."""
    quasi = workspace.list_own("quasi")
    if not quasi:
        return
    now = workspace.get_current_measures()
    if now is None:
        theme.text(_("Counting what these columns tell together"), "soft small")
        count_now(workspace)
        return
    if isinstance(now, str):
        theme.note(now, "bad")
        return
    share = now.measures.uniqueness
    of_whom = _(" of the table of people") if workspace.events else ""
    told = _(
        "Together, the {count} recognisable columns{of_whom} single out {share} of the people",
        count=len(quasi),
        of_whom=of_whom,
        share=theme.format_percent(share),
    )
    theme.note(
        _("{told}. This is what the next steps repair.", told=told), "warn" if share >= _TELLING else ""
    )


def count_now(workspace: StudioWorkspace) -> None:
    """Count what the table has by what is chosen."""
    # Quiet, since a redraw of the whole page would take the cursor out of an input.
    work = lambda: workspace.run_once("now", workspace.make_current_counter(), lambda _: None, quiet=True)  # noqa: E731
    ui.timer(0.05, work, once=True)


def count_contributions(workspace: StudioWorkspace) -> None:
    """Count what each column adds, unless that is known."""
    if workspace.get_contributions() is None and workspace.list_own("quasi"):
        counter = workspace.make_contribution_counter()
        work = lambda: workspace.run_once("added", counter, lambda _: None, quiet=True)  # noqa: E731
        ui.timer(0.05, work, once=True)
