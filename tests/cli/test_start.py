"""A command loads what it uses and nothing else, and says what to install where something is missing."""

import json
import subprocess
import sys

import pytest

# Slow to load, or in no plain install. numba looks at the version of scipy, so only parts of that count.
HEAVY = {
    *("duckdb", "fastexcel", "llvmlite", "nicegui", "numba", "numpy", "pandas", "polars", "pyarrow"),
    *("pydantic", "pyspark", "rich", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special"),
    *("sklearn", "xlsxwriter", "zstandard"),
}
GOAL = ("-q", "age,sex", "-s", "illness", "-k", "2")
TABLE = {"numpy", "polars"}
SHOWN = {*TABLE, "rich"}
SEARCHED = {*SHOWN, "llvmlite", "numba"}
LOADED = {
    "help": (("--help",), set()),
    "version": (("--version",), set()),
    "help of a group": (("hierarchy", "--help"), set()),
    "help of a command": (("anonymize", "--help"), SHOWN),
    "list of samples": (("sample", "list"), SHOWN),
    "verify": (("verify", "people.csv", *GOAL), SHOWN),
    "verify for programs": (("verify", "people.csv", *GOAL, "--json"), SHOWN),
    "anonymize": (("anonymize", "people.csv", *GOAL, "--others", "drop", "-o", "release.csv"), SEARCHED),
    "cache": (("cache", "info"), {"llvmlite", "numba", "numpy"}),
}
WATCHED = """
import atexit, json, os, sys
atexit.register(lambda: open("loaded.json", "w").write(json.dumps(sorted(sys.modules))))
for name in sys.argv.pop(1).split():
    sys.modules[name] = None  # as if it were not installed
from shoal.__main__ import main
main()
"""


@pytest.fixture
def start(people, tmp_path):
    """Run a command in a process of its own, without some packages: exit code, errors, heavy modules."""

    def run(*arguments, without=""):
        line = [sys.executable, "-c", WATCHED, without, *map(str, arguments)]
        done = subprocess.run(line, cwd=people.parent, capture_output=True, text=True, check=False)
        loaded = set(json.loads((people.parent / "loaded.json").read_text("utf-8")))
        return done.returncode, done.stderr, loaded & HEAVY - set(without.split())

    return run


@pytest.mark.slow
@pytest.mark.parametrize("command", LOADED)
def test_what_a_command_loads(start, command):
    arguments, expected = LOADED[command]
    code, _, loaded = start(*arguments)
    assert (code in (0, 3), loaded) == (True, expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        ("sklearn", "learn", ("search", "people.csv", "--target", "illness", *GOAL[:2])),
        ("sklearn", "learn", ("minimize", "people.csv", "--target", "illness")),
        ("scipy.sparse", "scipy", ("attack", "people.csv", "--original", "people.csv", *GOAL[:4])),
        ("zstandard", "zstd", ("anonymize", "people.csv", *GOAL, "--others", "drop", "-o", "people.csv.zst")),
        ("fastexcel", "excel", ("verify", "people.xlsx", *GOAL)),
        ("nicegui", "studio", ("studio", "people.csv")),
    ],
)
def test_what_is_missing_is_named_with_its_extra(start, people, package, extra, arguments):
    (people.parent / "people.xlsx").write_bytes(b"PK\x03\x04")
    code, said, _ = start(*arguments, without=package)
    assert code == 2
    assert f"needs {package}, which is not installed: pip install " in said
    assert f"shoal[{extra}]" in said


@pytest.mark.slow
def test_a_plain_install_does_the_main_job(start, people):
    """Without anything that only extras bring."""
    absent = "duckdb fastexcel nicegui pandas pyarrow pyspark scipy sklearn xlsxwriter zstandard"
    made = [
        start("anonymize", "people.csv", *GOAL, "--others", "drop", "-o", name, without=without)
        for name, without in (("plain.csv", absent), ("all.csv", ""))
    ]
    assert [code for code, *_ in made] == [0, 0], made
    assert (people.parent / "plain.csv").read_bytes() == (people.parent / "all.csv").read_bytes()
    assert start("verify", "plain.csv", *GOAL, without=absent)[0] == 0
    assert start("risk", "people.csv", "-q", "age,sex", without=absent)[0] == 0
    assert start("suggest", "people.csv", without=absent)[0] == 0


def test_reading_by_python_and_by_the_kernel_is_the_same(shoal, people, monkeypatch):
    """Short texts are read before numba is loaded."""
    from shoal.table import delimited

    found = [json.loads(shoal.succeeds("verify", people, "-q", "sex", "-k", "2", "--json"))]
    monkeypatch.setattr(delimited, "_SHORT", -1)
    found.append(json.loads(shoal.succeeds("verify", people, "-q", "sex", "-k", "2", "--json")))
    assert found[0] == found[1]
    assert people.stat().st_size < 1 << 15
