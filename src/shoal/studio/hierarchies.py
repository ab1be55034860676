"""The dialog for hierarchies: see, build, group, import and export.

`open_dialog` is called by the step Describe for a column; it changes ``workspace.trees[column]`` and then
calls ``page.mark_changed()``. What is being made is a `HierarchyDraft`, which this file only draws.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path as File
from typing import Any

from nicegui import events, ui
from nicegui.context import context
from nicegui.element import Element

from shoal.codespace.building import build_from_table, count_value_rows
from shoal.errors import ShoalError
from shoal.report.prose import capitalize_sentence
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.recipe_draft import AT_ONCE, MOST_EDITED, HierarchyDraft, Path, TreeSummary
from shoal.studio.uploader import draw_uploader
from shoal.support.filenames import file_names
from shoal.support.language import current_language, mark, translate_count, translate_message
from shoal.support.language import translate as _
from shoal.support.parameters import describe_parameters, name_of
from shoal.table.hierarchies import BUILDERS, READY, Hierarchy
from shoal.table.hierarchies.formats import FORMATS
from shoal.table.hierarchies.sources import list_source

_LIMIT = 50_000_000  # bytes of a file with a hierarchy
_KINDS = ".csv,.tsv,.toml,.tree,.txt"
_WRITTEN = {"CSV (ARX)": ("arx", "csv"), "TOML": ("toml", "toml"), "Outline": ("outline", "tree")}
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class BuildMethod:
    """A way to make a hierarchy, in plain words."""

    name: str
    words: str
    dials: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Parameters of the builder: what the page calls each, and an example."""


# The names of BUILDERS, and four that are no builders: auto, hand, ready and file.
WAYS: dict[str, BuildMethod] = {
    "auto": BuildMethod(mark("What suits the column"), mark("Shoal looks at the values and chooses.")),
    "hand": BuildMethod(
        mark("Groups by hand"), mark("Begin with the bare values, and put them into groups of your own.")
    ),
    "ready": BuildMethod(
        mark("Ready-made"), mark("Countries, ages, education and the like; they come with Shoal.")
    ),
    "file": BuildMethod(
        mark("From a file"),
        mark("A hierarchy that you have: CSV of ARX or anjana, TOML, an outline, domains."),
    ),
    "intervals": BuildMethod(
        mark("Intervals"),
        mark("Numbers in ranges of equal width, wider on each level."),
        {"widths": (mark("Widths, narrowest first"), "5, 10, 20"), "start": (mark("A range begins at"), "0")},
    ),
    "boundaries": BuildMethod(
        mark("Intervals between limits"),
        mark("Numbers in ranges between the limits that you name."),
        {"boundaries": (mark("Limits"), "18, 30, 65"), "factor": (mark("Ranges that become one above"), "2")},
    ),
    "quantiles": BuildMethod(
        mark("Intervals with as many rows"),
        mark("Numbers in ranges that hold about equally many rows."),
        {"parts": (mark("How many ranges"), "8"), "factor": (mark("Ranges that become one above"), "2")},
    ),
    "mask": BuildMethod(
        mark("Prefixes"),
        mark("Codes of which less and less is shown: 10115, 101**, 1****."),
        {
            "keep": (mark("Characters shown, most first"), "3, 1"),
            "side": (mark("Hidden first: right or left"), "right"),
            "character": (mark("Shown instead"), "*"),
        },
    ),
    "dates": BuildMethod(
        mark("Dates"),
        mark("Days in months, quarters, years and decades."),
        {"spans": (mark("Spans, shortest first"), "month, quarter, year, decade")},
    ),
    "order": BuildMethod(
        mark("Neighbours together"),
        mark("Values in their order, neighbours put together again and again."),
        {"sizes": (mark("How many become one"), "2")},
    ),
    "frequency": BuildMethod(
        mark("Rare values together"),
        mark("Values that few rows have become one group; the others stay."),
        {"below": (mark("Rare is below this share"), "0.01, 0.05")},
    ),
    "learned": BuildMethod(
        mark("Learned from the table"),
        mark("Values together that go with the same values of other columns."),
        {"groups": (mark("Groups on each level"), "8, 4, 2")},
    ),
}


