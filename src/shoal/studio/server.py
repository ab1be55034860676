"""The server: one process, one user, on loopback."""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from fastapi.responses import FileResponse, JSONResponse, Response
from nicegui import ui

from shoal.errors import InputError
from shoal.studio import pages
from shoal.studio.grid import page_of
from shoal.studio.guard import Guard
from shoal.studio.state import Workspace

PORT = 8475
LIMIT = 2_000_000_000
"""Bytes that may be uploaded at once; larger tables are named on the command line, which copies nothing."""


def serve(
    file: Path | None,
    port: int | None,
    browser: bool,
    say: Callable[[str], object],
    at_exit: Callable[[Callable[[], object]], object],
) -> None:
    """Run the studio until the process ends; ``at_exit`` is told what to do then."""
    workspace = Workspace()

    def end() -> None:
        logging.disable()  # pages that are still open will miss the files, of which nobody needs to hear
        workspace.close()

    at_exit(end)
    try:
        if file is not None:
            workspace.take(workspace.load(file))
        listener = _listener(port)
        address = listener.getsockname()[1]
        token = secrets.token_urlsafe(24)
        guarded = Guard(application(workspace), address, token, LIMIT)
        url = f"http://127.0.0.1:{address}/?token={token}"
        say(f"Shoal Studio is at {url}\nCtrl-C ends it and removes what was uploaded.")
        if browser:
            webbrowser.open(url)
        config = uvicorn.Config(
            guarded, log_level="error", server_header=False, proxy_headers=False, ws="websockets-sansio"
        )
        asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))
    finally:
        workspace.close()


def _listener(port: int | None) -> socket.socket:
    """A socket on loopback: at the port that is asked for, or the usual one, or any that is free."""
    for each in (port,) if port is not None else (PORT, 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", each))
            listener.listen()  # at once: a browser may be faster than the server
        except (OSError, OverflowError):
            listener.close()
            continue
        return listener
    raise InputError(f"port {port} cannot be used: leave --port out to take any that is free")


def application(workspace: Workspace) -> FastAPI:
    """The pages, the rows they ask for and the files they offer; without the guard."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/rows/{which}")
    def rows(which: str, start: int = 0, count: int = 40) -> Response:
        return JSONResponse(page_of(workspace, which, start, count), headers={"Cache-Control": "no-store"})

    @app.get("/download/{number}/{name}")
    def download(number: int, name: str, look: bool = False) -> Response:
        run = workspace.run(number)
        path = None if run is None or run.number != number else run.files().get(name)
        if path is None:
            return Response("there is no such file", 404)
        how = "inline" if look and path.suffix == ".html" else "attachment"
        headers = {"Cache-Control": "no-store"}
        return FileResponse(path, filename=name, headers=headers, content_disposition_type=how)

    pages.build(workspace)
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
