"""The attacks: each tries something on many people and counts how often it comes off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.attack.outcome import Outcome
from shoal.attack.rates import Rate
from shoal.attack.scene import Found, Ints, Known, Mask, People, Scene, numbered, reading
from shoal.table import Table, as_text

Generator = np.random.Generator
_TRAINING = 10_000  # released rows that an estimator learns from
_MOST_VALUES = 20  # of a category that an estimator is told
_MOST_GUESSED = 50  # sensitive values that it may guess
_LEAF = 0.02  # share of rows that it must see alike: it learns what holds in general, `homogeneity` looks up


@dataclass(frozen=True, slots=True, eq=False)
class Attacker:
    """Who attacks: the scene, what all attacks with full knowledge find in it, and a source of chance."""

    scene: Scene
    found: tuple[Found, ...]
    """Of the people of the original and, where there is one, of the control group."""
    rng: Generator

    @classmethod
    def at(cls, scene: Scene, rng: Generator) -> Attacker:
        """Look everybody up who is to be attacked."""
        return cls(scene, tuple(scene.find(people, rng) for people in scene.groups()), rng)


def linkage(attacker: Attacker) -> Iterator[Outcome]:
    """Pick the row of a person of whom all quasi-identifiers are known."""
    about = "knows all quasi-identifiers of a person and picks one of the rows that fit"
    yield _linked(attacker, "linkage", about, attacker.found)


def partial_linkage(attacker: Attacker) -> Iterator[Outcome]:
    """The same with a random part of the quasi-identifiers."""
    scene, rng = attacker.scene, attacker.rng
    if len(scene.known) < 2:
        return
    found = tuple(scene.find(people, rng, _some(people, rng)) for people in scene.groups())
    about = (
        "knows some quasi-identifiers of a person, another part of them each time, and picks a row that fits"
    )
    yield _linked(attacker, "partial linkage", about, found)


def _some(people: People, rng: Generator) -> Mask:
    """Which columns are known of each person: at least one, and all but at least one."""
    order = rng.random(people.value.shape).argsort(axis=1).argsort(axis=1)
    return np.asarray(order < rng.integers(1, people.value.shape[1], people.count)[:, None])


def _linked(attacker: Attacker, name: str, about: str, found: tuple[Found, ...]) -> Outcome:
    """Of m rows that fit one is theirs; nobody outside of the release has one."""
    rng, rows = attacker.rng, attacker.scene.class_of.size
    with np.errstate(divide="ignore"):
        chance = np.where(found[0].rows > 0, 1.0 / found[0].rows, 0.0)
    guess = rng.random(chance.size) < 1.0 / rows
    control: Rate | None = None
    notes: tuple[str, ...] = ()
    if len(found) > 1:
        control = Rate(0, found[1].rows.size)
        wrong = float((found[1].rows > 0).mean())
        notes = (f"{100 * wrong:.1f} % of the control group fit some row, and would be linked to it wrongly",)
    return Outcome(name, about, _rate(rng.random(chance.size) < chance), control, _rate(guess), None, notes)


def homogeneity(attacker: Attacker) -> Iterator[Outcome]:
    """Guess the commonest sensitive value of the rows that fit a person; of whom none fits, nothing."""
    for name in attacker.scene.secrets:
        rates = []
        for people, found in zip(attacker.scene.groups(), attacker.found, strict=True):
            guess = found.tally[name].argmax(axis=1)
            rates.append(_rate((guess == people.secret[name])[found.rows > 0]))
        about = f"finds the rows that fit a person and takes the commonest {name} in them for theirs"
        yield _inferred("homogeneity", about, rates, attacker, name)


def inference(attacker: Attacker) -> Iterator[Outcome]:
    """Guess what an estimator predicts that learned from the release."""
    from sklearn.ensemble import RandomForestClassifier  # noqa: PLC0415  slow to load

    scene, rng = attacker.scene, attacker.rng
    rows = rng.choice(scene.class_of.size, min(_TRAINING, scene.class_of.size), replace=False)
    of_label, of_value = zip(*(_features(known) for known in scene.known), strict=True)
    seen = _described(of_label, scene.cell[scene.class_of[rows]])
    for name, secret in scene.secrets.items():
        random = int(rng.integers(1 << 31))
        forest = RandomForestClassifier(40, max_depth=12, min_samples_leaf=_LEAF, random_state=random)
        forest.fit(seen, _common(secret.of_row[rows]))
        guesses = [forest.predict(_described(of_value, people.value)) for people in scene.groups()]
        rates = [
            _rate(guess == people.secret[name]) for guess, people in zip(guesses, scene.groups(), strict=True)
        ]
        about = f"trains a random forest on the release and predicts {name} from the quasi-identifiers"
        yield _inferred("inference", about, rates, attacker, name)


def _common(values: Ints) -> Ints:
    """The values, with -2, which nobody has, for those that are too rare to learn."""
    count = np.bincount(values)
    chosen = np.argsort(-count, kind="stable")[:_MOST_GUESSED]
    return np.where(np.isin(values, chosen[count[chosen] > 2]), values, -2)


def _inferred(name: str, about: str, rates: list[Rate], attacker: Attacker, column: str) -> Outcome:
    usual = np.bincount(attacker.scene.secrets[column].of_row).argmax()
    baseline = _rate(attacker.scene.members.secret[column] == usual)
    return Outcome(name, about, rates[0], rates[1] if len(rates) > 1 else None, baseline, column)


def _features(known: Known) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A quasi-identifier as numbers: [labels, features] of what is released and [values, features] of people.

    A rank where values have an order, else one share per value; a cell is the mean of what it stands for.
    """
    if known.order is not None:
        own = known.order[:, None].astype(np.float64)
    else:
        own = np.eye(len(known.values))[:, :_MOST_VALUES]
    stands = known.stands.astype(np.float64)
    covered = stands.sum(axis=1, keepdims=True)
    mean = stands @ own / np.maximum(covered, 1)
    return np.where(covered > 0, mean, own.mean(axis=0)), own


