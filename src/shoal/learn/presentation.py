"""What a search found, for people and programs: a table, advice in words, JSON, CSV, a picture and a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoal.errors import OutputError
from shoal.learn.configurations import GOAL, choose_best, select_pareto_front
from shoal.report.pictures import write_page
from shoal.report.terminal import format_percent
from shoal.support.files import check_target, whole_file

if TYPE_CHECKING:
    from shoal.learn.search import PrivacySearch

_KEYS = ("k", "l", "models", "algorithm", "quasi", "sensitive", "training")
_SHARES = ("accuracy", "balanced_accuracy", "roc_auc", "average_precision", "top_k_accuracy")
_SHARE_FAMILIES = ("f1", "precision", "recall", "jaccard")
SUFFIXES = (".csv", ".json", ".svg", ".html", ".htm")
"""The files that results can be written to."""


def check_result_files(paths: list[Path]) -> None:
    """Refuse files that could not be written, before long work begins."""
    for path in paths:
        check_target(path)
        if path.suffix.lower() not in SUFFIXES:
            raise OutputError(f"{path}: results are written to files that end in {', '.join(SUFFIXES[:4])}")


@dataclass(frozen=True)
class SearchView:
    """The results to show, of a search that is over or was interrupted."""

    search: PrivacySearch
    results: pl.DataFrame
    """Those that pass the filters, in the order wanted."""

    @cached_property
    def best(self) -> dict[str, Any]:
        """The one to take of those that are shown; empty if there is none."""
        compared = self.results
        if self.search.mode == "halving" and compared.height:
            compared = compared.filter(pl.col("splits") == self.search.results_["splits"].max())
        return choose_best(compared, self.search.target_score)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        search, every = self.search, self.search.configurations_
        by_key = dict(zip((each.key for each in every), search.generalizations_, strict=True))
        rows = self.results.to_dicts()
        for row in rows:
            row["generalizations"] = by_key[json.dumps({key: row[key] for key in _KEYS})]
        return {
            "score": search.score_name_,
            "raw_score": getattr(search, "raw_score_", None),
            "baseline_score": getattr(search, "baseline_score_", None),
            "protocol": search.protocol,
            "configurations": len(every),
            "skipped": search.skipped_,
            "results": rows,
            "best": self.best,
            "why": " ".join(self.explain_choice()),
            "chosen": search.chosen_.to_dicts(),
            "pareto": select_pareto_front(self.results).to_dicts(),
        }

    def write(self, path: Path, title: str) -> None:
        """Write a file of the kind that its suffix says."""
        suffix = path.suffix.lower()
        if suffix.startswith(".htm"):
            write_page(path, title, self.search.plot(), self.format_rows(whole=True), [*self.list_lines()])
            return
        makers: dict[str, Callable[[], str]] = {
            ".csv": lambda: str(self.results.write_csv()),
            ".json": lambda: json.dumps(self.to_dict(), indent=1, default=str),
            ".svg": lambda: self.search.plot().to_svg(),
        }
        with whole_file(path) as stream:
            stream.write(makers[suffix]().encode())

    def show(self, console: Console) -> None:
        """Print a line for every configuration, and what to take."""
        rows = self.format_rows()
        table = Table(box=None, pad_edge=False)
        for name in rows.columns:
            table.add_column(name, no_wrap=bool(name.strip()), overflow="fold")
        keys = [key for key in _KEYS if key in self.results.columns]
        for row, shown in zip(self.results.iter_rows(named=True), rows.iter_rows(), strict=True):
            is_best = bool(self.best) and all(row[key] == self.best[key] for key in keys)
            table.add_row(*map(Text, shown), style="bold" if is_best else "")
        if rows.height:
            console.print(table)
        for line in self.list_lines():
            console.print(line, markup=False)

    def format_rows(self, whole: bool = False) -> pl.DataFrame:
        """The results as texts, ratios in percent; on a terminal without what is the same in all lines."""
        results, names = self.results, self.search.score_names_
        texts = {
            key: self._format_column(key)
            for key in _KEYS
            if whole or key in ("k", "l") or results[key].n_unique() > 1
        }
        texts[names[0]], texts["spread"] = self._format_column("score"), self._format_column("score_std")
        texts |= {name: self._format_column(f"score_{name}") for name in names[1:]}
        if (results["deletion_ratio"] > 0).any():
            texts["deleted wrong"] = self._format_column("score_all")
        texts |= {"deleted": self._format_column("deletion_ratio"), "ncp": self._format_column("ncp")}
        if results["scored_smallest_class"].count():
            # As counted on all rows in the end, and on those of them that were scored.
            texts["k, l found"] = self._pair_columns("smallest_class", "distinct")
            texts["k, l scored"] = self._pair_columns("scored_smallest_class", "scored_distinct")
        texts["seconds"] = self._format_column("seconds")
        told = [
            row["reason"] or (row["status"] if row["status"] != "done" else row["note"] or "")
            for row in results.iter_rows(named=True)
        ]
        if any(told):
            texts[" "] = told
        return pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))

    def _format_column(self, name: str) -> list[str]:
        return [self._format(name, value) for value in self.results[name]]

    def _pair_columns(self, first: str, second: str) -> list[str]:
        pairs = zip(self._format_column(first), self._format_column(second), strict=True)
        return [", ".join(filter(None, pair)) for pair in pairs]

    def list_lines(self) -> Iterator[str]:
        """What is to be said below the table."""
        search, every = self.search, len(self.search.configurations_)
        if hasattr(search, "baseline_score_"):
            raw, plain = (self._format("score", v) for v in (search.raw_score_, search.baseline_score_))
            yield f"raw rows {raw}, commonest class or mean {plain} ({search.score_name_})"
        if self.results.height < every:
            yield f"{self.results.height} of {every} configurations are shown: filters leave out the others"
        for reason, many in search.skipped_.items():
            yield f"{many} combinations were skipped: {reason}"
        yield from self.explain_choice()
        yield from self.list_algorithms()

    def list_algorithms(self) -> Iterator[str]:
        """Where several algorithms were compared: which one each goal takes."""
        compared = self.search.results_
        if compared.select("algorithm", "training").n_unique() < 2 or compared.select(GOAL).n_unique() < 2:
            return
        name = self.search.score_name_
        for row in self.search.chosen_.iter_rows(named=True):
            shown = self._format("score", row["score"])
            way = row["algorithm"] + self._name_training(row)
            yield f"{_name_goal(row)}: of the algorithms, {way} has the best {name}, {shown}"

    def explain_choice(self) -> Iterator[str]:
        """What to take and why, and what would be stricter for nearly the same score."""
        best, target, name = self.best, self.search.target_score, self.search.score_name_
        if not best:
            yield self._explain_nothing()
            return
        score, spread = (self._format("score", best[key]) for key in ("score", "score_std"))
        deleted, ncp = (format_percent(best[key]) for key in ("deletion_ratio", "ncp"))
        lost = f"{deleted} deleted, {ncp} of the detail lost"
        if target is not None:
            why = f"the strictest goal whose {name} is at least {self._format('score', target)}"
            yield f"take {_name_goal(best)}{self._name_algorithm(best)}: {why}; it has {score} ({lost})"
            return
        why = f"the best {name}, {score}" + (f" with a spread of {spread}" if best["splits"] > 1 else "")
        yield f"take {_name_goal(best)}{self._name_algorithm(best)}: it has {why} ({lost})"
        near = self.results.filter(
            (pl.col("status") == "done") & (pl.col("score") >= best["score"] - best["score_std"])
        ).sort("k", "l", "score", descending=True, nulls_last=True, maintain_order=True)
        strictest = near.row(0, named=True)
        if (strictest["k"], strictest["l"] or 1) > (best["k"], best["l"] or 1) and best["score_std"] > 0:
            shown = self._format("score", strictest["score"])
            yield f"{_name_goal(strictest)} is stricter and within that spread: {shown}"

    def _name_algorithm(self, row: Mapping[str, Any]) -> str:
        """The algorithm, where several were compared, and what was trained on."""
        several = self.search.results_["algorithm"].n_unique() > 1
        return (f" with {row['algorithm']}" if several else "") + self._name_training(row)

    def _name_training(self, row: Mapping[str, Any]) -> str:
        """What was trained on, where that was compared."""
        return f" and {row['training']}" if self.search.results_["training"].n_unique() > 1 else ""

    def _explain_nothing(self) -> str:
        if self.search.results_["holds"].any() and self.results.filter(pl.col("holds")).is_empty():
            return "no configuration passes the filters: loosen them"
        if self.search.interrupted_:
            return "interrupted before a configuration was done"
        return "no configuration is feasible and meets the target"

    def _format(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if name in ("deletion_ratio", "ncp"):
            return format_percent(value)
        if name.startswith("score") and isinstance(value, float):
            # The names of further scores stand behind that of the column.
            scorer = self.search.score_name_ if name in ("score", "score_std", "score_all") else name[6:]
            return format_percent(value) if _is_share(scorer) else f"{value:.4f}"
        return f"{value:.1f}" if isinstance(value, float) else str(value)


def _is_share(scorer: str) -> bool:
    """Whether a score of scikit-learn is a share, from 0 to 1."""
    return scorer in _SHARES or scorer.split("_", maxsplit=1)[0] in _SHARE_FAMILIES


def _name_goal(row: Mapping[str, Any]) -> str:
    named = f"k = {row['k']}" + (f", l = {row['l']}" if row["l"] else "")
    return named + (f", {row['models']}" if row["models"] else "")
