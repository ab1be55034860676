"""Every dependency has a lower bound, which `make oldest` installs."""

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("oldest", Path(__file__).with_name("oldest.py"))


def test_every_dependency_has_a_lower_bound():
    assert SPEC is not None
    oldest = importlib.util.module_from_spec(SPEC)
    SPEC.loader.exec_module(oldest)
    pins = oldest.lowest()
    assert len(pins) >= 11
    assert all(pin.count("==") == 1 and pin.endswith(".*") for pin in pins)
