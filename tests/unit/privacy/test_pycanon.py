"""Against pyCANON 1.3.6, as an oracle where it is right; and pinned, with the argument, where it is not."""

import pandas as pd
import pytest
from tests.cases import thin_out

import shoal

pytest.importorskip("pycanon", reason="pip install --no-deps pycanon==1.3.6")
from pycanon import anonymity
from pycanon.metrics import average_rir, max_rir

# It groups by a list of one column, which pandas will change.
pytestmark = pytest.mark.filterwarnings("ignore")

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]


def table(*classes: str, **more) -> pd.DataFrame:
    """Classes 0, 1, ... of rows whose sensitive values are letters."""
    rows = [(number, letter) for number, letters in enumerate(classes) for letter in letters]
    return pd.DataFrame(rows, columns=["q", "s"]).assign(**more)


def ours(frame: pd.DataFrame, quasi=("q",), sensitive=("s",)):
    return shoal.measure(frame, list(quasi), list(sensitive))


@pytest.fixture(scope="module")
def adult(shared_data) -> pd.DataFrame:
    return pd.read_csv(shared_data / "adult" / "adult_9col.csv", sep=";", dtype=str)


@pytest.fixture(scope="module")
def released(adult) -> pd.DataFrame:
    """Adult in some dozen classes: pyCANON takes a minute for the eighteen thousand of the raw table."""
    settings = {"sensitive": ["occupation"], "plain": ["salary-class"], "k": 300, "l": 3}
    return shoal.anonymize(adult, others="keep", quasi=QUASI, **settings).frame


@pytest.mark.slow
@pytest.mark.parametrize("column", thin_out(["salary-class", "occupation"], 2))
def test_where_it_is_right(released, column):
    found = ours(released, QUASI, [column])
    mine = found.sensitive[column]
    assert 30 < found.classes < 100
    asked = (released, QUASI, [column])
    assert found.k == anonymity.k_anonymity(released, QUASI)
    assert found.max_risk == max_rir(released, QUASI)
    assert mine.alpha == pytest.approx(anonymity.alpha_k_anonymity(*asked)[0])
    assert mine.distinct_l == anonymity.l_diversity(*asked)
    assert int(mine.entropy_l) == anonymity.entropy_l_diversity(*asked)
    assert mine.t_equal == pytest.approx(anonymity.t_closeness(*asked))
    assert mine.basic_beta == pytest.approx(anonymity.basic_beta_likeness(*asked))
    # It takes natural logarithms; powers of two are the definition's.
    natural = anonymity.delta_disclosure(*asked)
    assert mine.delta_disclosure_lenient == pytest.approx(natural / 0.6931471805599453)


@pytest.mark.slow
def test_numbers_by_rank(released):
    # Its distance between numbers is that between ranks, which we call ordered.
    rows = released.assign(pay=[len(job) for job in released["occupation"]])
    found = ours(rows, QUASI, ["pay"]).sensitive["pay"]
    assert found.t_ordered == pytest.approx(anonymity.t_closeness(rows, QUASI, ["pay"]))


def test_the_raw_table(adult):
    """Figures of a run of pyCANON on the raw table, which takes it a minute."""
    found = ours(adult, [*QUASI, "occupation"], ["salary-class"])
    salary = found.sensitive["salary-class"]
    assert (found.k, found.classes) == (1, 18109)
    assert salary.t_equal == pytest.approx(0.7511, abs=5e-5)
    assert salary.basic_beta == pytest.approx(3.0173, abs=5e-5)
    assert salary.delta_disclosure_lenient * 0.6931471805599453 == pytest.approx(2.7095, abs=5e-5)


@pytest.mark.parametrize(("values", "says"), [("abc", 2), ("abcd", 3), ("abcde", 5)])
def test_entropy_is_cut_to_a_whole_number_after_rounding(values, says):
    # n equally frequent values have entropy log n: l = n, no less.
    frame = table(values * 3)
    assert anonymity.entropy_l_diversity(frame, ["q"], ["s"]) == says
    assert ours(frame).sensitive["s"].entropy_l == len(values)


@pytest.mark.parametrize(
    ("classes", "says", "exceeds"),
    [
        (["a" * 8 + "b" * 2], 1, 4),  # r1 = 8 < c r2 = 2 c only for c > 4
        (["aaaaabbbbb", "a" * 9 + "b"], 2, 9),  # the second class needs 9 < 1 c
    ],
)
def test_recursive_diversity_sorts_counts_the_wrong_way(classes, says, exceeds):
    # It takes the smallest count for r1, and the sum of the largest for the tail.
    frame = table(*classes)
    assert anonymity.recursive_c_l_diversity(frame, ["q"], ["s"]) == (says, 2)
    assert ours(frame).sensitive["s"].recursive_c == {2: exceeds}


def test_enhanced_beta_gives_a_value_where_none_holds():
    # a: (1 - 1/2) / (1/2) = 1 > -ln 1/2 = 0.693 in the first class, whatever beta is.
    frame = table("aaaa", "bbbb")
    assert anonymity.enhanced_beta_likeness(frame, ["q"], ["s"]) == pytest.approx(0.693, abs=1e-3)
    assert ours(frame).sensitive["s"].enhanced_beta == float("inf")


def test_delta_disclosure_passes_over_absent_values():
    # The first class has no b: log2(0 / q) is infinite.
    frame = table("aaa", "ab")
    assert anonymity.delta_disclosure(frame, ["q"], ["s"]) < 2
    assert ours(frame).sensitive["s"].delta_disclosure == float("inf")


def test_rows_with_a_missing_quasi_value_are_left_out():
    # The row without q stands alone: a missing value is told from others as any value is.
    frame = pd.DataFrame({"q": ["x", "x", None], "r": ["y", "y", "y"], "s": ["a", "b", "a"]})
    assert anonymity.k_anonymity(frame, ["q", "r"]) == 2
    assert ours(frame, ["q", "r"]).k == 1


def test_the_average_is_over_classes():
    # Of 100 people one is found for sure and 99 with 1/99 each: two of them, 0.02.
    frame = table("a", "b" * 99)
    assert average_rir(frame, ["q"]) == pytest.approx(0.505, abs=1e-3)
    assert ours(frame).average_risk == 0.02


def test_an_index_is_taken_for_positions():
    frame = table("aab", "abb").set_index(pd.Index([10, 11, 12, 13, 14, 15]))
    with pytest.raises(IndexError):
        anonymity.l_diversity(frame, ["q"], ["s"])
    assert ours(frame).sensitive["s"].distinct_l == 2


def test_missing_sensitive_values():
    frame = pd.DataFrame({"q": [1, 1, 1], "s": pd.Series(["a", "b", None], dtype=object)})
    with pytest.raises(TypeError):
        anonymity.l_diversity(frame, ["q"], ["s"])
    assert ours(frame).sensitive["s"].distinct_l == 3


def test_a_constant_number():
    frame = table("aa", "aaa").assign(n=7)
    with pytest.raises(ZeroDivisionError):
        anonymity.t_closeness(frame, ["q"], ["n"])
    assert ours(frame, ["q"], ["n"]).sensitive["n"].t_ordered == 0


def test_an_unused_category():
    # pandas 2 gave a class of no rows and so k = 0; pandas 3 leaves it out by default.
    frame = table("aa", "bb").assign(q=pd.Categorical(["x", "x", "y", "y"], ["x", "y", "z"]))
    assert anonymity.k_anonymity(frame, ["q"]) in (0, 2)
    assert ours(frame).k == 2
