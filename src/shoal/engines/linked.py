"""Linked releases in memory: pseudonyms, what an attacker may know, and the count of what was released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.algorithms.linked.goal import LinkedGoal
from shoal.codespace.encoding import encode_column
from shoal.engines.people import describe_largest
from shoal.engines.prepare import PreparedTable
from shoal.errors import InternalError, RecipeError, quote
from shoal.privacy.people import number_people
from shoal.privacy.pseudonyms import (
    are_pseudonyms,
    derive_key,
    is_readable_by_others,
    make_pseudonyms,
    read_key,
)
from shoal.recipes.recipe import Recipe
from shoal.recipes.release_rows import Rows
from shoal.support.warning_codes import CodedWarning
from shoal.table import Column, Table, to_strings
from shoal.verification.linked import LinkedRows, verify_linked
from shoal.verification.verifier import Verification


def prepare_links(recipe: Recipe, table: Table, subject: PreparedTable) -> PreparedTable:
    """What is needed for pseudonyms, and for rows that these keep together."""
    pseudonym = make_pseudonyms(table.column(str(recipe.person)), read_key(recipe.key_file))
    told = [*warn_of_key(recipe)]
    linked = None
    if subject.person is not None:
        assert subject.varying is not None
        static = tuple(map(recipe.quasi.index, subject.varying.static))
        order = None if recipe.align is None else rank_values(recipe, table, recipe.align, subject.rows)
        linked = LinkedGoal(recipe.known_rows, static, order)
    warnings = (*subject.warnings, *told)
    return replace(subject, pseudonym=pseudonym, linked=linked, warnings=warnings)


def prepare_keyed(recipe: Recipe, table: Table, subject: PreparedTable) -> PreparedTable:
    """The pseudonyms of identifiers that are kept, each column with a key of its own."""
    key = read_key(recipe.key_file)
    person = number_people(table.column(str(recipe.person)))[0] if recipe.pseudonym else None
    made = {}
    for name in recipe.keyed:
        # By a key of its own: equal values of two columns do not tell that they are equal.
        made[name] = make_pseudonyms(table.column(name), derive_key(key, name))
        _refuse_links(name, made[name], person)
    warnings = subject.warnings if recipe.pseudonym else (*subject.warnings, *warn_of_key(recipe))
    return replace(subject, keyed=made, warnings=warnings)


def _refuse_links(name: str, pseudonyms: pl.Series, person: Rows | None) -> None:
    """Refuse an identifier that brings rows together which are apart otherwise."""
    if pseudonyms.n_unique() == len(pseudonyms):
        return
    number = pseudonyms.rank("dense").to_numpy().astype(np.int64)
    # Where the rows of a person are together anyway, one more name of the person tells nothing.
    if (
        person is not None
        and _count_pairs(person, number) == np.unique(person).size == np.unique(number).size
    ):
        return
    raise RecipeError(
        f"'{name}' has the same value in several rows, which its pseudonym would bring together: name it "
        "with --person and --pseudonym, which count people, or leave it out"
    )


def describe_keyed(recipe: Recipe) -> Iterator[str]:
    """What became of identifiers that are kept."""
    where = "environment" if recipe.key_file is None else "key file"
    yield f"{quote(recipe.keyed)} has pseudonyms; the key is in the {where} only: keep that secret"


def check_keyed(recipe: Recipe, released: Table, original: Table) -> None:
    """Whether kept identifiers are pseudonyms in a release, and none is a value of the table."""
    for name in recipe.keyed:
        cells = released.column(name)
        known = original.column(name) if name in original.names else cells.clear()
        if not are_pseudonyms(cells) or to_strings(cells).is_in(to_strings(known).implode()).any():
            raise InternalError(f"the release has values of '{name}' that are no pseudonyms")


def warn_of_key(recipe: Recipe) -> Iterator[str]:
    """Warn of a key file that is no secret."""
    if is_readable_by_others(recipe.key_file):
        text = f"others than you can read the key file {recipe.key_file}: take that right from them"
        yield CodedWarning("W11", text)


def rank_values(recipe: Recipe, table: Table, name: str, rows: Rows | None) -> Rows:
    """The place of each row in the order of the column that rows are aligned by."""
    known = Column(name, recipe.types.get(name), recipe.orders.get(name), None, recipe.reading.na)
    # Codes of numbers, dates and ordered values are in their order.
    values = table.column(name)
    values = values if rows is None else values.gather(rows)
    return encode_column(values, known).codes.astype(np.int64)


def describe_links(recipe: Recipe, subject: PreparedTable, rows: Rows) -> Iterator[str]:
    """What was done because the rows of a person stay together; ``rows`` are the rows of each."""
    yield (
        f"the {rows.sum():,} released rows are of {rows.size:,} people by '{recipe.person}', of whom one has "
        f"{rows.max():,}"
    )
    yield from describe_largest(recipe, int(rows.sum()), int(rows.max()))
    # Of several tables, static columns are those of the table of people, which is told elsewhere.
    if subject.varying is not None:
        yield subject.varying.describe()
    known = {"1": "any one of a person's rows", "all": "all rows of a person"}
    told = known.get(recipe.knows, f"any {recipe.knows} rows of a person")
    yield (f"somebody who knows the static columns and {told} finds as many people as the goal says")
    yield f"{name_pseudonym(recipe)}; the rows are sorted by what is released"


def name_pseudonym(recipe: Recipe) -> str:
    """What became of the column of the person."""
    where = "environment" if recipe.key_file is None else "key file"
    return f"'{recipe.person}' was replaced by a pseudonym; its key is in the {where} only: keep that secret"


def verify_pseudonyms(
    recipe: Recipe,
    released: Table,
    owners: tuple[NDArray[np.int64] | None, NDArray[np.int64] | None],
    static: Sequence[str],
    columns: Mapping[str, Column],
) -> Verification:
    """Let the verifier decide on a release with pseudonyms, which it reads like anybody.

    Parameters
    ----------
    owners : (int64[rows] or None, int64[rows] or None)
        The person of each released row, if anybody has several: the pseudonyms must say the same. And the
        group of that person, if groups are counted, which the release does not say.
    static : sequence of str
        The columns that were the same in all rows of every person.
    """
    person, group = owners
    told, missing = number_people(released.column(str(recipe.person)))
    true = np.arange(released.rows) if person is None else person
    if missing or np.unique(told).size != np.unique(true).size or _count_pairs(told, true) != told.max() + 1:
        raise InternalError("the pseudonyms in the release do not tell the people apart as the ids do")
    linked = LinkedRows(told, recipe.known_rows, tuple(static), group)
    found = verify_linked(released, recipe.quasi, recipe.sensitive, recipe.models, linked, columns)
    # Also where everybody was left with one row.
    return found if person is None else replace(found, people=np.unique(told).size)


def _count_pairs(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    return int(np.unique(one * (int(other.max()) + 1) + other).size)


def leave_out_pseudonym(recipe: Recipe, frame: pl.DataFrame) -> pl.DataFrame:
    """What is released beside pseudonyms, which say whose row it is and nothing else."""
    return frame.drop(*recipe.keyed, *((str(recipe.person),) if recipe.pseudonym else ()))
