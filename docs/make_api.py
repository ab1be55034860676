"""Write docs/api.md from the docstrings of the public names: ``python docs/make_api.py``."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import shoal
import shoal.errors
import shoal.learn
import shoal.spark
import shoal.teach
from shoal.algorithms import ALGORITHMS
from shoal.privacy import MODELS
from shoal.recipes.settings import RecipeSettings, list_settings
from shoal.studio.opening import studio

PAGE = Path(__file__).with_name("api.md")

INTRODUCTION = """\
# Python

<!-- Written by docs/make_api.py; change the docstrings in src/shoal instead. -->

Everything here is imported from `shoal`, the estimators from `shoal.learn`, the errors from
`shoal.errors`, what is for Spark frames from `shoal.spark`, and lessons from
`shoal.teach`. These are the names to rely on; what is
not on this page may change without notice. All of it is typed (`py.typed`).
"""


def page() -> str:
    """The text of the page."""
    parts = [INTRODUCTION]
    for title, names in groups().items():
        parts.append(f"## {title}\n")
        parts += [part for name, thing in names.items() for part in entry(name, thing)]
    return "\n".join(parts).rstrip() + "\n"


def groups() -> dict[str, dict[str, Any]]:
    """The public names, by what they are for."""
    face = {
        name: getattr(shoal, name)
        for name in shoal.__all__
        if name not in ("errors", "learn", "spark", "studio", "teach", "__version__")
    } | {"studio": studio}
    kinds = {
        "Functions": inspect.isfunction,
        "Algorithms": lambda thing: thing in ALGORITHMS.values(),
        "Privacy models": lambda thing: thing in MODELS.values(),
        "What they give and take": lambda thing: (
            inspect.isclass(thing) and thing not in ALGORITHMS.values() and thing not in MODELS.values()
        ),
    }
    found = {
        title: {name: face[name] for name in sorted(face) if wanted(face[name])}
        for title, wanted in kinds.items()
    }
    errors = {name: thing for name, thing in vars(shoal.errors).items() if issubclass_of(thing, Exception)}
    learners = {name: getattr(shoal.learn, name) for name in shoal.learn.__all__}
    # The function has the name of another; the heading says which it is.
    spark = {"spark.anonymize": shoal.spark.anonymize, "spark.SparkRelease": shoal.spark.SparkRelease}
    taught = [name for name in shoal.teach.__all__ if name != "LESSONS"]
    lessons = {f"teach.{name}": getattr(shoal.teach, name) for name in taught}
    order = ("Functions", "What they give and take", "Algorithms", "Privacy models")
    return {
        **{title: found[title] for title in order},
        "Learning": learners,
        "Spark": spark,
        "Teaching": lessons,
        "Errors": errors,
    }


def entry(name: str, thing: Any) -> Iterator[str]:
    """One name: its signature, its docstring and, of a class, its fields and methods."""
    yield f"### {name}\n"
    if not issubclass_of(thing, Exception):
        yield f"```py\n{wrapped(name, thing)}\n```\n"
    yield prose(inspect.getdoc(thing) or "")
    if inspect.isclass(thing) and not issubclass_of(thing, Exception):
        yield from filter(None, (fields(thing), methods(thing)))


def issubclass_of(thing: Any, base: type) -> bool:
    """Whether it is a class below another."""
    return inspect.isclass(thing) and issubclass(thing, base)


def signature(thing: Any) -> str:
    """A signature as one would write it: annotations without quotes, functions by their names."""
    return f"({', '.join(parameters(thing))}){result(thing)}"


def wrapped(name: str, thing: Any) -> str:
    """A signature, over as many lines as it takes."""
    if len(name + signature(thing)) <= 100:
        return name + signature(thing)
    return f"{name}(\n" + "".join(f"    {each},\n" for each in parameters(thing)) + f"){result(thing)}"


def parameters(thing: Any) -> list[str]:
    """The parameters, and a star where those begin that must be named."""
    found = inspect.signature(thing).parameters.values()
    shown = [(each.kind, parameter(each)) for each in found if each.name not in ("self", "cls")]
    star = next(
        (place for place, (kind, _) in enumerate(shown) if kind is inspect.Parameter.KEYWORD_ONLY), None
    )
    texts = [text for _, text in shown]
    return texts if star is None else [*texts[:star], "*", *texts[star:]]


def result(thing: Any) -> str:
    """What a function gives; a class gives itself."""
    return "" if inspect.isclass(thing) else f" -> {annotation(inspect.signature(thing).return_annotation)}"


def parameter(each: inspect.Parameter) -> str:
    """One parameter with its type and its default."""
    stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
    typed = "" if each.annotation is each.empty else f": {annotation(each.annotation)}"
    return f"{stars}{each.name}{typed}" + (
        "" if each.default is each.empty else f" = {default(each.default)}"
    )


def annotation(kind: Any) -> str:
    """A type as it is written in the source."""
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def default(value: Any) -> str:
    """A default as one would write it."""
    return (
        value.__name__ if inspect.isfunction(value) else "..." if repr(value) == "<factory>" else repr(value)
    )


def prose(doc: str) -> str:
    """A docstring in numpydoc as Markdown."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", doc, flags=re.MULTILINE)
    told = [literal(parts[0]).strip() + "\n"]
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        told.append(f"**{title}**\n\n{section(title, body.strip())}\n")
    return "\n".join(told)