class TreeElement(Element, component="tree.js"):
    """A tree; only what is open of it is sent."""

    def __init__(self, draft: HierarchyDraft) -> None:
        super().__init__()
        self._props["label"] = _("Hierarchy of {column}", column=draft.column)
        self._props["locale"] = current_language()
        self._props["words"] = {
            "empty": _("holds nothing yet"),
            "row": _("{0} row"),
            "rows": _("{0} rows"),
            "value": _("{0} value"),
            "values": _("{0} values"),
            "more": _("Show more: {0} left"),
            "mark": _("Mark {0}"),
        }
        self.show_draft(draft)

    def show_draft(self, draft: HierarchyDraft) -> None:
        """Draw what has changed; the line with the cursor keeps it."""
        self._props["lines"] = draft.list_lines()
        self._props["editable"] = draft.is_editable
        self.update()


def open_dialog(page: Page, column: str) -> None:
    """Show the hierarchy of a column, to be changed."""
    # Not in the part of the page that other tabs and counts draw anew.
    with context.client.content, ui.dialog().props("persistent") as dialog:
        HierarchyDialog(page, column, dialog).draw_dialog()
    dialog.props["aria-label"] = _("Hierarchy of {column}", column=column)
    dialog.on("hide", dialog.delete)
    dialog.open()


