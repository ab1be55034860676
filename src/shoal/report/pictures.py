"""Pages with a picture by plotly; its script goes into the file, so that they can be looked at offline."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from shoal.files import whole_file


def write_page(path: Path, title: str, figure: Any, rows: pl.DataFrame) -> None:
    """A page with a picture and a table, which needs nothing from elsewhere."""
    picture = figure.to_html(full_html=False, include_plotlyjs=True)
    head = "".join(f"<th>{escape(name)}</th>" for name in rows.columns)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(cell(value))}</td>' for value in row)}</tr>" for row in rows.iter_rows()
    )
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.2em .6em;text-align:left}</style>"
        f"<h1>{escape(title)}</h1>{picture}<table><tr>{head}</tr>{body}</table></html>"
    )
    with whole_file(path) as stream:
        stream.write(page.encode())


def cell(value: Any) -> str:
    """A figure in a table of results; nothing where there is none."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else str(value)