def section(title: str, body: str) -> str:
    """A section: examples as code, what is named as a list, references one by one."""
    if title == "Examples":
        return f"```py\n{body}\n```"
    if title == "Notes":
        return literal(body)
    if title == "References":
        return "\n".join(f"- {literal(each)}" for each in references(body))
    heads = (each.partition("\n") for each in re.split(r"\n(?=\S)", body))
    return "\n".join(item(head, text) for head, _, text in heads)


def references(body: str) -> list[str]:
    """Papers, each of which ends with a full stop at the end of a line."""
    return [" ".join(each.split()) for each in re.split(r"(?<=\.)\n(?=[A-Z])", body)]


def item(head: str, text: str) -> str:
    """One thing with what is said of it."""
    name, _, kind = head.partition(" : ")
    names = ", ".join(f"`{each.strip()}`" for each in name.split(","))
    said = " ".join(textwrap.dedent(text).split())
    return f"- {names}{f' ({literal(kind)})' if kind else ''}{f': {literal(said)}' if said else ''}"


def literal(text: str) -> str:
    """Double backquotes of numpydoc as single ones of Markdown, and nothing that is taken for HTML."""
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("<", "&lt;")


def fields(kind: type) -> str:
    """The documented fields of a dataclass."""
    if not is_dataclass(kind):
        return ""
    if issubclass(kind, RecipeSettings):  # which are declared elsewhere, with more than a docstring
        return (
            "\n".join(["**Fields**\n", *(f"- `{s.name}`: {literal(s.doc)}" for s in list_settings())]) + "\n"
        )
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    rows = [
        f"- `{first.target.id}`: {literal(' '.join(str(second.value.value).split()))}"
        for first, second in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(first, ast.AnnAssign)
        and isinstance(first.target, ast.Name)
        and isinstance(second, ast.Expr)
        and isinstance(second.value, ast.Constant)
        and not first.target.id.startswith("_")
    ]
    return "\n".join(["**Fields**\n", *rows]) + "\n" if rows else ""


def methods(kind: type) -> str:
    """Methods and properties; those that every model or algorithm has are said elsewhere."""
    if kind in ALGORITHMS.values() or kind in MODELS.values():
        return ""
    rows = []
    for name, thing in vars(kind).items():
        function = thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing
        if name.startswith("_"):
            continue
        if isinstance(thing, property | cached_property):
            rows.append(f"- `{name}`: {first_line(thing)}")
        elif inspect.isfunction(function):
            rows.append(f"- `{name}{signature(function)}`: {first_line(function)}")
    return "\n".join(["**Methods and properties**\n", *rows]) + "\n" if rows else ""


def first_line(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return literal(" ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split()))


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
