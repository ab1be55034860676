"""Standard input and standard output in pipes, in every format that can go through one."""

import gzip
import io
import json
import subprocess
import sys
from typing import NamedTuple

import polars as pl
import pytest
import zstandard

from shoal.cli import run_command_line
from shoal.cli.process import run_to_end

ROLES = ("-q", "age,sex", "-s", "illness", "--identifier", "name,zip", "--algorithm", "mondrian")
QUASI = ("-q", "age,sex", "-k", 2)


def packed(frame: pl.DataFrame, kind: str) -> bytes:
    """A table as bytes of a format."""
    stream = io.BytesIO()
    if kind == "csv":
        frame.write_csv(stream)
    elif kind == "tsv":
        frame.write_csv(stream, separator="\t")
    elif kind == "jsonl":
        frame.write_ndjson(stream)
    elif kind == "parquet":
        frame.write_parquet(stream)
    elif kind == "arrow":
        frame.write_ipc_stream(stream)
    elif kind == "arrow file":
        frame.write_ipc(stream)
    return stream.getvalue()


def unpacked(content: bytes, kind: str) -> pl.DataFrame:
    """The table in bytes of a format; all as text."""
    readers = {
        "csv": pl.read_csv,
        "tsv": lambda stream: pl.read_csv(stream, separator="\t"),
        "jsonl": pl.read_ndjson,
        "parquet": pl.read_parquet,
        "arrow": pl.read_ipc_stream,
    }
    return readers[kind](io.BytesIO(content)).cast(pl.String)


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: bytes


