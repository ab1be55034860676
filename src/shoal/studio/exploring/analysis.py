"""For analysts: pairs of columns, quantiles, losses, and whether a query still holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from shoal.errors import ShoalError
from shoal.report.pictures import draw_heat_maps
from shoal.report.prose import capitalize_sentence
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.studio.usefulness import CODES, QueryAnswer, Usefulness, measure_association

_MOST_COLUMNS = 10  # between all pairs of which associations are measured
_MOST_PAIRS = 12
_WORDS = (
    "A released cell counts in equal parts for all values that it may be, as somebody who has the release "
    "alone would count it."
)


def draw_analysis(page: Page, run: Run) -> None:
    """Draw the section; nothing of a run that was kept without what it is counted from."""
    if not (run.folder / CODES).is_file():
        return
    with theme.card("For analysts", _WORDS, id="analysis"):
        found = Usefulness.from_folder(run.folder)
        looks = page.workspace.looks
        if len(found.columns) > 1:
            _draw_pair(found, looks)
            _draw_associations(found)
        _draw_quantiles(found)
        _draw_losses(run)
        _draw_query(found, looks)


def _draw_pair(found: Usefulness, looks: dict[str, Any]) -> None:
    names = list(found.columns)
    chosen = [looks.get(f"pair {at}") for at in (0, 1)]
    first, second = (each if each in names else names[at] for at, each in enumerate(chosen))
    looks["pair 0"], looks["pair 1"] = first, second
    theme.text("Two columns together", "", "h3")

    @ui.refreshable
    def draw_maps() -> None:
        a, b = looks["pair 0"], looks["pair 1"]
        if a == b:
            theme.text("Choose two different columns.", "soft small")
            return
        one, two, before, after = found.cross_columns(a, b)
        drawn = draw_heat_maps(f"{a} and {b}", (a, b), (one.labels, two.labels), (before, after))
        ui.html(drawn).classes("picture")
        was, now = (f"{measure_association(each):.2f}" for each in (before, after))
        theme.text(f"How strongly they go together (Cramér's V, 0 to 1): {was} before, {now} after.", "small")
        # What differs most is half of the sum of all differences, at most all of the rows.
        moved = theme.format_percent(float(abs(before - after).sum()) / 2)
        theme.text(f"{moved} of the rows are in another field of the picture than before.", "small")
        theme.button(
            "Save as picture",
            lambda: ui.download.content(drawn.encode(), "two-columns.svg", "image/svg+xml"),
            "outline",
            icon="image",
        )

    def set_column(at: int, name: str) -> None:
        looks[f"pair {at}"] = name
        draw_maps.refresh()

    with theme.box("rowed"):
        for at, label in enumerate(("First column", "Second column")):
            made = ui.select(
                names,
                label=label,
                value=looks[f"pair {at}"],
                on_change=lambda event, at=at: set_column(at, event.value),
            )
            made.props("outlined dense options-dense").style("min-width: 200px")
    draw_maps()


def _draw_associations(found: Usefulness) -> None:
    names = list(found.columns)[:_MOST_COLUMNS]
    pairs = sorted(found.list_associations(names), key=lambda each: -abs(each[3] - each[2]))
    theme.text("Which pairs of columns changed most", "", "h3").style("margin-top: 18px")
    theme.draw_table(
        ("columns", "before", "after", "difference"),
        [(f"{a} and {b}", f"{was:.2f}", f"{now:.2f}", f"{now - was:+.2f}") for a, b, was, now in pairs][
            :_MOST_PAIRS
        ],
        "associations",
    )


def _draw_quantiles(found: Usefulness) -> None:
    names = [name for name, each in found.columns.items() if each.number is not None]
    if not names:
        return
    theme.text("Quantiles of numbers", "", "h3").style("margin-top: 18px")
    rows = []
    for name in names[:_MOST_COLUMNS]:
        quantiles = found.compute_quantiles(name)
        rows.append((name, "before", *(f"{was:.4g}" for _, was, _ in quantiles)))
        rows.append(("", "after", *(f"{now:.4g}" for _, _, now in quantiles)))
    heads = ("column", "when", *(f"{100 * share:.0f} %" for share, *_ in found.compute_quantiles(names[0])))
    theme.draw_table(heads, rows, "quantiles")


def _draw_losses(run: Run) -> None:
    losses = run.figures["explore"].get("losses")
    if not losses:
        return
    theme.text("By every loss", "", "h3").style("margin-top: 18px")
    told = "Each has its own scale; the recipe says which one was minimised."
    theme.text(told, "soft small")
    rows = [(name, f"{value:.4g}") for name, value in losses]
    theme.draw_table(("loss", "value"), rows, "losses")


# Queries.


def _draw_query(found: Usefulness, looks: dict[str, Any]) -> None:
    theme.text("Does my query still hold?", "", "h3").style("margin-top: 18px")
    theme.text(
        "Count the rows that meet conditions, as 30-40 or >= 30 of numbers and Ulm, Bonn of others; or group "
        "by a column.",
        "soft small",
    )
    names = list(found.columns)
    numbers = [name for name, each in found.columns.items() if each.number is not None]
    asked: dict[str, Any] = looks.setdefault("query", {})

    @ui.refreshable
    def draw_answer() -> None:
        try:
            _draw_answers(*_answer_query(found, asked))
        except ShoalError as error:
            theme.note(f"{capitalize_sentence(str(error))}.", "warn")

    with theme.box("rowed"):
        for at in ("", " 2"):
            _draw_choice(asked, f"column{at}", f"Condition on{at}", names)
            made = ui.input(f"Values{at}", value=asked.get(f"values{at}", ""))
            made.props("outlined dense")
            made.on_value_change(lambda event, at=at: asked.update({f"values{at}": event.value}))
    with theme.box("rowed").style("margin-top: 10px"):
        _draw_choice(asked, "group", "Group by", names)
        _draw_choice(asked, "mean", "Mean of", numbers)
        theme.button("Ask both tables", draw_answer.refresh, "outline", icon="help")
    draw_answer()


def _draw_choice(asked: dict[str, Any], key: str, label: str, names: Sequence[str]) -> None:
    value = asked.get(key) if asked.get(key) in names else ""
    made = ui.select({"": "nothing", **{name: name for name in names}}, label=label, value=value)
    made.props("outlined dense options-dense").style("min-width: 170px")
    made.on_value_change(lambda event: asked.update({key: event.value}))


def _answer_query(found: Usefulness, asked: dict[str, Any]) -> tuple[str, list[tuple[str, QueryAnswer]]]:
    """What the answers are about, and the answers."""
    conditions: dict[str, Any] = {}
    for at in ("", " 2"):
        name = asked.get(f"column{at}")
        if name in found.columns and asked.get(f"values{at}"):
            wanted = found.read_condition(name, asked[f"values{at}"])
            conditions[name] = wanted & conditions[name] if name in conditions else wanted
    if conditions:
        return "rows", [(" and ".join(conditions), found.count_rows(conditions))]
    if (group := asked.get("group")) in found.columns:
        mean = asked.get("mean") if asked.get("mean") in found.columns else None
        return (f"mean of {mean}" if mean else "rows"), found.group_rows(str(group), mean)
    return "", []


def _draw_answers(about: str, answers: list[tuple[str, QueryAnswer]]) -> None:
    if not answers:
        return
    rows = [
        (
            label,
            f"{each.before:,.4g}",
            f"{each.after:,.4g}",
            "" if each.error is None else theme.format_percent(each.error),
            "" if each.least is None or each.most is None else f"{each.least:,.0f} to {each.most:,.0f}",
        )
        for label, each in answers
    ]
    heads = ("of", f"{about}, before", f"{about}, after", "error", "what the release leaves possible")
    theme.draw_table(heads, rows, "answers")
