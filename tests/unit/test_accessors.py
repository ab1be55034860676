"""``frame.shoal`` on frames of pandas and polars."""

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import shoal

PEOPLE = {"age": [20, 21, 40, 41], "cost": [1.0, 2.0, 3.0, 4.0]}
GOAL = {"quasi": ["age"], "k": 2, "others": "keep"}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_the_methods_are_the_functions(make):
    frame = make(PEOPLE)
    release = frame.shoal.anonymize(**GOAL)
    assert type(release.frame) is make
    assert release.report.smallest_class == 2
    assert release.frame.shoal.verify(quasi=["age"], k=2).holds
    assert not frame.shoal.verify(quasi=["age"], k=2).holds
    recipe = shoal.Recipe(("age",), (shoal.KAnonymity(2),), others="keep")
    assert frame.shoal.run(recipe).report.smallest_class == 2
    assert frame.shoal.measure(quasi=["age"]).k == 1
    assert frame.shoal.risk(quasi=["age"]).to_dict() == shoal.risk(frame, quasi=["age"]).to_dict()
    assert list(
        release.frame.shoal.expand().lazy().collect().columns
        if make is pl.LazyFrame
        else release.frame.shoal.expand().columns
    )[:2] == ["age_low", "age_high"]
    assert "age" in frame.shoal.suggest().quasi


@pytest.mark.slow
@pytest.mark.parametrize(
    "begin",
    [
        "import pandas as pd, shoal",
        "import shoal, pandas as pd",
        "import polars, shoal, pandas as pd",
    ],
)
def test_importing_is_enough(begin):
    use = "print(pd.DataFrame({'age': [1, 1]}).shoal.verify(quasi=['age'], k=2).holds)"
    done = subprocess.run(
        [sys.executable, "-c", f"{begin}; {use}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert done.stderr == ""


@pytest.mark.slow
def test_no_library_is_loaded_for_it():
    line = "import sys, shoal; print('polars' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
