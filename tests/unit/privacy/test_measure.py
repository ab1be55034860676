"""All that a table reaches, at once."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal

PEOPLE = pl.DataFrame(
    {
        "age": ["2*", "2*", "2*", "3*", "3*"],
        "illness": ["flu", "flu", "cold", "flu", "cold"],
        "pay": [10, 20, 30, 10, 30],
    }
)


def test_every_measure_of_a_table_worked_by_hand():
    found = shoal.measure(PEOPLE, ["age"], ["illness", "pay"])
    # Classes of 3 and 2.
    assert (found.rows, found.classes, found.k) == (5, 2, 2)
    assert (found.max_risk, found.average_risk, found.uniqueness) == (0.5, 0.4, 0)
    illness = found.sensitive["illness"]
    # Whole: flu 3/5, cold 2/5. Classes: 2/3, 1/3 and 1/2, 1/2.
    assert illness.values == illness.distinct_l == 2
    assert illness.alpha == 2 / 3
    # Entropy of 1/3, 2/3: log 3 - 2/3 log 2, so l = 3 / 2^(2/3).
    assert illness.entropy_l == pytest.approx(3 / 2 ** (2 / 3))
    assert illness.recursive_c == {2: 2.0}
    assert illness.t_equal == 0.1  # |1/2 - 3/5|
    assert (illness.t_ordered, illness.t_hierarchical) == (None, None)
    assert illness.basic_beta == illness.enhanced_beta == 0.25  # (1/2 - 2/5) / (2/5)
    # 5/6 for cold in the first class, 5/4 for cold in the second.
    assert illness.delta_disclosure == illness.delta_disclosure_lenient == pytest.approx(np.log2(1.25))
    pay = found.sensitive["pay"]
    # Whole: 2/5, 1/5, 2/5. First: 1/3 each: -1/15, 1/15 so far: (1/15 + 1/15) / 2. Second: 1/10, -1/10: 1/10.
    assert pay.t_ordered == 0.1
    assert pay.delta_disclosure == float("inf")  # nobody in the second class is paid 20
    assert pay.delta_disclosure_lenient < 1


def test_they_are_what_the_verifier_finds():
    found = shoal.measure(PEOPLE, ["age"], ["pay"])
    pay = found.sensitive["pay"]
    goals = [f"t(t={pay.t_equal})", f"entropy-l(l={pay.entropy_l})", f"basic-beta(beta={pay.basic_beta})"]
    verdicts = shoal.verify(PEOPLE, quasi=["age"], sensitive=["pay"], k=found.k, models=goals).models
    assert [verdict.holds for verdict in verdicts] == [True] * 4
    assert [verdict.achieved for verdict in verdicts] == [found.k, pay.t_equal, pay.entropy_l, pay.basic_beta]


def test_a_hierarchy_adds_its_distance():
    tree = shoal.Hierarchy.from_tree({"lungs": ["flu", "cold"]})
    found = shoal.measure(PEOPLE, ["age"], ["illness"], hierarchies={"illness": tree})
    # Both illnesses below one node of two levels: half the equal distance.
    assert found.sensitive["illness"].t_hierarchical == 0.05


def test_recursive_diversity_for_every_l_that_classes_have_values_for():
    table = pl.DataFrame({"q": ["x"] * 10, "s": list("aaaabbbccd")})
    # 4 / (3+2+1), 4 / (2+1), 4 / 1
    assert shoal.measure(table, ["q"], ["s"]).sensitive["s"].recursive_c == {2: 4 / 6, 3: 4 / 3, 4: 4.0}


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame], ids=["polars", "pandas"])
def test_missing_values_are_values(kind):
    # Classes x: 2 rows, null: 2 rows. The illness null is one value, however it is written.
    table = kind({"q": ["x", "x", None, None], "s": ["a", None, None, ""]})
    found = shoal.measure(table, ["q"], ["s"])
    assert (found.k, found.classes) == (2, 2)
    assert found.sensitive["s"].values == 2
    assert found.sensitive["s"].distinct_l == 1


def test_an_index_and_unused_categories_change_nothing():
    table = pd.DataFrame({"q": pd.Categorical(["x", "x"], ["x", "y"]), "s": ["a", "b"]}, index=[7, 7])
    assert shoal.measure(table, ["q"], ["s"]).k == 2


def test_as_plain_values():
    plain = shoal.measure(PEOPLE, ["age"], ["pay"]).to_dict()
    assert plain["sensitive"]["pay"]["delta_disclosure"] is None
    assert json.loads(json.dumps(plain))["sensitive"]["pay"]["t_ordered"] == 0.1


def test_without_sensitive_columns():
    found = shoal.measure(PEOPLE, ["age"])
    assert (found.k, found.sensitive) == (2, {})


def test_many_quasi_identifiers_do_not_run_out_of_numbers():
    # 40 columns of 10 values have 10^40 combinations, more than a whole number holds.
    rng = np.random.default_rng(0)
    columns = {f"c{j}": rng.integers(0, 10, 50).astype(str) for j in range(40)}
    table = pl.DataFrame(columns)
    table = pl.concat([table, table, table[:10]])
    found = shoal.measure(table, table.columns)
    assert (found.classes, found.k, found.rows) == (50, 2, 110)
