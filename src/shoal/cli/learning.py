"""What the commands for learning share: options, and the rows and columns to learn from.

``shoal.learn`` needs scikit-learn, which is optional. It is imported when a command runs, so that the help of
these commands can be shown without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from shoal.cli import arguments as a
from shoal.cli import options as o
from shoal.cli.options import flag, option
from shoal.errors import InputError, RecipeError
from shoal.table import Table

LEARNING = "Learning"

Target = Annotated[
    str, option("--target", panel=LEARNING, metavar="COLUMN", help="The column that is to be predicted.")
]
Estimator = Annotated[
    str,
    option(
        "--estimator",
        panel=LEARNING,
        metavar="NAME",
        help="random-forest, gradient-boosting, linear or decision-tree.",
    ),
]
LoadModel = Annotated[
    str | None,
    option(
        "--load-model",
        panel=LEARNING,
        metavar="FILE",
        help="A fitted model instead, which is asked and never trained: .onnx, .json or .ubj of XGBoost, "
        ".txt of LightGBM, .joblib, .pkl, or module:function.",
    ),
]
TrustModel = Annotated[
    bool,
    flag(
        "--trust-model",
        LEARNING,
        "Load a pickled model (.joblib, .pkl). This runs code of the file: only if you know its maker.",
    ),
]
HtmlReport = Annotated[
    Path | None,
    option("--report", panel=o.SHOWN, metavar="F.html", help="Write the results and a picture to a page."),
]


def select_features(
    table: Table,
    target: str,
    quasi: list[str] | None,
    sensitive: list[str] | None,
    identifier: list[str] | None,
    type: list[str] | None,
    na: list[str] | None,
) -> tuple[pl.DataFrame, pl.Series, dict[str, list[str]]]:
    """The columns to learn from in their types, the labels, and the roles by name."""
    from shoal.learn.sklearn_io import convert_types  # noqa: PLC0415

    roles = {
        role: list(a.names_of(table, texts or ()))
        for role, texts in (("quasi", quasi), ("sensitive", sensitive), ("identifier", identifier))
    }
    (column,) = a.names_of(table, [target])
    if wrong := [role for role, names in roles.items() if column in names]:
        raise RecipeError(f"the target '{column}' is named {wrong[0]} too: it is neither released nor hidden")
    frame = convert_types(table, a.types_of(table, None, type), na or ())
    left = [series for series in frame if series.name not in (column, *roles["identifier"])]
    if not left:
        raise RecipeError("there is nothing to learn from: every column is the target or an identifier")
    return pl.DataFrame(left), frame[column], roles


def load_fitted(source: str | None, trust: bool) -> Any:
    """The fitted model of a file or a module, as rows of a table can be given to it; None without one."""
    if source is None:
        if trust:
            raise RecipeError("--trust-model is about a model that is loaded: name it with --load-model")
        return None
    from shoal.learn import load_model  # noqa: PLC0415
    from shoal.learn.fitted import TableModel  # noqa: PLC0415

    return TableModel(load_model(source, trust=trust))


def find_labelled_rows(labels: pl.Series, target: str, quiet: bool) -> Any:
    """Positions of the rows whose target is known; the others teach nothing, and are counted."""
    known = np.flatnonzero(labels.is_not_null().to_numpy())
    if labels.drop_nulls().n_unique() < 2:
        raise InputError(
            f"the target '{target}' has fewer than two distinct values: nothing is to be learned"
        )
    if known.size < len(labels) and not quiet:
        typer.echo(f"{len(labels) - known.size} rows without a value of '{target}' are left out", err=True)
    return known


def train_estimator(
    frame: pl.DataFrame, labels: pl.Series, known: Any, estimator: str, seed: int
) -> tuple[Any, Any]:
    """An estimator trained on half of the rows, and the others."""
    from shoal.learn.estimators import is_numeric, named_estimator  # noqa: PLC0415

    if known.size < 12:
        raise InputError(f"{known.size} rows are too few to train on and to judge by: give at least 12")
    order = np.random.default_rng(seed).permutation(known)
    # Predictions on rows that trained the estimator would tell how well it remembers them.
    train, rest = np.split(order, [order.size // 2])
    y = labels.gather(train).to_numpy()
    return named_estimator(estimator, is_numeric(y), seed).fit(frame[train], y), rest
