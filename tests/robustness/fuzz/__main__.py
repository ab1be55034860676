"""``python -m tests.robustness.fuzz``: run many cases, one after another, and count how they ended.

Every case follows from one number, so that a case that fails is told by it::

    python -m tests.robustness.fuzz --first 0 --count 200000 --log counts.json  # goes on where the log ends
    python -m tests.robustness.fuzz --family large --count 20000  # larger tables, written to files
    python -m tests.robustness.fuzz --family people --count 20000  # people who have several rows
    python -m tests.robustness.fuzz --seed 4711  # one case, with all there is to see
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")
# Kernels look at every index, which they do not for users; by that setting they are kept apart.
os.environ.setdefault("NUMBA_BOUNDSCHECK", "1")

from tests.robustness.fuzz import cases, entry_points, large, outlets, people
from tests.robustness.fuzz.cases import Case
from tests.robustness.fuzz.entry_points import UnsafeError

CHUNK = 500
FAMILIES = {
    "small": (cases.case_of, entry_points.judge),
    "large": (large.case_of, outlets.judge),
    "people": (people.case_of, people.judge),
}


def main() -> int:
    """Run what the arguments say; the exit code is 1 if a case failed."""
    parser = argparse.ArgumentParser(description="Run random cases and judge what comes back.")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many cases, those in the log included")
    parser.add_argument("--log", type=Path, help="a JSON file of counts, to go on from and to write to")
    parser.add_argument("--seed", type=int, help="one case, shown")
    parser.add_argument("--family", choices=FAMILIES, default="small", help="of which size the tables are")
    parser.add_argument("--table", action="store_true", help="write the log as it stands in docs/trust.md")
    parser.add_argument("--keep-going", type=int, default=20, help="failures after which it ends")
    given = parser.parse_args()
    warnings.simplefilter("error")
    if given.table:
        print(table(json.loads(given.log.read_text())))
        return 0
    if given.seed is not None:
        return show(given.family, given.seed)
    return run(given.family, given.first, given.count, given.log, given.keep_going)


def run(family: str, first: int, count: int, log: Path | None, patience: int) -> int:
    """Run cases from a seed on, and keep counts."""
    counts = load(log, first, family)
    retry(counts)
    while counts["runs"] < count and len(counts["failures"]) < patience:
        start = first + counts["runs"]
        step(counts, range(start, min(start + CHUNK, first + count)))
        if log is not None:
            save(log, counts)
        tell(counts)
    for failure in counts["failures"]:
        print(f"seed {failure['seed']}: {failure['kind']}: {failure['said'][:300]}")
    return bool(counts["failures"])


def load(log: Path | None, first: int, family: str) -> dict:
    """The counts so far."""
    if log is not None and log.exists():
        counts = json.loads(log.read_text())
        if (counts["first"], counts.get("family", "small")) != (first, family):
            raise SystemExit(f"{log} counts from seed {counts['first']} of another run, not {first}")
        return counts
    return {"family": family, "first": first, "runs": 0, "cpu_seconds": 0.0, "outcomes": {},
            "algorithms": {}, "models": {}, "entry_points": {}, "outputs": {}, "failures": []}  # fmt: skip


def retry(counts: dict) -> None:
    """Run the cases again that failed; one that does not any more counts as what it is now."""
    failed, counts["failures"] = counts["failures"], []
    for each in failed:
        again = load(None, 0, counts.get("family", "small"))
        step(again, range(each["seed"], each["seed"] + 1))
        if again["failures"]:
            counts["failures"].append(each)
            continue
        counts["outcomes"][each["kind"]] -= 1
        for kind in again["outcomes"]:
            counts["outcomes"][kind] = counts["outcomes"].get(kind, 0) + 1
        counts.setdefault("mended", []).append(each)


def save(log: Path, counts: dict) -> None:
    """Write the counts, whole."""
    log.parent.mkdir(parents=True, exist_ok=True)
    new = log.with_suffix(".new")
    new.write_text(json.dumps(counts, indent=1))
    new.replace(log)


def step(counts: dict, seeds: range) -> None:
    """Run a chunk of cases."""
    begin = time.process_time()
    case_of, judge = FAMILIES[counts.get("family", "small")]
    for seed in seeds:
        case = case_of(seed)
        try:
            outcome = judge(case).kind
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            outcome = "UNSAFE" if isinstance(error, UnsafeError) else "TRACEBACK"
            counts["failures"].append(failure(seed, outcome, error))
        note(counts, case, outcome)
    counts["cpu_seconds"] = round(counts["cpu_seconds"] + time.process_time() - begin, 1)


def failure(seed: int, kind: str, error: BaseException) -> dict:
    """What is to be known of a case that failed."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = (
        str(error) if kind == "UNSAFE" else f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
    )
    return {"seed": seed, "kind": kind, "said": said}


def note(counts: dict, case: Case, outcome: str) -> None:
    """Count a case."""
    counts["runs"] += 1
    released = outcome == "release"
    for name, keys in (
        ("outcomes", [outcome]),
        ("algorithms", [case.algorithm[0]]),
        ("models", {model for model, _ in case.models}),
        ("entry_points", [case.door]),
        ("outputs", [case.output] if case.output else []),
    ):
        for key in keys:
            tally = counts[name].setdefault(key, [0, 0] if name != "outcomes" else 0)
            if name == "outcomes":
                counts[name][key] = tally + 1
            else:
                counts[name][key] = [tally[0] + 1, tally[1] + released]


def tell(counts: dict) -> None:
    """One line on how it goes."""
    each = 1000 * counts["cpu_seconds"] / max(counts["runs"], 1)
    print(f"{counts['runs']:,} runs, {each:.1f} ms each: {dict(Counter(counts['outcomes']))}", flush=True)


def table(counts: dict) -> str:
    """The counts in Markdown."""
    names = {
        "release": "releases, all of them found safe",
        "GoalNotMet": "errors: the goal cannot be or was not met (`GoalNotMet`)",
        "RecipeError": "errors: settings that contradict each other or the table (`RecipeError`)",
        "InputError": "errors: other input that cannot be used (`InputError`)",
        "OutputError": "errors: what the format or the goal does not permit to write (`OutputError`)",
        "UNSAFE": "**releases that are unsafe, or not as reported**",
        "TRACEBACK": "**other exceptions**",
    }
    outcomes = {**dict.fromkeys(names, 0), **counts["outcomes"]}
    rows = [("cases", counts["runs"]), *((names[kind], count) for kind, count in outcomes.items())]
    lines = ["| outcome | cases |", "| --- | ---: |", *(f"| {what} | {count:,} |" for what, count in rows)]
    for by, of in (
        ("algorithm", "algorithms"),
        ("way in", "entry_points"),
        ("file that was judged", "outputs"),
    ):
        if not counts.get(of):
            continue
        shares = ", ".join(f"`{name}` {n:,}" for name, (n, _) in sorted(counts[of].items()))
        lines += ["", f"By {by}: {shares}."]
    return "\n".join(lines)


def show(family: str, seed: int) -> int:
    """Run one case, and show it with all that comes of it."""
    case_of, judge = FAMILIES[family]
    case = case_of(seed)
    for column in case.columns:
        print(str(column)[:1000])
    told = ("models", "algorithm", "door", "output", "extra", "index", "rows", "loss", "weights", "suppress")
    told = (*told, "missing", "na", "render", "row_order", "options")
    print({name: getattr(case, name) for name in told if hasattr(case, name)})
    try:
        print(judge(case))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
