"""Out of core the release of Adult and of the sample is that of the in-memory engine, byte for byte."""

from dataclasses import replace

import polars as pl
import pytest
from tests.cases import thin_out

from shoal.algorithms.mondrian import Mondrian
from shoal.engines import duckdb
from shoal.engines.memory import run_in_memory
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.recipes.recipe import Recipe
from shoal.table import ReadOptions
from shoal.table.samples import write_sample

ADULT = Recipe(
    others="keep",
    quasi=(
        "age",
        "work_class",
        "education_num",
        "marital_status",
        "occupation",
        "race",
        "sex",
        "native_country",
    ),
    models=(KAnonymity(10),),
    sensitive=("class",),
    reading=ReadOptions(na=("?",)),
    memory="500MB",
)
HOSPITAL = Recipe(
    others="keep",
    quasi=("age", "sex", "postcode", "education", "occupation", "marital_status"),
    models=(KAnonymity(5), DistinctL(3)),
    sensitive=("diagnosis",),
    identifier=("patient_id", "name"),
    memory="500MB",
)


def both(recipe, source, folder, suffix):
    paths = [folder / f"{engine}{suffix}" for engine in ("memory", "disk")]
    one = run_in_memory(replace(recipe, output=str(paths[0])), source).report
    two = duckdb.run_on_disk(replace(recipe, output=str(paths[1])), source).report
    return paths, one.findings, two.findings


@pytest.mark.exhaustive
@pytest.mark.parametrize("cut", ["nearest", "greedy"])
@pytest.mark.parametrize("more", [(), (DistinctL(2),), (TCloseness(0.3),)], ids=["k", "k and l", "k and t"])
@pytest.mark.parametrize("trees", [False, True], ids=["flat", "hierarchies"])
def test_adult(shared_data, tmp_path, cut, more, trees):
    source = shared_data / "adult" / "adult.csv"
    recipe = replace(ADULT, models=(*ADULT.models, *more), algorithm=Mondrian(cut=cut))
    if trees:
        folder = shared_data / "adult" / "hierarchies"
        named = {"race": "race", "sex": "sex", "marital_status": "marital-status", "work_class": "workclass"}
        recipe = replace(recipe, hierarchies=tuple(f"{c}={folder / f}.csv" for c, f in named.items()))
    (memory, disk), expected, found = both(recipe, source, tmp_path, ".csv")
    assert disk.read_bytes() == memory.read_bytes()
    assert expected
    assert found == expected


@pytest.mark.slow
@pytest.mark.parametrize("cut", thin_out(["nearest", "greedy"], 2))
def test_the_sample(tmp_path, cut):
    source = tmp_path / "hospital.parquet"
    write_sample("hospital", source, 100_000)
    recipe = replace(HOSPITAL, algorithm=Mondrian(cut=cut))
    (memory, disk), expected, found = both(recipe, source, tmp_path, ".parquet")
    assert pl.read_parquet(disk).equals(pl.read_parquet(memory))
    # Which column tells another is looked at in a sample of so many rows, which is not the same one.
    told, of_all = (
        [each for each in findings if not each.id.startswith("determines")] for findings in (found, expected)
    )
    assert of_all
    assert told == of_all
    assert {each.id for each in found} == {each.id for each in expected}
