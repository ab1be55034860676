"""The methods of ``frame.shoal``, and how libraries of frames get them."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_LIBRARIES = ("pandas", "polars")
_registered: set[str] = set()


class TableAccessor:
    """What Shoal does with the frame that it belongs to; arguments are those of the functions."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def anonymize(self, **settings: Any) -> Any:
        """Anonymize the rows: `shoal.anonymize`; ``.frame`` of the result is a frame of the same kind."""
        return _shoal().anonymize(self._frame, **settings)

    def run(self, recipe: Any, **settings: Any) -> Any:
        """Carry out a recipe, or the file of one, on the rows: `shoal.run`."""
        return _shoal().run(recipe, self._frame, **settings)

    def verify(self, **settings: Any) -> Any:
        """Count the rows as a release: `shoal.verify`."""
        return _shoal().verify(self._frame, **settings)

    def risk(self, **settings: Any) -> Any:
        """How recognisable people are: `shoal.risk`."""
        return _shoal().risk(self._frame, **settings)

    def suggest(self, **settings: Any) -> Any:
        """Roles, types and a goal for the table: `shoal.suggest`."""
        return _shoal().suggest(self._frame, **settings)

    def measure(self, **settings: Any) -> Any:
        """What the rows reach under every model: `shoal.measure`."""
        return _shoal().measure(self._frame, **settings)

    def expand(self, **settings: Any) -> Any:
        """The columns of a release with low and high in place of labels: `shoal.expand`."""
        return _shoal().expand(self._frame, **settings)


def _shoal() -> Any:
    return sys.modules["shoal"]


def register_loaded() -> None:
    """Add ``shoal`` to the frames of the libraries that are loaded; once to each."""
    pandas, polars = sys.modules.get("pandas"), sys.modules.get("polars")
    # A library that is still being imported has no frames yet.
    if "pandas" not in _registered and hasattr(pandas, "api") and hasattr(pandas, "DataFrame"):
        _registered.add("pandas")
        pandas.api.extensions.register_dataframe_accessor("shoal")(TableAccessor)  # type: ignore[union-attr]
    if "polars" not in _registered and hasattr(polars, "api") and hasattr(polars, "LazyFrame"):
        _registered.add("polars")
        for kind in ("dataframe", "lazyframe"):
            getattr(polars.api, f"register_{kind}_namespace")("shoal")(TableAccessor)  # type: ignore[union-attr]


class FrameLibraryFinder(MetaPathFinder):
    """Waits for pandas and polars to be imported, by whomever, and registers the methods then."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """What the other finders find; registers once the library has been executed."""
        if name not in _LIBRARIES or self._is_asking:
            return None
        self._is_asking = True  # this asks all finders, and so this one again
        try:
            spec = find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                register_loaded()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec

    _is_asking = False


def add_accessors() -> None:
    """Give ``frame.shoal`` to frames of pandas and polars, now or when they are imported; loads neither."""
    register_loaded()
    if not any(isinstance(each, FrameLibraryFinder) for each in sys.meta_path):
        sys.meta_path.insert(0, FrameLibraryFinder())
