"""Every word that people read is in the catalogue of its language, and translated there."""

import ast
import importlib.util
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shoal"
RUN = "run: make lists, and translate what is new in src/shoal/languages"

# What speaks the language of its reader. The terminal speaks English.
SPEAKING = (
    *sorted(path for path in (SOURCE / "studio").rglob("*.py")),
    *(
        SOURCE / "report" / f"{name}.py"
        for name in (
            "charts",
            "context",
            "dossier",
            "dossier_page",
            "dossier_pdf",
            "page",
            "prose",
            "whole_release",
        )
    ),
)
# Functions that show a text, and which of their arguments are shown.
SHOWN = {
    "badge": (0,),
    "button": (0,),
    "card": (0, 1),
    "draw_code": (1,),
    "draw_heading": (0, 1),
    "draw_step_buttons": (1,),
    "draw_table": (0,),
    "draw_tiles": (0,),
    "expansion": (0,),
    "label_control": (1,),
    "note": (0,),
    "notify": (0,),
    "switch": (0,),
    "checkbox": (0,),
    "text": (0,),
    "tooltip": (0,),
    "_draw_title": (0,),
    "_draw_paragraph": (0,),
    "_draw_note": (0,),
    "Heading": (0,),
    "Paragraph": (0,),
    "Bullets": (0,),
    "DossierTable": (0,),
}
NAMED = ("label", "placeholder", "aria_label")  # keywords whose text is shown, whatever the function
TAKEN = ("_", "mark", "translate_count", "translate_message", "format_count", "get", "join", "read_text")
PROSE = re.compile(r"[A-Za-z]{2,}.* [a-z]{2,}.* [a-z]{2,}")
# Not for people: sheets, scripts, addresses, what a program says of itself to a program.
TECHNICAL = re.compile(r"[<>{};=]|^[\w./-]+$|'self'|shoal [a-z]+|outlined|aria-|\bq-|px\b|--[a-z]")
# What only developers, the terminal or another program read.
ENGLISH = {f"studio/{name}.py" for name in ("attacking", "guard", "opening", "server", "worker")}
# Words of a recipe, states of a run, titles of publications, and keys.
UNTRANSLATED = (
    "month, quarter, year, decade",
    "looking people up",
    "high invasion of privacy",
    "medium invasion of privacy",
    "low invasion of privacy",
    "Information and Privacy Commissioner",
    "European Medicines Agency",
    "El Emam and Dankar",
    "a list of texts",
    "in the advanced part of Goal",
    "share of the people",
    "(?:It d|D)oes not",
)


@cache
def load_program():
    spec = importlib.util.spec_from_file_location("make_languages", ROOT / "docs" / "make_languages.py")
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


CATALOGUES = load_program().list_catalogues()


@pytest.fixture(params=sorted(CATALOGUES))
def path(request):
    return CATALOGUES[request.param]


def test_a_catalogue_has_all_sentences_and_no_others(path):
    program = load_program()
    old = program.read_catalogue(path)
    assert program.write_catalogue(program.update_catalogue(old)) == path.read_bytes(), RUN


def test_every_sentence_is_translated(path):
    messages = [each for each in load_program().read_catalogue(path) if each.id]
    assert len(messages) > 1000
    assert [each.id for each in messages if each.fuzzy] == []
    untranslated = [
        each.id for each in messages if not (all(each.string) if each.pluralizable else each.string)
    ]
    assert untranslated == [], RUN


def test_a_translation_has_the_same_places_for_values(path):
    for each in load_program().read_catalogue(path):
        if each.id:
            texts = zip(each.id, each.string, strict=True) if each.pluralizable else [(each.id, each.string)]
            for text, translated in texts:
                assert list_places(translated) == list_places(text), text


def list_places(text: str) -> list[str]:
    return sorted(re.findall(r"\{[^}]*\}", text.replace(":word}", "}")))


def test_what_is_compiled_is_the_catalogue(path):
    program = load_program()
    compiled = program.compile_catalogue(program.read_catalogue(path))
    assert compiled == path.with_suffix(".mo").read_bytes(), RUN


@pytest.mark.parametrize("file", SPEAKING, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_text_is_outside_of_the_catalogue(file):
    tree = ast.parse(file.read_text("utf-8"))
    found = [*list_shown(tree)]
    if file.relative_to(SOURCE).as_posix() not in ENGLISH:
        found += list_prose(tree)
    assert sorted(set(found)) == []


def list_shown(tree: ast.Module) -> list[str]:
    """Texts that are shown by a function of `SHOWN` without a translation."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        shown = [node.args[at] for at in SHOWN.get(name_called(node), ()) if at < len(node.args)]
        shown += [each.value for each in node.keywords if each.arg in NAMED]
        found += [text for each in shown for text in list_texts(each)]
    return found


def list_texts(node: ast.AST) -> list[str]:
    """The words of an expression that no function of `TAKEN` has."""
    if isinstance(node, ast.Call):
        parts = [] if name_called(node) in TAKEN else [*node.args, *(each.value for each in node.keywords)]
        return (
            [text for each in parts for text in list_texts(each)]
            if not name_called(node)[:1].islower()
            else []
        )
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) and re.search(r"[A-Za-z]{3}", node.value) else []
    if isinstance(node, ast.JoinedStr):
        return (
            ["".join(p.value for p in node.values if isinstance(p, ast.Constant))]
            if any(isinstance(p, ast.Constant) and re.search(r"[A-Za-z]{3}", p.value) for p in node.values)
            else []
        )
    if isinstance(node, ast.Tuple | ast.List):
        return [text for each in node.elts for text in list_texts(each)]
    if isinstance(node, ast.IfExp):
        return [*list_texts(node.body), *list_texts(node.orelse)]
    return []


def list_prose(tree: ast.Module) -> list[str]:
    """Sentences anywhere but in documentation, in errors and in what is translated."""
    passed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(id(node.value))
        elif isinstance(node, ast.Call) and name_called(node) in ("box", "text", "badge"):
            # Shown ones are judged above; the others are classes.
            passed |= {id(each) for argument in node.args for each in ast.walk(argument)}
        elif isinstance(node, ast.Raise) or (
            isinstance(node, ast.Call)
            and (
                name_called(node) in TAKEN
                or re.search(r"Error$|^props$|^style$|^replace$", name_called(node))
            )
        ):
            passed |= {id(each) for each in ast.walk(node)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in passed
        and PROSE.search(node.value)
        and not TECHNICAL.search(node.value)
        and not any(each in node.value for each in UNTRANSLATED)
    ]


def name_called(node: ast.Call) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def test_a_sentence_outside_is_found():
    tree = ast.parse(
        'theme.text("Choose a goal")\ntold = "nobody has translated this"\nui.select([], label="How")'
    )
    assert list_shown(tree) == ["Choose a goal", "How"]
    assert list_prose(tree) == ["nobody has translated this"]
