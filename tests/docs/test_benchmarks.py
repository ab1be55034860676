"""Pages quote figures of scripts that exist, and what the scripts print comes onto one page."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = {path.name for path in (ROOT / "benchmarks").glob("bench_*.py")}
PAGES = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """The driver, with two scripts of its own."""
    spec = importlib.util.spec_from_file_location("bench_driver", ROOT / "benchmarks" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "bench_good.py").write_text('"""What is good."""\nprint("  a figure   1 s")\n', "utf-8")
    (tmp_path / "bench_poor.py").write_text(
        '"""What is poor."""\nraise SystemExit("above the limit: b")\n', "utf-8"
    )
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "PAGE", tmp_path / "out" / "benchmarks.md")
    return module


def test_every_script_stands_on_the_page_and_every_quoted_one_exists():
    page = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    assert sorted(name for name in SCRIPTS if f"`{name}`" not in page) == []
    quoted = {name for path in PAGES for name in re.findall(r"\bbench_\w+\.py", path.read_text("utf-8"))}
    assert quoted - SCRIPTS == set()


def test_what_scripts_print_comes_onto_one_page(driver, capsys):
    driver.main("good")
    page = driver.PAGE.read_text("utf-8")
    assert "## good\n\n`python benchmarks/bench_good.py`: What is good.\n" in page
    assert "a figure   1 s" in page
    assert re.search(r"UTC; .+; Python 3\.\d+\.\d+; shoal ", page)
    assert "a figure" in capsys.readouterr().out


def test_a_broken_limit_does_not_keep_the_others_from_running(driver):
    with pytest.raises(SystemExit, match="failed: bench_poor"):
        driver.main()
    page = driver.PAGE.read_text("utf-8")
    assert "a figure" in page
    assert "**It ended with 1.**" in page
    assert "above the limit: b" in page


def test_an_unknown_script_is_refused(driver):
    with pytest.raises(SystemExit, match="no benchmark 'odd'; there are good, poor"):
        driver.main("odd")
