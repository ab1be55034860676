"""Nothing in Shoal needs a network, or looks for one.

Every line of `LINES` is run in a process in which to look up or to call any address but this machine's is an
error and, where the system permits it, that has no network at all. A new command needs a line here.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

LINES = (
    "sample hospital -o people.csv --rows 60 --quiet",
    "suggest people.csv --quiet",
    "risk people.csv -q age,sex --quiet",
    "anonymize people.csv -q age,sex -s diagnosis --others drop -k 3 --algorithm mondrian -o release.csv "
    "--recipe-out r.toml --report page.html --quiet",
    "run r.toml --quiet",
    "verify release.csv --recipe r.toml --quiet",
    "attack release.csv --original people.csv --recipe r.toml --quiet",
    "hierarchy list",
)

# Run in the process: an audit hook sees every attempt, whichever library makes it.
ALONE = """
import sys

def alone(event, given):
    if event in ("socket.connect", "socket.sendto"):
        address = given[1]
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise SystemExit(f"{event} {address}")
    elif event in ("socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
        if given[0] not in (None, "127.0.0.1", "::1", "localhost"):
            raise SystemExit(f"{event} {given[0]}")

sys.addaudithook(alone)
"""
RUN = """
from shoal.cli import run_command_line
from shoal.cli.process import run_to_end

for line in sys.argv[1:]:
    code, said = run_to_end(run_command_line, line.split())
    print(line, code, said, file=sys.stderr)
    if code:
        raise SystemExit(f"{line}: {code} {said}")
"""


def cut_off() -> list[str]:
    """The command before a command that takes its network away; none where that is not permitted."""
    for line in (["unshare", "-n"], ["unshare", "-rn"]):
        if (
            shutil.which("unshare")
            and subprocess.run([*line, "true"], capture_output=True, check=False).returncode == 0
        ):
            return line
    return []


@pytest.mark.slow
def test_commands_do_without_a_network(tmp_path):
    line = [*cut_off(), sys.executable, "-c", ALONE + RUN, *LINES]
    ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    "call", ["socket.create_connection(('192.0.2.1', 80), 1)", "socket.getaddrinfo('example.org', 80)"]
)
def test_an_attempt_would_be_seen(call):
    line = [sys.executable, "-c", ALONE + f"import socket\n{call}"]
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("socket.")
