"""Shoal Studio: the local web app, `shoal studio`.

::

    server.py       starts everything: socket on loopback, guard, uvicorn; the routes /rows, /download, /teach
    guard.py        checks every request first: Host, Origin, key in the path, size; adds headers
    uploads.py      Uploads: the files of the user, their limit in bytes, when they are removed
    uploader.py     `draw_uploader(workspace, use)`: a place to drop a file on
    private.py      files that nobody else may read
    state.py        StudioWorkspace: all that the user opened, chose and ran; on the server, one per studio
    event_tables.py EventTable: a further table about the same people, with what was found in its columns
    running.py      Run: a process of its own per run, its progress, its files (`Run.report`, `Run.figures`)
    worker.py       what that process does; figures.py counts what pages show of a run beyond its report
    process.py      ChildProcess: how the studio starts, hears and ends what runs beside it
    profile.py      what the head of a column shows
    contributions.py  what each column adds to the risk; describing/ draws it, and chooses many at once
    presets.py      goals in plain words
    journal.py      Journal: every decision, to be undone, logged, and saved in a project
    projects.py     the project in the page; its file is that of `shoal.recipes.project`
    dossiers.py     the dossier in the step Release
    opening.py      `shoal.studio(frame)`: a studio in a process of its own (handover.py), and what it returns
    page.py         Page: what a step gets; `page.workspace`, `page.mark_changed()`, `page.open_step("run")`
    pages.py        the rail of six steps around a step; registers the pages
    steps/          one file per step, each with `draw_step(page)`
    exploring/      the sections of the step Explore; insight.py counts for them, in the process of the run
    attacking.py    AttackRun: simulated attacks on a run, in a process of their own
    teaching.py     lessons on a small table, each in a tab of its own; the route /teach
    hierarchies.py  `open_dialog(page, column)`: the dialog that Describe opens; tree.js is its tree
    drafting.py     HierarchyDraft: a hierarchy while it is made there
    grid.py, .js    `Grid(source, rows, heads)`: a table of any length, rows fetched from /rows/<source>,
                    which `fetch_rows` answers; cells may carry a share in `tints` to be coloured by
    theme.py        the pieces that pages are made of; *.css their look (no utility classes are loaded)

A step draws itself from the workspace alone. What it changes it changes there, from the event loop,
and then calls ``page.mark_changed()``: this page draws itself anew at once, other tabs within half
a second. What takes long goes through ``workspace.run_once(name, work, use)``: ``work`` in a
thread, ``use`` on the event loop. Texts of a table are shown by `theme.text` and the like, never as
markup; charts are `theme.draw_chart` of what `shoal.report.svg` drew. Links are relative
(``download/1/x.csv``), since the key comes before them and only the guard knows it; `ui.navigate`
takes ``/goal`` and puts the key before it. Imported by nothing but the command, since NiceGUI is an
extra.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """Lets ``shoal.studio(frame)`` be a call, although the package has the same name."""

    def __call__(self, source: Any, **how: Any) -> Any:
        from shoal.studio.opening import studio  # noqa: PLC0415  which needs all of Shoal

        return studio(source, **how)


sys.modules[__name__].__class__ = _CallableModule