def _described(features: tuple[NDArray[np.float64], ...], number: Ints) -> NDArray[np.float64]:
    return np.hstack([each[number[:, j]] for j, each in enumerate(features)])


def membership(attacker: Attacker) -> Iterator[Outcome]:
    """Say that a person is in the release if some row fits in everything that is known, also the secret."""
    scene = attacker.scene
    if scene.control is None:
        return
    claims = []
    for people, found in zip(scene.groups(), attacker.found, strict=True):
        there = found.rows > 0
        for name, tally in found.tally.items():
            own = people.secret[name]
            there &= (own >= 0) & (tally[np.arange(people.count), own] > 0)
        claims.append(_rate(there))
    about = "knows everything about a person, and claims that they are in the release if some rows fit"
    yield Outcome("membership", about, claims[0], claims[1], None, claim=True)


def minimality(attacker: Attacker) -> Iterator[Outcome]:
    """Guess that a person has one of the two ends of a released range, since ranges are no wider than needed.

    References
    ----------
    R. Wong, A. Fu, K. Wang, J. Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007;
    A. Cohen, "Attacks on deidentification's defenses", USENIX Security 2022 (downcoding).
    """
    scene, rng = attacker.scene, attacker.rng
    ranges = [j for j, known in enumerate(scene.known) if (known.ends >= 0).any()]
    if not ranges:  # nodes and sets that were fixed beforehand have no ends that tell
        return
    rates, naive = [], []
    for people, found in zip(scene.groups(), attacker.found, strict=True):
        hits, guesses = [], []
        for j in ranges:
            known, there = scene.known[j], found.picked >= 0
            label = scene.cell[found.picked[there], j]
            side = known.ends[label, rng.integers(0, 2, label.size)]
            wide = side >= 0
            value = people.value[there, j]
            hits.append((side == value)[wide])
            guesses.append(_drawn(known, label[wide], people.value[:, j], rng) == value[wide])
        rates.append(_rate(np.concatenate(hits)))
        naive.append(_rate(np.concatenate(guesses)))
    about = "takes one end of a released range for the value of a person who fits it"
    yield Outcome("minimality", about, rates[0], rates[1] if len(rates) > 1 else None, naive[0])


