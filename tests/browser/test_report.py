"""The report in a browser: silent, self-contained, drawn, readable in both themes and on paper, and inert."""

import json

import numpy as np
import polars as pl
import pytest

import shoal

EVIL = "<script>window.hacked = 1</script>"
WORSE = "</script><img src=x onerror='window.hacked = 1'>"


def people(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "name": [f"Person-{i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "job": rng.choice(["mason", "smith", "clerk", "judge"], rows),
            "town": rng.choice([f"town {i}" for i in range(40)], rows),
            "illness": rng.choice(["flu", "cold", "cough", "asthma"], rows),
        }
    )


def anonymized(frame: pl.DataFrame, **settings) -> shoal.Release:
    jobs = shoal.Hierarchy.from_tree({"manual": ["mason", "smith"], "office": ["clerk", "judge"]})
    given = {"k": 5, "l": 2, "hierarchies": {"job": jobs}, "algorithm": "mondrian"}
    return shoal.anonymize(
        frame,
        others="keep",
        quasi=["age", "job", "town"],
        sensitive=["illness"],
        identifier=["name"],
        **(given | settings),
    )


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    anonymized(people(600)).report.to_html(path, excerpt=True)
    return path


def requests(browser) -> list[str]:
    """Addresses that the page asked for, itself left out."""
    events = [json.loads(message)["message"] for message in browser.log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    return [url for url in asked if not url.endswith("report.html")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_silent_asks_for_nothing_and_is_drawn(browser, page, scheme):
    browser.open(page, scheme)
    assert requests(browser) == []
    assert browser.log("browser") == []
    charts = browser.run("""[...document.querySelectorAll('svg.chart')].map(chart => [
        chart.getBoundingClientRect().width, chart.getBoundingClientRect().height,
        [...chart.querySelectorAll('rect, path.line')].filter(shape => {
            const box = shape.getBoundingClientRect();
            return box.width * box.height > 1;
        }).length])""")
    # Loss, levels, sizes, risk, three quasi-identifiers, two for the sensitive column.
    assert len(charts) == 9
    assert all(width > 100 and height > 30 and shapes > 0 for width, height, shapes in charts)
    assert browser.run("document.querySelectorAll('script:not([type=\"application/json\"])').length") == 0


def colours(browser) -> tuple[float, float]:
    """How light the paper and the ink are, 0 to 1."""
    shades = [
        browser.run(f"getComputedStyle(document.body).{name}.match(/\\d+/g).map(Number)")
        for name in ("backgroundColor", "color")
    ]
    return tuple(sum(shade[:3]) / 765 for shade in shades)


def test_both_themes_and_paper(browser, page):
    browser.open(page, "light")
    assert colours(browser) == pytest.approx((1.0, 0.15), abs=0.1)
    browser.open(page, "dark")
    assert colours(browser) == pytest.approx((0.1, 0.9), abs=0.1)
    browser.open(page, "dark", media="print")
    assert colours(browser) == pytest.approx((1.0, 0.15), abs=0.1)
    assert len(browser.tell("Page.printToPDF")["data"]) > 10_000


def test_it_fits_a_telephone(browser, page):
    browser.open(page, width=390)
    assert browser.run("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 390])
def test_the_headline_of_a_release_that_gives_people_away_says_so(browser, tmp_path, scheme, width):
    frame = people(120).with_columns(pl.Series("cost", range(120)))
    path = tmp_path / "report.html"
    for accepted, kind in (({}, "warn"), ({"unique-rows": "only colleagues see it"}, "decided")):
        anonymized(frame, accept=accepted).report.to_html(path)
        browser.open(path, scheme, width=width)
        head = browser.run("document.querySelector('header').innerText")
        said = browser.run("document.getElementById('shoal-findings').innerText")
        assert ("100 % of the rows are unique in all that is released: 'cost' alone" in head) is (
            not accepted
        )
        assert ("only colleagues see it" in said) is bool(accepted)
        assert browser.run(f"document.querySelectorAll('header .{kind}').length") == 1
        assert browser.run("document.querySelectorAll('.good').length") == 0
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.log("browser") == []


def test_what_stands_in_cells_is_text(browser, tmp_path):
    frame = people(60).with_columns(
        pl.Series("town", [EVIL, WORSE, "a"] * 20), pl.Series("illness", [WORSE, EVIL, "b"] * 20)
    )
    release = shoal.anonymize(
        frame.rename({"age": EVIL}),
        others="keep",
        quasi=[EVIL, "town"],
        sensitive=["illness"],
        identifier=["name"],
        k=5,
    )
    path = tmp_path / "report.html"
    release.report.to_html(path, excerpt=True)
    browser.open(path)
    assert browser.run("window.hacked") is None
    assert browser.log("browser") == []
    assert browser.run("document.images.length") == 0
    assert browser.run("document.body.innerText").count("<script>window.hacked") > 2
    record = json.loads(browser.run("document.getElementById('shoal-report').textContent"))
    assert record["figures"]["quasi"] == [EVIL, "town"]
    (tmp_path / "notebook.html").write_text(f"<meta charset=utf-8>{release.report._repr_html_()}")
    browser.open(tmp_path / "notebook.html")
    assert browser.run("window.hacked") is None
    assert browser.run("document.querySelectorAll('svg.chart').length") == 1


@pytest.mark.exhaustive
def test_a_million_rows(browser, tmp_path):
    path = tmp_path / "report.html"
    frame = people(1000).sample(1_000_000, with_replacement=True, seed=1)
    rng = np.random.default_rng(1)
    frame = frame.with_columns(
        pl.Series("age", rng.integers(0, 5000, frame.height)), pl.Series("illness", rng.random(frame.height))
    )
    anonymized(frame, l=None, k=10).report.to_html(path)
    assert path.stat().st_size < 300_000
    browser.open(path)
    assert browser.log("browser") == []
    assert requests(browser) == []
    assert "All 1,000,000 rows are released" in browser.run("document.body.innerText")
    assert browser.run("document.querySelectorAll('svg.chart').length") == 9
