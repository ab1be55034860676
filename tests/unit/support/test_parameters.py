from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from shoal.errors import RecipeError
from shoal.support.parameters import (
    build_entry,
    call_text,
    check_fields,
    describe_parameters,
    name_of,
    parse_call,
)


@dataclass(frozen=True, slots=True)
class Sieve:
    size: int
    share: float = 0.5
    kind: Literal["coarse", "fine"] = "fine"
    wet: bool = False
    column: str | None = None
    names: tuple[str, ...] = ()
    meshes: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)


TABLE = {"sieve": Sieve}


def made(text: str) -> Sieve:
    return build_entry("tool", TABLE, *parse_call(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("k", ("k", {})),
        ("  distinct-l ( l = 3 , column = a b ) ", ("distinct-l", {"l": "3", "column": "a b"})),
        ("k()", ("k", {})),
        ("k(k=5,)", ("k", {"k": "5"})),
        ("k(a=b=c)", ("k", {"a": "b=c"})),
        ("k(a=x(y),b=1)", ("k", {"a": "x(y)", "b": "1"})),
        ('k(a="x, y",b="say ""no""")', ("k", {"a": "x, y", "b": 'say "no"'})),
        ("k(a=line\nbreak)", ("k", {"a": "line\nbreak"})),
    ],
)
def test_a_call_is_split(text, expected):
    assert parse_call(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("k(k=5", "cannot read 'k(k=5'"),
        ("", "write name(parameter=value"),
        ("k(5)", "cannot read '5' in 'k(5)': write parameter=value"),
        ('k(a="x, y)', "a quote is not closed"),
    ],
)
def test_what_is_no_call_is_quoted_back(text, says):
    with pytest.raises(RecipeError) as error:
        parse_call(text)
    assert says in str(error.value)


def test_text_becomes_what_the_field_asks_for():
    sieve = made("sieve(size=3,share=0.25,kind=coarse,wet=yes,column=age)")
    assert sieve == Sieve(3, 0.25, "coarse", True, "age")
    assert made("sieve(size=3,wet=OFF,column=none)") == Sieve(3)
    lists = build_entry(
        "tool", TABLE, "sieve", {"size": 3, "names": "a, b", "meshes": "1,2.5", "steps": "2,"}
    )
    assert lists == Sieve(3, names=("a", "b"), meshes=(1.0, 2.5), steps=(2,))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("seive(size=3)", "unknown tool 'seive': did you mean 'sieve'?"),
        ("sieve(sise=3)", "unknown parameter of tool sieve 'sise': did you mean 'size'?"),
        ("sieve", "tool sieve needs 'size': write sieve(size=...)"),
        ("sieve(size=2.5)", "size of tool sieve must be a whole number, not '2.5'"),
        ("sieve(size=3,share=half)", "share of tool sieve must be a number, not 'half'"),
        ("sieve(size=3,wet=maybe)", "wet of tool sieve must be true or false, not 'maybe'"),
        ("sieve(size=3,steps=2.5)", "steps of tool sieve must be a whole number, not '2.5'"),
        ("sieve(size=3,kind=medium)", "unknown kind of tool sieve 'medium': there are 'coarse', 'fine'"),
    ],
)
def test_a_wrong_parameter_is_named_with_what_would_do(text, says):
    with pytest.raises(RecipeError) as error:
        made(text)
    assert str(error.value) == says


@pytest.mark.parametrize("column", ["age", "a, b", 'the "age"', " padded ", "x=y", "(z)", "Größe"])
def test_an_entry_written_as_text_reads_back(column):
    sieve = Sieve(7, 0.1, "coarse", True, column)
    name, parameters = parse_call(call_text("sieve", sieve))
    for lists in ("names", "meshes", "steps"):  # have no place in a call
        del parameters[lists]
    assert build_entry("tool", TABLE, name, parameters) == sieve


def test_what_is_none_is_not_described():
    assert describe_parameters(Sieve(7)) == {
        "size": 7,
        "share": 0.5,
        "kind": "fine",
        "wet": False,
    } | dict.fromkeys(("names", "meshes", "steps"), ())
    assert name_of({"other": int, "sieve": Sieve}, Sieve(7)) == "sieve"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"size": "3"}, "size must be a whole number, not '3'"),
        ({"size": 3.0}, "size must be a whole number, not 3.0"),
        ({"size": True}, "size must be a whole number, not True"),
        ({"size": None}, "size must be a whole number, not None"),
        ({"size": 3, "share": "1"}, "share must be a number, not '1'"),
        ({"size": 3, "kind": "Fine"}, "unknown kind 'Fine': did you mean 'fine'?"),
        ({"size": 3, "wet": 1}, "wet must be true or false, not 1"),
        ({"size": 3, "column": 4}, "column must be text, not 4"),
        ({"size": 3, "names": "age"}, "names must be a list of texts, not 'age'"),
        ({"size": 3, "meshes": 4}, "meshes must be a list of numbers, not 4"),
        ({"size": 3, "steps": [1, 2.5]}, "steps must be a list of whole numbers, not [1, 2.5]"),
        ({"size": 3, "names": ("age", 4)}, "names must be a list of texts, not ('age', 4)"),
    ],
)
def test_an_entry_checks_its_fields_when_it_is_made(settings, says):
    with pytest.raises(RecipeError) as error:
        Sieve(**settings)
    assert str(error.value) == says


def test_numbers_of_numpy_become_pythons_own_and_lists_tuples():
    sieve = Sieve(np.int64(3), np.float32(0.5), names=["a", "b"])
    assert (type(sieve.size), type(sieve.share), sieve.names) == (int, float, ("a", "b"))
    assert type(Sieve(3, share=1).share) is float
