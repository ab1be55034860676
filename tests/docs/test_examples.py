"""The worked examples run, and each notebook is its script."""

import importlib.util
import json
import runpy
from pathlib import Path

import pytest
from tests.cases import thin_out

EXAMPLES = Path(__file__).parents[2] / "examples"
TELLS = {
    "later_rows": ["February: 490 of 500 rows fit", "all months together hold: True"],
    "learning": ["trained on the release", "on unseen rows predictions agree"],
    "teaching": [
        "pruned by score and k: 59,650 states",
        "mutation rate 0: not safe",
        "31 states, loss 5.9048",
    ],
    "pipeline": ["new rows coarsened too", "the release holds: True"],
}


def made():
    spec = importlib.util.spec_from_file_location("make_notebook", EXAMPLES / "make_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_a_notebook_too():
    scripts = {path.stem for path in EXAMPLES.glob("*.py")} - {"make_notebook"}
    assert scripts == set(TELLS) == {path.stem for path in made().SCRIPTS}
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == scripts


@pytest.mark.slow
@pytest.mark.parametrize("name", thin_out(TELLS, 3))
def test_the_script_runs(name, capsys):
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    told = capsys.readouterr().out
    assert [line for line in TELLS[name] if line not in told] == []


@pytest.mark.parametrize("name", TELLS)
def test_the_notebook_is_fresh_and_runs_as_the_script_does(name):
    script = EXAMPLES / f"{name}.py"
    text = script.with_suffix(".ipynb").read_text("utf-8")
    assert made().notebook(script) == text, "run: python examples/make_notebook.py"
    cells = json.loads(text)["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = [line for line in code.splitlines() if line]
    source = script.read_text("utf-8").partition("# %% ")[2]
    assert lines == [line for line in source.splitlines()[1:] if line and not line.startswith("# %%")]
