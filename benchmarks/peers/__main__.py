"""Run Shoal beside other programs and write the page: ``python -m benchmarks.peers --page docs/peers.md``.

Cells that are in the results already are not run again. The programs are named by environment variables,
which docs/peers.md lists; those that are not named are left out, with a word.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .measuring import Limits, Results, run
from .page import write_page
from .programs import PROGRAMS
from .tables import Table, list_tables

RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    options = read_options()
    tables = choose_tables(options)
    results = Results(options.results)
    programs = options.program or list(PROGRAMS)
    limits = Limits(options.seconds, int(options.memory * 1e9))
    for variable in dict.fromkeys(PROGRAMS[name].variable for name in programs):
        if variable and variable not in os.environ:
            print(f"SKIPPED: {variable} is not set", flush=True)
    if not options.only_page:
        run(
            tables,
            programs,
            results,
            limits,
            options.work,
            options.again,
            lambda said: print(said, flush=True),
        )
    if options.page:
        write_page(results, options.page)
        print(f"wrote {options.page}")


def read_options() -> argparse.Namespace:
    asked = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    asked.add_argument("--table", action="append", help="only this table; repeatable")
    asked.add_argument("--program", action="append", choices=list(PROGRAMS), help="only this; repeatable")
    asked.add_argument("--csv", type=Path, help="a table of your own instead")
    asked.add_argument("--quasi", default="", help="its quasi-identifiers, separated by commas")
    asked.add_argument("--trees", type=Path, help="its folder of hierarchies, COLUMN.csv with semicolons")
    asked.add_argument("--target", default="", help="a column that an estimator would predict")
    asked.add_argument("--k", type=int, nargs="+", default=[10, 5], help="for a table of your own")
    asked.add_argument("--seconds", type=float, default=Limits.seconds, help="of processor time a cell")
    asked.add_argument("--memory", type=float, default=Limits.bytes / 1e9, help="gigabytes a cell")
    asked.add_argument("--large", action="store_true", help="also 30 million rows of the sample")
    asked.add_argument("--again", action="store_true", help="run also what is in the results")
    asked.add_argument("--results", type=Path, default=RESULTS, help="where figures are kept")
    asked.add_argument("--page", type=Path, help="write this page of them, and its pictures beside it")
    asked.add_argument("--only-page", action="store_true", help="write the page and run nothing")
    asked.add_argument("--work", type=Path, default=Path("out/peers"), help="for tables and releases")
    return asked.parse_args()


def choose_tables(options: argparse.Namespace) -> list[Table]:
    if options.csv:
        if not options.quasi:
            sys.exit("name the quasi-identifiers of your table with --quasi")
        if options.results == RESULTS:
            sys.exit("name a file for the figures of your own table with --results")
        trees = str(options.trees.resolve()) if options.trees else ""
        ks = tuple(sorted(options.k, reverse=True))
        quasi = tuple(options.quasi.split(","))
        source = str(options.csv.resolve())
        return [Table(options.csv.stem, options.csv.name, source, quasi, trees, options.target, ks)]
    every = {table.name: table for table in list_tables(options.large)}
    unknown = [name for name in options.table or () if name not in every]
    if unknown:
        sys.exit(f"there is no table '{unknown[0]}'; there are {', '.join(every)}")
    return [table for name, table in every.items() if not options.table or name in options.table]


if __name__ == "__main__":
    main()
