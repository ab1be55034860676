"""Anonymizing Adult for learning, beside ai-privacy-toolkit where that can be run.

It wants packages that Shoal does not: give an environment of its own by the variable APT_PYTHON, made with
``pip install --no-deps ai-privacy-toolkit`` and ``pip install scikit-learn 'pandas<3' scipy tqdm``. The
frameworks that it imports and does not use for this may be absent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from measure import ADULT, Figures, cpu, need
from shoal.learn import TreeAnonymizer

COLUMNS = [
    "age",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
]
TEXT = ["marital_status", "occupation", "relationship", "sex"]
LIMITS = {10: (0.838, 0.30), 50: (0.838, 0.37), 100: (0.839, 0.42)}

THEIRS = """
import json, sys, time, types, warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock
warnings.simplefilter("ignore")

class Unused(MetaPathFinder, Loader):
    # Frameworks that it imports, and that anonymizing does not use.
    def find_spec(self, name, path=None, target=None):
        wanted = name.split(".")[0] in ("torch", "art", "tensorflow", "keras", "xgboost")
        return ModuleSpec(name, self, is_package=True) if wanted else None
    def create_module(self, spec):
        module = MagicMock()
        module.__path__ = []
        for name in ("Tensor", "Dataset", "BlackBoxClassifier", "Module"):
            setattr(module, name, type(name, (), {}))
        return module
    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Unused())
import sklearn.preprocessing as preprocessing
encoder = preprocessing.OneHotEncoder
# It was written for a scikit-learn in which this parameter had another name.
preprocessing.OneHotEncoder = lambda handle_unknown, sparse: encoder(
    handle_unknown=handle_unknown, sparse_output=sparse
)
import pandas as pd
from apt.anonymization import Anonymize
from apt.utils.datasets import ArrayDataset
train, out, k, text = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
frame = pd.read_csv(train)
y = frame.pop("y")
spent = []
for _ in range(2):
    begin = time.process_time()
    anonymizer = Anonymize(k, list(frame.columns), categorical_features=text)
    released = anonymizer.anonymize(ArrayDataset(frame, y.to_numpy(), list(frame.columns)))
    spent.append(time.process_time() - begin)
pd.DataFrame(released, columns=frame.columns).to_csv(out, index=False)
print(min(spent))
"""


def main() -> None:
    frame = pd.read_csv(need(ADULT))
    y = (frame["class"] == ">50K").astype(int)
    parts = train_test_split(frame[COLUMNS], y, test_size=1 / 3, random_state=0, stratify=y)
    train, test, y_train, y_test = parts
    figures = Figures(f"Adult, {len(train):,} rows to anonymize, {len(COLUMNS)} columns")
    figures.add("forest trained on raw rows", score(train, y_train, test, y_test))
    for k, (least, most) in LIMITS.items():
        anonymizer = TreeAnonymizer(k)
        released = anonymizer.fit_transform(train, y_train)
        figures.add(f"k = {k}: NCP", anonymizer.report_.ncp, limit=most)
        lost = 1 - score(released, y_train, test, y_test)
        figures.add(f"k = {k}: error of a forest trained on the release", lost, limit=1 - least)
        ours = cpu(lambda k=k: TreeAnonymizer(k).fit_transform(train, y_train), 3)
        figures.add(f"k = {k}: CPU", ours, "s")
        theirs = toolkit(train, y_train, k)
        if theirs is None:
            print(
                "  ai-privacy-toolkit SKIPPED: name an environment that has it by APT_PYTHON, see this script"
            )
            continue
        spent, coarse = theirs
        figures.add(f"k = {k}: CPU of ai-privacy-toolkit", spent, "s")
        figures.add(f"k = {k}: ours as a share of that", ours / spent, limit=0.2)
        figures.add(f"k = {k}: its error", 1 - score(coarse, y_train, test, y_test))
    figures.close()


def score(train: pd.DataFrame, y_train: pd.Series, test: pd.DataFrame, y_test: pd.Series) -> float:
    encoder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), TEXT), remainder="passthrough")
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    return float(make_pipeline(encoder, forest).fit(train, y_train).score(test, y_test))


def toolkit(train: pd.DataFrame, y: pd.Series, k: int) -> tuple[float, pd.DataFrame] | None:
    """CPU seconds of the toolkit and what it released; None where it is not installed."""
    python = os.environ.get("APT_PYTHON")
    if python is None:
        return None
    folder = Path(os.environ.get("TMPDIR", "/tmp"))
    given, out = folder / f"apt-{os.getpid()}.csv", folder / f"apt-{os.getpid()}-out.csv"
    try:
        train.assign(y=y).to_csv(given, index=False)
        line = [python, "-c", THEIRS, str(given), str(out), str(k), json.dumps(TEXT)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"ai-privacy-toolkit did not run: {done.stderr[-500:]}")
        released = pd.read_csv(out)
        return float(done.stdout.split()[-1]), released.astype(train.dtypes.to_dict())
    finally:
        for path in (given, out):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
