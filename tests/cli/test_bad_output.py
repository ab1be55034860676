"""Where a release cannot go, nothing goes: a clear error, no partial file, no input touched."""

import errno
import os
import subprocess
import sys

import pytest
from tests.cases import thin_out

GOAL = ("-q", "age,sex", "-k", 3)


@pytest.mark.parametrize("option", ["-o", "--recipe-out"])
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("no/such/r.csv", "there is no folder no/such"),
        ("people.csv/r.csv", "there is no folder people.csv"),
        (".", ". is a folder; give the path of a file"),
        ("people.csv", "people.csv is an input of this run; write the release to another file"),
        ("./sub/../people.csv", "is an input of this run"),
        ("symlink.csv", "is an input of this run"),
        ("hardlink.csv", "is an input of this run"),
        ("trees/sex.csv", "is an input of this run"),
    ],
)
def test_an_output_that_is_no_place_for_one(shoal, people, write, option, target, says):
    write("trees/sex.csv", "m;*\nf;*\n")
    (shoal.folder / "sub").mkdir()
    (shoal.folder / "symlink.csv").symlink_to(people)
    (shoal.folder / "hardlink.csv").hardlink_to(people)
    assert says in shoal.fails(2, "anonymize", people, *GOAL, "--hierarchies", "trees", option, target)


def test_the_recipe_and_the_release_cannot_be_one_file(shoal, people):
    for recipe in ("r.csv", "../" + shoal.folder.name + "/r.csv"):
        said = shoal.fails(2, "anonymize", people, *GOAL, "-o", "r.csv", "--recipe-out", recipe)
        assert "r.csv cannot be two things" in said


def test_a_recipe_does_not_overwrite_itself_or_its_input(shoal, people):
    shoal.succeeds("anonymize", people, *GOAL, "--recipe-out", "recipe.toml")
    assert "is an input of this run" in shoal.fails(2, "run", "recipe.toml", "-o", "recipe.toml")
    assert "is an input of this run" in shoal.fails(2, "run", "recipe.toml", "-o", people)


# The superuser may write anywhere, whatever the permissions say, so that is taken from it in one of two ways.
def test_a_read_only_folder(shoal, people, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    said = shoal.fails(2, "anonymize", people, *GOAL, "-o", "release.csv")
    assert said == "error: release.csv cannot be written: the folder . is read-only\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_folder_without_permission_to_write(shoal, people):
    locked = shoal.folder / "locked"
    locked.mkdir(mode=0o555)
    said = shoal.fails(2, "anonymize", people, *GOAL, "-o", "locked/release.csv")
    assert "the folder locked is read-only" in said


@pytest.mark.parametrize("name", ["release.csv", "release.parquet", "release.xlsx", "release.csv.gz"])
def test_a_full_disk(shoal, people, monkeypatch, name):
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    said = shoal.fails(2, "anonymize", people, *GOAL, "-o", name)
    assert said == f"error: {name} cannot be written: no space left on device\n"


def test_a_full_disk_leaves_an_older_release_alone(shoal, people, write, monkeypatch):
    write("release.csv", "the release of yesterday\n")
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    shoal.fails(2, "anonymize", people, *GOAL, "-o", "release.csv")
    assert (shoal.folder / "release.csv").read_text() == "the release of yesterday\n"


@pytest.mark.slow
@pytest.mark.parametrize("suffix", thin_out(["csv", "parquet", "jsonl", "csv.gz"], 4))
def test_a_file_that_the_system_refuses_to_let_grow(shoal, write, suffix):
    """The nearest to a full disk that needs no disk: no file of the process may exceed some bytes."""
    content = "age,note\n" + "".join(f"{i % 9},{i * 7919 % 10007:05}{'x' * 40}\n" for i in range(2000))
    write("table.csv", content)
    code = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.argv = ["shoal", "anonymize", "table.csv", "-q", "age", "-k", "3", "-o", "release.{suffix}"]
sys.argv += ["--others", "keep"]
import shoal.cli; shoal.cli.main()
"""
    before = {path.name for path in shoal.folder.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shoal.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert f"error: release.{suffix} cannot be written: file too large" in done.stderr
    assert {path.name for path in shoal.folder.iterdir()} == before
    assert (shoal.folder / "table.csv").read_text() == content


@pytest.mark.slow
def test_standard_output_that_takes_nothing(process, people):
    if not os.path.exists("/dev/full"):  # noqa: PTH110
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = process(
            "anonymize", people, *GOAL, "--json", capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 2
    assert done.stderr == "error: the output cannot be shown: No space left on device\n"


@pytest.mark.parametrize("name", ["release.json", "release.xls", "release.csv.zip"])
def test_a_suffix_that_promises_what_cannot_be_written(shoal, people, name):
    assert "files cannot be written; use .csv" in shoal.fails(2, "anonymize", people, *GOAL, "-o", name)