class Bytes(io.TextIOWrapper):
    """Standard input, output or error, of bytes in memory."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__(io.BytesIO(content), "utf-8", write_through=True)

    @property
    def content(self) -> bytes:
        return self.buffer.getvalue()


@pytest.fixture
def piped(tmp_path, monkeypatch):
    """Runs a command inside this process, with bytes on its standard input."""
    monkeypatch.chdir(tmp_path)

    def call(content, *arguments):
        streams = {"stdin": Bytes(content), "stdout": Bytes(), "stderr": Bytes()}
        names = {}  # what a process has read of its standard input is forgotten when it ends
        with monkeypatch.context() as patch:
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            patch.setattr("shoal.cli.process.shown_names", names)
            patch.setattr("shoal.cli.standard.shown_names", names)
            code, said = run_to_end(run_command_line, [str(argument) for argument in arguments])
            return Done(code, streams["stdout"].content, streams["stderr"].content + said.encode())

    return call


@pytest.fixture
def table(people):
    return pl.read_csv(people)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow", "arrow file"])
def test_every_format_in_and_out(piped, table, kind):
    done = piped(packed(table, kind), "anonymize", "-", *ROLES, "-k", 2, "-o", "-")
    assert done.code == 0, done.err
    assert b"12 of 12 rows released" in done.err  # what is told does not mix with the release
    released = unpacked(done.out, "arrow" if kind == "arrow file" else kind)
    assert released.columns == ["age", "sex", "illness"]
    assert released["illness"].to_list() == table["illness"].to_list()
    again = piped(done.out, "verify", "-", *QUASI, "--quiet")
    assert (again.code, again.err) == (0, b"")
    assert piped(packed(table, kind), "verify", "-", *QUASI, "--quiet").code == 3


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_another_format_out(piped, people, kind):
    done = piped(people.read_bytes(), "anonymize", "-", *ROLES, "-k", 2, "-o", "-", "--out-format", kind)
    assert done.code == 0, done.err
    assert unpacked(done.out, kind).height == 12


def test_what_a_pipe_holds_is_told_by_its_content(piped, table):
    lines = packed(table, "jsonl")
    others = {
        "with a mark of its encoding": b"\xef\xbb\xbf" + lines,
        "gzip": gzip.compress(lines),
        "zstd": zstandard.ZstdCompressor().compress(lines),
        "with blank lines before": b"\n\n" + lines,
    }
    for how, content in others.items():
        done = piped(content, "anonymize", "-", *ROLES, "-k", 2, "-o", "-", "--quiet")
        assert (done.code, done.err) == (0, b""), how
        assert unpacked(done.out, "jsonl").height == 12, how
    braces = b"{age},sex\n" + b"30,f\n" * 4
    done = piped(braces, "anonymize", "-", "-q", "{age},sex", "-k", 2, "-o", "-", "--quiet")
    assert (done.code, done.out) == (0, braces), done.err


@pytest.mark.slow
def test_every_command_that_takes_a_table_takes_a_pipe(piped, people):
    content = people.read_bytes()
    named = ("--recipe-out", "r.toml", "--recoding-out", "r.json", "-o", "release.csv", "--quiet")
    assert piped(content, "anonymize", "-", *ROLES, "-k", 2, *named).code == 0
    release = (people.parent / "release.csv").read_bytes()
    lines = {
        "risk - -q age": content,
        "suggest -": content,
        "run r.toml -i - -o -": content,
        "apply r.json - --earlier release.csv -o -": content,
        "apply r.json people.csv --earlier - -o -": release,
        "attack - --original people.csv -q age,sex": release,
        "attack release.csv --original - -q age,sex": content,
        "verify - -q age,sex -k 2": release,
        "compare - -q age,sex -k 2 --algorithm mondrian": content,
    }
    for line, given in lines.items():
        done = piped(given, *line.split())
        assert (done.code, done.out != b"") == (0, True), (line, done.err)
        assert b"/standard-" not in done.out + done.err, line
    twice = piped(content, "apply", "r.json", "-", "--earlier", "-")
    assert twice.code == 2
    assert b"standard input can be read once" in twice.err


def test_a_sample_goes_through_a_pipe(piped):
    made = piped(b"", "sample", "hospital", "--rows", 50, "-o", "-")
    assert made.code == 0
    assert unpacked(made.out, "csv").height == 50
    assert piped(made.out, "risk", "-", "-q", "age", "--quiet").code == 0


@pytest.mark.slow
def test_processes_in_a_row(people, tmp_path):
    shoal = f"{sys.executable} -m shoal"
    line = (
        f"cat people.csv | {shoal} anonymize - {' '.join(ROLES)} -k 2 -o - | {shoal} verify - -q age,sex -k 2"
    )
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "12 of 12 rows released" in done.stderr
    assert "holds" in done.stdout


def test_nothing_is_sent_if_the_goal_is_not_met(piped, people):
    done = piped(people.read_bytes(), "anonymize", "-", *ROLES, "-k", 13, "-o", "-")
    assert (done.code, done.out) == (3, b"")


def test_two_things_do_not_share_standard_output(piped, people):
    done = piped(people.read_bytes(), "anonymize", "-", *ROLES, "-k", 2, "-o", "-", "--json")
    # Who asks for JSON gets the error as JSON, and nothing of the table.
    assert (done.code, json.loads(done.out)["error"]["code"]) == (2, "recipe")
    assert b"both go to standard output" in done.err


def test_what_cannot_be_read_is_named(piped):
    for content in (b"", gzip.compress(b"age\n1\n")[:-6]):
        done = piped(content, "anonymize", "-", "-q", "age", "-k", 2)
        assert done.code == 2
        assert done.err.startswith(b"error: standard input is ")


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such pipes")
@pytest.mark.parametrize(
    "line", ["anonymize in.csv -q age --others keep -k 2 -o -", "sample hospital --rows 60000 -o -"]
)
def test_a_reader_that_goes_away_ends_it_quietly(tmp_path, line):
    rows = "".join(f"{at % 7},{'x' * 40}\n" for at in range(60_000))  # more than any pipe holds
    (tmp_path / "in.csv").write_text("age,note\n" + rows)
    command = subprocess.Popen(
        [sys.executable, "-m", "shoal", *line.split(), "--quiet"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with command:
        assert command.stdout.readline().count(b",")
        command.stdout.close()
        told = command.stderr.read()
    assert (command.returncode, told) == (141, b"")
