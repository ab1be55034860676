"""The command itself: what it says where it cannot start."""

import socket
import subprocess
import sys

ABSENT = """
import sys
sys.modules["nicegui"], sys.argv = None, ["shoal", "studio"]
from shoal.cli import main
main()
"""


def said(*command: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr


def test_without_the_extra_it_says_what_to_install():
    assert said("-c", ABSENT) == (
        2,
        "error: this needs nicegui, which is not installed: pip install 'shoal[studio]'\n",
    )


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
