"""Whether the minimizer keeps its target on rows that were used nowhere, beside ai-privacy-toolkit's.

Five data sets, three targets and twenty seeds; ours with cells of single columns, and with the best cells.
Of each data set about a third of the rows trains an estimator, 40 % are given to the minimizer, and the rest
shows what was kept. Every trial is added to out/minimizer.jsonl; a run that was interrupted goes on from
there. `bench_minimizer.py 4 wine,digits Shoal` takes four seeds, two sets and one minimizer.
ai-privacy-toolkit is run where APT_PYTHON names its environment, see toolkit.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import toolkit
from measure import ADULT, Figures
from shoal.learn import Minimizer

TARGETS = (0.9, 0.95, 0.98)
SEEDS = 20
OURS, THEM = ("Shoal", "Shoal with boxes"), "ai-privacy-toolkit"
KEPT = Path(__file__).parents[1] / "out" / "minimizer.jsonl"
SETS = ("breast cancer", "wine", "diabetes", "Adult", "digits")
NUMBERS = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]

THEIRS = """
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
import numpy as np
from apt.minimization import GeneralizeToRepresentative
from apt.utils.datasets import ArrayDataset
given = np.load(sys.argv[1])
numeric = bool(given["numeric"])
last = LinearRegression() if numeric else LogisticRegression(max_iter=500)
model = make_pipeline(StandardScaler(), last).fit(given["train"], given["labels"])
minimizer = GeneralizeToRepresentative(model, target_accuracy=float(sys.argv[2]), is_regression=numeric)
names = [f"c{j}" for j in range(given["fit"].shape[1])]
minimizer.fit(dataset=ArrayDataset(given["fit"], model.predict(given["fit"]), names))
less = minimizer.transform(given["unseen"], names)
before, after = model.predict(given["unseen"]), model.predict(np.asarray(less, np.float64))
spread = ((before - before.mean()) ** 2).sum() if numeric else 0
score = 1 - ((before - after) ** 2).sum() / spread if numeric else (before == after).mean()
print(json.dumps({"score": float(score), "ncp": float(minimizer.ncp.transform_score or 0)}))
"""


def main(seeds: str = str(SEEDS), sets: str = "", minimizers: str = "") -> None:
    KEPT.parent.mkdir(exist_ok=True)
    done = read_trials()
    chosen = [name for name in sets.split(",") if name] or list(SETS)
    whos = [who for who in minimizers.split(",") if who] or [*OURS, THEM]
    for who, name, target, seed in list_trials(int(seeds), chosen, whos):
        key = f"{who}, {name}, {target}, {seed}"
        if key not in done:
            done[key] = run_trial(who, name, target, seed)
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"trial": key, **done[key]}) + "\n")
    show_figures(done)


def list_trials(seeds: int, sets: list[str], whos: list[str]) -> Iterator[tuple[str, str, float, int]]:
    # Theirs take longest and come last, as do digits.
    for who, name in product(whos, sets):
        if (name != "Adult" or ADULT.exists()) and (who != THEM or toolkit.here()):
            yield from ((who, name, target, seed) for seed in range(seeds) for target in TARGETS)


def read_trials() -> dict[str, dict[str, Any]]:
    lines = KEPT.read_text("utf-8").splitlines() if KEPT.exists() else []
    return {found.pop("trial"): found for found in map(json.loads, lines)}


def run_trial(who: str, name: str, target: float, seed: int) -> dict[str, Any]:
    X, y = load_rows(name, seed)  # noqa: N806
    train, rest, labels, _ = train_test_split(X, y, test_size=2 / 3, random_state=seed)
    given, unseen = train_test_split(rest, test_size=0.4, random_state=seed)
    numeric = name == "diabetes"
    if who == THEM:
        return ask_toolkit(train, labels, given, unseen, numeric, target)
    last = LinearRegression() if numeric else LogisticRegression(max_iter=500)
    model = make_pipeline(StandardScaler(), last).fit(train, labels)
    cells = "columns" if who == OURS[0] else "best"
    minimizer = Minimizer(model, target, cells=cells, random_state=seed).fit(given)
    return {
        "claimed": minimizer.guarantee_.claimed,
        "score": minimizer.agreement(unseen),
        "ncp": minimizer.ncp_,
    }


def load_rows(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    if name == "Adult":
        frame = pd.read_csv(ADULT).sample(6000, random_state=seed)
        return frame[NUMBERS].to_numpy(np.float64), (frame["class"] == ">50K").to_numpy(np.int64)
    load = {
        "breast cancer": load_breast_cancer,
        "wine": load_wine,
        "diabetes": load_diabetes,
        "digits": load_digits,
    }
    return load[name](return_X_y=True)


def ask_toolkit(
    train: np.ndarray,
    labels: np.ndarray,
    given: np.ndarray,
    unseen: np.ndarray,
    numeric: bool,
    target: float,
) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "given.npz"
        np.savez(path, train=train, labels=labels, fit=given, unseen=unseen, numeric=numeric)
        head = toolkit.THEIRS[: toolkit.THEIRS.index("import pandas")]
        line = [os.environ["APT_PYTHON"], "-c", head + THEIRS, str(path), str(target)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return {"claimed": False, "failed": done.stderr.strip().splitlines()[-1][:200]}
    # It claims by returning: nothing that it gives back says otherwise.
    return {"claimed": True, **json.loads(done.stdout.splitlines()[-1])}


def show_figures(done: dict[str, dict[str, Any]]) -> None:
    figures = Figures("Minimizers on rows that were used nowhere")
    for who in (*OURS, THEM):
        claims = misses = 0
        for name in SETS:
            for target in TARGETS:
                trials = [t for key, t in done.items() if key.startswith(f"{who}, {name}, {target}, ")]
                claimed = [trial for trial in trials if trial["claimed"]]
                missed = [trial for trial in claimed if trial["score"] < target]
                claims, misses = claims + len(claimed), misses + len(missed)
                if not trials:
                    continue
                label = f"{who}, {name}, {target}: {len(claimed)} claims of {len(trials)} trials"
                figures.add(f"{label}: missed", len(missed))
                if claimed:
                    figures.add(f"{label}: NCP of the claimed", float(np.mean([t["ncp"] for t in claimed])))
        if claims:
            limit = {"limit": 0.05} if who in OURS else {}
            figures.add(f"{who}: {misses} of {claims} claims missed, share", misses / claims, **limit)
    figures.close()


if __name__ == "__main__":
    main(*sys.argv[1:4])
