"""Runs: which settings they have, names, equal ones, and files that wait for their check."""

from tests.browser.studio.test_findings import PEOPLE, ROLES, make_run

__all__ = ["PEOPLE"]  # the table of this studio, too


def test_runs_are_marked_when_settings_change_and_are_named_merged_and_deleted(hand):
    make_run(hand)
    hand.open("describe")
    hand.choose("Role of cost", "Names a person")
    hand.open("release")
    hand.sees("This is run 1 as it was made. Since then: cost is left out, and was kept as it is.")
    rail = hand.driver.find_element("css selector", "nav").text
    assert "run 1: k = 3 · changed since" in rail
    hand.open("run")
    hand.sees("other settings than now")
    hand.start_run()
    hand.sees("done and verified")
    hand.press("Start a run", then="Run 2 has the same settings, and so the same release.")
    assert len(hand.driver.find_elements("css selector", "[data-run]")) == 2
    hand.press_until("[aria-label='Name run 2']", "A name for run 2")
    hand.type("Name", "without cost")
    hand.press("Use this name")
    hand.sees("Run 2: without cost")
    check_list_of_runs(hand)
    hand.open("run")
    hand.sees("Start a run")
    delete = "[aria-label='Delete run 1']"
    hand.until(lambda: not hand.driver.find_element("css selector", delete).click(), "the button")
    hand.until(lambda: len(hand.driver.find_elements("css selector", "[data-run]")) == 1, "one run")
    hand.open("explore")
    hand.sees("Explore run 2: without cost")
    assert hand.complaints() == []


def check_list_of_runs(hand) -> None:
    """The list beside the chart opens runs, as the points of the chart do."""
    hand.open("explore")
    hand.sees("Loss against risk")
    choice = "//*[contains(@class, 'frontier-list')]//button[contains(., '{}')]"
    for run, title in (("k = 3", "Explore run 1"), ("without cost", "Explore run 2: without cost")):
        hand.until(
            lambda run=run, title=title: hand._shows_after(
                hand.driver.find_element("xpath", choice.format(run)).click, title
            ),
            title,
        )


def test_nothing_can_be_downloaded_before_the_files_are_counted(hand):
    hand.open("describe")
    for name, role in ROLES.items():
        hand.choose(f"Role of {name}", role)
    hand.press("Choose a goal")
    hand.press("Strict")
    hand.until(lambda: hand.pressed("Strict"), "Strict")
    hand.open("run")
    hand.sees("groups of at least 11")
    before = len(hand.driver.find_elements("css selector", "[data-run]"))
    hand.start_run()
    hand.until(lambda: hand.text().count("of the detail lost") > before, "another run")
    newest = lambda: hand.driver.find_element("css selector", "[data-run]").get_attribute("data-run")  # noqa: E731
    number = hand.until(newest, "the number of the run")
    path = f"{hand.server.base}download/{number}/people-released.csv"
    assert hand.server.ask(path)[0] == 404  # the run is done, and its files are not counted
    hand.open("release")
    hand.until(lambda: hand.driver.find_elements("css selector", "a[download]"), "the files")
    assert hand.server.ask(path)[0] == 200
