"""A severe finding in the studio: somebody accepts it, or mends what it is about."""

import subprocess
import sys
import tomllib

import pytest
from tests.browser.studio.test_findings import BUT, PEOPLE, make_run, notes

__all__ = ["PEOPLE"]  # the table of this studio, too


def accept(hand, reason: str) -> None:
    hand.press_until("button[aria-label='Accept, because …: unique-rows']", "Accept the finding")
    hand.press("Accept the finding")
    hand.sees("Say why: the report shows it.")
    hand.type("Why this may be released all the same", reason)
    hand.press("Accept the finding")
    hand.sees(f"Accepted: {reason}")


def verified(hand, released: str, *arguments: str) -> int:
    command = [sys.executable, "-m", "shoal", "verify", released, *arguments, "--strict", "--quiet"]
    return subprocess.run(command, cwd=hand.downloads, check=False).returncode


@pytest.mark.exhaustive
def test_a_finding_is_accepted_then_a_strict_run_made_then_the_column_left_out(hand):
    make_run(hand)
    check_accepting(hand)
    check_strict_run(hand)
    check_remedy(hand)


def check_accepting(hand) -> None:
    """Accepting a finding changes headline, recipe, report and command."""
    hand.open("release")
    hand.sees(BUT)
    for name in ("people-released.csv", "report.html"):
        hand.download(name)
    assert verified(hand, "people-released.csv", "--report", "report.html") == 3
    accept(hand, "they signed a contract")
    hand.until(lambda: BUT not in hand.text(), "another headline")
    hand.sees("What it gives away as a whole was accepted")
    assert notes(hand, "good") == notes(hand, "warn") == []
    hand.sees("--accept 'unique-rows=they signed a contract'")
    recipe = tomllib.loads(hand.download("recipe.toml").read_text("utf-8"))
    assert recipe["goal"]["accept"] == {"unique-rows": "they signed a contract"}
    report = hand.download("report.html").read_text("utf-8")
    assert "every promise verified; 1 severe finding was accepted" in report
    assert "<b>Accepted:</b> they signed a contract" in report
    assert verified(hand, "people-released.csv", "--report", "report.html") == 0
    assert verified(hand, "people-released.csv", "--recipe", "recipe.toml") == 0
    hand.press("Accept it no longer")
    hand.sees(BUT)
    assert "accept" not in hand.download("recipe.toml").read_text("utf-8")
    assert "every promise verified" not in hand.download("report.html").read_text("utf-8")


def check_strict_run(hand) -> None:
    """A strict run releases nothing until the finding is accepted."""
    hand.open("goal")
    switch = "//*[@role='switch'][contains(., 'Release nothing while')]"
    hand.until(lambda: not hand.driver.find_element("xpath", switch).click(), "the switch")
    hand.press("On to the run", then="Start a run")
    hand.sees("no severe findings")
    hand.start_run()
    hand.sees("nothing was written")
    accept(hand, "only colleagues see it")
    hand.sees("Start another run to make the release")
    hand.start_run()
    hand.sees("done and verified")
    hand.open("release")
    hand.sees("--strict --accept 'unique-rows=only colleagues see it'")


def check_remedy(hand) -> None:
    """The remedy is a button."""
    hand.open("release")
    hand.press("Accept it no longer")
    hand.sees(BUT)
    hand.press("Leave it out")
    hand.sees("left out: name, cost")
    hand.start_run()
    hand.until(lambda: "done and verified" in hand.text().partition("Run 3")[0], "the last run")
    hand.open("release")
    hand.sees("Every promise holds")
    hand.sees("--identifier name,cost")
    assert len(notes(hand, "good")) == 1
    assert hand.complaints() == []
