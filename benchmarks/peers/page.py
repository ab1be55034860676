"""The page of the comparison, made from the figures of a run alone."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .measuring import Results
from .pictures import Line, Panel, draw
from .programs import LIMIT, PROGRAMS, Program
from .tables import list_tables

Cell = dict[str, Any]
RECODINGS = {
    "local": "Every class has its own ranges, sets or labels",
    "levels": "One level of the hierarchy for a whole column",
    "means": "Means or representatives",
    "cells": "Single cells suppressed",
}
OWN = "shoal"
SPECIAL = ("shoal-exact", "shoal-memory", "mg", "ga")
"""For tables of some rows, or for large ones: they are no gap elsewhere."""
NOTICEABLE = 1.005
"""Losses and times that differ by less are called equal."""


def write_page(results: Results, file: Path) -> None:
    """Write the page, and the pictures beside it."""
    file.write_text(make_page(results, file.stem), "utf-8")
    for name, picture in make_pictures(results, file.stem).items():
        (file.parent / name).write_text(picture, "utf-8")


def make_page(results: Results, stem: str = "peers") -> str:
    """The page; its pictures are files whose names begin with ``stem``."""
    tables = list_filled_tables(results)
    parts = [
        *_open(results),
        *_compare_at_a_glance(results, tables),
        *_say_where_others_are_better(results, tables),
        *_show_growth(tables, stem),
        *(line for name in tables if not _is_sample(name) for line in _show_table(results, name)),
        *_show_samples(results, tables),
        *_name_programs(results),
        *_list_what_is_missing(results),
        *HOW,
    ]
    return "\n".join(parts) + "\n"


def list_filled_tables(results: Results) -> list[str]:
    """Tables with figures, in their usual order whatever was run first."""
    usual = [table.name for table in list_tables(large=True)]
    filled = [name for name in results.about["tables"] if list_done(results, name)]
    return sorted(filled, key=lambda name: usual.index(name) if name in usual else len(usual))


def list_done(results: Results, table: str) -> list[tuple[str, int, Cell]]:
    """Program, k and figures of all cells of a table that have some."""
    found = []
    for key, cell in results.cells.items():
        own, program, k = key.split(" ")
        if own == table and cell["status"] == "done":
            found.append((program, int(k), cell))
    order = list(PROGRAMS)
    return sorted(found, key=lambda each: (-each[1], order.index(each[0])))


def wrap(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 100, break_long_words=False, break_on_hyphens=False)


def _open(results: Results) -> Iterator[str]:
    about = results.about
    yield "# Measured beside other programs"
    yield ""
    yield wrap(
        "This page is written by a program from what it measured; nobody typed a figure. Every program "
        "gets the same rows of the same file and writes a release. One function, which shares no code with "
        "Shoal, reads all releases and counts what they lost and how safe they are. [How it is "
        "counted](#how-it-is-counted) and [how to run it](#run-it), also with a table of your own, stand at "
        "the end. [The other comparison](comparison.md) says what the programs can do."
    )
    yield ""
    gigabytes = about["bytes"] / 1e9
    yield wrap(
        f"Last run on {about['date']}: {about['processor']}, {about['cores']} cores, "
        f"{about['memory'] / 2**30:.0f} GB, {about['system']}. A cell was stopped at {about['seconds']:g} s "
        f"of processor time or {gigabytes:g} GB of memory. Times are processor time of the whole command, "
        "with all its processes, from start to written file. A busy machine changes them less than it does "
        "the clock, but it does: take differences of a tenth for noise."
    )
    yield ""


def _compare_at_a_glance(results: Results, tables: list[str]) -> Iterator[str]:
    yield "## At a glance"
    yield ""
    yield wrap(
        "Shoal with its defaults beside the program that loses least among the others, with classes that "
        "have their own ranges, sets or labels. Loss is the normalised certainty penalty, 0 to 100 %."
    )
    yield ""
    yield "| table | rows | k | Shoal: loss | time | the best other: loss | time | |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for table in tables:
        for k in sorted({k for _, k, _ in list_done(results, table)}, reverse=True):
            cells = {name: c for name, own, c in list_done(results, table) if own == k and _is_local(name)}
            own = next(
                (cells[name] for name in ("shoal", "shoal-memory", "shoal-exact") if name in cells), None
            )
            others = {
                name: cell for name, cell in cells.items() if not _is_own(name) and cell["smallest"] >= k
            }
            if own is None:
                continue
            about = results.about["tables"][table]
            line = f"| {about['title']} | {about['rows']:,} | {k} | {_percent(own)} | {own['cpu']:.1f} s "
            if others:
                best = min(others, key=lambda name: (others[name]["ncp"], others[name]["cpu"]))
                line += f"| {_percent(others[best])} | {_seconds(others[best])} | {PROGRAMS[best].title} |"
            else:
                line += "| | | no figure of another |"
            yield line
    yield ""


def _say_where_others_are_better(results: Results, tables: list[str]) -> Iterator[str]:
    yield "## Where others are better"
    yield ""
    yield wrap(
        "Of all cells on this page, those where another program loses less than every setting of Shoal that "
        "recodes in the same way, with classes of k rows or more:"
    )
    yield ""
    yield from _list_better(results, tables, "ncp")
    yield ""
    yield wrap(
        "And those that need less processor time than the fastest setting of Shoal that recodes likewise:"
    )
    yield ""
    yield from _list_better(results, tables, "cpu")
    yield ""
    smaller = list(_find_better(results, tables, "peak"))
    least = min(
        (cell["peak"] for key, cell in results.cells.items() if _is_figure_of_own(key, cell)), default=0
    )
    yield wrap(
        f"In {len(smaller)} cells another program needs less memory than every setting of Shoal. Python with "
        f"numpy, polars and the compiled kernels has its price: Shoal never held less than {least / 1e6:.0f} "
        "MB. The tables below have every peak."
    )
    yield ""


def _list_better(results: Results, tables: list[str], figure: str) -> list[str]:
    """A paragraph for each program that is better somewhere, with its places."""
    places: dict[str, list[str]] = {}
    for table, name, k, cell, best in _find_better(results, tables, figure):
        title = results.about["tables"][table]["title"]
        said = f"{title}, k = {k} ({_write_figure(cell, figure)}; Shoal {_write_figure(best, figure)})"
        places.setdefault(PROGRAMS[name].title, []).append(said)
    lines = [f"- **{title}**: {'; '.join(each)}." for title, each in places.items()]
    return [_wrap_item(line) for line in lines] or ["- none in this run"]


def _wrap_item(line: str) -> str:
    return textwrap.fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _find_better(
    results: Results, tables: list[str], figure: str
) -> Iterator[tuple[str, str, int, Cell, Cell]]:
    """Table, program, k and cell where another program beats every setting of Shoal, and its best."""
    for table in tables:
        done = list_done(results, table)
        for name, k, cell in done:
            way = PROGRAMS[name].recoding
            ours = [c for own, at, c in done if _is_own(own) and at == k and PROGRAMS[own].recoding == way]
            if not _is_own(name) and ours and cell["smallest"] >= k:
                best = min(ours, key=lambda own: own[figure])
                if cell[figure] * NOTICEABLE < best[figure]:
                    yield table, name, k, cell, best


def _is_figure_of_own(key: str, cell: Cell) -> bool:
    return cell["status"] == "done" and _is_own(key.split(" ")[1])


def _write_figure(cell: Cell, figure: str) -> str:
    return _percent(cell) if figure == "ncp" else _seconds(cell)


def _show_growth(tables: list[str], stem: str) -> Iterator[str]:
    yield "## Loss against time"
    yield ""
    yield wrap("A line is a program, a point is a k: further down loses less, further left is faster.")
    yield ""
    yield f"![Loss against processor time of every program, a panel for each table]({stem}.svg)"
    yield ""
    if any(_is_sample(name) for name in tables):
        yield "## More rows"
        yield ""
        yield wrap("The hospital sample, k = 5: processor time and memory against rows.")
        yield ""
        yield f"![Processor time and memory of every program against the number of rows]({stem}-rows.svg)"
        yield ""


def _show_table(results: Results, table: str) -> Iterator[str]:
    about = results.about["tables"][table]
    yield f"## {about['title']}"
    yield ""
    kinds = list(about["kinds"].values())
    counted = {"number": "numbers", "category": "flat categories", "tree": "hierarchies"}
    columns = ", ".join(f"{name} {kinds.count(kind)}" for kind, name in counted.items() if kind in kinds)
    yield wrap(f"{about['rows']:,} complete rows. Quasi-identifiers by kind: {columns}.")
    yield ""
    yield from _write_cells(results, table)


def _write_cells(results: Results, table: str) -> Iterator[str]:
    done = list_done(results, table)
    for way, heading in RECODINGS.items():
        cells = [each for each in done if PROGRAMS[each[0]].recoding == way]
        if not cells:
            continue
        has_trees = any(cell["generalised"] is not None for *_, cell in cells)
        has_error = any(cell["squared_error"] is not None for *_, cell in cells)
        yield f"{heading}:"
        yield ""
        more = ("generalised | " if has_trees else "") + ("squared error | " if has_error else "")
        yield f"| k | program | loss | {more}time | memory | smallest class | rows left out | k by pyCANON |"
        yield "| ---: | --- |" + " ---: |" * (6 + has_trees + has_error)
        for name, k, cell in cells:
            best = min(c["ncp"] for _, at, c in cells if at == k)
            loss = f"**{_percent(cell)}**" if cell["ncp"] <= best * 1.00005 else _percent(cell)
            generalised = f" {cell['generalised']:.4f} |" if has_trees else ""
            error = cell["squared_error"]
            error_said = f" {'' if error is None else f'{100 * error:.2f} %'} |" if has_error else ""
            smallest = f"{cell['smallest']}{' (below k)' if cell['smallest'] < k else ''}"
            left_out = f"{100 * (1 - cell['released'] / cell['rows']):.1f} %" if _leaves_out(cell) else "0"
            yield (
                f"| {k} | {PROGRAMS[name].title} | {loss} |{generalised}{error_said} {_seconds(cell)} "
                f"| {_megabytes(cell)} | {smallest} | {left_out} | {cell.get('pycanon', '')} |"
            )
        yield ""
        untrue = [(name, k, cell["untrue"]) for name, k, cell in cells if cell["untrue"]]
        for name, k, count in untrue:
            yield f"{PROGRAMS[name].title}, k = {k}: {count:,} cells do not cover the true value."
            yield ""


def _leaves_out(cell: Cell) -> bool:
    return bool(cell["released"] < cell["rows"])


def _show_samples(results: Results, tables: list[str]) -> Iterator[str]:
    samples = [name for name in tables if _is_sample(name)]
    if not samples:
        return
    yield "## The hospital sample"
    yield ""
    for name in samples:
        yield f"### {results.about['tables'][name]['title']}"
        yield ""
        yield from _write_cells(results, name)


def _name_programs(results: Results) -> Iterator[str]:
    yield "## The programs"
    yield ""
    yield "| program | version | hierarchies | recoding | named by |"
    yield "| --- | --- | --- | --- | --- |"
    asks = {"trees": "needs them", "flat": "knows none", "any": "with or without"}
    for name, program in PROGRAMS.items():
        version = results.about["versions"].get(name, "not here")
        variable = f"`{program.variable}`" if program.variable else ""
        yield f"| {program.title} | {version} | {asks[program.kind]} | {program.recoding} | {variable} |"
    yield ""
    yield wrap(
        "`local` is a recoding in which every class has ranges, sets or labels of its own; `levels` takes "
        f"one level of the hierarchy for a whole column, and may leave out {100 * LIMIT:g} % of the rows; "
        "`means` writes values that stand for a class; `cells` suppresses single cells. ARX's local recoding "
        "is run as its desktop program does, with a hundred steps, and with a step per row."
    )
    yield ""


def _list_what_is_missing(results: Results) -> Iterator[str]:
    yield "## Cells without figures"
    yield ""
    lines: dict[str, list[str]] = {}
    for key, cell in results.cells.items():
        table, name, k = key.split(" ")
        if cell["status"] != "done" and not _is_plainly_another_kind(PROGRAMS[name], cell):
            reason = f": {cell['reason']}" if "reason" in cell else ""
            spent = f" after {_seconds(cell)}" if cell["status"].startswith("over") and "cpu" in cell else ""
            what = (
                cell["status"].replace("over time", "over the time").replace("over memory", "over the memory")
            )
            lines.setdefault(f"{PROGRAMS[name].title}: {what}{spent}{reason}", []).append(f"{table}, k = {k}")
    for said, places in lines.items():
        yield _wrap_item(f"- {said} ({'; '.join(places)})")
    yield from _list_what_was_not_tried(results)
    yield ""
    yield wrap(
        "Programs that need hierarchies are not run on tables without, and programs that know none are not "
        "run on tables with them; ai-privacy-toolkit needs a column to predict."
    )
    yield ""


def _list_what_was_not_tried(results: Results) -> Iterator[str]:
    """Cells that no run has come to yet, though the program could be run."""
    for name, program in PROGRAMS.items():
        if name in SPECIAL:
            continue
        tables = [
            table
            for table, about in results.about["tables"].items()
            if name in results.about["versions"] and _suits(program, about["kinds"].values())
            if not all(f"{table} {name} {k}" in results.cells for k in about["ks"])
        ]
        if tables:
            yield _wrap_item(f"- {program.title}: not run on {', '.join(tables)}")


def _suits(program: Program, kinds: Collection[str]) -> bool:
    """Whether a program is for such columns."""
    if program.recoding == "means":
        return set(kinds) == {"number"}
    return {"trees": set(kinds) == {"tree"}, "flat": "tree" not in kinds, "any": True}[program.kind]


def _is_plainly_another_kind(program: Program, cell: Cell) -> bool:
    """Skipped for a reason that is always so, and that the page says once."""
    said = cell.get("reason", "")
    absent = said.startswith("not here")
    return cell["status"] == "skipped" and not (absent and not _is_own(program.name)) and "cells" not in said


def make_pictures(results: Results, stem: str = "peers") -> dict[str, str]:
    tables = list_filled_tables(results)
    panels = [_picture_table(results, name) for name in tables if not _is_sample(name) and name != "small"]
    pictures = {f"{stem}.svg": draw([panel for panel in panels if panel.lines])}
    samples = [name for name in tables if _is_sample(name)]
    if samples:
        pictures[f"{stem}-rows.svg"] = draw(_picture_growth(results, samples))
    return pictures


def _picture_table(results: Results, table: str) -> Panel:
    points: dict[str, list[tuple[float, float, str]]] = {}
    for name, k, cell in list_done(results, table):
        if cell["ncp"] > 0:
            title = PROGRAMS[name].title
            way = "" if PROGRAMS[name].recoding != "levels" else ", one level"
            said = f"{title}, k = {k}: {_percent(cell)}, {_seconds(cell)}"
            points.setdefault(f"{title}{way}", []).append((max(cell["cpu"], 0.01), 100 * cell["ncp"], said))
    lines = tuple(Line(title, tuple(each)) for title, each in points.items())
    about = results.about["tables"][table]
    return Panel(about["title"], "processor seconds, whole command", "loss in percent", lines)


def _picture_growth(results: Results, tables: list[str]) -> list[Panel]:
    panels = []
    for trees in (False, True):
        chosen = [name for name in tables if name.endswith("-trees") == trees]
        for figure, up, unit in (("cpu", "processor seconds", 1.0), ("peak", "peak memory in MB", 1e6)):
            points: dict[str, list[tuple[float, float, str]]] = {}
            for table in chosen:
                for name, _, cell in list_done(results, table):
                    way = ", one level" if PROGRAMS[name].recoding == "levels" else ""
                    value = max(cell[figure] / unit, 0.01)
                    said = f"{PROGRAMS[name].title}, {cell['rows']:,} rows: {value:,.4g}"
                    points.setdefault(f"{PROGRAMS[name].title}{way}", []).append((cell["rows"], value, said))
            lines = tuple(Line(title, tuple(each)) for title, each in points.items())
            if lines:
                panels.append(
                    Panel("with hierarchies" if trees else "without hierarchies", "rows", up, lines)
                )
    return panels


def _is_sample(table: str) -> bool:
    return table.startswith("hospital-")


def _is_own(name: str) -> bool:
    return name.startswith(OWN)


def _is_local(name: str) -> bool:
    return PROGRAMS[name].recoding == "local"


def _percent(cell: Cell) -> str:
    return f"{100 * cell['ncp']:.2f} %"


def _megabytes(cell: Cell) -> str:
    """Nothing where a program had ended before it could be looked at."""
    return f"{cell['peak'] / 1e6:,.0f} MB" if cell["peak"] else ""


def _seconds(cell: Cell) -> str:
    return f"{cell['cpu']:.2f} s" if cell["cpu"] < 10 else f"{cell['cpu']:.1f} s"


HOW = (
    "## How it is counted",
    "",
    wrap(
        "`benchmarks/peers/counting.py` reads the table and a release, cell by cell, and imports nothing of "
        "Shoal. A cell covers a range of numbers, a set of values, or the leaves under a label."
    ),
    "",
    "- **Loss** is the normalised certainty penalty: of a number the width of its range, as a share of",
    "  the width of the column; of a category or label the values it covers less one, as a share of all",
    "  of them less one. For a hierarchy all its leaves count, also those that the table has not. A row",
    "  that is left out or wholly suppressed loses all. The mean over rows, then over columns.",
    "- **generalised** is ARX's loss: the geometric mean over columns of one plus that loss, less one.",
    "- **squared error** is the squared distance from the true numbers to the middle of what is released,",
    "  as a share of the squared distance to the mean, over all columns. Programs that change the order",
    "  of rows have none.",
    "- ai-privacy-toolkit and the means write one value for a class. Their loss is that of the range or",
    "  set of the true values of its rows.",
    "- **smallest class** is the least number of rows that are equal in all cells; wholly suppressed rows",
    "  are no class. pyCANON counts the same a second time, for releases that are not too large for it.",
    "- **time** is of the processor, user and system, children included; **memory** is the peak.",
    "- Whether cells cover the true value of their row is counted too, where the order of rows is kept,",
    "  and said if one does not.",
    "",
    "What this does not show: the loss that matters is that of your own analysis. A program with fewer",
    "rows left out, other columns or another goal than k may be the better choice. Shoal is tuned by its",
    "authors on Adult and INFORMS; the other programs are run with their defaults, by people who know",
    "them less well.",
    "",
    "## Run it",
    "",
    "Install the programs that you want to compare, each in an environment of its own, and name them:",
    "",
    "| variable | names |",
    "| --- | --- |",
    "| `ARX_JAR` | ARX's library, a jar; needs `java` and `javac` |",
    "| `ANJANA_PYTHON` | an interpreter whose environment has `anjana` |",
    "| `ANONYPY_PYTHON` | one that has `anonypy` and `pandas` |",
    "| `APT_PYTHON` | one that has `ai-privacy-toolkit` (see `benchmarks/toolkit.py`) |",
    "| `OPENMED_PYTHON` | one that has `openmed` |",
    "| `PYCANON_PYTHON` | one that has `pycanon`; it counts, and is not compared |",
    "| `MONDRIAN_C` | the program Mondrian in C |",
    "| `MG_GA` | the program MG-GA |",
    "| `SDCMICRO_RSCRIPT` | `Rscript` of an R that has `sdcMicro` |",
    "",
    "`ARX_JAR_VERSION`, `MONDRIAN_C_VERSION` and `MG_GA_VERSION` say for the page what these are.",
    "What is not named is left out, with a word. Figures are kept after every cell in",
    "`benchmarks/peers/results.json`, so a run that was broken off goes on. This page is what one command",
    "writes (`make peers`):",
    "",
    "<!-- not run: takes hours -->",
    "```console",
    "$ python -m benchmarks.peers --page docs/peers.md",
    "```",
    "",
    "`--table` and `--program` choose some, `--again` runs what is there already, `--seconds` and",
    "`--memory` set the limits of a cell, `--large` adds 30 million rows. With a table of your own:",
    "",
    "<!-- not run: needs a table of yours -->",
    "```console",
    "$ python -m benchmarks.peers --csv mine.csv --quasi age,sex,postcode --trees hierarchies \\",
    "    --k 10 5 --results out/mine.json --page out/mine.md",
    "```",
)
