"""The dossier: what was done to a table, for whom and why, as a document that somebody can sign.

A dossier is made of the page of a report, which has all figures, and of what people say: purpose, recipient,
context, who decided what. Its parts are blocks that know nothing of paper; `dossier_page` draws them as HTML
and `dossier_pdf` as PDF.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from shoal.errors import InputError, RecipeError, unknown
from shoal.privacy import achieved_text
from shoal.recipes.project import Project
from shoal.report.audit import read_record
from shoal.report.context import QUESTIONS, ThresholdProposal, check_answers, propose_threshold
from shoal.report.prose import capitalize_sentence, explain_limits, explain_model, format_share, join_names
from shoal.report.whole_release import SEVERITIES, figure_text, looked_for, sum_up
from shoal.support.files import as_utf8, read_small, whole_file
from shoal.support.language import (
    ENGLISH,
    LANGUAGES,
    format_number,
    mark,
    speaking,
    translate_count,
    translate_message,
)
from shoal.support.language import translate as _
from shoal.verification.findings import Finding

EDITION = 1
_MEGABYTES = 64
_LONGEST = 600  # characters of a cell
_NOT_SAID = mark("not stated")
_AGAIN = mark("With this recipe, the same table and 'shoal run' the release can be made again.")
_DRAWN = mark(
    "The release is a random sample: another run by this recipe draws another one, and both would add up."
)


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section, or of a part of one."""

    text: str
    level: int = 1


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text."""

    text: str
    kind: str = ""
    """``warn`` or ``soft``, if it is to look other than usual."""


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DossierTable:
    """A table, whose heads are repeated on every page."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    widths: tuple[int, ...]
    """How wide the columns are, relative to each other."""


@dataclass(frozen=True, slots=True)
class Code:
    """Text as it stands in a file."""

    text: str


@dataclass(frozen=True, slots=True)
class Signatures:
    """Lines to sign on."""

    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageBreak:
    """What follows begins on a new page."""


Block: TypeAlias = Heading | Paragraph | Bullets | DossierTable | Code | Signatures | PageBreak


