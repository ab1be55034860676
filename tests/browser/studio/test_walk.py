"""The whole way, from a table to a verified release, in a real browser."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

STEPS = ("open", "describe", "goal", "run", "explore", "release")


def shoal(*arguments: str, folder: Path) -> None:
    """Run a command that has to succeed."""
    command = [sys.executable, "-m", "shoal", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def downloaded(hand, stem: str) -> tuple[Path, Path, Path, Path]:
    names = (f"{stem}-released.csv", f"{stem}-released.parquet", "recipe.toml", "report.html")
    return tuple(hand.download(name) for name in names)


def check(hand, table: Path, stem: str) -> None:
    """What was downloaded is verified, and the recipe makes the same bytes without the studio."""
    folder = table.parent
    released, typed, recipe, report = downloaded(hand, stem)
    shoal("verify", str(released), "--recipe", str(recipe), folder=folder)
    shoal("verify", str(typed), "--report", str(report), folder=folder)
    before = released.read_bytes()
    shoal("run", recipe.name, "--quiet", folder=folder)
    assert released.read_bytes() == before
    assert hand.complaints() == []


def check_looks(hand, *looks: tuple[str, int]) -> None:
    """Every step can be read and named, and fits, in each scheme and width, once there is a run."""
    for (scheme, width), step in product(looks, STEPS):
        hand.open(step, scheme, width)
        hand.sees("Shoal Studio")
        hand.until(lambda: hand.driver.find_elements("css selector", ".forward"), "the foot of the step")
        dark = hand.driver.execute_script("return document.body.classList.contains('body--dark')")
        assert dark is (scheme == "dark")
        assert (step, hand.faint()) == (step, [])
        assert (step, hand.unnamed()) == (step, [])
        wide = hand.driver.execute_script("return document.documentElement.scrollWidth")
        assert (step, wide <= width) == (step, True)


def test_the_sample_goes_from_open_to_a_verified_release(hand, tmp_path):
    hand.open()
    hand.press("Take the sample")
    hand.sees("5,000 rows, 11 columns")
    hand.press("Describe the columns")
    hand.sees("Together, the 7 recognisable columns")
    hand.press("Choose a goal")
    hand.press("Careful")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.press("Explore the result")
    hand.sees("of the detail lost")
    hand.open("release")
    hand.sees("The goal holds, but 99.9 % of the rows are unique in all that is released: 'cost' alone")
    hand.press("Leave it out")
    hand.start_run()
    hand.until(lambda: hand.text().count("done and verified") == 1, "a second run")
    hand.open("release", scheme="dark", width=820)
    hand.sees("Every promise holds")
    hand.sees("shoal anonymize hospital.csv")
    shoal("sample", "hospital", "-o", "hospital.csv", "--quiet", folder=tmp_path)
    check(hand, tmp_path / "hospital.csv", "hospital")
    check_looks(hand, ("light", 1280), ("dark", 820))


@pytest.mark.exhaustive
def test_adult_goes_from_a_dropped_file_to_a_verified_release(hand, shared_data, tmp_path):
    adult = tmp_path / "adult.csv"
    adult.symlink_to(shared_data / "adult" / "adult_9col.csv")
    hand.open("open")
    if "Open another" in hand.text():
        hand.press("Open another", then="Close this table")
        hand.press("Close this table", then="Choose a file")
    hand.give(adult)
    hand.sees("adult.csv")
    hand.press("Describe the columns")
    hand.sees("recognisable columns single out")
    hand.press("Choose a goal")
    hand.press("Careful")  # with less, the salary singles out a row in twelve
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.press("Explore the result")
    hand.sees("of the detail lost")
    hand.open("release")
    hand.sees("Every promise holds")
    check(hand, adult, "adult")
    check_looks(hand, ("dark", 1280), ("light", 820))
