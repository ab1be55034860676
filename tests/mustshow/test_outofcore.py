"""Out of core the release of Adult and of the sample is that of the in-memory engine, byte for byte."""

from dataclasses import replace

import polars as pl
import pytest

from shoal.algorithms import Mondrian
from shoal.engines import outofcore
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.recipe import Recipe
from shoal.run import run
from shoal.samples import write_sample
from shoal.table import ReadOptions

ADULT = Recipe(
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
    quasi=("age", "sex", "postcode", "education", "occupation", "marital_status"),
    models=(KAnonymity(5), DistinctL(3)),
    sensitive=("diagnosis",),
    identifier=("patient_id", "name"),
    memory="500MB",
)


def both(recipe, source, folder, suffix):
    paths = [folder / f"{engine}{suffix}" for engine in ("memory", "disk")]
    run(replace(recipe, output=str(paths[0])), source)
    outofcore.run(replace(recipe, output=str(paths[1])), source)
    return paths


@pytest.mark.data
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
    memory, disk = both(recipe, source, tmp_path, ".csv")
    assert disk.read_bytes() == memory.read_bytes()


@pytest.mark.parametrize("cut", ["nearest", "greedy"])
def test_the_sample(tmp_path, cut):
    source = tmp_path / "hospital.parquet"
    write_sample("hospital", source, 100_000)
    recipe = replace(HOSPITAL, algorithm=Mondrian(cut=cut))
    memory, disk = both(recipe, source, tmp_path, ".parquet")
    assert pl.read_parquet(disk).equals(pl.read_parquet(memory))
