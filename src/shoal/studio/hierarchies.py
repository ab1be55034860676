"""The workshop for hierarchies: see, build, group, import and export.

`open_dialog` is called by the step Describe for a column; it changes ``workspace.trees[column]`` and then
calls ``page.changed()``. What is being made is a `Draft`, which this file only draws.
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

from shoal.building import grow, value_rows
from shoal.errors import ShoalError
from shoal.hierarchies import BUILDERS, READY, Hierarchy
from shoal.hierarchies.formats import FORMATS
from shoal.hierarchies.sources import list_source
from shoal.parameters import describe, name_of
from shoal.studio import theme
from shoal.studio.drafting import AT_ONCE, MOST_EDITED, Draft, Look, Path
from shoal.studio.page import Page

_LIMIT = 50_000_000
_KINDS = ".csv,.tsv,.toml,.tree,.txt"
_WRITTEN = {"CSV (ARX)": ("arx", "csv"), "TOML": ("toml", "toml"), "Outline": ("outline", "tree")}
_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Way:
    """A way to make a hierarchy, in plain words."""

    name: str
    words: str
    dials: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Parameters of the builder: what the page calls each, and an example."""


WAYS: dict[str, Way] = {
    "auto": Way("What suits the column", "Shoal looks at the values and chooses."),
    "hand": Way("Groups by hand", "Begin with the bare values, and put them into groups of your own."),
    "ready": Way("Ready-made", "Countries, ages, education and the like; they come with Shoal."),
    "file": Way("From a file", "A hierarchy that you have: CSV of ARX or anjana, TOML, an outline, domains."),
    "intervals": Way(
        "Intervals",
        "Numbers in ranges of equal width, wider on each level.",
        {"widths": ("Widths, narrowest first", "5, 10, 20"), "start": ("A range begins at", "0")},
    ),
    "boundaries": Way(
        "Intervals between limits",
        "Numbers in ranges between the limits that you name.",
        {"boundaries": ("Limits", "18, 30, 65"), "factor": ("Ranges that become one above", "2")},
    ),
    "quantiles": Way(
        "Intervals with as many rows",
        "Numbers in ranges that hold about equally many rows.",
        {"parts": ("How many ranges", "8"), "factor": ("Ranges that become one above", "2")},
    ),
    "mask": Way(
        "Prefixes",
        "Codes of which less and less is shown: 10115, 101**, 1****.",
        {
            "keep": ("Characters shown, most first", "3, 1"),
            "side": ("Hidden first: right or left", "right"),
            "character": ("Shown instead", "*"),
        },
    ),
    "dates": Way(
        "Dates",
        "Days in months, quarters, years and decades.",
        {"spans": ("Spans, shortest first", "month, quarter, year, decade")},
    ),
    "order": Way(
        "Neighbours together",
        "Values in their order, neighbours put together again and again.",
        {"sizes": ("How many become one", "2")},
    ),
    "frequency": Way(
        "Rare values together",
        "Values that few rows have become one group; the others stay.",
        {"below": ("Rare is below this share", "0.01, 0.05")},
    ),
    "learned": Way(
        "Learned from the table",
        "Values together that go with the same values of other columns.",
        {"groups": ("Groups on each level", "8, 4, 2")},
    ),
}


class TreeBox(Element, component="tree.js"):
    """A tree; only what is open of it is sent."""

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self._props["label"] = f"Hierarchy of {draft.column}"
        self.show(draft)

    def show(self, draft: Draft) -> None:
        """Draw what has changed; the line with the cursor keeps it."""
        self._props["lines"] = draft.lines()
        self._props["editable"] = draft.editable
        self.update()


def open_dialog(page: Page, column: str) -> None:
    """Show the hierarchy of a column, to be changed."""
    # Not in the part of the page that other tabs and counts draw anew.
    with context.client.content, ui.dialog().props("persistent") as dialog:
        Workshop(page, column, dialog).show()
    dialog.props["aria-label"] = f"Hierarchy of {column}"
    dialog.on("hide", dialog.delete)
    dialog.open()


