"""Bring every list of algorithms, models and losses up to date: ``python docs/make_lists.py``.

What there is stands in the tables ALGORITHMS, MODELS and LOSSES. From them follow the public names with their
stub, the help of the command line, and the lines in the README, in the navigation and in the pages of models
and losses. Lines that somebody has written stay as they are; only those that are missing are added.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, fields
from inspect import getdoc
from pathlib import Path
from textwrap import wrap
from typing import Any, Literal, get_args, get_origin, get_type_hints

from shoal.algorithms import ALGORITHMS
from shoal.codespace.loss import LOSSES
from shoal.privacy import MODELS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shoal"
DOCS = ROOT / "docs"
FOLDERS = {"algorithms": ALGORITHMS, "models": MODELS, "losses": LOSSES}
PAGES = {"t": "closeness"}  # where a page has another name than its entry
NUMBERS = (  # noqa: SIM905
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one "
    "twenty-two twenty-three twenty-four twenty-five twenty-six twenty-seven twenty-eight twenty-nine"
).split()


def find_stale() -> dict[str, str]:
    """The files that are not up to date, with the text that each should have."""
    found = {}
    for path, update in FILES.items():
        text = path.read_text("utf-8") if path.exists() else ""
        if (updated := update(text)) != text:
            found[path.relative_to(ROOT).as_posix()] = updated
    return found


def find_page(folder: str, name: str) -> Path:
    """The page of an entry."""
    return DOCS / folder / f"{PAGES.get(name, name)}.md"


def read_settings(name: str) -> dict[str, str]:
    """What the page of an algorithm says about its help, between two lines of dashes at its beginning."""
    page = find_page("algorithms", name)
    head = re.match(r"---\n(.*?)\n---\n", page.read_text("utf-8"), re.DOTALL) if page.exists() else None
    lines = head[1].splitlines() if head else []
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def read_first_sentence(kind: type) -> str:
    """The first paragraph of a docstring, without its full stop."""
    return " ".join((getdoc(kind) or "").partition("\n\n")[0].split()).removesuffix(".")


# The public names.


def update_names(text: str) -> str:
    """``shoal/__init__.py``: the classes of all algorithms and models, in the order of the alphabet."""
    modules = sorted(
        (kind.__module__.removeprefix("shoal."), kind.__name__) for kind in ALGORITHMS.built_in.values()
    )
    block = "".join(f'    "{module}": "{name}",\n' for module, name in modules)
    text = re.sub(r'(    "algorithms\.\w+": "\w+",\n)+', lambda _: block, text, count=1)
    lines = wrap(" ".join(sorted({*(kind.__name__ for kind in MODELS.built_in.values()), "Measures"})), 92)
    quoted = [f'        "{line}{" " if at + 1 < len(lines) else ""}"\n' for at, line in enumerate(lines)]
    block = f'    "privacy": (\n{"".join(quoted)}    ),\n'
    return re.sub(r'    "privacy": \(\n.*?\n    \),\n', lambda _: block, text, flags=re.DOTALL)


def update_stub(_: str) -> str:
    """``shoal/__init__.pyi``: what type checkers see of the public names."""
    text = update_names((SOURCE / "__init__.py").read_text("utf-8"))
    table = re.search(r"^_DEFINED_IN = (\{.*?^\})", text, re.MULTILINE | re.DOTALL)
    assert table is not None
    modules = {name: module for module, names in eval(table[1]).items() for name in names.split()}
    # In the order that ruff asks for: classes before functions, whatever the case of their letters.
    ordered = sorted(modules.items(), key=lambda each: (each[1], each[0][0].islower(), each[0].lower()))
    lines = [f"from shoal.{module} import {name} as {name}" for name, module in ordered]
    packages = [f"from shoal import {name} as {name}" for name in ("errors", "learn", "spark", "teach")]
    # The package can be called, of which type checkers know nothing.
    called = "from shoal.studio.opening import studio as studio"
    lines.insert(next(at for at, line in enumerate(lines) if ".table." in line), called)
    start = (
        "The public names of Shoal and where they are defined; ``__init__.py`` loads them when first used."
    )
    return "\n".join(
        [f'"""{start}"""', "", *packages, *lines, "", "__version__: str", "__all__: list[str]", ""]
    )


# The help of the command line, which must not load what the tables are made of.


def update_help(_: str) -> str:
    """``shoal/recipes/names.py``: what the help says about algorithms, models and losses."""
    notes = {name: read_settings(name).get("help") for name in ALGORITHMS.built_in}
    people = {name: "with population=FILE" for name, kind in MODELS.built_in.items() if has_people(kind)}
    parameters = [describe_parameters(name, kind) for name, kind in ALGORITHMS.built_in.items()]
    texts = {
        "ALGORITHMS": join_names(ALGORITHMS.built_in, notes),
        "PARAMETERS": " ".join(filter(None, parameters)),
        "MODELS": join_names(MODELS.built_in, people),
        "LOSSES": join_names(LOSSES.built_in, {}),
    }
    lines = ['"""What the help says about algorithms, models and losses; written by docs/make_lists.py."""\n']
    return "\n".join([*lines, *(quote_text(name, text) for name, text in texts.items())])


def has_people(kind: Any) -> bool:
    """Whether a model compares with a population."""
    return "population" in {each.name for each in fields(kind)}


def join_names(names: Iterable[str], notes: Mapping[str, str | None]) -> str:
    """Names as a sentence lists them, some with a note."""
    *others, last = [f"{name} ({notes[name]})" if notes.get(name) else name for name in names]
    return f"{', '.join(others)} or {last}" if others else last


def describe_parameters(name: str, kind: Any) -> str:
    """The parameters of an algorithm with their defaults, or as its page says; nothing if it has none."""
    hints, said = get_type_hints(kind), read_settings(name)
    told = [
        f"{each.name}={said.get(f'set {each.name}') or describe_values(each, hints[each.name])}"
        for each in fields(kind)
    ]
    return f"{name}: {', '.join(told)}." if told else ""


def describe_values(each: Field[Any], hint: Any) -> str:
    """The values of a parameter, the default first, or the default alone."""
    if get_origin(hint) is Literal:
        return join_names(sorted(get_args(hint), key=lambda value: value != each.default), {})
    if isinstance(each.default, bool):
        return "yes" if each.default else "no"
    if isinstance(each.default, float):
        return f"{each.default:g}"
    return "" if each.default is None else str(each.default)


def quote_text(name: str, text: str) -> str:
    """A constant of Python whose text stands on as many lines as it takes."""
    lines = wrap(text, 100, break_on_hyphens=False)
    quoted = [f'    "{line}{" " if at + 1 < len(lines) else ""}"\n' for at, line in enumerate(lines)]
    return f"{name} = (\n{''.join(quoted)})\n" if len(lines) > 1 else f'{name} = "{text}"\n'


# Pages.


def update_readme(text: str) -> str:
    """The README: a row for every algorithm, and how many models and losses there are."""
    linked = re.findall(r"\[`([\w-]+)`\]\(docs/algorithms/", text)
    rows = [
        f"| [`{name}`](docs/algorithms/{name}.md) | {read_first_sentence(kind)} |"
        for name, kind in ALGORITHMS.built_in.items()
        if name not in linked
    ]
    text = add_rows(text, r"^\| take \| when \|$", rows)
    for table, what in ((MODELS, "privacy models"), (LOSSES, "losses")):
        number = NUMBERS[len(table.built_in) - 10]
        text = re.sub(rf"\[[\w-]+ {what}\]", f"[{number} {what}]", text)
    return text


def update_models(text: str) -> str:
    """The page of the models: a row for each, which links to its section or to its page."""
    listed = re.findall(r"^\| \[`(.+?)`\]", text, re.MULTILINE)
    rows = [
        f"| [`{name}`](models/{name}.md) | {read_first_sentence(kind)} | | `shoal.{kind.__name__}` |"
        for name, kind in MODELS.built_in.items()
        if name not in listed
    ]
    return add_rows(text, r"^\| name \| asks for ", rows)


def update_losses(text: str) -> str:
    """The page of the losses: a row for each, which links to its section or to its page."""
    listed = re.findall(r"^\| \[`(.+?)`\]", text, re.MULTILINE)
    rows = [
        f"| [`{name}`](losses/{name}.md) | | {read_first_sentence(kind)} |"
        for name, kind in LOSSES.built_in.items()
        if name not in listed
    ]
    return add_rows(text, r"^\| name \| range ", rows)


def add_rows(text: str, head: str, rows: list[str]) -> str:
    """A text with further rows at the end of the table that begins with ``head``."""
    lines = text.splitlines()
    first = next(at for at, line in enumerate(lines) if re.search(head, line))
    last = next(at for at in range(first, len(lines)) if not lines[at].startswith("|"))
    return "\n".join([*lines[:last], *rows, *lines[last:], ""])


def update_navigation(text: str) -> str:
    """mkdocs.yml: the page of every entry, at the end of its chapter if it is not yet there."""
    for folder, table in FOLDERS.items():
        pages = {name: find_page(folder, name) for name in table.built_in}
        absent = [page for page in pages.values() if page.exists() and f"{folder}/{page.name}" not in text]
        lines = "".join(f"      - {read_title(page)}: {folder}/{page.name}\n" for page in absent)
        chapter = re.search(rf"^  - {folder.capitalize()}:\n(?:      .*\n)+", text, re.MULTILINE)
        assert chapter is not None
        text = text[: chapter.end()] + lines + text[chapter.end() :]
    return text


def read_title(page: Path) -> str:
    """The heading of a page, without the name in parentheses after it."""
    heading = re.search(r"^# (.*?)(?: \(`.*`\))?$", page.read_text("utf-8"), re.MULTILINE)
    assert heading is not None
    return heading[1]


FILES: dict[Path, Callable[[str], str]] = {
    SOURCE / "__init__.py": update_names,
    SOURCE / "__init__.pyi": update_stub,
    SOURCE / "recipes" / "names.py": update_help,
    ROOT / "README.md": update_readme,
    DOCS / "models.md": update_models,
    DOCS / "losses.md": update_losses,
    ROOT / "mkdocs.yml": update_navigation,
}


def list_missing_pages() -> Iterator[str]:
    """Pages that entries of the tables have not got."""
    for folder, table in FOLDERS.items():
        for name in table.built_in:
            if not find_page(folder, name).exists():
                yield find_page(folder, name).relative_to(ROOT).as_posix()


if __name__ == "__main__":
    for name, text in find_stale().items():
        (ROOT / name).write_text(text, "utf-8")
        print(f"wrote {name}")
    for page in list_missing_pages():
        print(f"write {page} yourself", file=sys.stderr)
