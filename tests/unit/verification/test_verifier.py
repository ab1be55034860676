import subprocess
import sys
from collections import Counter, defaultdict
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from shoal.engines.api import verify
from shoal.errors import InputError, RecipeError
from shoal.privacy import DistinctL, KAnonymity
from shoal.table import ReadOptions

RELEASE = pl.DataFrame(
    {
        "age": ["[20-29]", "[20-29]", "*", "[20-29]", "*", "*"],
        "sex": ["F", "F", "M", "F", "M", "M"],
        "illness": ["flu", "cold", "flu", "flu", "flu", None],
    }
)
QUASI = ["age", "sex"]
GOAL = (KAnonymity(3), DistinctL(2))


def check(frame, models=GOAL, quasi=QUASI, sensitive=("illness",), **options):
    return verify(frame, quasi=quasi, sensitive=sensitive, models=models, **options)


def test_what_an_outsider_finds():
    found = check(RELEASE).to_dict()
    (finding,) = found.pop("findings")
    assert (finding["id"], finding["severity"], finding["figure"]) == ("unique-rows", "high", 2 / 6)
    assert found == {
        "holds": True,
        "rows": 6,
        "classes": 2,
        "smallest_class": 3,
        "models": [
            {"name": "k", "asked": {"k": 3}, "achieved": 3, "holds": True},
            {"name": "distinct-l", "asked": {"l": 2, "column": "illness"}, "achieved": 2, "holds": True},
        ],
    }


@pytest.mark.parametrize(
    ("row", "column", "value", "broken"),
    [
        (0, "age", "[20-28]", {"k"}),  # one row alone, and two left
        (2, "sex", None, {"k"}),
        (1, "illness", "flu", {"distinct-l"}),
        (5, "age", "[20-29]", {"k"}),
    ],
)
def test_one_changed_cell_is_seen(row, column, value, broken):
    changed = RELEASE.with_columns(RELEASE[column].scatter(row, value))
    found = check(changed)
    assert not found.holds
    assert broken <= {model.name for model in found.models if not model.holds}


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_what_a_dictionary_counts(seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "a": rng.choice(["x", "y", "", None], 300).tolist(),
            "b": rng.integers(0, 4, 300),
            "s": rng.choice(["p", "q", "r", "", None], 300).tolist(),
            "t": rng.choice([1.5, float("nan"), 2.0, None], 300).tolist(),
        }
    )
    classes, illnesses, costs = Counter(), defaultdict(set), defaultdict(set)
    for a, b, s, t in frame.iter_rows():
        classes[a, b] += 1
        illnesses[a, b].add(s or None)  # an empty text is a missing value to a reader
        costs[a, b].add(None if t is None or t != t else t)
    found = check(frame, (KAnonymity(2), DistinctL(2)), ["a", "b"], ["s", "t"])
    assert (found.rows, found.classes) == (300, len(classes))
    assert found.smallest_class == min(classes.values())
    assert [model.achieved for model in found.models] == [
        min(classes.values()),
        min(map(len, illnesses.values())),
        min(map(len, costs.values())),
    ]


def test_a_missing_quasi_identifier_is_not_an_empty_one():
    frame = pl.DataFrame({"a": [None, None, "", ""]})
    assert check(frame, [KAnonymity(2)], ["a"], []).classes == 2
    assert not check(frame, [KAnonymity(3)], ["a"], []).holds


def test_missing_sensitive_values_are_one_value():
    frame = pl.DataFrame({"a": ["*"] * 4, "s": ["", None, "?", "NA"]})
    found = check(frame, [DistinctL(2)], ["a"], ["s"], options=ReadOptions(na=("?", "NA")))
    assert (found.models[0].achieved, found.holds) == (1, False)
    assert check(frame, [DistinctL(2)], ["a"], ["s"]).models[0].achieved == 1
    assert check(frame, [DistinctL(2)], ["a"], ["s"], fold=()).models[0].achieved == 3


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([True, False, True, None], id="boolean"),
        pytest.param([date(2020, 1, 1), date(2021, 1, 1), date(2020, 1, 1), None], id="date"),
        pytest.param([1, 2, 1, None], id="integer"),
        pytest.param(pl.Series(["x", "y", "x", None], dtype=pl.Categorical), id="categorical"),
        pytest.param(pl.Series(["x", "y", "x", None], dtype=pl.Enum(["y", "x"])), id="enum"),
    ],
)
def test_values_of_every_type(values):
    frame = pl.DataFrame({"a": values, "one": ["*"] * 4})
    assert check(frame, [DistinctL(2)], ["one"], ["a"]).models[0].achieved == 3
    assert check(frame, [KAnonymity(2)], ["a"], []).classes == 3


@pytest.mark.parametrize("make", [pl.DataFrame, pl.LazyFrame, pd.DataFrame, pa.table])
def test_frames_of_every_kind(make):
    assert check(make(RELEASE.to_dict(as_series=False))).holds


def test_a_file_is_read_as_written(tmp_path):
    path = tmp_path / "release.csv"
    RELEASE.write_csv(path, separator=";")
    assert check(path) == check(RELEASE)
    # 1 and 1.0 are one number, but an outsider can tell the rows apart.
    path.write_text("age,illness\n1,flu\n1.0,cold\n")
    assert check(path, [KAnonymity(2)], ["age"], []).smallest_class == 1


def test_columns_with_awkward_names():
    frame = pl.DataFrame({"^.*$": ["x", "x"], "count": ["y", "y"], "size": [1, 2], "quasi 0": [1, 1]})
    found = check(frame, [KAnonymity(2), DistinctL(2)], ["^.*$", "count", "quasi 0"], ["size"])
    assert (found.holds, found.classes) == (True, 1)


def test_what_cannot_be_checked():
    with pytest.raises(InputError, match="the polars frame: unknown column 'Age': did you mean 'age'"):
        check(RELEASE, quasi=["Age"])
    with pytest.raises(InputError, match="unknown column 'ilness': did you mean 'illness'"):
        check(RELEASE, sensitive=["ilness"])
    with pytest.raises(RecipeError, match="no quasi-identifiers"):
        check(RELEASE, quasi=[])
    with pytest.raises(RecipeError, match="no privacy goal"):
        check(RELEASE, models=[])
    with pytest.raises(RecipeError, match="needs a sensitive column"):
        check(RELEASE, sensitive=[])


def test_it_shares_no_code_with_the_search():
    code = """
import sys, shoal.verification.verifier
print(*sorted({name.split('.')[1] for name in sys.modules if name.startswith('shoal.')}))
print('numba' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Which kernels these are is pinned in tests/test_imports.py: they read text and name rules.
    assert done.stdout == "errors kernels privacy support table verification\nFalse\n"


def test_a_quasi_identifier_may_have_a_name_like_a_pattern():
    found = verify(pl.DataFrame({"^a$": ["x", "x", "y", "y"]}), quasi=["^a$"], models=[KAnonymity(2)])
    assert (found.holds, found.classes) == (True, 2)
