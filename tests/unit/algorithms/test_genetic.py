import numpy as np
import polars as pl
import pytest

from shoal.algorithms.genetic import Genetic
from shoal.engines.api import anonymize
from shoal.errors import RecipeError

OPTIMUM = 10.6061  # of test2.csv, k = 2, proved by MinGen


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(["a", "b", "c", "d", "e"], rows),
            "ill": rng.choice(["x", "y", "z"], rows),
        }
    )


QUASI = ["age", "sex", "town"]


@pytest.mark.exhaustive
def test_evolution_comes_near_the_optimum(shared_data):
    small = shared_data / "small"
    frame = pl.read_csv(small / "test2.csv")
    losses = []
    for seed in range(20):
        report = anonymize(
            frame,
            others="keep",
            quasi=frame.columns[:-1],
            sensitive=["Bracket"],
            k=2,
            loss="certainty",
            hierarchies=small / "domains.txt",
            algorithm=Genetic(semantics="matching"),
            seed=seed,
        ).report
        losses.append(report.loss["value"])
        assert report.models[0].achieved >= 2
    assert np.median(losses) <= 1.03 * OPTIMUM
    assert max(losses) <= 1.10 * OPTIMUM
    assert min(losses) >= OPTIMUM - 1e-4


def test_it_improves_on_mondrian_and_stops():
    frame = people(300)
    settings = {"quasi": QUASI, "others": "keep", "k": 4}
    start = anonymize(frame, **settings, algorithm="mondrian").report
    bred = anonymize(frame, **settings, algorithm=Genetic(generations=40, patience=10)).report
    assert bred.ncp < start.ncp
    assert bred.smallest_class >= 4
    best = [low for low, _ in bred.history]
    assert best == sorted(best, reverse=True)
    assert all(low <= mean + 1e-12 for low, mean in bred.history)
    assert bred.history[-1][0] == pytest.approx(bred.loss["value"])
    assert len(bred.history) <= 41


@pytest.mark.parametrize("loss", ["ncp", "span-ncp", "certainty", "distortion"])
def test_it_is_never_worse_than_its_start(loss):
    frame = people(120, 3)
    weights = {"age": 2.0, "sex": 0.0}
    settings = {"quasi": QUASI, "sensitive": ["ill"], "k": 3, "l": 2, "loss": loss, "weights": weights}
    start = anonymize(frame, **settings, algorithm="mondrian").report
    bred = anonymize(frame, **settings, algorithm=Genetic(generations=5)).report
    assert bred.loss["value"] <= start.loss["value"] + 1e-9
    assert bred.loss["value"] == pytest.approx(bred.history[-1][0])


def test_negative_weights_suppress_their_column():
    release = anonymize(
        people(40),
        others="keep",
        quasi=QUASI,
        k=2,
        weights={"town": -1.0},
        algorithm="genetic(generations=3)",
    )
    assert set(release.frame["town"]) == {"*"}


def test_every_generation_is_told(monkeypatch):
    monkeypatch.setattr(
        "shoal.algorithms.exact.budget.Budget.report_progress.__defaults__", (None, 0.0)
    )  # as often as can be
    said = []
    report = anonymize(
        people(60),
        others="keep",
        quasi=QUASI,
        k=3,
        algorithm=Genetic(generations=8, patience=8),
        on_progress=lambda doing, done: said.append((doing, done)),
    ).report
    told = [(doing.figures, done) for doing, done in said if doing == "evolving"]
    assert [(figures.best, figures.mean) for figures, _ in told] == list(report.history[:8])
    assert [figures.generation for figures, _ in told] == list(range(8))
    assert [done for _, done in told] == [generation / 8 for generation in range(8)]
    assert all(figures.bound == report.lower_bound for figures, _ in told)
    assert report.nodes > 8


def test_large_tables_evolve_in_blocks():
    frame = people(4200, 1)
    said = []
    release = anonymize(
        frame,
        others="keep",
        quasi=QUASI,
        k=5,
        algorithm=Genetic(generations=4),
        on_progress=lambda doing, done: said.append(doing),
    )
    assert "evolving block 2 of 3" in said
    start = anonymize(frame, others="keep", quasi=QUASI, k=5, algorithm="mondrian").report
    assert release.report.smallest_class >= 5
    assert release.report.ncp <= start.ncp
    assert release.report.lower_bound is None


def test_many_rows_by_matching_evolve_as_classes():
    report = anonymize(
        people(80), others="keep", quasi=QUASI, k=3, algorithm="genetic(semantics=matching,generations=3)"
    ).report
    assert report.smallest_class >= 3
    assert any("class by class" in note for note in report.notes)


def test_the_seed_decides():
    frame = people(60, 5)
    settings = {"quasi": QUASI, "others": "keep", "k": 3, "algorithm": Genetic(generations=3)}
    first, again = (anonymize(frame, **settings, seed=1).frame for _ in range(2))
    assert first.equals(again)


@pytest.mark.parametrize(
    ("name", "value"),
    [("population", 1), ("generations", 0), ("mutation_rate", -1), ("patience", 0), ("seconds", 0.0)],
)
def test_parameters_are_checked(name, value):
    with pytest.raises(RecipeError, match=name):
        Genetic(**{name: value})


def test_other_models_need_classes():
    with pytest.raises(RecipeError, match="semantics=classes"):
        anonymize(
            people(10),
            others="keep",
            quasi=QUASI,
            sensitive=["ill"],
            k=2,
            l=2,
            algorithm="genetic(semantics=matching)",
        )
