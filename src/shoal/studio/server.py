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
from fastapi.responses import FileResponse, JSONResponse, Response
from nicegui import ui

from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES
from shoal.errors import InputError
from shoal.privacy import MODELS
from shoal.studio import pages
from shoal.studio.grid import fetch_rows
from shoal.studio.guard import Guard
from shoal.studio.state import StudioWorkspace
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
) -> None:
    """Run the studio until the process ends; ``at_exit`` is told what to do then."""
    # The page lists them all: a plugin whose name is taken is better told here than there.
    for table in (ALGORITHMS, MODELS, LOSSES, FORMATS):
        table.find_plugins()
    workspace = StudioWorkspace(byte_count("uploads", uploads))
    # Uploads that are still under way are written to temporary files, which are to go with the rest.
    tempfile.tempdir = str(workspace.folder)

    def end_studio() -> None:
        logging.disable()  # pages that are still open will miss the files, of which nobody needs to hear
        workspace.close()

    at_exit(end_studio)
    try:
        if file is not None:
            workspace.use_source(workspace.load_table(file))
        listener = _open_listener(port)
        number = listener.getsockname()[1]
        root = f"http://127.0.0.1:{number}"
        guarded = Guard(build_application(workspace), number, lambda: workspace.uploads.free_bytes)
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


def build_application(workspace: StudioWorkspace) -> FastAPI:
    """The pages, the rows they ask for and the files they offer; without the guard."""
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

    pages.register_pages(workspace)
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
