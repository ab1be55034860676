import copy
import pickle

import pytest

from shoal.support.frozen import FrozenDict, freeze_mapping


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.__setitem__("a", 2),
        lambda it: it.__delitem__("a"),
        lambda it: it.update(a=2),
        lambda it: it.pop("a"),
        lambda it: it.popitem(),
        lambda it: it.clear(),
        lambda it: it.setdefault("b", 1),
        lambda it: it.__ior__({"b": 1}),
    ],
)
def test_nothing_changes_it(change):
    frozen = FrozenDict({"a": 1})
    with pytest.raises(TypeError, match="cannot be changed"):
        change(frozen)
    assert frozen == {"a": 1}


def test_the_order_of_its_keys_does_not_matter_to_its_hash():
    assert hash(FrozenDict({"a": 1, "b": 2})) == hash(FrozenDict({"b": 2, "a": 1}))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_are_frozen_too(again):
    copied = again(freeze_mapping({"a": ["x", "y"]}))
    assert copied == {"a": ("x", "y")}
    assert type(copied) is FrozenDict
