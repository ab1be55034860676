"""The page names functions that exist, and a run calls them in the order of the page."""

import inspect
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

import shoal

PAGE = (Path(__file__).parents[2] / "docs" / "how-it-works.md").read_text("utf-8")
PACKAGES = {path.stem for path in Path(shoal.__file__).parent.iterdir()} - {"__init__"}
NAME = re.compile(r"`((\w+)\.[\w.]+)`")


def names_in(text: str) -> list[str]:
    """The names of functions, classes and modules of the source, in their order."""
    return [name for name, package in NAME.findall(text) if package in PACKAGES]


def section(title: str) -> str:
    return re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)[1]


def resolve(name: str) -> object:
    """What a dotted name stands for; an error if there is nothing."""
    module, rest = "shoal", name.split(".")
    while rest and hasattr(import_module(module), "__path__") and find_spec(f"{module}.{rest[0]}"):
        module = f"{module}.{rest.pop(0)}"
    found = import_module(module)
    for part in rest:
        found = inspect.getattr_static(found, part) if inspect.isclass(found) else getattr(found, part)
    return found


def code_of(name: str) -> object:
    function = resolve(name)
    return inspect.unwrap(getattr(function, "__func__", function)).__code__


def calls_in_order(names: list[str], run) -> list[str]:
    """Those of the functions that ``run`` calls, by when each is called first."""
    known = {code_of(name): name for name in names}
    called = []

    def note_call(frame, event, _):
        if event == "call" and frame.f_code in known and known[frame.f_code] not in called:
            called.append(known[frame.f_code])

    sys.setprofile(note_call)
    try:
        run()
    finally:
        sys.setprofile(None)
    return called


@pytest.mark.parametrize("name", dict.fromkeys(names_in(PAGE)))
def test_a_named_function_exists(name):
    assert resolve(name) is not None


def test_a_name_that_does_not_exist_is_found():
    with pytest.raises(AttributeError):
        resolve("engines.memory.MemoryEngine.swim")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on the table of the page, in which 34 is the 14th age, beside 33, 35 and 36."""
    folder = tmp_path_factory.mktemp("way")
    table = pl.DataFrame({"age": range(21, 53), "illness": ["flu", "cold"] * 16})
    table.write_csv(folder / "people.csv")

    def anonymize():
        return shoal.anonymize(
            folder / "people.csv",
            quasi=["age"],
            sensitive=["illness"],
            k=4,
            algorithm="mondrian",
            output=folder / "release.csv",
        )

    return anonymize


@pytest.mark.parametrize("title", ["The way of one value, from file to release", "Verification"])
def test_a_run_takes_the_way_of_the_page(title, run):
    lines = [line for line in section(title).splitlines() if line.startswith("| `")]
    names = [name for line in lines for name in names_in(line.split("|")[1])]
    assert len(names) > 8
    assert calls_in_order(names, run) == names


def test_the_example_of_the_page_is_true(run):
    release = run()
    (cells,) = release.recoding.cells
    assert list(cells.domain.labels).index("34") == 13
    assert (12, 15) in set(zip(cells.lo.tolist(), cells.hi.tolist(), strict=True))
    assert release.frame.row(13) == ("[33-36]", "cold")
