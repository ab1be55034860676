"""Uploaded files: how much room they take, who may read them, and when they go."""

import asyncio
import errno
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoal.errors import InputError, OutputError
from shoal.studio.presets import PRESETS
from shoal.studio.running import Run
from shoal.studio.state import GoalSettings, StudioWorkspace
from shoal.studio.uploads import Uploads, format_size

TABLE = b"age,illness\n" + b"".join(f"{20 + i % 5},x\n".encode() for i in range(40))


@dataclass
class Sent:
    """A file as it comes from a page."""

    content: bytes = TABLE
    error: OSError | None = None

    def size(self) -> int:
        return len(self.content)

    async def save(self, path: Path) -> None:
        path.write_bytes(self.content[: 10 if self.error else None])
        if self.error:
            raise self.error


@pytest.fixture
def uploads(tmp_path) -> Uploads:
    return Uploads(tmp_path / "uploads", 1000)


@pytest.fixture
def workspace():
    made = StudioWorkspace(limit=3 * len(TABLE))
    yield made
    made.close()


def save(uploads: Uploads, name: str = "people.csv", content: bytes = TABLE) -> Path:
    return asyncio.run(uploads.save_file(Sent(content), name))


def open_table(workspace: StudioWorkspace, name: str = "people.csv") -> Path:
    path = save(workspace.uploads, name)
    workspace.use_source(workspace.load_table(path))
    return path


def on_disk(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_uploads_share_one_limit_and_a_message_says_what_is_left(uploads, tmp_path):
    save(uploads, "a.csv", b"x" * 600)
    assert uploads.free_bytes == 400
    with pytest.raises(InputError) as told:
        save(uploads, "b.csv", b"x" * 401)
    assert "'b.csv' has 401 bytes, and of the 1 kB for uploads 400 bytes are free" in str(told.value)
    assert "--uploads 10GB" in str(told.value)
    assert (uploads.free_bytes, on_disk(tmp_path)) == (400, ["a.csv"])
    b = save(uploads, "b.csv", b"x" * 400)
    assert uploads.free_bytes == 0
    uploads.remove_file(b)
    assert (uploads.free_bytes, on_disk(tmp_path)) == (400, ["a.csv"])


def test_room_is_taken_before_a_file_is_written(uploads):
    async def both() -> list[object]:
        sent = [uploads.save_file(Sent(b"x" * 600), name) for name in ("a.csv", "b.csv")]
        return await asyncio.gather(*sent, return_exceptions=True)

    first, second = asyncio.run(both())
    assert isinstance(first, Path)
    assert isinstance(second, InputError)


def test_a_file_that_cannot_be_written_leaves_nothing(uploads, tmp_path):
    full = Sent(error=OSError(errno.ENOSPC, "No space left on device"))
    with pytest.raises(OutputError, match=r"'a\.csv' cannot be kept: No space left on device"):
        asyncio.run(uploads.save_file(full, "a.csv"))
    assert (uploads.free_bytes, on_disk(tmp_path)) == (1000, [])


def test_nobody_else_may_read_uploads(uploads, tmp_path):
    path = save(uploads)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, tmp_path / "uploads")]
    assert modes == [0o600, 0o700, 0o700]


def test_a_file_of_the_user_s_own_is_never_removed(workspace, tmp_path):
    own = tmp_path / "own.csv"
    own.write_bytes(TABLE)
    workspace.use_source(workspace.load_table(own))
    workspace.discard_file(own)
    workspace.close_table()
    workspace.discard_file(own)
    workspace.uploads.remove_file(own)
    assert own.read_bytes() == TABLE


def test_a_table_takes_the_place_of_the_one_before(workspace):
    for name in ("one.csv", "two.csv", "three.csv", "four.csv"):  # more than there is room for at once
        open_table(workspace, name)
        assert on_disk(workspace.folder) == [name]
    workspace.close_table()
    assert on_disk(workspace.folder) == []
    assert workspace.uploads.free_bytes == workspace.uploads.limit


def test_a_table_that_is_read_again_stays(workspace):
    path = open_table(workspace)
    workspace.use_source(workspace.load_table(path))
    workspace.discard_file(path)  # had it failed
    assert on_disk(workspace.folder) == ["people.csv"]


def test_a_file_that_cannot_be_opened_goes(workspace):
    path = save(workspace.uploads, "empty.csv", b"")
    with pytest.raises(InputError):
        workspace.load_table(path)
    workspace.discard_file(path)
    assert on_disk(workspace.folder) == []


def test_a_file_that_another_tab_is_opening_stays(workspace):
    coming = save(workspace.uploads, "coming.csv")
    open_table(workspace, "first.csv")
    assert on_disk(workspace.folder) == ["coming.csv", "first.csv"]
    workspace.use_source(workspace.load_table(coming))
    assert on_disk(workspace.folder) == ["coming.csv"]


def test_runs_go_with_their_table(workspace, monkeypatch):
    monkeypatch.setattr(Run, "start", lambda run, tables: run.folder.mkdir())
    path = open_table(workspace)
    workspace.profiles = workspace.profile_columns(workspace.source)
    workspace.prefill_choices(workspace.suggest_roles(workspace.source, workspace.profiles))
    run = workspace.start_run(GoalSettings(models=PRESETS["basic"].build_models(sensitive=False)))
    (run.folder / "released.csv").write_bytes(TABLE)
    (run.folder / "people.csv").symlink_to(path)
    workspace.close_table()
    for thread in threading.enumerate():
        if thread.daemon and thread is not threading.current_thread():
            thread.join(10)
    assert (run.state, workspace.runs) == ("cancelled", [])
    assert not run.folder.exists()
    assert not path.exists()


def test_a_population_takes_the_place_of_one_of_its_name_unless_a_run_has_it(workspace):
    table = open_table(workspace)
    first = save(workspace.uploads, "all.csv")
    workspace.add_table(first)
    second = save(workspace.uploads, "all.csv")
    workspace.add_table(second)
    assert [path.exists() for path in (table, first, second)] == [True, False, True]
    workspace.runs = [Run(1, None, workspace.folder / "runs" / "1", tables={"all.csv": second})]
    workspace.add_table(third := workspace.uploads.reserve_file("all.csv"))
    assert (second.exists(), workspace.others) == (True, {"all.csv": third})


def test_a_population_is_not_taken_for_the_table(workspace):
    open_table(workspace)
    assert workspace.name_of_other("../people.csv") == "_people.csv"
    assert workspace.name_of_other("people.csv") == "other-people.csv"


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2 * 10**9, "2 GB")]
)
def test_sizes_are_told_as_people_say_them(size, text):
    assert format_size(size) == text
