"""The server: one process, one user, on loopback."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response
from nicegui import app as nicegui_app
from nicegui import ui

from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES
from shoal.errors import InputError
from shoal.privacy import MODELS
from shoal.recipes.project import SUFFIX, Project
from shoal.studio import pages
from shoal.studio.grid import fetch_rows
from shoal.studio.guard import Guard
from shoal.studio.journal import Journal
from shoal.studio.keys import KEY
from shoal.studio.state import StudioWorkspace
from shoal.studio.teaching import build_lesson
from shoal.support.language import check_language
from shoal.support.parameters import byte_count
from shoal.table.formats import FORMATS

PORT = 8475


def serve_studio(
    file: Path | None,
    port: int | None,
    browser: bool,
    say: Callable[[str], object],
    at_exit: Callable[[Callable[[], object]], object],
    uploads: str,
    hand_over: Callable[[Path], object] | None = None,
    language: str | None = None,
) -> None:
    """Run the studio until the process ends; ``at_exit`` is told what to do then.

    Without ``language`` it speaks the one that the browser prefers.
    With ``hand_over`` the last step offers to return a release: it is called with the folder of its run.
    """
    # The page lists them all: a plugin whose name is taken is better told here than there.
    for table in (ALGORITHMS, MODELS, LOSSES, FORMATS):
        table.find_plugins()
    workspace = StudioWorkspace(byte_count("uploads", uploads))
    workspace.hand_over = hand_over
    workspace.language = None if language is None else check_language(language)
    # Uploads that are still under way are written to temporary files, which are to go with the rest.
    tempfile.tempdir = str(workspace.folder)

    def end_studio() -> None:
        logging.disable()  # pages that are still open will miss the files, of which nobody needs to hear
        workspace.close()

    at_exit(end_studio)
    try:
        journal = Journal(workspace)
        if file is not None:
            _open_file(workspace, journal, file)
        listener = _open_listener(port)
        number = listener.getsockname()[1]
        root = f"http://127.0.0.1:{number}"
        guarded = Guard(build_application(workspace, journal), number, lambda: workspace.uploads.free_bytes)
        say(f"Shoal Studio is at {root}/{guarded.key}/\nCtrl-C ends it and removes what was uploaded.")
        if browser:
            # Others may see what a browser is started with, so that is not the address itself.
            webbrowser.open(f"{root}{guarded.make_ticket()}")
        config = uvicorn.Config(
            guarded, log_level="error", server_header=False, proxy_headers=False, ws="websockets-sansio"
        )
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
    finally:
        workspace.close()


def _open_file(workspace: StudioWorkspace, journal: Journal, file: Path) -> None:
    """Open a table, or a project with the table that lies beside it."""
    if file.suffix.lower() == SUFFIX:
        project = Project.load(file)
        journal.take_project(project, file)
        named = workspace.waiting.input if workspace.waiting is not None else None
        if named is None or not (file.parent / Path(named).name).is_file():
            return
        file = file.parent / Path(named).name
    workspace.use_source(workspace.load_table(file))


def _open_listener(port: int | None) -> socket.socket:
    """A socket on loopback: at the port that is asked for, or the usual one, or any that is free."""
    for each in (port,) if port is not None else (PORT, 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere it would let another program listen at the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", each))
            listener.listen()  # at once: a browser may be faster than the server
        except (OSError, OverflowError):
            listener.close()
            continue
        return listener
    raise InputError(f"port {port} cannot be used: leave --port out to take any that is free")


def build_application(workspace: StudioWorkspace, journal: Journal | None = None) -> FastAPI:
    """The pages, the rows they ask for and the files they offer; without the guard."""
    journal = journal or Journal(workspace)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/rows/{which}")
    def get_rows(which: str, start: int = 0, count: int = 40) -> Response:
        return JSONResponse(fetch_rows(workspace, which, start, count), headers={"Cache-Control": "no-store"})

    @app.get("/download/{number}/{name}")
    def download_file(number: int, name: str, look: bool = False) -> Response:
        run = workspace.find_run(number)
        path = None if run is None or run.number != number else run.list_files().get(name)
        if path is None:
            return Response("there is no such file", 404)
        how = "inline" if look and path.suffix == ".html" else "attachment"
        headers = {"Cache-Control": "no-store"}
        return FileResponse(path, filename=name, headers=headers, content_disposition_type=how)

    @app.get("/teach/{name}")
    def show_lesson(name: str) -> Response:
        lesson = build_lesson(workspace, name)
        if lesson is None:
            return Response("there is no such lesson", 404)
        return HTMLResponse(lesson, headers={"Cache-Control": "no-store"})

    @app.get("/key/{number}")
    def download_key(number: int) -> Response:
        path = workspace.find_key(number)
        if path is None:
            return Response("there is no such key", 404)
        return FileResponse(path, filename=KEY, headers={"Cache-Control": "no-store"})

    pages.register_pages(workspace, journal)
    # Its bar at the top would move with every request, without a name for those who do not see it.
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = True
    ui.run_with(
        app,
        title="Shoal Studio",
        favicon=Path(__file__).with_name("favicon.svg"),
        dark=None,
        language="en-US",
        reconnect_timeout=10,
        tailwind=False,
        show_welcome_message=False,
    )
    return app
