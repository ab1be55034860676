"""The command itself: what it says where it cannot start, and how it starts a browser."""

import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
from tests.browser.studio.conftest import Server

ABSENT = """
import sys
sys.modules["nicegui"], sys.argv = None, ["shoal", "studio"]
from shoal.cli import main
main()
"""


def said(*command: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.exhaustive
def test_without_the_extra_it_says_what_to_install():
    assert said("-c", ABSENT) == (
        2,
        "error: this needs nicegui, which is not installed: pip install 'shoal[studio]'\n",
    )


@pytest.mark.exhaustive
def test_a_file_that_is_not_there_is_named():
    code, text = said("-m", "shoal", "studio", "nowhere.csv", "--no-browser")
    assert (code, text) == (2, "error: nowhere.csv: no such file\n")


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        code, text = said("-m", "shoal", "studio", "--no-browser", "--port", str(port))
    assert (code, text) == (
        2,
        f"error: port {port} cannot be used: leave --port out to take any that is free\n",
    )


def test_the_browser_is_started_with_an_address_that_works_once(tmp_path, monkeypatch):
    program, told = tmp_path / "browser", tmp_path / "told"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}.part && mv {told}.part {told}\n')
    program.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(program))
    server = Server(folder=tmp_path, browser=True)
    try:
        while not told.exists() and server.process.poll() is None:
            time.sleep(0.05)
        address = told.read_text()
        assert address.startswith(f"http://127.0.0.1:{server.port}/")
        assert server.key not in address
        path = urlsplit(address).path
        assert server.shake(path.rstrip("/")) == 403  # which does not use it up
        status, headers, _ = server.ask(path)
        assert (status, headers["location"]) == (303, server.base)
        assert server.ask(path)[0] == 403
        assert server.ask(server.base)[0] == 307
    finally:
        server.stop()
