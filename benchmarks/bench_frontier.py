"""Loss against CPU of every algorithm, k = 2 to 100, on Adult and INFORMS; --svg FILE draws the picture.

Every loss is the NCP of the tightest release of the classes that were found, anyone who found them. Packages
that are not installed are skipped, and said to be.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import toolkit
from measure import ADULT, ADULT_QUASI, DATA, Figures, need
from shoal.algorithms import ALGORITHMS, Problem
from shoal.codespace.encoding import Column, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.codespace.loss import LOSSES
from shoal.codespace.recoding import Proposal, Recoding
from shoal.privacy import KAnonymity
from shoal.support.parameters import build_entry, parse_call

INFORMS = DATA / "informs" / "informs.csv"
INFORMS_QUASI = ("DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income")
KS = (2, 5, 10, 25, 50, 100)
OURS = (
    "mondrian(cut=classic)",
    "mondrian(cut=nearest)",
    "mondrian(cut=greedy)",
    "hilbert",
    "peel",
    "refine",
    "cluster",
    "auto(seconds=1)",
    "auto(seconds=5)",
)
SLOW = 20.0  # seconds after which a package is not asked for a smaller k
COLOURS = ("#9a6324", "#808000", "#3cb44b", "#4363d8", "#911eb4", "#42d4f4", "#f58231", "#e6194b", "#800000")


Peer = Callable[[pl.DataFrame, int], tuple[float, np.ndarray]]
"""A package: a table and k in; CPU seconds and the class of every row out."""


class Point(NamedTuple):
    """One run."""

    algorithm: str
    k: int
    cpu: float
    loss: float
    """In percent."""


def main() -> None:
    drawn = {}
    for title, path, quasi in (("Adult", ADULT, ADULT_QUASI), ("INFORMS", INFORMS, INFORMS_QUASI)):
        figures = Figures(f"{title}: loss against CPU")
        whole = complete(need(path))
        target = whole["class"] if "class" in whole.columns else None
        drawn[title] = list(_points(whole.select(quasi), dict(_peers(target)), figures))
        figures.close()
    if "--svg" in sys.argv:
        Path(sys.argv[sys.argv.index("--svg") + 1]).write_text(picture(drawn), "utf-8")


def complete(path: Path) -> pl.DataFrame:
    """The rows in which nothing is missing."""
    frame = pl.read_csv(path, infer_schema=False).with_columns(pl.all().str.strip_chars())
    frame = frame.filter(~pl.any_horizontal(pl.all().str.contains("?", literal=True)))
    numbers = frame.cast(pl.Float64, strict=False)
    return frame.with_columns(column for column in numbers if column.null_count() == 0)


def _points(frame: pl.DataFrame, peers: dict[str, Peer], figures: Figures) -> Iterator[Point]:
    for text in OURS:
        algorithm = build_entry("algorithm", ALGORITHMS, *parse_call(text))
        measured(problem(frame, 5, algorithm.category_order), algorithm.search)  # compiles
        for k in KS:
            yield _said(
                figures, text, k, *measured(problem(frame, k, algorithm.category_order), algorithm.search)
            )
    for name, peer in peers.items():
        for k in reversed(KS):
            spent, class_of = peer(frame, k)
            asked = problem(frame, k, "frequency")
            found = Proposal(asked.rows.one_by_one(in_order=True), class_of.astype(np.int32))
            point = _said(figures, name, k, spent, lost(asked, found))
            yield point
            if point.cpu > SLOW:
                print(f"  {name}: smaller k left out, each takes longer still")
                break


def _said(figures: Figures, name: str, k: int, cpu: float, loss: float) -> Point:
    figures.add(f"{name}, k = {k}: {cpu:.3f} s CPU, loss", 100 * loss, "%")
    return Point(name, k, cpu, 100 * loss)


def problem(frame: pl.DataFrame, k: int, order: str) -> Problem:
    encoded = [encode_column(frame[name], Column(name), order) for name in frame.columns]
    coded = CodedRows(tuple(e.codes for e in encoded), tuple(e.domain.size for e in encoded))
    domains = tuple(e.domain for e in encoded)
    return Problem(domains, coded, (), (KAnonymity(k),), "ncp", np.ones(len(domains)))


def measured(asked: Problem, search: Callable[[Problem], Proposal]) -> tuple[float, float]:
    """CPU seconds of a search, and its loss."""
    begin = time.process_time()
    proposal = search(asked)
    return time.process_time() - begin, lost(asked, proposal)


def lost(asked: Problem, proposal: Proposal) -> float:
    return LOSSES["ncp"]().measure(Recoding.from_proposal(proposal, asked.domains), asked.weights).value


def _peers(target: pl.Series | None) -> Iterator[tuple[str, Peer]]:
    """The packages that are here; the others are named."""
    if find_spec("anonypy") is None:
        print("SKIPPED: anonypy is not installed here")
    else:
        yield "anonypy", _anonypy
    if target is None:
        print("SKIPPED: ai-privacy-toolkit wants a column to predict, which this table has not")
    elif toolkit.here():
        yield "ai-privacy-toolkit", lambda frame, k: _toolkit(frame, target, k)


def _anonypy(frame: pl.DataFrame, k: int) -> tuple[float, np.ndarray]:
    from anonypy.mondrian import Mondrian

    pandas = frame.to_pandas()
    for name in _text(frame):
        pandas[name] = pandas[name].astype("category")
    class_of = np.empty(len(pandas), np.int64)
    begin = time.process_time()
    parts = Mondrian(pandas, frame.columns).partition(k)
    spent = time.process_time() - begin
    for number, rows in enumerate(parts):
        class_of[rows] = number
    return spent, class_of


def _toolkit(frame: pl.DataFrame, target: pl.Series, k: int) -> tuple[float, np.ndarray]:
    """Rows that it releases alike are a class."""
    codes = target.rank("dense").to_pandas()
    spent, coarse = toolkit.released(frame.to_pandas(), codes, k, _text(frame))
    return spent, pl.from_pandas(coarse).select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy() - 1


def _text(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if frame[name].dtype == pl.String]


def picture(drawn: dict[str, list[Point]]) -> str:
    """All points, CPU to the right and loss upwards, both on logarithmic scales."""
    names = list(dict.fromkeys(point.algorithm for points in drawn.values() for point in points))
    width, height = 460, 400
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * width} {height + 70}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{2 * width}" height="{height + 70}" fill="white"/>',
    ]
    colour = dict(zip(names, (*COLOURS, "#000000", "#555555"), strict=False))
    for number, (title, points) in enumerate(drawn.items()):
        parts += _panel(title, points, colour, number * width, width, height)
    for number, name in enumerate(names):
        x, y = 60 + number % 5 * 170, height + 25 + number // 5 * 20
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="5" fill="{colour[name]}"/>')
        parts.append(f'<text x="{x + 10}" y="{y}">{name}</text>')
    return "\n".join((*parts, "</svg>", ""))


def _panel(
    title: str, points: list[Point], colour: dict[str, str], left: int, width: int, height: int
) -> Iterator[str]:
    times = np.log10([max(point.cpu, 1e-3) for point in points])
    losses = np.log10([point.loss for point in points])
    t0, t1, l0, l1 = np.floor(times.min()), np.ceil(times.max()), losses.min() - 0.1, losses.max() + 0.1

    def place(cpu: float, loss: float) -> tuple[float, float]:
        x = left + 55 + (np.log10(max(cpu, 1e-3)) - t0) / (t1 - t0) * (width - 85)
        return x, 30 + (l1 - np.log10(loss)) / (l1 - l0) * (height - 75)

    yield f'<text x="{left + 55}" y="18"><tspan font-size="15">{title}</tspan>: '
    yield "lost (NCP), k = 2 to 100</text>"
    for tick in range(int(t0), int(t1) + 1):
        x = place(10.0**tick, 1.0)[0]
        yield f'<line x1="{x:.1f}" y1="30" x2="{x:.1f}" y2="{height - 45}" stroke="#ddd"/>'
        yield f'<text x="{x:.1f}" y="{height - 28}" text-anchor="middle">{10.0**tick:g}</text>'
    for tick in (0.2, 0.5, 1, 2, 5, 10, 20, 50):
        if l0 <= np.log10(tick) <= l1:
            y = place(1.0, tick)[1]
            yield f'<line x1="{left + 55}" y1="{y:.1f}" x2="{left + width - 30}" y2="{y:.1f}" stroke="#ddd"/>'
            yield f'<text x="{left + 48}" y="{y + 4:.1f}" text-anchor="end">{tick:g} %</text>'
    under = f'x="{left + width / 2}" y="{height - 10}" text-anchor="middle"'
    yield f"<text {under}>CPU seconds of the search</text>"
    for name, shade in colour.items():
        mine = sorted((point.k, *place(point.cpu, point.loss)) for point in points if point.algorithm == name)
        line = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in mine)
        yield f'<polyline points="{line}" fill="none" stroke="{shade}" stroke-width="1.5"/>'
        for k, x, y in mine:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{shade}">'
            yield f"<title>{name}, k = {k}</title></circle>"


if __name__ == "__main__":
    main()
