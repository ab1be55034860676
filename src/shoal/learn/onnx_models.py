"""Models in the format of ONNX: computed by onnxruntime, without any code of whoever made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from shoal.errors import InputError
from shoal.learn.sklearn_io import has_names
from shoal.table import read_table, to_strings
from shoal.table.formats import import_optional

_DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
"""The types of inputs, and the arrays that they take."""


def adapt_onnx(model: Any) -> Any:
    """A session of onnxruntime or a model of onnx as something with `predict`; anything else as it is."""
    root = type(model).__module__.partition(".")[0]
    if root == "onnx" and hasattr(model, "SerializeToString"):
        return OnnxModel(model.SerializeToString())
    if root == "onnxruntime" and hasattr(model, "get_inputs"):
        return OnnxModel.from_session(model)
    return model


class OnnxModel:
    """A model of ONNX.

    With one input it gets all columns as a matrix, in their order; with several, each gets the column of its
    name. The first output is what is predicted: classes if it has whole numbers or texts, the likeliest of
    several columns, and otherwise numbers. A matrix as the last output is taken as the probabilities.
    """

    def __init__(self, content: bytes, name: str = "the ONNX model") -> None:
        self.content, self.name = content, name
        self._session: Any = None

    @classmethod
    def from_file(cls, path: Path) -> OnnxModel:
        """Read a file."""
        model = cls(path.read_bytes(), str(path))
        model._open()  # what is wrong with it is said now
        return model

    @classmethod
    def from_session(cls, session: Any) -> OnnxModel:
        """Ask a session that somebody opened."""
        model = cls(b"")
        model._session = session
        return model

    def predict(self, data: Any) -> NDArray[Any]:
        """Classes, or numbers."""
        first = np.asarray(self._run(data)[0])
        if first.dtype.kind == "f" and first.ndim == 2 and first.shape[1] > 1:
            return np.asarray(first.argmax(axis=1))
        return first.reshape(len(first), -1)[:, 0] if first.ndim > 1 else first

    @available_if(lambda self: self._has_probabilities())  # type: ignore[untyped-decorator]
    def predict_proba(self, data: Any) -> NDArray[np.float64]:
        """[rows, classes]"""
        return np.asarray(self._run(data)[-1], np.float64)

    def _has_probabilities(self) -> bool:
        """Whether the last output is a matrix of them; some converters write a list of mappings."""
        found = self._open().get_outputs()
        last = found[-1]
        wide = last.type in ("tensor(float)", "tensor(double)") and len(last.shape or ()) == 2
        return wide and last.shape[1] != 1

    def __getstate__(self) -> dict[str, Any]:
        if not self.content:
            raise InputError("a session of onnxruntime cannot be pickled: load the model from its file")
        return {"content": self.content, "name": self.name, "_session": None}

    def _open(self) -> Any:
        if self._session is None:
            runtime = import_optional("onnxruntime", "shoal[onnx]")
            options = runtime.SessionOptions()
            options.log_severity_level = 3  # errors only: the terminal is not its own
            try:
                self._session = runtime.InferenceSession(
                    self.content, options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:
                text = str(error).split("\n")[0]
                raise InputError(f"{self.name} cannot be read as a model of ONNX: {text}") from error
        return self._session

    def _run(self, data: Any) -> list[Any]:
        session = self._open()
        try:
            found: list[Any] = session.run(None, self._feed(session.get_inputs(), data))
        except InputError:
            raise
        except Exception as error:
            raise InputError(f"{self.name} failed on the rows: {str(error).split(chr(10))[0]}") from error
        return found

    def _feed(self, inputs: list[Any], data: Any) -> dict[str, NDArray[Any]]:
        if unknown := [each.type for each in inputs if each.type not in _DTYPES]:
            raise InputError(f"{self.name} has an input of the type {unknown[0]}, which is not supported")
        frame = _read_frame(data)
        if len(inputs) == 1:
            (only,) = inputs
            width = only.shape[1] if len(only.shape) > 1 and isinstance(only.shape[1], int) else None
            if width is not None and width != frame.width:
                raise InputError(f"{self.name} takes {width} columns, and the rows have {frame.width}")
            columns = [_convert(column, only.type) for column in frame]
            return {only.name: np.stack(columns, axis=1)}
        if missing := [each.name for each in inputs if each.name not in frame.columns]:
            raise InputError(f"{self.name} has an input '{missing[0]}', and the rows have no such column")
        return {each.name: _convert(frame.get_column(each.name), each.type)[:, None] for each in inputs}


def _read_frame(data: Any) -> pl.DataFrame:
    if has_names(data):
        return read_table(data, with_index=False).frame
    array = np.asarray(data)
    return pl.DataFrame({f"x{at}": array[:, at] for at in range(array.shape[1])})


def _convert(column: pl.Series, kind: str) -> NDArray[Any]:
    """A column in the type of an input."""
    if kind == "tensor(string)":
        return np.asarray(to_strings(column).fill_null("").to_list(), dtype=object)
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise InputError(f"the ONNX model takes numbers, and column '{column.name}' has others")
    values = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    wanted = np.dtype(_DTYPES[kind])
    if wanted.kind in "iub" and np.isnan(values).any():
        raise InputError(f"the ONNX model takes whole numbers in '{column.name}', and some are missing")
    return values.astype(wanted)
