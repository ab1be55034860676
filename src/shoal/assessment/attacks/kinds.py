"""The attacks: each tries something on many people and counts how often that succeeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.assessment.attacks.attack_data import (
    AttackData,
    AttackedPeople,
    Ints,
    KnownColumn,
    Mask,
    MatchedRows,
    number_strings,
)
from shoal.assessment.attacks.descriptions import (
    DescribedColumn,
    FittingRows,
    find_described,
    find_fitting_rows,
)
from shoal.assessment.attacks.outcome import Outcome
from shoal.assessment.attacks.people import find_unchanged_columns, number_values
from shoal.support.rates import Rate
from shoal.table import Table

Generator = np.random.Generator
_TRAINING = 10_000  # released rows that an estimator learns from
_MOST_VALUES = 20  # of a category that an estimator is told
_MOST_GUESSED = 50  # sensitive values that it may guess
_MOST_NAMED = 12  # columns in a note
_DRAWS = 100  # of people, among whom descriptions may fit one alone
_PART = 0.8  # of the people, drawn to see how much other people would change
_SURELY_SEVERAL = 40  # of so many people who fit, never one alone is drawn
# Share of rows that it must see alike: it learns what holds in general, and `simulate_homogeneity` looks up.
_LEAF = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedAttacker:
    """The attack data, what is found in it with full knowledge of people, and a random generator."""

    data: AttackData
    found: tuple[MatchedRows, ...]
    """Of the people of the original and, where there is one, of the control group."""
    rng: Generator
    described: tuple[DescribedColumn, ...]
    """Released columns that people can be described by."""
    strange: tuple[str, ...]
    """Those whose cells cannot be compared with the original."""
    unchanged: tuple[str, ...]
    """Columns beside the quasi-identifiers that are released as they were."""
    rest: tuple[Ints, ...]
    """What these columns say, as a number: of all released rows, and of the people of each group."""

    @classmethod
    def from_data(cls, data: AttackData, rng: Generator) -> SimulatedAttacker:
        """Look up all people who are to be attacked."""
        found = tuple(data.find_matching_rows(people, rng) for people in data.list_groups())
        quasi = {known.column.name for known in data.known}
        free = find_unchanged_columns(data.release, data.original, data.drawn, quasi)
        unchanged = tuple(name for name in free if name in data.described)
        rest = tuple(number_values([data.release, *data.drawn], unchanged))
        return cls(data, found, rng, *find_described(data), unchanged, rest)


def simulate_linkage(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """Pick the row of a person of whom all quasi-identifiers are known."""
    about = (
        "knows all quasi-identifiers of a person and takes one of the nearest rows for theirs, which is "
        "right if all else in it is true of them"
    )
    notes: tuple[str, ...] = ()
    if len(attacker.found) > 1:
        fitting = float((attacker.found[1].rows > 0).mean())
        notes = (f"{100 * fitting:.1f} % of the control group fit some row",)
    yield _measure_linkage(attacker, "linkage", about, None, notes)


def simulate_partial_linkage(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """The same with a random part of the quasi-identifiers."""
    if len(attacker.data.known) < 2:
        return
    about = (
        "knows some quasi-identifiers of a person, another part of them each time, and takes one of the "
        "nearest rows for theirs"
    )
    told = [_draw_known_columns(people, attacker.rng) for people in attacker.data.list_groups()]
    yield _measure_linkage(attacker, "partial linkage", about, told)


def _draw_known_columns(people: AttackedPeople, rng: Generator) -> Mask:
    """Which columns are known of each person: at least one, and all but at least one."""
    # All sizes from one column to all but one are equally likely, and all sets of a size.
    order = _draw_random_ranks(people.value.shape, rng)
    return np.asarray(order < rng.integers(1, people.value.shape[1], people.count)[:, None])


def _draw_random_ranks(shape: tuple[int, ...], rng: Generator) -> Ints:
    """Numbers from 0 up in every row, in a random order."""
    # Stable sorts: the same seed gives the same order on every processor.
    drawn = rng.random(shape).argsort(axis=1, kind="stable")
    return np.asarray(drawn.argsort(axis=1, kind="stable"), np.int64)


def _measure_linkage(
    attacker: SimulatedAttacker,
    name: str,
    about: str,
    told: Sequence[Mask] | None,
    notes: tuple[str, ...] = (),
) -> Outcome:
    """Link the people of every group, and count whose row says what is true of them in all other columns.

    By chance that is so for people who are not in the release, too. So what they achieve is measured, and the
    risk is the share of people who are linked to their own row.
    """
    data, rng = attacker.data, attacker.rng
    if not attacker.unchanged:
        why = "nothing but quasi-identifiers was released as it was, so that no link can be checked"
        return Outcome(name, about, Rate(0, 0), None, None, None, (*notes, why))
    released, *groups = attacker.rest
    rates = []
    for i, people in enumerate(data.list_groups()):
        linked = data.find_nearest_rows(people, rng, None if told is None else told[i])
        rates.append(_count_successes(released[linked] == groups[i]))
    # Without the release one row is as good as any other.
    guess = _count_successes(released[rng.choice(released.size, groups[0].size)] == groups[0])
    checked = f"checked by {_list_some(attacker.unchanged)}"
    control = rates[1] if len(rates) > 1 else None
    return Outcome(name, about, rates[0], control, guess, None, (*notes, checked))


def simulate_homogeneity(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """Guess the commonest sensitive value of the rows that fit a person, if any row fits."""
    for name in attacker.data.secrets:
        rates = []
        for people, found in zip(attacker.data.list_groups(), attacker.found, strict=True):
            # People whom no row fits are not counted: there is nothing to guess from.
            guess = found.tally[name].argmax(axis=1)
            rates.append(_count_successes((guess == people.secret[name])[found.rows > 0]))
        about = f"finds the rows that fit a person and takes the commonest {name} in them for theirs"
        yield _build_guess_outcome("homogeneity", about, rates, attacker, name)


def simulate_inference(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """Guess what an estimator predicts that learned from the release."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  slow to load

    data, rng = attacker.data, attacker.rng
    # A sample bounds the time of training, however large the release is.
    rows = rng.choice(data.class_of.size, min(_TRAINING, data.class_of.size), replace=False)
    of_label, of_value = zip(*(_build_features(known) for known in data.known), strict=True)
    seen = _stack_features(of_label, data.cell[data.class_of[rows]])
    for name, secret in data.secrets.items():
        # The forest gets a seed from the same generator, so that a run can be repeated.
        random = int(rng.integers(1 << 31))
        forest = RandomForestClassifier(40, max_depth=12, min_samples_leaf=_LEAF, random_state=random)
        forest.fit(seen, _mask_rare_values(secret.of_row[rows]))
        guesses = [forest.predict(_stack_features(of_value, people.value)) for people in data.list_groups()]
        rates = [
            _count_successes(guess == people.secret[name])
            for guess, people in zip(guesses, data.list_groups(), strict=True)
        ]
        about = f"trains a random forest on the release and predicts {name} from the quasi-identifiers"
        yield _build_guess_outcome("inference", about, rates, attacker, name)


