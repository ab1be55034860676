"""Shoal Studio: the local web app, `shoal studio`.

::

    server.py       starts everything: socket on loopback, token, uvicorn; the routes /rows and /download
    guard.py        the ASGI gate: Host, Origin, token, upload limit, headers
    state.py        Workspace: all that the user opened, chose and ran; on the server, one per studio
    running.py      Run: a process of its own per run, its progress, its files (`Run.report`, `Run.figures`)
    worker.py       what that process does; figures.py counts what pages show of a run beyond its report
    process.py      Process: how the studio starts, hears and ends what runs beside it
    profile.py      what the head of a column shows
    presets.py      goals in plain words
    page.py         Page: what a step gets; `page.workspace`, `page.changed()`, `page.go("run")`
    pages.py        the rail of six steps around a step; registers the pages
    steps/          one file per step, each with `show(page)`
    exploring/      the sections of the step Explore; insight.py counts for them, in the process of the run
    attacking.py    Attack: simulated attacks on a run, in a process of their own
    hierarchies.py  `open_dialog(page, column)`: the workshop that Describe opens; tree.js is its tree
    drafting.py     Draft: a hierarchy while it is made there
    grid.py, .js    `Grid(source, rows, heads)`: a table of any length, rows fetched from /rows/<source>,
                    which `page_of` answers; cells may carry a share in `tints` to be coloured by
    theme.py        the pieces that pages are made of; *.css their look (no utility classes are loaded)

A step draws itself from the workspace alone. What it changes it changes there, from the event loop, and then
calls ``page.changed()``: this page draws itself anew at once, other tabs within half a second. What takes
long goes through ``workspace.once(name, work, use)``: ``work`` in a thread, ``use`` on the event loop.
Texts of a table are shown by `theme.text` and the like, never as markup; charts are `theme.drawing` of what
`shoal.report.svg` drew. Imported by nothing but the command, since NiceGUI is an extra.
"""
