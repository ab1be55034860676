"""What a reviewer would otherwise have to look for by eye."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import shoal

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DECISIONS = DOCS / "decisions"

# Folders that only exist on somebody's own machine. Spelt so that this file does not match itself.
PRIVATE = re.compile(rf"(?<![\w.~-])/(?:{'|'.join(('work', 'root', 'home', 'Users'))})/\w+")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


def pages(entry: object) -> Iterator[str]:
    """The pages named in a navigation tree of lists and one-item mappings."""
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(part)


def links(page: Path) -> list[str]:
    return LINK.findall(page.read_text("utf-8"))


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """The files that are, or are about to be, in the repository."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if (ROOT / name).is_file()]


def test_every_page_is_in_the_navigation():
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    assert set(pages(nav)) ^ {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} == set()


def test_every_decision_is_in_their_index():
    listed = set(links(DECISIONS / "index.md"))
    assert {page.name for page in DECISIONS.glob("*.md")} - {"index.md"} - listed == set()


def test_the_changelog_knows_this_version():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert shoal.__version__ in headings


def test_the_citation_names_this_version():
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == shoal.__version__


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"])
def test_links_to_files_lead_somewhere(name):
    # mkdocs checks the links under docs/; these pages are outside of it.
    assert [link for link in links(ROOT / name) if not (ROOT / link).exists()] == []


def test_no_file_names_a_folder_of_one_machine(files):
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8", errors="replace") for path in files}
    assert [(name, match[0]) for name, text in texts.items() for match in PRIVATE.finditer(text)] == []


def test_the_pattern_for_such_folders():
    slash = "/"
    for text in (f"cd {slash}root/x", f'"{slash}work/main"', f"file://{slash}home/ann"):
        assert PRIVATE.search(text)
    for text in ("Occupation/work/office", "../work/x", "https://example.org/home/x", "a / root / b"):
        assert not PRIVATE.search(text)


def test_the_ci_script_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
