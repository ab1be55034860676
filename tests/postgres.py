"""A server of PostgreSQL for tests: started on a free port, with a user and a password, and ended."""

import getpass
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, PASSWORD = "shoal", "kept in the environment"


def find_programs() -> Path | None:
    """The folder with initdb and postgres; None where there is no server."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    server = shutil.which("postgres")
    folders = [Path(server).resolve().parent] if server else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def choose_user() -> str | None:
    """Who runs the server, which root may not; None where nobody else is there."""
    if os.geteuid() != 0:
        return getpass.getuser()
    names = {each.pw_name for each in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in names), None)


@contextmanager
def run_server() -> Iterator[str]:
    """Lend the address of a server that has one empty database."""
    programs, user = find_programs(), choose_user()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    folder.chmod(0o755)
    shutil.chown(folder, user)
    secret = folder / "secret"
    secret.write_text(PASSWORD)
    shutil.chown(secret, user)
    as_user = {"user": user} if os.geteuid() == 0 else {}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begin = [programs / "initdb", "-D", folder / "data", "-U", USER, "-A", "scram-sha-256", "-N"]
    server = None
    try:
        subprocess.run([*begin, "--pwfile", secret], check=True, cwd=folder, **quiet, **as_user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        line = [
            programs / "postgres",
            "-D",
            folder / "data",
            "-k",
            folder,
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
        ]
        log = folder / "log"
        with log.open("wb") as stream:
            told = {**quiet, "stderr": stream}
            server = subprocess.Popen([*line, "-F"], cwd=folder, **told, **as_user)
        while "ready to accept connections" not in log.read_text(errors="replace"):
            assert server.poll() is None, log.read_text(errors="replace")
            time.sleep(0.1)
        yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
    finally:
        if server is not None:
            server.send_signal(signal.SIGINT)  # clients that are left are sent away
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)
