"""Many columns at once: find some by name, choose them, and give all of them a role."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import events, ui
from nicegui.element import Element

from shoal.recipes.event_tables import split_column
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.support.language import translate as _

_FIND, _PICKED = "find column", "picked columns"  # keys in `StudioWorkspace.looks`
_FEWEST = 2  # columns for which this is of use


class ColumnPicker:
    """What is looked for and what is chosen in one page; both outlive a redraw."""

    def __init__(self, page: Page, roles: Mapping[str, str]) -> None:
        self._page, self._roles = page, roles
        self._lines: dict[str, Element] = {}
        self._boxes: dict[str, ui.checkbox] = {}
        known = page.workspace.choices
        page.workspace.looks[_PICKED] = {
            name for name in page.workspace.looks.get(_PICKED, ()) if name in known
        }

    @property
    def _picked(self) -> set[str]:
        picked: set[str] = self._page.workspace.looks[_PICKED]
        return picked

    @property
    def _is_useful(self) -> bool:
        return len(self._page.workspace.choices) >= _FEWEST

    def draw(self) -> None:
        """Draw what stands above the columns."""
        if not self._is_useful:
            return
        with theme.box("card picker", role="search", aria_label=_("Columns")), theme.box("rowed"):
            ui.input(
                _("Find a column"),
                value=self._page.workspace.looks.get(_FIND, ""),
                on_change=self._look_for,
            ).props('outlined dense clearable debounce=150 clear-icon="close"')
            theme.button(_("Choose all shown"), self._choose_shown, "flat", icon="done_all")
            self._draw_change()
            self._none = theme.text(_("No column is called so."), "soft small", role="status")

    @ui.refreshable_method
    def _draw_change(self) -> None:
        """The role for the chosen columns, once there are some."""
        count = len(self._picked)
        if not count:
            return
        theme.text(_("{count} chosen", count=count), "strong small", role="status")
        role = ui.select(dict(self._roles), value="quasi").props("outlined dense options-dense")
        theme.label_control(role, _("Role of the chosen columns"))
        theme.button(_("Give them this role"), lambda: self._change_roles(role.value), "outline")
        theme.button(_("Choose none"), self._choose_none, "flat")

    def draw_checkbox(self, name: str, line: Element) -> None:
        """Draw what chooses one column; ``line`` is hidden while another is looked for."""
        self._lines[name] = line
        if not self._is_useful:
            return

        def pick_column(event: events.ValueChangeEventArguments[bool | None]) -> None:
            if event.value:
                self._picked.add(name)
            else:
                self._picked.discard(name)
            self._draw_change.refresh()

        made = ui.checkbox(value=name in self._picked, on_change=pick_column).props("dense")
        made.props["aria-label"] = _("Choose {name}", name=name)
        self._boxes[name] = made

    def _look_for(self, event: events.ValueChangeEventArguments[str | None]) -> None:
        self._page.workspace.looks[_FIND] = event.value or ""
        self.find_columns()

    def find_columns(self) -> None:
        """Show the columns whose names have what is looked for."""
        shown = self._list_shown()
        for name, line in self._lines.items():
            line.set_visibility(name in shown)
        if self._is_useful:
            self._none.set_visibility(not shown)

    def _list_shown(self) -> list[str]:
        wanted = str(self._page.workspace.looks.get(_FIND, "")).casefold().strip()
        return [name for name in self._lines if wanted in name.casefold()]

    def _choose_shown(self) -> None:
        for name in self._list_shown():
            self._boxes[name].set_value(True)

    def _choose_none(self) -> None:
        for box in self._boxes.values():
            box.set_value(False)

    def _change_roles(self, role: Any) -> None:
        workspace = self._page.workspace
        left = set()
        for name in sorted(self._picked):
            # Columns of further tables have fewer roles, and one person column counts people.
            if role in ("set", "person") and split_column(workspace.events, name)[0]:
                left.add(name)
                continue
            workspace.change_choice(name, role=role)
        if left:
            ui.notify(
                _("Only the table of people has this role: {left}", left=", ".join(sorted(left))),
                type="warning",
            )
        workspace.looks[_PICKED] = left
        self._page.mark_changed()
