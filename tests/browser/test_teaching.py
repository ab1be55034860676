"""The player of a lesson, as a student meets it: keys, buttons, themes, narrow screens, little motion."""

import json

import pytest

from shoal import teach

Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

RUNS = {name: {} for name in teach.LESSONS} | {
    "brute-force": {"rows": 3, "quasi": ["sex", "job"]},
    "evolution": {"population": 20, "generations": 40},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("players")
    for name, settings in RUNS.items():
        teach.LESSONS[name].run(**settings).to_html(folder / f"{name}.html")
    return folder


def press(browser, key: str) -> None:
    named = {"ArrowRight": Keys.ARROW_RIGHT, "ArrowLeft": Keys.ARROW_LEFT, "Home": Keys.HOME, "End": Keys.END}
    browser.driver.find_element("tag name", "body").send_keys(named.get(key, key))


def place(browser) -> tuple[str, str]:
    return browser.run("document.getElementById('count').textContent"), browser.run(
        "document.getElementById('said').textContent"
    )


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1000), ("dark", 360)])
def test_it_is_silent_drawn_and_fits(browser, pages, name, scheme, width):
    browser.open(pages / f"{name}.html", scheme, width=width)
    events = [json.loads(message)["message"] for message in browser.log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.endswith(f"{name}.html")] == []
    for step in ("Home", "End"):
        press(browser, step)
        assert browser.run("document.querySelectorAll('#picture > :not(defs)').length") > 2
        assert browser.run("document.querySelectorAll('#cells tr').length") > 2
        overflow = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0
    assert browser.log("browser") == []
    light = browser.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(light[:3]) > 380) == (scheme == "light")
    columns = browser.run(
        "getComputedStyle(document.querySelector('.stage')).gridTemplateColumns.split(' ').length"
    )
    assert columns == (2 if width == 1000 else 1)


def test_keys_and_buttons_go_on_and_back(browser, pages):
    browser.open(pages / "brute-force.html")
    first = place(browser)
    assert first[0].startswith("1 / ")
    press(browser, "ArrowRight")
    second = place(browser)
    assert second[0].startswith("2 / ")
    assert second[1] != first[1]
    press(browser, "ArrowLeft")
    assert place(browser) == first
    press(browser, "End")
    assert browser.run("document.getElementById('step').disabled")
    press(browser, "Home")
    assert place(browser) == first
    browser.run("document.getElementById('step').click()")
    assert place(browser) == second
    browser.run("document.getElementById('back').click()")
    assert place(browser) == first


def test_back_shows_exactly_what_was_there(browser, pages):
    browser.open(pages / "bounds.html")
    shown = "document.querySelector('.stage').innerHTML"
    seen = []
    for _ in range(12):
        seen.append(browser.run(shown))
        press(browser, "ArrowRight")
    for before in reversed(seen):
        press(browser, "ArrowLeft")
        # The table marks what differs from the step before, on whichever way one came.
        assert browser.run(shown) == before


def test_it_plays_and_stops_at_the_end(browser, pages):
    browser.open(pages / "mondrian.html")
    assert browser.run("timer") is None  # nothing moves before somebody asks for it
    for _ in range(3):
        press(browser, "+")
    assert browser.run("document.getElementById('speed').value") == "20"
    press(browser, " ")
    assert browser.run("document.getElementById('play').textContent").endswith("Pause")
    browser.driver.set_script_timeout(20)
    browser.driver.execute_async_script(
        "const done = arguments[0];"
        "const wait = setInterval(() => { if (timer === null) { clearInterval(wait); done(); } }, 50);"
    )
    count, _ = place(browser)
    assert count.split(" / ")[0] == count.split(" / ")[1]
    assert browser.run("document.getElementById('play').textContent").endswith("Play")


def test_changed_cells_are_coloured(browser, pages):
    browser.open(pages / "brute-force.html")
    assert (
        browser.run("document.querySelector('td.changed').title") == "f"
    )  # the first step changes a cell too
    press(browser, "ArrowRight")
    changed = "[...document.querySelectorAll('td.changed')].map(cell => [cell.textContent, cell.title])"
    assert browser.run(changed) == [["*", "m"]]
    colours = browser.run(
        "['changed', 'general'].map(name => "
        "getComputedStyle(document.querySelector('td.' + name)).backgroundColor)"
    )
    assert len(set(colours)) == 2


def test_little_motion_is_respected(browser, pages):
    def look() -> tuple[str, str]:
        browser.driver.refresh()
        return browser.run("getComputedStyle(document.querySelector('td')).transitionDuration"), browser.run(
            "document.getElementById('speed').value"
        )

    browser.open(pages / "bounds.html")
    assert look() == ("0.25s", "2")
    feature = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.tell("Emulation.setEmulatedMedia", media="screen", features=[feature])
    assert look() == ("0s", "0.5")


def test_controls_have_names_and_can_be_reached(browser, pages):
    browser.open(pages / "evolution.html")
    names = browser.run(
        "[...document.querySelectorAll('button, input, select')].map(each => "
        "each.getAttribute('aria-label') || each.textContent.trim() || each.labels[0].textContent)"
    )
    assert len(names) == 7
    assert all(names)
    assert browser.run("document.getElementById('said').getAttribute('aria-live')") == "polite"
    press(browser, " ")
    assert browser.run("document.getElementById('said').getAttribute('aria-live')") == "off"
    press(browser, " ")
