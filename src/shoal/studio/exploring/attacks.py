"""Simulated attacks on a run: a button, progress, and what came of them in plain words."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.report.prose import capitalize_sentence
from shoal.studio import theme
from shoal.studio.attacking import HELD_BACK, PEOPLE, AttackRun
from shoal.studio.exploring.risks import format_width
from shoal.studio.page import Page
from shoal.studio.running import Run
from shoal.support.language import mark, translate_message
from shoal.support.language import translate as _

_NAMES = {
    "linkage": mark("Find somebody's row"),
    "partial linkage": mark("Find it, knowing less"),
    "singling out": mark("Describe exactly one person"),
    "homogeneity": mark("Read off a sensitive value"),
    "inference": mark("Predict a sensitive value"),
    "membership": mark("Tell that somebody is in it"),
    "minimality": mark("Guess the value behind a range"),
}
_GRADES = {
    "unknown": ("", mark("not compared")),
    "none": ("good", mark("✓ no sign of a leak")),
    "small": ("warn", mark("small risk")),
    "clear": ("warn", mark("clear risk")),
    "serious": ("bad", mark("serious risk")),
}
_DOING = {
    "starting": mark("Starting"),
    "read": mark("Reading the table"),
    "search": mark("Making a release without the people held back"),
    "recode": mark("Making a release without the people held back"),
    "verify": mark("Checking that release"),
    "looking people up": mark("Looking people up"),
    "known rows": mark("Attack: find a person by rows of theirs"),
}
# By the share of the people that is held back.
_WAYS = {
    HELD_BACK: mark("Hold 1 in 5 people back, to compare with"),
    0.0: mark("Attack this very release, without a comparison"),
}


def draw_attacks(page: Page, run: Run) -> None:
    """Draw the section."""
    with theme.card(
        _("Try to break it"),
        _(
            "Shoal plays the attacker: it takes people of your table, pretends to know them, and counts how "
            "often it finds their row, learns their secret, or tells that they are in the release."
        ),
        id="attacks",
    ):
        if run.recipe.sets:
            theme.note(
                _(
                    "Attacks do not look at the values of cells that have several, so that they "
                    "would find too "
                    "little. What somebody finds who knows some of them was counted when the "
                    "release was checked."
                )
            )
            return
        section = ui.refreshable(lambda: _draw_section(page, run, section))
        section()


def _draw_section(page: Page, run: Run, section: Any) -> None:
    attack = run.attack
    if attack is None or attack.state in ("cancelled", "failed"):
        if attack is not None:
            failed = attack.state == "failed"
            theme.note(
                translate_message(attack.error) if failed else _("The attack was broken off."),
                "bad" if failed else "",
            )
        _draw_start(page, run, section)
    elif attack.state == "running":
        _draw_progress(attack, section)
    else:
        _draw_outcomes(page, run, attack, section)


def _draw_start(page: Page, run: Run, section: Any) -> None:
    looks = page.workspace.looks
    with theme.box("rowed").style("margin-top: 6px"):
        way = ui.select(
            {way: _(words) for way, words in _WAYS.items()},
            value=looks.get("attack", HELD_BACK),
            label=_("How"),
        ).props("outlined dense options-dense")
        people = ui.number(_("People attacked"), value=PEOPLE, min=10, max=100_000, step=100).props(
            "outlined dense"
        )

        def start_attack() -> None:
            looks["attack"] = way.value
            run.attack = AttackRun(run.folder, float(way.value), int(people.value or PEOPLE))
            run.attack.start()
            page.workspace.record_change(page.id)  # redraws the other tabs; here the section is enough
            section.refresh()

        theme.button(_("Start the attacks"), start_attack, icon="gps_fixed")
    theme.text(
        _(
            "With people held back, the same recipe makes a second release without them. What "
            "succeeds on them "
            "as well is not the release's fault: it is true of everybody."
        ),
        "soft small",
    ).style("margin-top: 10px")


def _draw_progress(attack: AttackRun, section: Any) -> None:
    doing = theme.text(_describe_activity(attack), "small", role="status")
    bar = ui.linear_progress(attack.done, show_value=False).props("rounded")
    bar.props["aria-label"] = _("How much is done")

    # The attack runs in a thread of its own, from which nothing can be drawn: the page polls it.
    def update_progress() -> None:
        if attack.state != "running":
            timer.deactivate()
            section.refresh()
            return
        doing.text = _describe_activity(attack)
        bar.set_value(attack.done)

    timer = ui.timer(0.3, update_progress)

    def cancel_attack() -> None:
        attack.cancel()
        section.refresh()

    theme.button(_("Cancel"), cancel_attack, "outline", icon="stop").style("margin-top: 12px")


def _describe_activity(attack: AttackRun) -> str:
    if attack.doing in _NAMES:
        return _("Attack: {name}", name=_lower_first(_(_NAMES[attack.doing])))
    return _(_DOING.get(attack.doing, capitalize_sentence(attack.doing)))


def _draw_outcomes(page: Page, run: Run, attack: AttackRun, section: Any) -> None:
    found = attack.found
    _draw_verdict(found)
    theme.text(
        _(
            "Bars say how often an attack succeeds; the dark line, and the figures in brackets, in "
            "what range "
            "that lies with 95 % confidence."
        ),
        "small soft attack-key",
    )
    for each in found["attacks"]:
        _draw_outcome(each)
    if found["combinations"] is not None:
        _draw_combinations(found["combinations"])

    def attack_again() -> None:
        run.attack = None
        section.refresh()

    with theme.box("rowed spread").style("margin-top: 12px"):
        others = (
            _(" and {control:,} who are not in the release", control=found["control"])
            if found["control"]
            else ""
        )
        theme.text(
            _("{people:,} people of the table{others} were attacked.", people=found["people"], others=others),
            "soft small",
        )
        theme.button(_("Attack again"), attack_again, "outline", icon="replay")


def _lower_first(text: str) -> str:
    """A name within a sentence."""
    return f"{text[:1].lower()}{text[1:]}"


def _draw_verdict(found: dict[str, Any]) -> None:
    grades = [each["grade"] for each in found["attacks"]]
    # From worst to best. Without a control group no attack can be graded, which leaves unknown.
    worst = next((g for g in ("serious", "clear", "small", "none") if g in grades), "unknown")
    bad = [_lower_first(_format_name(each["name"])) for each in found["attacks"] if each["grade"] == worst]
    named = ", ".join(dict.fromkeys(bad))
    told = {
        "small": _("Being in the release adds a small risk here: {attacks}.", attacks=named),
        "clear": _("Being in the release adds a clear risk here: {attacks}.", attacks=named),
        "serious": _("Being in the release adds a serious risk here: {attacks}.", attacks=named),
        "none": _("No attack does better on people who are in the release than on people who are not."),
        "unknown": _(
            "Without people to compare with nobody can say how much of this is the release's fault."
        ),
    }[worst]
    kind: theme.Kind = {"none": "good", "serious": "bad", "unknown": ""}.get(worst, "warn")  # type: ignore[assignment]
    theme.note(told, kind).style("margin-bottom: 14px")


def _draw_outcome(each: dict[str, Any]) -> None:
    kind, grade = _GRADES[each["grade"]]
    grade = _(grade)
    column = "" if each["column"] is None else f": {each['column']}"
    with theme.box("attack", data_attack=each["name"]):
        with theme.box("attack-words"):
            with theme.box("rowed").style("gap: 4px 10px"):
                theme.text(f"{_format_name(each['name'])}{column}", "", "h3")
                theme.badge(grade, kind)
            theme.text(_("Somebody {about}.", about=translate_message(each["about"])), "small")
            theme.text(_("It {verdict}.", verdict=translate_message(each["verdict"])), "small soft")
            for note in each["notes"]:
                theme.text(f"{note[:1].upper()}{note[1:]}.", "small soft")
        with theme.box("attack-rates"):
            _draw_rate(_("in the release"), each["rate"], "after")
            _draw_rate(_("not in it"), each["control"], "before")
            _draw_rate(_("mere guessing"), each["baseline"], "before")


def _format_name(name: str) -> str:
    """What an attack does, in words; those by known rows of a person are many."""
    return (
        _(_NAMES[name])
        if name in _NAMES
        else _("Find a person by {name} of theirs", name=translate_message(name.removesuffix(" known")))
    )


def _draw_combinations(found: dict[str, Any]) -> None:
    """What can be read off the cells: a count, so there is nothing to compare or to be unsure of."""
    with theme.box("attack", data_attack="combinations"), theme.box("attack-words"):
        theme.text(_("Read exact combinations off the cells"), "", "h3")
        theme.text(f"{found['verdict'][:1].upper()}{found['verdict'][1:]}.", "small")
        if found["meaning"]:
            theme.text(f"{found['meaning'][:1].upper()}{found['meaning'][1:]}.", "small soft")


def _draw_rate(words: str, rate: dict[str, Any] | None, kind: str) -> None:
    if rate is None:
        return
    told = _(
        "{value} ({low:.1f} to {high:.1f})",
        value=theme.format_percent(rate["value"]),
        low=100 * rate["low"],
        high=100 * rate["high"],
    )
    with theme.box("gauge-line rate"):
        theme.text(words, "soft small", "span")
        with theme.box("gauge-track", "span", aria_hidden="true"):
            theme.box(f"gauge-bar {kind}", "span").style(f"width: {format_width(rate['value'])}")
            low, high = 100 * rate["low"], 100 * rate["high"]
            # Half a percent is the narrowest interval that can still be seen.
            theme.box("gauge-range", "span").style(f"left: {low:.2f}%; width: {max(high - low, 0.5):.2f}%")
        theme.text(told, "strong small gauge-figure", "span")