class HierarchyDialog:
    """The dialog."""

    def __init__(self, page: Page, column: str, dialog: ui.dialog) -> None:
        self.page, self.column, self.dialog = page, column, dialog
        self.draft = HierarchyDraft(column, {})
        self.way = ""
        self.said: dict[str, dict[str, str]] = {}
        """The parameters of each way, as typed."""
        self.ready = "countries"
        self.target = ""
        self.error = ""
        self.busy = True
        self._asked = 0  # counts requests, so that only the last one is used

    def draw_dialog(self) -> None:
        """Draw it, and count the values of the column."""
        with ui.card().classes("workshop"):
            with theme.box("workshop-head"):
                with theme.box(""):
                    theme.text(_("Hierarchy of {column}", column=self.column), "", "h2")
                    theme.text(
                        _(
                            "When a value has to become coarser, the hierarchy says what it "
                            "becomes: first its "
                            "group, then the group above."
                        ),
                        "soft small",
                    )
                close = theme.button("", self.dialog.close, "flat", icon="close")
                close.props["aria-label"] = _("Close without a change")
            with theme.box("workshop-body"):
                with theme.box("workshop-side"):
                    # Three parts, redrawn separately: an input keeps the cursor.
                    self.sidebar = ui.refreshable(self._draw_sidebar)
                    self.sidebar()
                with theme.box("workshop-main"):
                    self.main = ui.refreshable(self._draw_main)
                    self.main()
            with theme.box("workshop-foot"):
                self.foot = ui.refreshable(self._draw_footer)
                self.foot()
        # The dialog opens at once; counting the values of a long column takes a while.
        ui.timer(0.01, self._load_values, once=True)

    async def _load_values(self) -> None:
        self.values = await asyncio.to_thread(self.page.workspace.select_values, self.column)
        counts = await asyncio.to_thread(count_value_rows, self.values, self.column)
        self.draft = HierarchyDraft(self.column, counts)
        tree = self.page.workspace.trees.get(self.column)
        if tree is None:
            self.way = "auto"
            self.sidebar.refresh()
            await self._build_hierarchy()
            return
        look = await asyncio.to_thread(TreeSummary.from_counts, tree, counts)
        self.draft.replace_tree(tree, look)
        self.busy = False
        for part in (self.sidebar, self.main, self.foot):
            part.refresh()

    # How it is made.

    def _draw_sidebar(self) -> None:
        ways = {key: _(way.name) for key, way in WAYS.items()}
        label = _("How to make one") if self.draft.tree is None else _("Make another")
        ui.select(ways, value=self.way or None, label=label, on_change=self._choose_way).props(
            "outlined dense options-dense"
        )
        if not self.way:
            theme.text(
                _("This is the hierarchy that the column has. Change it by hand, or make another."), "small"
            )
            return
        way = WAYS[self.way]
        theme.text(_(way.words), "soft small")
        if self.way == "ready":
            self._draw_ready_made()
        elif self.way == "file":
            self._draw_upload()
        for name, (words, example) in way.dials.items():
            self._draw_parameter(name, words, example)
        if self.way == "learned":
            self._draw_target()

    async def _choose_way(self, event: events.ValueChangeEventArguments[str]) -> None:
        self.way = event.value
        self.sidebar.refresh()
        await self._build_hierarchy()

    def _draw_parameter(self, name: str, words: str, example: str) -> None:
        said = self.said.setdefault(self.way, {})

        async def set_parameter(event: events.ValueChangeEventArguments[str | None]) -> None:
            said[name] = event.value or ""
            await self._build_hierarchy()

        ui.input(
            words,
            value=said.get(name, ""),
            placeholder=_("for example {example}", example=example),
            on_change=set_parameter,
        ).props("outlined dense stack-label debounce=400")

    def _draw_target(self) -> None:
        names = [name for name in self.values.names if name != self.column]

        async def set_target(event: events.ValueChangeEventArguments[str]) -> None:
            self.target = event.value
            await self._build_hierarchy()

        options = {"": _("all other columns"), **{name: name for name in names}}
        ui.select(options, value=self.target, label=_("What they go with"), on_change=set_target).props(
            "outlined dense options-dense"
        )

    def _draw_ready_made(self) -> None:
        async def set_ready_made(event: events.ValueChangeEventArguments[str]) -> None:
            self.ready = event.value
            self.sidebar.refresh()
            await self._build_hierarchy()

        ui.select(
            {name: f"@{name}" for name in READY}, value=self.ready, label=_("Which"), on_change=set_ready_made
        ).props("outlined dense options-dense")
        theme.text(READY[self.ready].description, "soft small")

    def _draw_upload(self) -> None:
        async def read_upload(path: File) -> None:
            await self._run_in_thread(partial(self._read_file, path))

        draw_uploader(
            self.page.workspace, read_upload, _("Drop a file with a hierarchy here"), _KINDS, _LIMIT
        )

    def _read_file(self, path: File) -> Callable[[], None]:
        """Read a file, and remove it; what errors call it is what the user calls it."""
        try:
            listing = list_source(path, self.column)
            self.draft.read_listing(listing)
        except ShoalError as error:
            # The folder of an upload means nothing to the user.
            raise type(error)(str(error).replace(f"{path.parent}/", "")) from error
        finally:
            self.page.workspace.uploads.remove_file(path)
        return lambda: None  # the draft has the rows already

    async def _build_hierarchy(self) -> None:
        """Make what is asked for, in a thread; only the last wish counts."""
        if self.way == "file":  # nothing to build until a file is there
            return
        if self.way == "hand":
            await self._run_in_thread(lambda: self.draft.start_ungrouped)
        elif self.way == "ready":
            listing = partial(list_source, f"@{self.ready}")
            await self._run_in_thread(lambda: partial(self.draft.read_listing, listing()))
        else:
            said = {key: value for key, value in self.said.get(self.way, {}).items() if value.strip()}
            await self._run_in_thread(partial(self._grow_hierarchy, self.way, said, self.target))

    def _grow_hierarchy(self, way: str, said: dict[str, str], target: str) -> Callable[[], None]:
        workspace = self.page.workspace
        assert workspace.source is not None
        # Under the present hierarchy every string would count as a value, damaged ones as well.
        bare = replace(workspace.build_column(self.column), hierarchy=None)
        goes_with = target if way == "learned" and target else None
        built = build_from_table(self.values, bare, way, said, goes_with)
        # Still in the thread, since a large tree takes a while here, too.
        look = TreeSummary.from_counts(built.hierarchy, self.draft.counts)
        return partial(
            self._store_built_tree, look, name_of(BUILDERS, built.builder), describe_parameters(built.builder)
        )

    def _store_built_tree(self, look: TreeSummary, method: str, parameters: dict[str, Any]) -> None:
        """Take what was built; what was chosen by itself is named, so that it can be changed."""
        self.draft.replace_tree(look.tree, look)
        if self.way == "auto":
            self.way = method
            texts = {
                key: ", ".join(map(str, v)) if isinstance(v, tuple) else str(v)
                for key, v in parameters.items()
            }
            self.said[method] = {key: text for key, text in texts.items() if key in WAYS[method].dials}
            self.sidebar.refresh()

    async def _run_in_thread(self, work: Callable[[], Callable[[], object]]) -> None:
        """Do something that may fail in a thread, and use what it gives unless something newer was asked."""
        self._asked += 1
        asked, self.error, self.busy = self._asked, "", True
        self.foot.refresh()
        try:
            # The thread only prepares: `read_upload` changes the page, so it runs on the event loop.
            use = await asyncio.to_thread(work)
            if asked == self._asked:
                use()
        except ShoalError as error:
            self.error = str(error)
        if asked == self._asked:
            self.busy = False
            self.main.refresh()
            self.foot.refresh()

    # What it looks like.

    def _draw_main(self) -> None:
        if self.error:
            theme.note(translate_message(self.error), "bad")
        draft = self.draft
        if draft.problems:
            self._draw_problems()
        elif warning := draft.describe_uncovered():
            theme.note(warning, "warn")
        if draft.tree is None:
            if self.busy:
                with theme.box("rowed"):
                    ui.spinner(size="24px")
                    theme.text(_("Looking at the values"), "strong", role="status")
            return
        self.preview = ui.refreshable(self._draw_preview)
        self.preview()
        theme.text(_("The tree"), "", "h3").style("margin-top: 14px")
        self.tools = ui.refreshable(self._draw_tools)
        self.tools()
        with theme.box("tree-frame"):
            self.tree = tree = TreeElement(draft)
        tree.on("toggle", lambda event: self._toggle_node(_parse_path(event.args)))
        tree.on("more", lambda event: self._show_more(_parse_path(event.args)))
        tree.on("mark", lambda event: self._mark_node(_parse_path(event.args)))
        tree.on("drop", lambda event: self._drop_nodes(event.args))

    def _draw_problems(self) -> None:
        draft = self.draft
        usable = draft.tree is not None
        with theme.box("note warn problems", role="alert"):
            ui.icon("warning").props("aria-hidden=true")
            with theme.box("stacked"):
                many = len(draft.problems)
                theme.text(
                    translate_count("{number:,} thing to put right", "{number:,} things to put right", many),
                    "strong",
                )
                for problem in draft.problems[:_MOST_PROBLEMS]:
                    what = capitalize_sentence(translate_message(problem.message))
                    theme.text(f"{what}: {translate_message(problem.fix)}.", "small")
                if many > _MOST_PROBLEMS:
                    theme.text(_("and {many:,} more", many=many - _MOST_PROBLEMS), "small soft")
                with theme.box("rowed"):
                    theme.button(_("Put all of this right"), self._fix_problems, "outline", icon="build")
                    if usable:
                        theme.text(_("or use it as it is."), "small")

    def _fix_problems(self) -> None:
        self.draft.apply_fixes()
        self.main.refresh()
        self.foot.refresh()

    def _draw_preview(self) -> None:
        tree = self.draft.tree
        assert tree is not None
        theme.text(_("What values become"), "", "h3")
        heads = [_("value")]
        for level, names in enumerate(tree.names[1:], start=1):
            heads.append(
                _("level {level} · {count:,} groups", level=level, count=len(names))
                if level < tree.height
                else _("all")
            )
        with theme.box("preview"):
            theme.draw_table(heads, self.draft.get_summary().samples)
        if unused := self.draft.get_summary().unused:
            theme.text(
                _("{unused:,} values of the hierarchy do not occur in the column.", unused=unused),
                "soft small",
            )

    def _draw_tools(self) -> None:
        """What can be done with the marked nodes, without dragging them."""
        draft = self.draft
        if not draft.is_editable:
            told = _(
                "More than {most_edited:,} values: to be looked at, not to be regrouped by hand.",
                most_edited=MOST_EDITED,
            )
            theme.text(told, "soft small")
            return
        theme.text(
            _("Drag values and groups onto a group. Or mark them (space) and use the boxes below."),
            "soft small",
        )
        marked = len(draft.chosen)
        with theme.box("tree-tools"):
            theme.text(_("{marked:,} marked", marked=marked), "small strong", role="status")
            name = ui.input(_("Name of a new group")).props("outlined dense")
            theme.button(
                _("Make the group"), lambda: self._apply_edit(self._group_marked, name.value), "outline"
            )
            groups = {(): draft.tree.root if draft.tree else "*"} | {
                p: " / ".join(p) for p in draft.get_view().list_groups()
            }
            into = ui.select(groups, label=_("Put into"), with_input=len(groups) > 12).props(
                "outlined dense options-dense"
            )
            theme.button(_("Move"), lambda: self._apply_edit(self._move_marked, into.value), "outline")
            if marked == 1:
                (path,) = draft.chosen
                theme.button(
                    _("Rename"), lambda: self._apply_edit(draft.rename_group, path, name.value), "flat"
                )
                theme.button(_("Take apart"), lambda: self._apply_edit(draft.dissolve_group, path), "flat")

    def _group_marked(self, name: str | None) -> None:
        self.draft.group_nodes(sorted(self.draft.chosen), name or "")

    def _move_marked(self, into: Path | None) -> None:
        if into is not None:
            self.draft.move_nodes(sorted(self.draft.chosen), into)

    def _apply_edit(self, what: Callable[..., None], *arguments: Any) -> None:
        try:
            what(*arguments)
        except ShoalError as error:
            ui.notify(translate_message(str(error)), type="negative", multi_line=True)
            return
        self.preview.refresh()
        self.tools.refresh()
        self.tree.show_draft(self.draft)
        self.tree.run_method("settle")  # the button has taken the focus from the tree

    def _toggle_node(self, path: Path) -> None:
        self.draft.open ^= {path}
        self.tree.show_draft(self.draft)

    def _show_more(self, path: Path) -> None:
        self.draft.more[path] = self.draft.more.get(path, AT_ONCE) + 4 * AT_ONCE
        self.tree.show_draft(self.draft)

    def _mark_node(self, path: Path) -> None:
        self.draft.chosen ^= {path}
        self.tools.refresh()
        self.tree.show_draft(self.draft)

    def _drop_nodes(self, dropped: dict[str, Any]) -> None:
        paths, into = [_parse_path(each) for each in dropped["paths"]], _parse_path(dropped["into"])
        # An empty group is only a name in the draft: its first nodes make it a group of the tree.
        if dropped["empty"]:
            self._apply_edit(self.draft.group_nodes, paths, into[0])
        else:
            self._apply_edit(self.draft.move_nodes, paths, into)

    # The end.

    def _draw_footer(self) -> None:
        tree = self.draft.tree
        with theme.box("rowed"):
            theme.button(_("No hierarchy"), lambda: self._use_tree(None), "flat", icon="delete").tooltip(
                _("Numbers and dates are then put into ranges, other values into sets")
            )
            for label, (format, suffix) in _WRITTEN.items():
                save = theme.button(
                    label, partial(self._export_file, format, suffix), "flat", icon="download"
                )
                save.set_enabled(tree is not None)
                save.props["aria-label"] = _("Save as {format}", format=label)
        with theme.box("rowed"):
            theme.button(_("Cancel"), self.dialog.close, "flat")
            use = theme.button(_("Use this hierarchy"), lambda: self._use_tree(self.draft.tree), icon="check")
            use.set_enabled(tree is not None and not self.busy)

    def _export_file(self, format: str, suffix: str) -> None:
        assert self.draft.tree is not None
        try:
            text = FORMATS[format].text(self.column, self.draft.tree)
        except ShoalError as error:
            ui.notify(translate_message(str(error)), type="negative", multi_line=True)
            return
        # Names of columns can hold what no file name may hold, such as a slash.
        ui.download.content(text, file_names([self.column], f".{suffix}")[self.column])

    def _use_tree(self, tree: Hierarchy | None) -> None:
        trees = self.page.workspace.trees
        if tree is None:
            trees.pop(self.column, None)
        else:
            trees[self.column] = tree
        self.dialog.close()
        self.page.mark_changed()


def _parse_path(labels: Any) -> Path:
    return tuple(map(str, labels))
