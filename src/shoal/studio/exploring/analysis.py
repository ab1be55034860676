"""For analysts: pairs of columns, quantiles, losses, and whether a query or a model still holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from nicegui import ui
from nicegui.element import Element

from shoal.assessment.model_check import ModelAnswer, ModelKind, check_model
from shoal.assessment.usefulness import CODES, QueryAnswer, Usefulness, measure_association
from shoal.errors import ShoalError
from shoal.report.pictures import draw_bars, draw_heat_maps
from shoal.report.prose import capitalize_sentence
from shoal.studio import theme
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.support.language import format_number, mark, translate_message
from shoal.support.language import translate as _

_MOST_COLUMNS = 10  # between all pairs of which associations are measured
_MOST_PAIRS = 12
_WORDS = mark(
    "A released cell counts in equal parts for all values that it may be, as somebody who has the release "
    "alone would count it."
)


def draw_analysis(page: Page, run: Run) -> None:
    """Draw the section; nothing of a run that was kept without what it is counted from."""
    if not (run.folder / CODES).is_file():
        return
    with theme.card(_("For analysts"), _(_WORDS), id="analysis"):
        found = Usefulness.from_folder(run.folder)
        looks = page.workspace.looks
        if len(found.columns) > 1:
            _draw_pair(found, looks)
            _draw_associations(found)
        _draw_quantiles(found)
        _draw_losses(run)
        _draw_query(found, looks)
        if len(found.columns) > 1:
            _draw_model(found, looks)


def _draw_pair(found: Usefulness, looks: dict[str, Any]) -> None:
    names = list(found.columns)
    chosen = [looks.get(f"pair {at}") for at in (0, 1)]
    first, second = (each if each in names else names[at] for at, each in enumerate(chosen))
    looks["pair 0"], looks["pair 1"] = first, second
    theme.text(_("Two columns together"), "", "h3")

    @ui.refreshable
    def draw_maps() -> None:
        a, b = looks["pair 0"], looks["pair 1"]
        if a == b:
            theme.text(_("Choose two different columns."), "soft small")
            return
        one, two, before, after = found.cross_columns(a, b)
        drawn = draw_heat_maps(_("{a} and {b}", a=a, b=b), (a, b), (one.labels, two.labels), (before, after))
        ui.html(drawn).classes("picture")
        was, now = (format_number(measure_association(each), ".2f") for each in (before, after))
        theme.text(
            _(
                "How strongly they go together (Cramér's V, 0 to 1): {was} before, {now} after.",
                was=was,
                now=now,
            ),
            "small",
        )
        # What differs most is half of the sum of all differences, at most all of the rows.
        moved = theme.format_percent(float(abs(before - after).sum()) / 2)
        theme.text(
            _("{moved} of the rows are in another field of the picture than before.", moved=moved), "small"
        )
        _draw_save_button(drawn, "two-columns.svg")

    def set_column(at: int, name: str) -> None:
        looks[f"pair {at}"] = name
        draw_maps.refresh()

    with theme.box("rowed"):
        for at, label in enumerate((_("First column"), _("Second column"))):
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
    theme.text(_("Which pairs of columns changed most"), "", "h3").style("margin-top: 18px")
    theme.draw_table(
        (_("columns"), _("before"), _("after"), _("difference")),
        [
            (
                _("{a} and {b}", a=a, b=b),
                format_number(was, ".2f"),
                format_number(now, ".2f"),
                format_number(now - was, "+.2f"),
            )
            for a, b, was, now in pairs
        ][:_MOST_PAIRS],
        "associations",
    )


def _draw_quantiles(found: Usefulness) -> None:
    names = [name for name, each in found.columns.items() if each.number is not None]
    if not names:
        return
    theme.text(_("Quantiles of numbers"), "", "h3").style("margin-top: 18px")
    rows = []
    for name in names[:_MOST_COLUMNS]:
        quantiles = found.compute_quantiles(name)
        rows.append((name, _("before"), *(format_number(was, ".4g") for __, was, __ in quantiles)))
        rows.append(("", _("after"), *(format_number(now, ".4g") for __, __, now in quantiles)))
    heads = (
        _("column"),
        _("when"),
        *(_("{share:.0f} %", share=100 * share) for share, *__ in found.compute_quantiles(names[0])),
    )
    theme.draw_table(heads, rows, "quantiles")


def _draw_losses(run: Run) -> None:
    losses = run.figures["explore"].get("losses")
    if not losses:
        return
    theme.text(_("By every loss"), "", "h3").style("margin-top: 18px")
    told = _("Each has its own scale; the recipe says which one was minimised.")
    theme.text(told, "soft small")
    rows = [(name, format_number(value, ".4g")) for name, value in losses]
    theme.draw_table((_("loss"), _("value")), rows, "losses")


# Queries.


def _draw_query(found: Usefulness, looks: dict[str, Any]) -> None:
    theme.text(_("Does my query still hold?"), "", "h3").style("margin-top: 18px")
    theme.text(
        _(
            "Count the rows that meet conditions, as 30-40 or >= 30 of numbers and Ulm, Bonn of "
            "others; or group "
            "by a column."
        ),
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
            theme.note(f"{capitalize_sentence(translate_message(str(error)))}.", "warn")

    with theme.box("rowed"):
        for at in ("", " 2"):
            _draw_choice(asked, f"column{at}", _("Condition on{at}", at=at), names)
            made = ui.input(_("Values{at}", at=at), value=asked.get(f"values{at}", ""))
            made.props("outlined dense")
            made.on_value_change(lambda event, at=at: asked.update({f"values{at}": event.value}))
    with theme.box("rowed").style("margin-top: 10px"):
        _draw_choice(asked, "group", _("Group by"), names)
        _draw_choice(asked, "mean", _("Mean of"), numbers)
        theme.button(_("Ask both tables"), draw_answer.refresh, "outline", icon="help")
    draw_answer()


def _draw_choice(asked: dict[str, Any], key: str, label: str, names: Sequence[str]) -> None:
    value = asked.get(key) if asked.get(key) in names else ""
    made = ui.select({"": _("nothing"), **{name: name for name in names}}, label=label, value=value)
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
        return _("rows"), [(_(" and ").join(conditions), found.count_rows(conditions))]
    if (group := asked.get("group")) in found.columns:
        mean = asked.get("mean") if asked.get("mean") in found.columns else None
        return (_("mean of {mean}", mean=mean) if mean else _("rows")), found.group_rows(str(group), mean)
    return "", []


def _draw_answers(about: str, answers: list[tuple[str, QueryAnswer]]) -> None:
    if not answers:
        return
    rows = [
        (
            label,
            format_number(each.before, ",.4g"),
            format_number(each.after, ",.4g"),
            "" if each.error is None else theme.format_percent(each.error),
            ""
            if each.least is None or each.most is None
            else _("{least:,.0f} to {most:,.0f}", least=each.least, most=each.most),
        )
        for label, each in answers
    ]
    heads = (
        _("of"),
        _("{about}, before", about=about),
        _("{about}, after", about=about),
        _("error"),
        _("what the release leaves possible"),
    )
    theme.draw_table(heads, rows, "answers")


# Models.

_KINDS: dict[ModelKind, str] = {
    "boosting": mark("boosted trees"),
    "linear": mark("a linear model"),
}
_MEASURES = {
    "accuracy": mark("share of right answers"),
    "r2": mark("share of the variance that is explained (R²)"),
}


def _draw_model(found: Usefulness, looks: dict[str, Any]) -> None:
    theme.text(_("Does my model still hold?"), "", "h3").style("margin-top: 18px")
    theme.text(
        _(
            "A model learns a column from all others, once from the table and once from the "
            "release. Both then "
            "predict the same rows of the table, which neither has seen."
        ),
        "soft small",
    )
    asked: dict[str, Any] = looks.setdefault("model", {"kind": "boosting"})
    names = list(found.columns)
    asked["target"] = asked.get("target") if asked.get("target") in names else names[-1]
    with theme.box("rowed"):
        target = ui.select(names, label=_("Column to predict"), value=asked["target"])
        target.on_value_change(lambda event: asked.update(target=event.value))
        kind = ui.select(
            {kind: _(words) for kind, words in _KINDS.items()}, label=_("Kind of model"), value=asked["kind"]
        )
        kind.on_value_change(lambda event: asked.update(kind=event.value))
        for made in (target, kind):
            made.props("outlined dense options-dense").style("min-width: 170px")
        theme.button(_("Train both"), lambda: _answer_model(found, asked, answer), "outline", icon="school")
    answer = theme.box("model-answer stacked", role="status")


async def _answer_model(found: Usefulness, asked: dict[str, Any], answer: Element) -> None:
    answer.clear()
    with answer:
        theme.text(_("Learning"), "soft small")
    try:
        told = await asyncio.to_thread(check_model, found, asked["target"], asked["kind"])
    except ShoalError as error:
        answer.clear()
        with answer:
            theme.note(f"{capitalize_sentence(translate_message(str(error)))}.", "warn")
        return
    answer.clear()
    with answer:
        _draw_model_answer(told)


def _draw_model_answer(told: ModelAnswer) -> None:
    measure = _(_MEASURES[told.measure])
    bars = [
        (_("learned from the table"), told.before),
        (_("learned from the release"), told.after),
        (_("guessed without a model"), told.guess),
    ]
    drawn = draw_bars(_("{column}, predicted from all other columns", column=told.target), measure, bars)
    ui.html(drawn).classes("picture")
    if told.kept is None:
        theme.text(_("The other columns say nothing about {column}.", column=told.target), "small")
    else:
        kept = theme.format_percent(min(max(told.kept, 0.0), 1.0))
        words = _(
            "Of what the model knows beyond a guess, {kept} is left in the release, by {rows:,} rows.",
            kept=kept,
            rows=told.rows,
        )
        theme.text(words, "small")
    _draw_save_button(drawn, "model.svg")


def _draw_save_button(drawn: str, name: str) -> None:
    theme.button(
        _("Save as picture"),
        lambda: ui.download.content(drawn.encode(), name, "image/svg+xml"),
        "outline",
        icon="image",
    )
