import numpy as np
import pytest

from shoal.errors import RecipeError
from shoal.privacy import (
    MODELS,
    Counts,
    DistinctL,
    KAnonymity,
    SensitiveCounts,
    for_columns,
    model_parameters,
    model_text,
    parse_model,
)

# Three classes of 4, 2 and 3 rows:
#   illness: flu 3, cold 1 | flu 2 | cough 1, cold 1, flu 1
#   job:     smith 4       | smith 1, judge 1 | judge 3
COUNTS = Counts(
    np.array([4, 2, 3]),
    {
        "illness": SensitiveCounts(
            np.array([0, 0, 1, 2, 2, 2]), np.array([1, 2, 1, 3, 2, 1]), np.array([3, 1, 2, 1, 1, 1])
        ),
        "job": SensitiveCounts(np.array([0, 1, 1, 2]), np.array([1, 1, 2, 2]), np.array([4, 1, 1, 3])),
    },
)
NOTHING = Counts(
    np.array([], int), {"illness": SensitiveCounts(np.array([], int), np.array([], int), np.array([], int))}
)


def test_k_anonymity_counts_rows():
    assert KAnonymity(3).holds(COUNTS).tolist() == [True, False, True]
    assert KAnonymity(2).holds(COUNTS).all()
    assert KAnonymity(3).achieved(COUNTS) == 2
    assert KAnonymity(3).achieved(NOTHING) == 0


def test_distinct_l_counts_values():
    assert DistinctL(2, "illness").holds(COUNTS).tolist() == [True, False, True]
    assert DistinctL(3, "illness").holds(COUNTS).tolist() == [False, False, True]
    assert DistinctL(2, "job").holds(COUNTS).tolist() == [False, True, False]
    assert DistinctL(2, "illness").achieved(COUNTS) == 1
    assert DistinctL(2, "illness").achieved(NOTHING) == 0


def test_a_goal_out_of_reach_says_why():
    whole = Counts(np.array([4]), {"illness": SensitiveCounts.of_whole(np.array([0, 0, 1, 0]))})
    assert KAnonymity(4).within_reach(whole) is None
    assert KAnonymity(5).within_reach(whole) == "k = 5, but the table has 4 rows; ask for k of 4 or less"
    assert DistinctL(2, "illness").within_reach(whole) is None
    reason = DistinctL(3, "illness").within_reach(whole)
    assert reason == (
        "l = 3, but the sensitive column 'illness' has 2 distinct values; ask for l of 2 or less"
    )


@pytest.mark.parametrize(
    ("model", "parameter", "least"),
    [(KAnonymity, 0, 1), (KAnonymity, -3, 1), (DistinctL, 1, 2), (DistinctL, 0, 2), (DistinctL, -3, 2)],
)
def test_a_parameter_that_means_nothing_is_refused(model, parameter, least):
    with pytest.raises(RecipeError, match=f"must be at least {least}, not {parameter}"):
        model(parameter)


@pytest.mark.parametrize("model", [KAnonymity, DistinctL])
@pytest.mark.parametrize("parameter", ["5", 2.5, None, True])
def test_a_parameter_that_is_no_whole_number_is_refused(model, parameter):
    with pytest.raises(RecipeError, match="must be a whole number"):
        model(parameter)


def test_models_are_read_and_written_by_name():
    assert parse_model("k(k=5)") == KAnonymity(5)
    assert parse_model(" distinct-l( l=3 , column=the illness )") == DistinctL(3, "the illness")
    for model in (KAnonymity(5), DistinctL(3), DistinctL(4, 'a, "b"')):
        assert parse_model(model_text(model)) == model
    assert model_parameters(DistinctL(3)) == {"l": 3}
    assert model_parameters(DistinctL(3, "job")) == {"l": 3, "column": "job"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("distinct_l(l=2)", "unknown privacy model 'distinct_l': did you mean 'distinct-l'?"),
        ("k", "privacy model k needs 'k': write k(k=...)"),
        ("k(k=many)", "k of privacy model k must be a whole number, not 'many'"),
        ("k(l=5)", "unknown parameter of privacy model k 'l'"),
        ("k(k=0)", "k must be at least 1, not 0"),
    ],
)
def test_a_model_that_cannot_be_read(text, says):
    with pytest.raises(RecipeError) as error:
        parse_model(text)
    assert says in str(error.value)


def test_a_model_without_a_column_is_about_all_of_them():
    concrete = for_columns([KAnonymity(2), DistinctL(3)], ["illness", "job"])
    assert concrete == (KAnonymity(2), DistinctL(3, "illness"), DistinctL(3, "job"))
    assert for_columns([DistinctL(3, "job"), DistinctL(3)], ["illness", "job"]) == (
        DistinctL(3, "job"),
        DistinctL(3, "illness"),
    )


def test_a_model_about_a_column_that_is_not_sensitive():
    with pytest.raises(RecipeError, match="unknown sensitive column 'jobs': did you mean 'job'"):
        for_columns([DistinctL(3, "jobs")], ["illness", "job"])
    with pytest.raises(RecipeError, match=r"distinct-l\(l=3\) needs a sensitive column"):
        for_columns([DistinctL(3)], [])


@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_what_it_protects_from_and_what_not(name):
    model = MODELS[name]
    assert "Protects" in model.__doc__
    assert "Does not" in " ".join(model.__doc__.split())
    assert "References" in model.__doc__
    assert isinstance(model.sensitive, bool)
