"""Models from files, and functions of modules: what runs somebody's code says so, and waits to be trusted."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from shoal.errors import InputError, RecipeError
from shoal.learn.boosters import adapt_booster
from shoal.learn.onnx_models import OnnxModel
from shoal.table.formats import import_optional

_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def load_model(source: str | Path, *, trust: bool = False) -> Any:
    """A fitted model, from a file or as ``module:function``.

    Parameters
    ----------
    source : path or str
        A file by its suffix: ``.onnx`` (needs `shoal[onnx]`), ``.json`` and ``.ubj`` of XGBoost, ``.txt`` of
        LightGBM, ``.joblib``, ``.pkl`` and ``.pickle``. Or a function or an object of a module that Python
        can import, here or in the current folder.
    trust : bool
        Whether a pickled model may be loaded. **Loading one runs code that stands in the file**: trust it
        only if you know who made it. The other files hold no code.

    Returns
    -------
    model
        What `Minimizer`, `TreeAnonymizer` and `PrivacySearch` take.
    """
    path = Path(source)
    if not path.exists() and _MODULE.fullmatch(str(source)):
        return _import_object(str(source))
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise RecipeError(f"{path}: a model is a file that ends in {', '.join(_READERS)}, or module:function")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if suffix in _PICKLED and not trust:
        raise RecipeError(
            f"{path} is a pickled model: loading it runs whatever code its maker put into it. If you "
            "know who made it, say --trust-model (in Python trust=True). A model of ONNX needs no trust"
        )
    return _READERS[suffix](path)


def _import_object(source: str) -> Any:
    module, _, name = source.partition(":")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{source} cannot be imported: {error}") from error
    return found


def _read_pickle(path: Path) -> Any:
    import joblib  # noqa: PLC0415  slow to load

    try:
        return joblib.load(path)  # plain pickles as well
    except Exception as error:
        text = str(error).split("\n")[0]
        raise InputError(f"{path} cannot be loaded as a model: {type(error).__name__}: {text}") from error


def _read_booster(package: str) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        made = import_optional(package, package)
        try:
            return adapt_booster(made.Booster(model_file=str(path)))
        except Exception as error:
            text = str(error).strip().split("\n")[0]
            raise InputError(f"{path} cannot be read as a booster of {package}: {text}") from error

    return read


_PICKLED = (".joblib", ".pkl", ".pickle")
_READERS: dict[str, Callable[[Path], Any]] = {
    ".onnx": OnnxModel.from_file,
    ".json": _read_booster("xgboost"),
    ".ubj": _read_booster("xgboost"),
    ".txt": _read_booster("lightgbm"),
    **dict.fromkeys(_PICKLED, _read_pickle),
}
"""How the files are read, by suffix."""
