"""The dossier: what people state, the threshold that follows, and the document."""

import json

import pypdfium2
import pytest
from tests.browser.studio.test_access import violations
from tests.browser.studio.test_findings import PEOPLE, make_run

from shoal.report.context import QUESTIONS

__all__ = ["PEOPLE"]  # the table of this studio, too


@pytest.mark.slow
def test_a_dossier_is_made_in_the_last_step(hand):
    make_run(hand)
    hand.open("release")
    hand.sees("Dossier as PDF")
    for label, text in (("Purpose", "A study"), ("Legal ground", "Section 27")):
        hand.driver.find_element("css selector", f"textarea[aria-label='{label}']").send_keys(text)
    for question in QUESTIONS:
        hand.choose(question.words, next(iter(question.answers.values())))
    hand.sees("Proposed: a risk of at most 0.09, groups of at least 11 (k = 11). Run")
    for scheme, width in (("dark", 390), ("light", 1280)):
        hand.open("release", scheme, width)
        hand.sees("Proposed: a risk of at most 0.09")
        assert violations(hand) == []
        assert hand.driver.execute_script("return document.documentElement.scrollWidth") <= width
    made = {}
    for kind in ("PDF", "JSON"):
        hand.press(f"Dossier as {kind}")
        made[kind] = hand.downloads / f"people-dossier.{kind.lower()}"
        hand.until(made[kind].exists, kind)
    plain = hand.until(lambda: json.loads(made["JSON"].read_text()), "all of the JSON")
    assert plain["statement"]["purpose"] == "A study"
    assert plain["proposal"]["k"] == 11
    assert any("the goal is Basic" in line for each in plain["decisions"] for line in each["what"])
    pages = pypdfium2.PdfDocument(made["PDF"])
    assert "Contents" in pages[0].get_textpage().get_text_range()
    hand.choose(QUESTIONS[-1].words, QUESTIONS[-1].answers["high"], then="Ask for k = 20")
    hand.press("Ask for k = 20", then="What will be run")
    hand.sees("groups of at least 20 (k = 20)")
