"""Uploads in a real browser: no more than there is room for, unseen by others, gone with their table."""

import stat
from pathlib import Path

import pytest

OPTIONS = ("--uploads", "1MB")
# A file that the page was not asked about: as another tab might send it, or a page that has not heard yet.
SEND = """
const [bytes, done] = arguments, data = new FormData();
data.append("file", new Blob(["x".repeat(bytes)]), "huge.csv");
const place = Object.values(mounted_app.elements).find(each => each.props?.url).props.url;
fetch(window.path_prefix + place, {method: "POST", body: data}).then(answer => done(answer.status));
"""


def table(path: Path, rows: int) -> Path:
    path.write_text(
        "age,town\n" + "".join(f"{20 + i % 50},{'Bonn' if i % 2 else 'Ulm'}\n" for i in range(rows))
    )
    return path


def on_disk(hand) -> list[Path]:
    return [path for path in hand.server.folder.rglob("*") if path.is_file()]


def close_table(hand) -> None:
    hand.sees("2 values")  # once the columns are counted, the page does not draw itself anew
    hand.press("Open another", then="Close this table")
    hand.press("Close this table", then="Choose a file")
    hand.sees("Choose a file")


@pytest.mark.exhaustive
def test_a_file_that_is_too_large_is_not_sent(hand, tmp_path):
    hand.open("open")
    hand.sees("up to 1 MB")
    hand.give(table(tmp_path / "large.csv", 150_000))
    hand.sees("larger than the 1 MB that can still be uploaded")
    hand.sees("--uploads 10GB")
    assert on_disk(hand) == []
    hand.give(table(tmp_path / "small.csv", 40))  # and it does not stand in the way
    hand.sees("40 rows, 2 columns")
    close_table(hand)


def test_a_file_that_is_sent_all_the_same_is_not_kept(hand):
    hand.open("open")
    hand.sees("up to 1 MB")
    assert hand.driver.execute_async_script(SEND, 1_500_000) == 200
    hand.sees("'huge.csv' has 1.5 MB, and of the 1 MB for uploads 1 MB are free")
    assert hand.driver.execute_async_script(SEND, 2_500_000) == 413
    (complaint,) = hand.complaints()
    assert "413" in complaint
    hand.until(lambda: on_disk(hand) == [], "nothing on disk")


def test_nobody_else_may_read_what_the_studio_writes_and_it_goes_with_the_table(hand, tmp_path):
    hand.open("open")
    hand.give(table(tmp_path / "people.csv", 40_000))
    hand.sees("40,000 rows, 2 columns")
    hand.press("Describe the columns")
    hand.choose("Role of age", "Recognisable")
    hand.press("Choose a goal")
    hand.press("Basic")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.sees("done and verified")
    written = {path.name for path in on_disk(hand)}
    assert {"people.csv", "people-released.csv", "report.html", "recipe.toml", "result.json"} <= written
    for path in (hand.server.folder, *hand.server.folder.rglob("*")):
        if not path.is_symlink():
            wanted = 0o700 if path.is_dir() else 0o600
            assert (path, oct(stat.S_IMODE(path.stat().st_mode))) == (path, oct(wanted))
    hand.open("open")
    close_table(hand)
    hand.until(lambda: on_disk(hand) == [], "nothing on disk")
    hand.sees("up to 1 MB")
    assert hand.complaints() == []
