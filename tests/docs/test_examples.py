"""The worked examples run, and the notebook is the script."""

import importlib.util
import json
import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def made():
    spec = importlib.util.spec_from_file_location("make_notebook", EXAMPLES / "make_notebook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_script_runs(capsys):
    runpy.run_path(str(EXAMPLES / "learning.py"))
    told = capsys.readouterr().out
    assert "trained on the release" in told
    assert "on unseen rows predictions agree" in told


def test_the_notebook_is_fresh_and_runs_as_the_script_does():
    module = made()
    text = module.NOTEBOOK.read_text("utf-8")
    assert module.notebook() == text, "run: python examples/make_notebook.py"
    cells = json.loads(text)["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    lines = [line for line in code.splitlines() if line]
    script = (EXAMPLES / "learning.py").read_text("utf-8").partition("# %% ")[2]
    assert lines == [line for line in script.splitlines()[1:] if line and not line.startswith("# %%")]
