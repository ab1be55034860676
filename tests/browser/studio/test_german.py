"""The studio in German: the whole way, what it looks like, and the way back to English."""

import re

import pytest
from tests.browser.studio.test_access import STEPS, check_width, violations, wait_for
from tests.browser.studio.test_findings import PEOPLE

from shoal.report.audit import read_record

__all__ = ["PEOPLE"]  # the table of this studio, too

OPTIONS = ("--language", "de")
# Words that are in nearly every English sentence, and in no German one.
ENGLISH = re.compile(r"(?<!-)\b(?:the|and|of|is|are|with|which|that|rows|this)\b")


def make_german_run(hand) -> None:
    hand.open("open")
    hand.press("Die Spalten beschreiben")
    hand.press("Ein Ziel wählen")
    hand.press("Einfach")
    hand.press("Weiter zum Lauf", then="Einen Lauf starten")
    hand.press("Einen Lauf starten")
    hand.sees("fertig")


def list_english(hand) -> list[str]:
    """Lines of the page with English words; data and code are in neither language."""
    script = """const skipped = "code, pre, .code, .grid-table, .column-name, .q-uploader__list";
    const found = [];
    for (const each of document.querySelectorAll("#step *, .rail *")) {
      if (each.closest(skipped) || !each.getClientRects().length) continue;
      for (const node of each.childNodes) if (node.nodeType === 3) found.push(node.textContent.trim());
      if (each.ariaLabel) found.push(each.ariaLabel);
    }
    return found;"""
    return [text for text in hand.driver.execute_script(script) if ENGLISH.search(text)]


@pytest.mark.slow
def test_the_whole_way_in_german(hand):
    make_german_run(hand)
    for step in STEPS:
        for scheme, width in (("dark", 390), ("light", 1280), ("light", 1920)):
            wait_for(hand, step, scheme, width)
            assert hand.driver.execute_script("return document.documentElement.lang") == "de"
            check_width(hand, step, width)
            if width != 1920:
                assert (step, scheme, violations(hand)) == (step, scheme, [])
        assert (step, list_english(hand)) == (step, [])
    report = hand.download("report.html")
    assert '<html lang="de">' in report.read_text("utf-8")
    assert read_record(report)["figures"]["classes"] > 0
    recipe = hand.download("recipe.toml").read_text("utf-8")
    assert 'language = "de"' in recipe


@pytest.mark.slow
def test_the_language_is_switched(hand):
    hand.open("open")
    hand.choose("Sprache", "English", then="Everything stays on this computer")
    hand.open("describe")
    hand.sees("You know better: go through them once")
    hand.choose("Language", "Deutsch", then="Alles bleibt auf diesem Rechner")
    hand.sees("Die Spalten beschreiben")