def _mask_rare_values(values: Ints) -> Ints:
    """The values, with -2, which nobody has, for those that are too rare to learn."""
    # Every value costs the forest time, and one or two rows teach it nothing.
    count = np.bincount(values)
    chosen = np.argsort(-count, kind="stable")[:_MOST_GUESSED]
    return np.where(np.isin(values, chosen[count[chosen] > 2]), values, -2)


def _build_guess_outcome(
    name: str, about: str, rates: list[Rate], attacker: SimulatedAttacker, column: str
) -> Outcome:
    # The baseline knows which value is commonest, as published totals would say.
    usual = np.bincount(attacker.data.secrets[column].of_row).argmax()
    baseline = _count_successes(attacker.data.members.secret[column] == usual)
    return Outcome(name, about, rates[0], rates[1] if len(rates) > 1 else None, baseline, column)


def _build_features(known: KnownColumn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A quasi-identifier as numbers: [labels, features] of what is released and [values, features] of people.

    A rank where values have an order, else one share per value; a cell is the mean of what it stands for.
    """
    if known.order is not None:
        own = known.order[:, None].astype(np.float64)
    else:
        # Values beyond the first ones have no feature of their own: their row is all 0.
        own = np.eye(len(known.values))[:, :_MOST_VALUES]
    stands = known.stands.astype(np.float64)
    covered = stands.sum(axis=1, keepdims=True)
    mean = stands @ own / np.maximum(covered, 1)
    # A label that covers none of these values says nothing: it gets the mean of all.
    return np.where(covered > 0, mean, own.mean(axis=0)), own


def _stack_features(features: tuple[NDArray[np.float64], ...], number: Ints) -> NDArray[np.float64]:
    return np.hstack([each[number[:, j]] for j, each in enumerate(features)])


def simulate_membership(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """Say that a person is in the release if some row fits in everything that is known, also the secret."""
    data = attacker.data
    if data.control is None:
        return
    claims = []
    for people, found in zip(data.list_groups(), attacker.found, strict=True):
        there = found.rows > 0
        for name, tally in found.tally.items():
            own = people.secret[name]
            # -1 is a value that the release does not have: nobody with it can be in there.
            there &= (own >= 0) & (tally[np.arange(people.count), own] > 0)
        claims.append(_count_successes(there))
    about = "knows everything about a person, and claims that they are in the release if some rows fit"
    yield Outcome("membership", about, claims[0], claims[1], None, claim=True)


def simulate_minimality(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """Guess that a person has one of the two ends of a released range, since ranges are no wider than needed.

    References
    ----------
    R. Wong, A. Fu, K. Wang, J. Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007;
    A. Cohen, "Attacks on deidentification's defenses", USENIX Security 2022 (downcoding).
    """
    data, rng = attacker.data, attacker.rng
    ranges = [j for j, known in enumerate(data.known) if (known.ends >= 0).any()]
    if not ranges:  # nodes and sets that were fixed beforehand have no ends that tell
        return
    rates, naive = [], []
    for people, found in zip(data.list_groups(), attacker.found, strict=True):
        hits, guesses, whose = [], [], []
        for j in ranges:
            known, there = data.known[j], np.flatnonzero(found.picked >= 0)
            label = data.cell[found.picked[there], j]
            # Either end with the same chance; nothing tells which one the person has.
            side = known.ends[label, rng.integers(0, 2, label.size)]
            wide = side >= 0
            value = people.value[there, j]
            hits.append((side == value)[wide])
            # The baseline draws from the values in the range, each as often as people have it.
            guesses.append(_draw_values(known, label[wide], people.value[:, j], rng) == value[wide])
            whose.append(there[wide])
        person = np.concatenate(whose)
        rates.append(Rate.by_person(np.concatenate(hits), person))
        naive.append(Rate.by_person(np.concatenate(guesses), person))
    about = "takes one end of a released range for the value of a person who fits it"
    yield Outcome("minimality", about, rates[0], rates[1] if len(rates) > 1 else None, naive[0])


def _draw_values(known: KnownColumn, label: Ints, values: Ints, rng: Generator) -> Ints:
    """For each label the value of somebody drawn from those for whom it stands."""
    weight = known.stands[label] * np.bincount(values, minlength=len(known.values))
    # The first value whose cumulative weight exceeds the drawn number.
    total = weight.cumsum(axis=1)
    return np.asarray((total > (rng.random(label.size) * total[:, -1])[:, None]).argmax(axis=1), np.int64)


def simulate_singling_out(attacker: SimulatedAttacker) -> Iterator[Outcome]:
    """Name a description, taken from a released row, that fits exactly one person.

    It takes cells of the row in a random order, until no other released row has them. The baseline, without
    the release, takes each cell from another row.

    References
    ----------
    A. Cohen, K. Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS 117, 2020.
    """
    data, rng = attacker.data, attacker.rng
    described = attacker.described
    if not described:
        return
    count, width = data.members.count, len(described)
    rows = rng.choice(data.class_of.size, count)
    told = _choose_cells(data.release, described, rows, _draw_random_ranks((count, width), rng))
    # Each cell from another row: the frequencies of the columns without their connection.
    mixed = rng.choice(data.class_of.size, (count, width))
    same = np.repeat(rows[:, None], width, 1)
    tables = [data.original, *([] if data.others is None else [data.others])]
    # Equally many people of both tables: in a larger one fewer descriptions fit one person alone.
    size = min(table.rows for table in tables)
    rates = [
        _count_isolated(
            find_fitting_rows(data, table, described, cells, told, _SURELY_SEVERAL * table.rows // size),
            size,
            rng,
        )
        for table, cells in [*((table, same) for table in tables), (data.original, mixed)]
    ]
    about = "describes a person by cells of a released row, and is right if exactly one person fits"
    notes = tuple(_list_description_notes(attacker))
    if size < max(table.rows for table in tables):
        notes = (*notes, f"{size:,} people of either table are looked at, drawn {_DRAWS} times")
    control = rates[1] if data.others is not None else None
    yield Outcome("singling out", about, rates[0], control, rates[-1], None, notes)


def _choose_cells(release: Table, described: Sequence[DescribedColumn], rows: Ints, order: Ints) -> Mask:
    """[descriptions, columns] the first cells in an order that no other row has together; else all."""
    cells = [number_strings(release.column(each.column.name))[1] for each in described]
    told = np.zeros(order.shape, np.bool_)
    for i, row in enumerate(rows.tolist()):
        left: Ints | None = None
        for j in np.argsort(order[i], kind="stable").tolist():
            of_column = cells[j] if left is None else cells[j][left]
            same = np.flatnonzero(of_column == cells[j][row])
            left = same if left is None else left[same]
            told[i, j] = True
            if left.size == 1:
                break
    return told


def _count_isolated(fitting: FittingRows, size: int, rng: Generator) -> Rate:
    """How often descriptions fit one alone of ``size`` people, with the variance that other people would add.

    People are drawn again and again where there are more. How much the share varies between draws of most of
    them says how much it would vary between tables, by the rule of the jackknife that leaves out many.

    References
    ----------
    J. Shao, C. F. J. Wu, "A general theory for jackknife variance estimation", Annals of Statistics 17, 1989.
    """
    shares = _draw_isolated(fitting, size, rng)
    part = max(round(_PART * size), 1)
    spread = float(np.var(_draw_isolated(fitting, part, rng), ddof=1))
    variance = spread * part / max(fitting.rows - part, 1) + float(np.var(shares)) / shares.size
    return Rate(round(float(shares.mean()) * fitting.count.size), fitting.count.size).with_variance(
        variance, size
    )


def _draw_isolated(fitting: FittingRows, size: int, rng: Generator) -> NDArray[np.float64]:
    """Draw people several times: the share of the descriptions that fit one of them alone."""
    if size >= fitting.rows:
        return np.full(2, np.mean(fitting.count == 1))
    found = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        chosen = np.zeros(fitting.rows, np.bool_)
        chosen[rng.choice(fitting.rows, size, replace=False)] = True
        found[draw] = np.mean(fitting.count_within(chosen) == 1)
    return found


def _list_description_notes(attacker: SimulatedAttacker) -> Iterator[str]:
    data = attacker.data
    yield f"cells are those of {_list_some([each.column.name for each in attacker.described])}"
    if data.unmatched:
        yield f"not in the control group, and left out: {_list_some(data.unmatched)}"
    if attacker.strange:
        yield f"not released as values of the original, and left out: {_list_some(attacker.strange)}"


def _list_some(names: Sequence[str]) -> str:
    """Names for a sentence; of many the first."""
    rest = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + rest


def _count_successes(success: Mask) -> Rate:
    return Rate(int(success.sum()), success.size)


ATTACKS: dict[str, Callable[[SimulatedAttacker], Iterator[Outcome]]] = {
    "linkage": simulate_linkage,
    "partial linkage": simulate_partial_linkage,
    "singling out": simulate_singling_out,
    "homogeneity": simulate_homogeneity,
    "inference": simulate_inference,
    "membership": simulate_membership,
    "minimality": simulate_minimality,
}
COUNT_ROWS = ("linkage", "partial linkage", "singling out")
"""Attacks that look for a row. Where people have several, they are looked for by known rows instead."""
