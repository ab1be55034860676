"""Every step and the report without violations of axe-core, and as wide as the window, on any screen."""

from importlib.resources import files
from itertools import product

import pytest
from selenium.webdriver.common.keys import Keys
from tests.browser.studio.test_findings import PEOPLE, make_run

__all__ = ["PEOPLE"]  # the table of this studio, too

STEPS = ("open", "describe", "goal", "run", "explore", "release")
AXE = files("selenium_axe_python").joinpath("axe-core", "axe.min.js").read_text("utf-8")
# In dialogs axe-core takes the dimmed page for the background, so contrast is measured by `looks.js`.
JUDGE = """const [where, done] = arguments;
const rules = {"color-contrast": {enabled: !where}};
axe.run(where || document, {rules}).then(found => done(found.violations.map(
  each => `${each.id}: ${each.nodes.map(node => node.html.slice(0, 120))}`)))"""


def violations(hand, where: str = "") -> list[str]:
    """What axe-core finds in the page, or in a part of it."""
    hand.driver.execute_script(AXE)
    return hand.driver.execute_async_script(JUDGE, where)


def wait_for(hand, step: str, scheme: str, width: int) -> None:
    hand.open(step, scheme, width)
    hand.until(lambda: hand.driver.find_elements("css selector", ".forward"), "the foot of the step")
    hand.until(lambda: not hand.driver.find_elements("css selector", ".q-spinner"), "the end of waiting")


def check_width(hand, step: str, width: int) -> None:
    wide = hand.driver.execute_script("return document.documentElement.scrollWidth")
    assert (step, width, wide <= width) == (step, width, True), wide
    used = hand.driver.execute_script(
        "const r = document.querySelector('.inner').getBoundingClientRect(); return r.width / innerWidth"
    )
    assert used > 0.7, (step, width, used)
    cut = "const nav = document.querySelector('nav'); return nav.scrollWidth - nav.clientWidth"
    assert (step, width, hand.driver.execute_script(cut)) <= (step, width, 0)
    heights = (
        "return [...document.querySelectorAll('.frontier text')].map(e => e.getBoundingClientRect().height)"
    )
    assert all(high >= 9 for high in hand.driver.execute_script(heights)), (step, width)


@pytest.mark.slow
def test_no_step_has_a_violation_and_all_fit(hand):
    make_run(hand)
    for step in STEPS:
        for scheme, width in (("dark", 390), ("light", 1280), ("light", 1920)):
            wait_for(hand, step, scheme, width)
            check_width(hand, step, width)
            if width != 1920:
                assert (step, scheme, violations(hand)) == (step, scheme, [])
    hand.press_until("[data-finding] button[aria-label^='Accept']", "Accept the finding")
    assert violations(hand, ".q-dialog") == []
    hand.press("Cancel")
    check_focus(hand)
    check_report(hand)


def check_focus(hand) -> None:
    """Who uses the keyboard sees which button has the focus."""
    script = """const unseen = [];
    for (const each of document.querySelectorAll("#step button, #step a, nav a")) {
      if (!each.getBoundingClientRect().width || each.closest(".disabled")) continue;
      each.focus();
      const style = getComputedStyle(each);
      const lined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
      if (document.activeElement === each && !lined && !style.boxShadow.includes("0px 0px 0px 5px"))
        unseen.push(each.outerHTML.slice(0, 160));
    }
    return unseen;"""
    # After a key was pressed, the browser takes the focus for one of the keyboard.
    hand.driver.find_element("tag name", "body").send_keys(Keys.TAB)
    assert hand.driver.execute_script(script) == []


def check_report(hand) -> None:
    address = hand.driver.find_element("css selector", "a[href*='look=1']").get_attribute("href")
    hand.driver.get(address)
    assert violations(hand) == []


@pytest.mark.exhaustive
def test_other_states_have_no_violation(hand):
    hand.open("describe")
    hand.sees("Choose a goal")
    hand.press_until("[data-column='age'] .tools button", "What values become")
    hand.until(lambda: hand.faint() == [], "a dialog that has faded in, in contrast")
    assert violations(hand, ".q-dialog") == []
    hand.press("Cancel")
    hand.press("Choose a goal", then="Advanced")
    hand.unfold("Advanced")
    hand.sees("Privacy models")
    for scheme, width in product(("light", "dark"), (390, 1280)):
        hand.open("goal", scheme, width)
        hand.sees("Privacy models")
        assert violations(hand) == []
    hand.open("open")
    hand.press("Open another", then="Close this table")
    hand.press("Close this table", then="Choose a file")
    hand.until(lambda: not hand.driver.find_elements("css selector", ".q-dialog"), "the end of the dialog")
    hand.until(lambda: hand.faint() == [], "a page in full contrast")
    assert violations(hand) == []
    # axe-core has asked for the styles just now: no bar of the browser's requests may be left.
    assert violations(hand) == []