class Workshop:
    """The dialog."""

    def __init__(self, page: Page, column: str, dialog: ui.dialog) -> None:
        self.page, self.column, self.dialog = page, column, dialog
        self.draft = Draft(column, {})
        self.way = ""
        self.said: dict[str, dict[str, str]] = {}
        """The parameters of each way, as typed."""
        self.ready = "countries"
        self.target = ""
        self.error = ""
        self.busy = True
        self._asked = 0

    def show(self) -> None:
        """Draw it, and count the values of the column."""
        with ui.card().classes("workshop"):
            with theme.box("workshop-head"):
                with theme.box(""):
                    theme.text(f"Hierarchy of {self.column}", "", "h2")
                    theme.text(
                        "When a value has to become coarser, the hierarchy says what it becomes: first its "
                        "group, then the group above.",
                        "soft small",
                    )
                close = theme.button("", self.dialog.close, "flat", icon="close")
                close.props('aria-label="Close without a change"')
            with theme.box("workshop-body"):
                with theme.box("workshop-side"):
                    self.sidebar = ui.refreshable(self._sidebar)
                    self.sidebar()
                with theme.box("workshop-main"):
                    self.main = ui.refreshable(self._main)
                    self.main()
            with theme.box("workshop-foot"):
                self.foot = ui.refreshable(self._foot)
                self.foot()
        ui.timer(0.01, self._begin, once=True)

    async def _begin(self) -> None:
        source = self.page.workspace.source
        assert source is not None
        counts = await asyncio.to_thread(value_rows, source.table, self.column)
        self.draft = Draft(self.column, counts)
        tree = self.page.workspace.trees.get(self.column)
        if tree is None:
            self.way = "auto"
            self.sidebar.refresh()
            await self._build()
            return
        look = await asyncio.to_thread(Look.at, tree, counts)
        self.draft.take(tree, look)
        self.busy = False
        for part in (self.sidebar, self.main, self.foot):
            part.refresh()

    # How it is made.

    def _sidebar(self) -> None:
        ways = {key: way.name for key, way in WAYS.items()}
        label = "How to make one" if self.draft.tree is None else "Make another"
        ui.select(ways, value=self.way or None, label=label, on_change=self._choose_way).props(
            "outlined dense options-dense"
        )
        if not self.way:
            theme.text(
                "This is the hierarchy that the column has. Change it by hand, or make another.", "small"
            )
            return
        way = WAYS[self.way]
        theme.text(way.words, "soft small")
        if self.way == "ready":
            self._ready()
        elif self.way == "file":
            self._upload()
        for name, (words, example) in way.dials.items():
            self._dial(name, words, example)
        if self.way == "learned":
            self._target()

    async def _choose_way(self, event: events.ValueChangeEventArguments[str]) -> None:
        self.way = event.value
        self.sidebar.refresh()
        await self._build()

    def _dial(self, name: str, words: str, example: str) -> None:
        said = self.said.setdefault(self.way, {})

        async def turn(event: events.ValueChangeEventArguments[str | None]) -> None:
            said[name] = event.value or ""
            await self._build()

        ui.input(words, value=said.get(name, ""), placeholder=f"for example {example}", on_change=turn).props(
            "outlined dense stack-label debounce=400"
        )

    def _target(self) -> None:
        assert self.page.workspace.source is not None
        names = [name for name in self.page.workspace.source.table.names if name != self.column]

        async def turn(event: events.ValueChangeEventArguments[str]) -> None:
            self.target = event.value
            await self._build()

        options = {"": "all other columns", **{name: name for name in names}}
        ui.select(options, value=self.target, label="What they go with", on_change=turn).props(
            "outlined dense options-dense"
        )

    def _ready(self) -> None:
        async def turn(event: events.ValueChangeEventArguments[str]) -> None:
            self.ready = event.value
            self.sidebar.refresh()
            await self._build()

        ui.select(
            {name: f"@{name}" for name in READY}, value=self.ready, label="Which", on_change=turn
        ).props("outlined dense options-dense")
        theme.text(READY[self.ready].description, "soft small")

    def _upload(self) -> None:
        async def uploaded(event: events.UploadEventArguments) -> None:
            path = self.page.workspace.place(event.file.name)
            await event.file.save(path)
            await self._try(partial(self._read, path))

        ui.upload(
            label="Drop a file here, or choose one with +",
            auto_upload=True,
            max_file_size=_LIMIT,
            on_upload=uploaded,
            on_rejected=lambda: ui.notify(
                "This file is larger than 50 MB, or of another kind.", type="negative"
            ),
        ).props(f"flat accept={_KINDS}").classes("drop")

    def _read(self, path: File) -> Callable[[], None]:
        """Read a file; what errors call it is what the user calls it."""
        try:
            listing = list_source(path, self.column)
            self.draft.read(listing)
        except ShoalError as error:
            raise type(error)(str(error).replace(f"{path.parent}/", "")) from error
        return lambda: None

    async def _build(self) -> None:
        """Make what is asked for, in a thread; only the last wish counts."""
        if self.way == "file":
            return
        if self.way == "hand":
            await self._try(lambda: self.draft.ungrouped)
        elif self.way == "ready":
            listing = partial(list_source, f"@{self.ready}")
            await self._try(lambda: partial(self.draft.read, listing()))
        else:
            said = {key: value for key, value in self.said.get(self.way, {}).items() if value.strip()}
            await self._try(partial(self._grown, self.way, said, self.target))

    def _grown(self, way: str, said: dict[str, str], target: str) -> Callable[[], None]:
        workspace = self.page.workspace
        assert workspace.source is not None
        bare = replace(workspace.column(self.column), hierarchy=None)
        goes_with = target if way == "learned" and target else None
        built = grow(workspace.source.table, bare, way, said, goes_with)
        look = Look.at(built.hierarchy, self.draft.counts)
        return partial(self._built, look, name_of(BUILDERS, built.builder), describe(built.builder))

    def _built(self, look: Look, method: str, parameters: dict[str, Any]) -> None:
        """Take what was built; what was chosen by itself is named, so that it can be changed."""
        self.draft.take(look.tree, look)
        if self.way == "auto":
            self.way = method
            texts = {
                key: ", ".join(map(str, v)) if isinstance(v, tuple) else str(v)
                for key, v in parameters.items()
            }
            self.said[method] = {key: text for key, text in texts.items() if key in WAYS[method].dials}
            self.sidebar.refresh()

    async def _try(self, work: Callable[[], Callable[[], object]]) -> None:
        """Do something that may fail in a thread, and use what it gives unless something newer was asked."""
        self._asked += 1
        asked, self.error, self.busy = self._asked, "", True
        self.foot.refresh()
        try:
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

    def _main(self) -> None:
        if self.error:
            theme.note(self.error, "bad")
        draft = self.draft
        if draft.problems:
            self._problems()
        elif warning := draft.warning():
            theme.note(warning, "warn")
        if draft.tree is None:
            if self.busy:
                with theme.box("rowed"):
                    ui.spinner(size="24px")
                    theme.text("Looking at the values", "strong", role="status")
            return
        self.preview = ui.refreshable(self._preview)
        self.preview()
        theme.text("The tree", "", "h3").style("margin-top: 14px")
        self.tools = ui.refreshable(self._tools)
        self.tools()
        with theme.box("tree-frame"):
            self.tree = tree = TreeBox(draft)
        tree.on("toggle", lambda event: self._toggle(_path(event.args)))
        tree.on("more", lambda event: self._more(_path(event.args)))
        tree.on("mark", lambda event: self._mark(_path(event.args)))
        tree.on("drop", lambda event: self._drop(event.args))

    def _problems(self) -> None:
        draft = self.draft
        usable = draft.tree is not None
        with theme.box("note warn problems", role="alert"):
            ui.icon("warning").props("aria-hidden=true")
            with theme.box("stacked"):
                many = len(draft.problems)
                theme.text(f"{many:,} thing{'s' if many > 1 else ''} to put right", "strong")
                for problem in draft.problems[:_MOST_PROBLEMS]:
                    theme.text(f"{problem.message[:1].upper()}{problem.message[1:]}: {problem.fix}.", "small")
                if many > _MOST_PROBLEMS:
                    theme.text(f"and {many - _MOST_PROBLEMS:,} more", "small soft")
                with theme.box("rowed"):
                    theme.button("Put all of this right", self._fix, "outline", icon="build")
                    if usable:
                        theme.text("or use it as it is.", "small")

    def _fix(self) -> None:
        self.draft.fix()
        self.main.refresh()
        self.foot.refresh()

    def _preview(self) -> None:
        tree = self.draft.tree
        assert tree is not None
        theme.text("What values become", "", "h3")
        heads = ["value"]
        for level, names in enumerate(tree.names[1:], start=1):
            heads.append(f"level {level} · {len(names):,} groups" if level < tree.height else "all")
        with theme.box("preview"):
            theme.table(heads, self.draft.look().samples)
        if unused := self.draft.look().unused:
            theme.text(f"{unused:,} values of the hierarchy do not occur in the column.", "soft small")

    def _tools(self) -> None:
        """What can be done with the marked nodes, without dragging them."""
        draft = self.draft
        if not draft.editable:
            told = f"More than {MOST_EDITED:,} values: to be looked at, not to be regrouped by hand."
            theme.text(told, "soft small")
            return
        theme.text(
            "Drag values and groups onto a group. Or mark them (space) and use the boxes below.", "soft small"
        )
        marked = len(draft.chosen)
        with theme.box("tree-tools"):
            theme.text(f"{marked:,} marked", "small strong", role="status")
            name = ui.input("Name of a new group").props("outlined dense")
            theme.button("Make the group", lambda: self._edit(self._group, name.value), "outline")
            groups = {(): draft.tree.root if draft.tree else "*"} | {
                p: " / ".join(p) for p in draft.view().groups()
            }
            into = ui.select(groups, label="Put into", with_input=len(groups) > 12).props(
                "outlined dense options-dense"
            )
            theme.button("Move", lambda: self._edit(self._move, into.value), "outline")
            if marked == 1:
                (path,) = draft.chosen
                theme.button("Rename", lambda: self._edit(draft.rename, path, name.value), "flat")
                theme.button("Take apart", lambda: self._edit(draft.dissolve, path), "flat")

    def _group(self, name: str | None) -> None:
        self.draft.group(sorted(self.draft.chosen), name or "")

    def _move(self, into: Path | None) -> None:
        if into is not None:
            self.draft.move(sorted(self.draft.chosen), into)

    def _edit(self, what: Callable[..., None], *arguments: Any) -> None:
        try:
            what(*arguments)
        except ShoalError as error:
            ui.notify(str(error), type="negative", multi_line=True)
            return
        self.preview.refresh()
        self.tools.refresh()
        self.tree.show(self.draft)
        self.tree.run_method("settle")

    def _toggle(self, path: Path) -> None:
        self.draft.open ^= {path}
        self.tree.show(self.draft)

    def _more(self, path: Path) -> None:
        self.draft.more[path] = self.draft.more.get(path, AT_ONCE) + 4 * AT_ONCE
        self.tree.show(self.draft)

    def _mark(self, path: Path) -> None:
        self.draft.chosen ^= {path}
        self.tools.refresh()
        self.tree.show(self.draft)

    def _drop(self, dropped: dict[str, Any]) -> None:
        paths, into = [_path(each) for each in dropped["paths"]], _path(dropped["into"])
        if dropped["empty"]:
            self._edit(self.draft.group, paths, into[0])
        else:
            self._edit(self.draft.move, paths, into)

    # The end.

    def _foot(self) -> None:
        tree = self.draft.tree
        with theme.box("rowed"):
            theme.button("No hierarchy", lambda: self._use(None), "flat", icon="delete").tooltip(
                "Numbers and dates are then put into ranges, other values into sets"
            )
            for label, (format, suffix) in _WRITTEN.items():
                save = theme.button(label, partial(self._export, format, suffix), "flat", icon="download")
                save.set_enabled(tree is not None)
                save.props(f'aria-label="Save as {label}"')
        with theme.box("rowed"):
            theme.button("Cancel", self.dialog.close, "flat")
            use = theme.button("Use this hierarchy", lambda: self._use(self.draft.tree), icon="check")
            use.set_enabled(tree is not None and not self.busy)

    def _export(self, format: str, suffix: str) -> None:
        assert self.draft.tree is not None
        try:
            text = FORMATS[format].text(self.column, self.draft.tree)
        except ShoalError as error:
            ui.notify(str(error), type="negative", multi_line=True)
            return
        ui.download.content(text, f"{self.column}.{suffix}")

    def _use(self, tree: Hierarchy | None) -> None:
        trees = self.page.workspace.trees
        if tree is None:
            trees.pop(self.column, None)
        else:
            trees[self.column] = tree
        self.dialog.close()
        self.page.changed()


def _path(labels: Any) -> Path:
    return tuple(map(str, labels))
