"""What a column looks like, and what it adds to the risk."""

from __future__ import annotations

from shoal.report import svg
from shoal.studio import theme
from shoal.studio.profile import ColumnProfile
from shoal.studio.state import StudioWorkspace
from shoal.support.language import translate as _


def draw_distribution(profile: ColumnProfile) -> None:
    """A small distribution with some values; those of a column in which all differ stand alone."""
    with theme.box("column-picture"):
        if profile.bars:
            first, last = profile.ends
            order = (
                _("from {first} to {last}", first=first, last=last)
                if profile.is_ordered
                else _("the commonest first: {first}", first=first)
            )
            title = _("Distribution of {name}, {order}", name=profile.name, order=order)
            theme.draw_chart(svg.draw_small_columns(title, profile.bars, _name_bars(profile)))
            if profile.is_ordered:
                with theme.box("column-ends"):
                    theme.text(first, "", "span")
                    theme.text(last, "", "span")
        _draw_examples(profile)


def _draw_examples(profile: ColumnProfile) -> None:
    """Quartiles of numbers and dates in a line; other values a line each, with their shares."""
    if profile.is_ordered or not profile.bars:
        told = ", ".join(text for text, _ in profile.examples)
        if told:
            theme.text(_("For example {told}", told=told), "soft small column-examples")
        return
    for text, share in profile.examples:
        with theme.box("column-example soft small"):
            theme.text(text, "", "span", title=text)
            theme.text(theme.format_percent(share), "", "span")


def _name_bars(profile: ColumnProfile) -> list[str]:
    if profile.is_ordered:
        return [
            _("Part {at} of {count}", at=at, count=len(profile.bars))
            for at in range(1, len(profile.bars) + 1)
        ]
    named = [text for text, _ in profile.examples]
    return [
        named[at] if at < len(named) else _("Value {at} by frequency", at=at + 1)
        for at in range(len(profile.bars))
    ]


def draw_column_risk(workspace: StudioWorkspace, name: str) -> None:
    """How many people a column singles out alone, and how many more the recognisable ones do with it."""
    if name not in workspace.choices or name not in workspace.list_own(workspace.choices[name].role):
        return  # columns of further tables are not counted here
    known, role = workspace.get_contributions(), workspace.choices[name].role
    each = None if known is None else known.get(name)
    if each is None or role in ("identifier", "person"):
        return
    without, together = theme.format_percent(each.without), theme.format_percent(each.together)
    if role == "quasi":
        told = _(
            "The recognisable columns single out {together} of the people with it, {without} without it.",
            together=together,
            without=without,
        )
    else:
        told = _(
            "If somebody knew it as well: {together} of the people are singled out, instead of {without}.",
            together=together,
            without=without,
        )
    with theme.box("column-risk", data_added=f"{each.added:.6f}"):
        with theme.box("gauge-track", aria_hidden="true"):
            theme.box("gauge-bar before").style(f"width: {100 * each.without:.2f}%")
            least = 3 if each.added else 0  # pixels: what is there can be seen
            theme.box("gauge-bar added").style(
                f"left: {100 * each.without:.2f}%; width: max({100 * each.added:.2f}%, {least}px)"
            )
        theme.text(told, "small")