@dataclass(frozen=True, slots=True)
class Statement:
    """What people say about a release; Shoal checks none of it."""

    purpose: str = ""
    recipient: str = ""
    legal_ground: str = ""
    retention: str = ""
    threshold_reason: str = ""
    """Why another threshold than the proposed one."""
    signers: tuple[str, ...] = (mark("Prepared by"), mark("Data protection officer"), mark("Data owner"))
    context: Mapping[str, str] = field(default_factory=dict)
    """Answers to `shoal.report.context.QUESTIONS`."""

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Statement:
        """Read it from plain values, as those of a TOML file."""
        names = [each.name for each in fields(cls)]
        for key, value in plain.items():
            if key not in names:
                raise RecipeError(unknown("statement", key, names))
            wanted = {"signers": list, "context": dict}.get(key, str)
            if not isinstance(value, tuple if key == "signers" and isinstance(value, tuple) else wanted):
                raise RecipeError(f"the statement '{key}' must be {_KINDS[wanted]}, not {value!r}")
        signers = tuple(map(str, plain.get("signers", cls().signers)))
        context = check_answers(plain.get("context", {}))
        return cls(**{**plain, "signers": signers, "context": context})

    def to_dict(self) -> dict[str, Any]:
        """As plain values; `from_dict` reads them."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        return plain | {"signers": list(self.signers), "context": dict(self.context)}

    @classmethod
    def from_toml(cls, path: Path) -> Statement:
        """Read it from a file, as `TEMPLATE` is one."""
        try:
            return cls.from_dict(tomllib.loads(as_utf8(path, read_small(path, 1))))
        except OSError as error:
            raise InputError(f"{path}: cannot read the statements: {error.strerror}") from error
        except tomllib.TOMLDecodeError as error:
            raise RecipeError(f"{path}: not a file of statements: {error}") from error


_KINDS: dict[type, str] = {list: "a list of texts", dict: "a table", str: "text"}
TEMPLATE = (
    "\n".join(
        [
            "# What Shoal cannot know: it stands in the dossier as you write it.",
            'purpose = ""',
            'recipient = ""',
            'legal_ground = ""',
            'retention = ""',
            "# Why the goal asks for less than is proposed, if it does.",
            'threshold_reason = ""',
            'signers = ["Prepared by", "Data protection officer", "Data owner"]',
            "",
            "# All five together propose a threshold.",
            "[context]",
            *(
                f"# {each.words}\n"
                + "".join(f"#   {key}: {words}\n" for key, words in each.answers.items())
                + f'# {each.key} = "{next(iter(each.answers))}"'
                for each in QUESTIONS
            ),
        ]
    )
    + "\n"
)
"""A file of statements, to be filled in."""


@dataclass(frozen=True, slots=True)
class Dossier:
    """A dossier about one release."""

    record: Mapping[str, Any]
    """The auditor's part of the report: recipe, figures, risks, checksums."""
    statement: Statement = field(default_factory=Statement)
    attack: Mapping[str, Any] | None = None
    """What ``shoal attack --json`` printed."""
    decisions: Sequence[Mapping[str, Any]] = ()
    """The log of a project, oldest first: ``when``, ``who``, ``what``."""
    overridden: Sequence[str] = ()
    """What was proposed and decided otherwise, in words."""
    made: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC")

    def __post_init__(self) -> None:
        # Proposals follow from the values of the table, and so does what somebody made of them.
        if self.tells_sample_only:
            object.__setattr__(self, "decisions", ())
            object.__setattr__(self, "overridden", ())

    @property
    def tells_sample_only(self) -> bool:
        """Whether the release is a private sample: then nothing else about the table may be told."""
        return self.figures["rows"] is None

    @classmethod
    def from_report(
        cls,
        report: str | Path,
        about: Statement | Mapping[str, Any] | str | Path | None = None,
        attack: Mapping[str, Any] | str | Path | None = None,
        project: str | Path | None = None,
    ) -> Dossier:
        """Make it of a page that ``--report`` wrote.

        Parameters
        ----------
        report : path
            The page, or an earlier dossier about the same release.
        about : Statement, mapping or path, optional
            Purpose, recipient, legal ground, retention, signers and context; a path is that of a TOML file.
        attack : mapping or path, optional
            What ``shoal attack --json`` printed, or ``Attacks.to_dict``.
        project : path, optional
            A project of the studio, for its log of decisions.
        """
        decisions, overridden = ([], []) if project is None else _read_decisions(Path(project))
        return cls(
            read_record(Path(report)),
            _read_statement(about),
            _read_attack(attack),
            decisions,
            overridden,
        )

    @property
    def proposal(self) -> ThresholdProposal | None:
        """The threshold that is proposed for the context, if that was told."""
        return propose_threshold(self.statement.context)

    def save(self, path: str | Path) -> None:
        """Write it as ``.pdf``, ``.html`` or ``.json``, by the end of the name; for its owner alone."""
        path = Path(path)
        content = self.to_bytes(path.suffix.lower())
        with whole_file(path, private=True) as stream:
            stream.write(content)

    def to_bytes(self, suffix: str) -> bytes:
        """What a file that ends in ``.pdf``, ``.html`` or ``.json`` holds."""
        kinds = {".pdf": self.to_pdf, ".html": lambda: self.to_html().encode(), ".json": self._to_json_bytes}
        if suffix not in kinds:
            raise InputError(f"a dossier is written as {', '.join(kinds)}, not as '{suffix}'")
        return kinds[suffix]()

    def to_html(self) -> str:
        """The dossier as one HTML file."""
        from shoal.report.dossier_page import draw_dossier  # noqa: PLC0415  draws, and so needs this class

        return draw_dossier(self)

    def to_pdf(self) -> bytes:
        """The dossier as PDF, with page numbers and contents; needs the extra ``pdf``."""
        from shoal.report.dossier_pdf import print_dossier  # noqa: PLC0415

        return print_dossier(self)

    def _to_json_bytes(self) -> bytes:
        return (json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n").encode()

    def to_dict(self) -> dict[str, Any]:
        """As plain values, by the schema ``dossier.schema.json``."""
        return {
            "shoal-dossier": EDITION,
            "made": self.made,
            "statement": self.statement.to_dict(),
            "proposal": None if self.proposal is None else self.proposal.to_dict(),
            "decisions": [{key: each[key] for key in ("when", "who", "what")} for each in self.decisions],
            "overridden": list(self.overridden),
            "attack": None if self.attack is None else dict(self.attack),
            "audit": dict(self.record),
        }

    # What it is made of.

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures of the run."""
        found: Mapping[str, Any] = self.record["figures"]
        return found

    @property
    def findings(self) -> list[Finding]:
        """What the release as a whole gives away."""
        return [Finding.from_dict(each) for each in self.figures["findings"]]

    @property
    def name(self) -> str:
        """What the table is called."""
        return str(self.record["input"]["name"] or _("a table in memory"))

    @property
    def language(self) -> str:
        """The language that the recipe says."""
        release = tomllib.loads(str(self.record["recipe"])).get("release", {})
        return str(release.get("language", ENGLISH))

    def list_blocks(self) -> Iterator[Block]:
        """Everything after the title, in order."""
        for title, section in _SECTIONS:
            blocks = list(section(self))
            if blocks:
                yield Heading(_(title))
                yield from blocks
        yield PageBreak()
        yield Heading(_("Appendix: the recipe"))
        yield Paragraph(_(_DRAWN if self.figures["rows"] is None else _AGAIN))
        yield Code(str(self.record["recipe"]))


def _read_statement(about: Statement | Mapping[str, Any] | str | Path | None) -> Statement:
    if about is None or isinstance(about, Statement):
        return about or Statement()
    return Statement.from_dict(about) if isinstance(about, Mapping) else Statement.from_toml(Path(about))


def _read_attack(attack: Mapping[str, Any] | str | Path | None) -> Mapping[str, Any] | None:
    if attack is None or isinstance(attack, Mapping):
        return attack
    path = Path(attack)
    try:
        found = json.loads(as_utf8(path, read_small(path, _MEGABYTES)))
        _ = [(each["name"], each["verdict"]) for each in found["attacks"]]
    except OSError as error:
        raise InputError(f"{path}: cannot read the attacks: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not what 'shoal attack --json' prints") from error
    return dict(found)


def _read_decisions(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The log of a project, and what of Shoal's proposals was decided otherwise."""
    project = Project.load(path)
    kept = project.decisions[: project.position + 1]
    if not kept:
        return [], []
    try:
        return kept, list_overridden(kept[0]["state"]["choices"], kept[-1]["state"]["choices"])
    except (KeyError, TypeError, AttributeError) as error:
        raise RecipeError(f"{path}: the decisions of this project are damaged") from error


def list_overridden(proposed: Mapping[str, Any], decided: Mapping[str, Any]) -> list[str]:
    """Columns that are something else than was proposed."""
    return [
        _(
            "{name} was proposed as {proposed}, and is {decided}",
            name=name,
            proposed=_(_ROLES[proposed[name]["role"]]),
            decided=_(_ROLES[choice["role"]]),
        )
        for name, choice in decided.items()
        if name in proposed and proposed[name]["role"] != choice["role"]
    ]


_ROLES = {
    "quasi": "a quasi-identifier",
    "set": mark("a column of sets"),
    "sensitive": mark("sensitive"),
    "identifier": mark("left out"),
    "person": mark("the person"),
    "plain": mark("kept as it is"),
}


# The sections.


def _state_purpose(dossier: Dossier) -> Iterator[Block]:
    said = dossier.statement
    rows = [
        (_("Table"), dossier.name),
        (_("Release"), str(dossier.record["release"]["name"] or _("not written to a file"))),
        (_("Purpose"), said.purpose or _(_NOT_SAID)),
        (_("Recipient"), said.recipient or _(_NOT_SAID)),
        (_("Legal ground"), said.legal_ground or _(_NOT_SAID)),
        (_("Retention"), said.retention or _(_NOT_SAID)),
    ]
    yield DossierTable((_("what"), _("as stated")), tuple(rows), (1, 3))


def _judge_result(dossier: Dossier) -> Iterator[Block]:
    figures = dossier.figures
    told = sum_up(all(model["holds"] for model in figures["models"]), dossier.findings)
    yield Paragraph(
        f"{capitalize_sentence(told.text.lstrip('✓✗ '))}.", "warn" if told.kind in ("warn", "bad") else ""
    )
    rows = translate_count("{number:,} row", "{number:,} rows", figures["released_rows"])
    if figures["rows"] is not None:
        rows += _(" of {rows:,}", rows=figures["rows"])
    yield Paragraph(
        _(
            "The release has {rows}, in {classes:,} classes of rows that look the same in "
            "{quasi}; the smallest class has {smallest_class:,}. {ncp} of the detail in these "
            "columns is lost.",
            rows=rows,
            classes=figures["classes"],
            quasi=join_names(figures["quasi"]),
            smallest_class=figures["smallest_class"],
            ncp=format_share(figures["ncp"]),
        )
    )
    models = tuple(
        (
            model["name"],
            ", ".join(f"{key} = {value}" for key, value in model["asked"].items()),
            achieved_text(model["achieved"]),
            _("holds") if model["holds"] else _("DOES NOT HOLD"),
            explain_model(model["name"]),
        )
        for model in figures["models"]
    )
    yield DossierTable(
        (_("model"), _("asked"), _("found"), _("result"), _("which means")), models, (6, 8, 5, 5, 18)
    )


def _reason_threshold(dossier: Dossier) -> Iterator[Block]:
    answers, proposal = dossier.statement.context, dossier.proposal
    rows = tuple(
        (_(each.words), _(each.answers[answers[each.key]]) if each.key in answers else _("not answered"))
        for each in QUESTIONS
    )
    yield DossierTable((_("question"), _("answer")), rows, (2, 3))
    if proposal is None:
        yield Paragraph(_("No threshold is proposed: not every question is answered."), "soft")
        return
    yield Paragraph(
        _(
            "Proposed: a risk of at most {risk:g} to find a person, which is k = {k}.",
            risk=proposal.risk,
            k=proposal.k,
        )
    )
    yield Bullets((*proposal.reasons, _("Scale: {source}.", source=proposal.source)))
    yield from _compare_threshold(dossier, proposal)


def _compare_threshold(dossier: Dossier, proposal: ThresholdProposal) -> Iterator[Block]:
    """Whether the release keeps the proposed threshold, and why not."""
    reached = int(dossier.figures["smallest_class"])
    if reached >= proposal.k:
        yield Paragraph(
            _("The smallest class has {reached:,}: the release keeps this threshold.", reached=reached)
        )
        return
    reason = dossier.statement.threshold_reason
    why = _("The reason that is given: {reason}", reason=reason) if reason else _("No reason is given.")
    yield Paragraph(
        _(
            "The smallest class has {reached:,}: the release does not keep this threshold. {why}",
            reached=reached,
            why=why,
        ),
        "warn",
    )


def _tell_decisions(dossier: Dossier) -> Iterator[Block]:
    figures = dossier.figures
    roles = [
        (_("quasi-identifiers, made coarser"), figures["quasi"]),
        (_("sensitive, kept and mixed"), figures["sensitive"]),
        (_("left out"), figures["identifier"]),
    ]
    yield DossierTable(
        (_("role"), _("columns")), tuple((what, join_names(names)) for what, names in roles if names), (1, 2)
    )
    yield Heading(_("Proposals that were decided otherwise"), 2)
    if dossier.overridden:
        yield Bullets(tuple(dossier.overridden))
    else:
        yield Paragraph(_("None.") if dossier.decisions else _explain_absence(dossier), "soft")
    yield Heading(_("Who decided what"), 2)
    if not dossier.decisions:
        yield Paragraph(_explain_absence(dossier), "soft")
        return
    rows = tuple(
        (
            str(each["when"])[:16].replace("T", " "),
            str(each["who"]) or _("nobody named"),
            "; ".join(each["what"]),
        )
        for each in dossier.decisions
    )
    yield DossierTable((_("when"), _("who"), _("what")), rows, (2, 2, 6))
    yield Paragraph(_("Names are as they were typed."), "soft")


def _explain_absence(dossier: Dossier) -> str:
    if dossier.tells_sample_only:
        return _("Left out: they would tell of the table, of which only the sample may be told.")
    return _("Not recorded: no project was given.")


def _tell_findings(dossier: Dossier) -> Iterator[Block]:
    if not dossier.findings:
        yield Paragraph(looked_for(dossier.tells_sample_only))
    for finding in dossier.findings:
        yield Heading(f"{finding.id}: {_(SEVERITIES[finding.severity])}, {figure_text(finding)}", 2)
        yield Paragraph(f"{capitalize_sentence(translate_message(finding.message))}.")
        if finding.accepted is not None:
            yield Paragraph(
                _(
                    "Accepted by {who}: {accepted}",
                    who=_find_acceptor(dossier, finding.id),
                    accepted=finding.accepted,
                )
            )
        elif finding.is_open:
            yield Paragraph(
                _("Open. What to do: {remedy}.", remedy=translate_message(finding.remedy)), "warn"
            )
        else:
            yield Paragraph(
                _("What could be done: {remedy}.", remedy=translate_message(finding.remedy)), "soft"
            )


def _find_acceptor(dossier: Dossier, finding: str) -> str:
    """Who accepted a finding last, by the log."""
    begins = []
    for language in LANGUAGES:  # a log has the language of who decided
        with speaking(language):
            begins.append(_("{finding} is accepted, because {accept}", finding=finding, accept=""))
    for each in reversed(dossier.decisions):
        if any(str(line).startswith(tuple(begins)) for line in each["what"]):
            return str(each["who"]) or _("somebody who gave no name")
    return _("somebody whom no log names")


def _compare_risks(dossier: Dossier) -> Iterator[Block]:
    risk = dossier.record["risk"]
    names = {
        "highest": _("highest risk of a row to be found"),
        "average": _("average risk"),
        "unique": _("rows that stand alone"),
        "below_5": _("rows with a risk above 20 %"),
        "below_20": _("rows with a risk above 5 %"),
    }
    sides = {"before": _("before"), "after": _("after")}
    shown = [side for side in sides if side in risk]
    rows = tuple((words, *(format_share(risk[each][key]) for each in shown)) for key, words in names.items())
    yield DossierTable((_("risk"), *(sides[side] for side in shown)), rows, (3, *(1 for _ in shown)))
    yield Paragraph(
        _("Of somebody who knows that a person is in the table, and all quasi-identifiers of that person."),
        "soft",
    )


def _tell_attacks(dossier: Dossier) -> Iterator[Block]:
    if dossier.attack is None:
        yield Paragraph(_("No attack was simulated, or its results were not given."), "soft")
        return
    rows = tuple(
        (_describe_attack(each), translate_message(str(each["verdict"])))
        for each in dossier.attack["attacks"]
    )
    yield DossierTable((_("attack"), _("what it achieved")), rows, (2, 3))
    control = dossier.attack.get("control")
    told = (
        _("on {control:,} people who are not in the release as well", control=control)
        if control
        else _("without a control group")
    )
    yield Paragraph(_("Attacks were simulated {told}.", told=told), "soft")


def _describe_attack(plain: Mapping[str, Any]) -> str:
    name = translate_message(str(plain["name"]))
    told = _("{name} of {column}", name=name, column=plain["column"]) if plain.get("column") else name
    return f"{capitalize_sentence(told)}: {translate_message(plain['about'])}" if plain.get("about") else told


def _tell_losses(dossier: Dossier) -> Iterator[Block]:
    columns = dossier.figures["columns"]
    rows = tuple(
        (name, _(str(each["type"])), format_number(each["values"], ","), format_share(each["ncp"]))
        for name, each in columns.items()
    )
    yield DossierTable((_("column"), _("type"), _("values before"), _("detail lost")), rows, (3, 2, 2, 2))
    if dossier.figures["suppressed_rows"]:
        yield Paragraph(
            _(
                "{suppressed_rows:,} rows were left out to keep the goal.",
                suppressed_rows=dossier.figures["suppressed_rows"],
            )
        )


def _tell_limits(dossier: Dossier) -> Iterator[Block]:
    names = dict.fromkeys(model["name"] for model in dossier.figures["models"])
    yield Bullets(
        (
            _(
                "Only {quasi} are taken as known. Who knows more of a person, or other columns, may "
                "still find the row.",
                quasi=join_names(dossier.figures["quasi"]),
            ),
            _("Another release of the same people can be combined with this one."),
            _("The dossier is no part of the release: it tells how the table was."),
            *(f"{name}: {text}" for name in names if (text := explain_limits(name))),
        )
    )


def _list_checksums(dossier: Dossier) -> Iterator[Block]:
    record = dossier.record
    rows = tuple(
        (f"{which_words}, {kind_words}", value)
        for which, which_words in (("input", _("input")), ("release", _("release")))
        for kind, kind_words in (("file", _("file")), ("content", _("content")))
        if (value := record[which][kind])
    )
    yield DossierTable((_("SHA-256 of"), _("is")), rows, (1, 4))
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    yield Paragraph(
        _(
            "Made by Shoal {shoal} ({versions}); dossier of {made}.",
            shoal=record["shoal"],
            versions=versions,
            made=dossier.made,
        ),
        "soft",
    )
    release = record["release"]["name"] or "RELEASE"
    yield Paragraph(
        _(
            "Who has the release can check these figures and checksums: shoal verify {release} "
            "--report with this file.",
            release=release,
        )
    )


def _ask_signatures(dossier: Dossier) -> Iterator[Block]:
    yield Paragraph(_("Signed by people, on paper or in a system of theirs; Shoal signs nothing."), "soft")
    yield Signatures(tuple(map(_, dossier.statement.signers)))


_SECTIONS = (
    (mark("Purpose and recipient"), _state_purpose),
    (mark("Result"), _judge_result),
    (mark("Context and threshold"), _reason_threshold),
    (mark("Decisions"), _tell_decisions),
    (mark("What the release as a whole gives away"), _tell_findings),
    (mark("Risk before and after"), _compare_risks),
    (mark("Simulated attacks"), _tell_attacks),
    (mark("What it cost"), _tell_losses),
    (mark("What the guarantee does not cover"), _tell_limits),
    (mark("Checksums"), _list_checksums),
    (mark("Signatures"), _ask_signatures),
)


def read_schema() -> str:
    """The JSON schema of `Dossier.to_dict`."""
    return files("shoal.report").joinpath("dossier.schema.json").read_text("utf-8")


def cut_cell(text: str) -> str:
    """A text that fits into a cell; the whole of it stands in the JSON."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
