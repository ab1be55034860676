"""`shoal.studio(frame)`: a frame goes into the studio, and a release comes back."""

import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from tests.browser.studio.conftest import Hand

import shoal
from shoal.errors import InputError

PEOPLE = pl.DataFrame(
    {"age": [20 + at % 9 for at in range(60)], "town": ["Ulm", "Bonn", "Kiel"] * 20, "note": ["x"] * 60}
)


def test_a_release_returns_to_python(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    addresses, made = [], []

    def open_it():
        try:
            made.append(shoal.studio(PEOPLE, browser=False, on_address=addresses.append))
        except BaseException as error:
            addresses.append(f"no address: {error}")
            raise

    work = threading.Thread(target=open_it)
    work.start()
    hand = Hand(browser.driver, SimpleNamespace(url="", port=0), tmp_path)
    hand.until(lambda: addresses, "the address")
    hand.server.url = addresses[0]
    hand.open("describe")
    hand.sees("Choose a goal")
    for name, role in (("age", "Recognisable"), ("town", "Recognisable"), ("note", "Keep as it is")):
        hand.choose(f"Role of {name}", role)
    hand.press("Choose a goal", then="On to the run")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.sees("done and verified")
    hand.open("release")
    hand.press("Return this release")
    work.join(60)
    (release,) = made
    assert isinstance(release.frame, pl.DataFrame)
    assert release.frame.columns == PEOPLE.columns
    again = shoal.run(release.recipe, PEOPLE)
    assert again.frame.equals(release.frame)
    assert release.report.smallest_class >= 5
    assert not list(tmp_path.glob("shoal-studio-*"))  # nothing of the table stays


def test_a_table_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(InputError, match=r"empty\.csv is empty"):
        shoal.studio(Path(tmp_path / "empty.csv"), browser=False)
