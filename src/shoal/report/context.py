"""Who receives a release, and what threshold of risk follows: questions, published scales, reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from shoal.errors import RecipeError, unknown
from shoal.support.language import mark, translate_count
from shoal.support.language import translate as _


class Question(NamedTuple):
    """A question about the context of a release."""

    key: str
    words: str
    answers: Mapping[str, str]


class ScaleStep(NamedTuple):
    """A threshold that was published: the highest chance to find a person, and the group size for it."""

    risk: float
    k: int
    source: str


QUESTIONS = (
    Question(
        "recipient",
        mark("Who receives the release?"),
        {
            "public": mark("anyone: it is published, or nobody checks who asks"),
            "partner": mark("another organisation, known by name"),
            "colleague": mark("people of the own organisation"),
        },
    ),
    Question(
        "contract",
        mark("What binds the recipient?"),
        {
            "none": mark("nothing in writing"),
            "agreement": mark("an agreement that forbids to look for people and to pass the release on"),
            "controlled": mark(
                "such an agreement, and a protected place: logins, no copies, access is logged"
            ),
        },
    ),
    Question(
        "knowledge",
        mark("What could the recipient know of the people?"),
        {
            "little": mark("what anybody can see or read of a person"),
            "much": mark("other data about the same people, or the people themselves"),
        },
    ),
    Question(
        "gain",
        mark("What would be gained by finding a person?"),
        {
            "little": mark("nothing worth the effort"),
            "much": mark("money, news, or an advantage over the person"),
        },
    ),
    Question(
        "harm",
        mark("How much would it harm a person to be found?"),
        {
            "low": mark("little: nothing private is told"),
            "medium": mark("some: embarrassing, or of use against the person"),
            "high": mark("much: health, offences, or other data of special protection"),
        },
    ),
)

_IPC = (
    "Information and Privacy Commissioner of Ontario, De-identification Guidelines for Structured Data, 2025"
)
_EMA = "European Medicines Agency, Policy 0070, and Health Canada, Public Release of Clinical Information"
# The strictest first.
SCALE = (
    ScaleStep(0.05, 20, f"{_IPC}: high invasion of privacy"),
    ScaleStep(0.075, 15, f"{_IPC}: medium invasion of privacy"),
    ScaleStep(0.09, 11, f"{_IPC}: low invasion of privacy; {_EMA}"),
    ScaleStep(0.2, 5, "El Emam and Dankar, Protecting Privacy Using k-Anonymity, JAMIA 15, 2008: k = 5"),
)
_HARM = {"high": 0, "medium": 1, "low": 2}
_LEVELS = {"high": mark("high"), "medium": mark("medium"), "low": mark("low")}
_OWN = mark(
    "The thresholds are published. How the answers move along the scale is Shoal's own rule, and a proposal: "
    "who signs decides."
)


@dataclass(frozen=True, slots=True)
class ThresholdProposal:
    """A threshold that is proposed for a context, and why."""

    risk: float
    k: int
    source: str
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"risk": self.risk, "k": self.k, "source": self.source, "reasons": list(self.reasons)}


def check_answers(answers: Mapping[str, Any]) -> dict[str, str]:
    """Answers as they were given; an error for one that is none."""
    known = {each.key: each for each in QUESTIONS}
    for key, answer in answers.items():
        if key not in known:
            raise RecipeError(unknown("question of [context]", key, known))
        if answer not in known[key].answers:
            raise RecipeError(unknown(f"answer to [context] {key}", str(answer), known[key].answers))
    return {key: str(answer) for key, answer in answers.items()}


def propose_threshold(answers: Mapping[str, str]) -> ThresholdProposal | None:
    """The threshold for a context; None until every question is answered."""
    if any(each.key not in answers for each in QUESTIONS):
        return None
    step, reasons = _HARM[answers["harm"]], []
    reasons.append(
        _(
            "The harm is {harm}: for a release to anybody the scale says a risk of at most {risk:g}.",
            harm=_(_LEVELS[answers["harm"]]),
            risk=SCALE[step].risk,
        )
    )
    bound = {"none": 0, "agreement": 1, "controlled": 2}[answers["contract"]]
    if answers["recipient"] == "public":
        reasons.append(_("Anyone receives it, so that no contract and no protected place counts."))
    else:
        looser = bound + (answers["recipient"] == "colleague" and bound > 0)
        reasons.append(
            translate_count(
                "{number} step less strict: the recipient is known and bound.",
                "{number} steps less strict: the recipient is known and bound.",
                looser,
            )
            if looser
            else _("Nothing binds the recipient, so that it counts as a release to anybody.")
        )
        step += looser
    step = min(step, len(SCALE) - 1)
    for key, told in (
        ("knowledge", _("knows other data of the people")),
        ("gain", _("has something to gain")),
    ):
        if answers[key] == "much":
            step -= 1
            reasons.append(_("1 step stricter: who receives it {told}.", told=told))
    chosen = SCALE[max(step, 0)]
    return ThresholdProposal(chosen.risk, chosen.k, chosen.source, (*reasons, _(_OWN)))