def _drawn(known: Known, label: Ints, values: Ints, rng: Generator) -> Ints:
    """For each label the value of somebody drawn from those for whom it stands."""
    weight = known.stands[label] * np.bincount(values, minlength=len(known.values))
    total = weight.cumsum(axis=1)
    return np.asarray((total > (rng.random(label.size) * total[:, -1])[:, None]).argmax(axis=1), np.int64)


def singling_out(attacker: Attacker) -> Iterator[Outcome]:
    """Name a description, taken from a released row, that fits exactly one person.

    The description has some of its columns, as many as chance will have, sensitive ones among them. Somebody
    without the release takes the cells from as many different rows.

    References
    ----------
    A. Cohen, K. Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS 117, 2020.
    """
    scene, rng = attacker.scene, attacker.rng
    count = scene.members.count
    rows = rng.choice(scene.class_of.size, count)
    width = len(scene.known) + len(scene.secrets)
    order = rng.random((count, width)).argsort(axis=1).argsort(axis=1)
    told = order < rng.integers(1, width + 1, count)[:, None]
    mixed = rng.choice(scene.class_of.size, (count, width))
    tables = [scene.original, *([] if scene.others is None else [scene.others])]
    rates = [_rate(_isolated(scene, table, np.repeat(rows[:, None], width, 1), told)) for table in tables]
    about = "describes a person by cells of a released row, and is right if exactly one person fits"
    notes = [f"descriptions may have {', '.join(scene.secrets)} in them"] if scene.secrets else []
    if scene.others is not None and scene.others.rows < scene.original.rows:
        notes.append("the control group is smaller than the original, so that the risk is on the safe side")
    baseline = _rate(_isolated(scene, scene.original, mixed, told))
    control = rates[1] if len(rates) > 1 else None
    yield Outcome("singling out", about, rates[0], control, baseline, None, tuple(notes))


def _isolated(scene: Scene, table: Table, rows: Ints, told: Mask) -> Mask:
    """Which descriptions fit exactly one row of a table.

    Parameters
    ----------
    rows : int[descriptions, columns]
        The released row that each cell of a description is from, quasi-identifiers first.
    told : bool[descriptions, columns]
        Which columns a description has.
    """
    columns = [_fitting(scene, table, known, rows[:, j]) for j, known in enumerate(scene.known)]
    for at, name in enumerate(scene.secrets, start=len(columns)):
        columns.append(_equal(scene.release.column(name), table.column(name), rows[:, at]))
    # What tells most apart comes first: little is left to look at after it.
    order = sorted(range(len(columns)), key=lambda j: -columns[j].values)
    alone = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        left: Ints | None = None
        for j in (j for j in order if told[i, j]):
            fits = columns[j].fits(i, slice(None) if left is None else left)
            left = np.flatnonzero(fits) if left is None else left[fits]
        alone[i] = left is not None and left.size == 1
    return alone


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """One column of descriptions."""

    values: int
    """How many different ones a table has in it."""
    fits: Callable[[int, Ints | slice], Mask]
    """Given a description and rows of the table: which of the rows fit."""


def _fitting(scene: Scene, table: Table, known: Known, rows: Ints) -> _Told:
    """By what a released cell stands for."""
    j = scene.known.index(known)
    used, label = np.unique(scene.cell[scene.class_of[rows], j], return_inverse=True)
    people = table.column(known.column.name)
    values, number, stands = reading(known.labels.gather(used), people, scene.original, known.column)
    return _Told(len(values), lambda i, left: stands[label[i]][number[left]])


def _equal(released: pl.Series, people: pl.Series, rows: Ints) -> _Told:
    """By an equal sensitive value."""
    values, number = numbered(pl.concat([as_text(released.gather(rows)), as_text(people)]))
    wanted, own = number[: rows.size], number[rows.size :]
    return _Told(len(values), lambda i, left: own[left] == wanted[i])


def _rate(success: Mask) -> Rate:
    return Rate(int(success.sum()), success.size)


ATTACKS: dict[str, Callable[[Attacker], Iterator[Outcome]]] = {
    "linkage": linkage,
    "partial linkage": partial_linkage,
    "singling out": singling_out,
    "homogeneity": homogeneity,
    "inference": inference,
    "membership": membership,
    "minimality": minimality,
}
