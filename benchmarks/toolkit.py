"""ai-privacy-toolkit, for comparison, in an environment of its own.

It wants packages that Shoal does not: name that environment's Python by the variable APT_PYTHON. It is made
with ``pip install --no-deps ai-privacy-toolkit`` and ``pip install 'scikit-learn<1.6' 'numpy<2' 'pandas<2.3'
scipy tqdm``: its minimizer fails with later ones. The frameworks that it imports and does not use for this
may be absent.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

SET_UP = """
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
"""

THEIRS = f"""{SET_UP}
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

MINIMIZE = f"""{SET_UP}
import numpy as np
import pandas as pd
from apt.minimization import GeneralizeToRepresentative
from apt.utils.datasets import ArrayDataset
from sklearn.tree import DecisionTreeClassifier
given, target, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
parts = [pd.read_csv(f"{{given}}/{{name}}.csv") for name in ("train", "fitting", "scored")]
labels = [part.pop("y").to_numpy() for part in parts]
names = list(parts[0].columns)
train, fitting, scored = (part.to_numpy() for part in parts)
model = DecisionTreeClassifier(random_state=seed).fit(train, labels[0])
begin = time.process_time()
minimizer = GeneralizeToRepresentative(model, target_accuracy=target)
minimizer.fit(dataset=ArrayDataset(fitting, model.predict(fitting), features_names=names))
coarse = np.asarray(minimizer.transform(scored, features_names=names))
spent = time.process_time() - begin
print(json.dumps([spent, float(np.mean(model.predict(coarse) == labels[2]))]))
"""


@cache
def here() -> bool:
    """Whether it can be run; says so if not."""
    if "APT_PYTHON" in os.environ:
        return True
    print(
        "SKIPPED: ai-privacy-toolkit; name an environment that has it by APT_PYTHON (benchmarks/toolkit.py)"
    )
    return False


def released(frame: pd.DataFrame, y: pd.Series, k: int, text: list[str]) -> tuple[float, pd.DataFrame]:
    """CPU seconds that it took, and what it released; ``y`` is to be predicted, ``text`` are categories."""
    with TemporaryDirectory() as folder:
        given, out = Path(folder) / "given.csv", Path(folder) / "out.csv"
        frame.assign(y=y).to_csv(given, index=False)
        line = [os.environ["APT_PYTHON"], "-c", THEIRS, str(given), str(out), str(k), json.dumps(text)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"ai-privacy-toolkit did not run: {done.stderr[-500:]}")
        return float(done.stdout.split()[-1]), pd.read_csv(out).astype(frame.dtypes.to_dict())


def minimise(
    train: pd.DataFrame, fitting: pd.DataFrame, scored: pd.DataFrame, target: float, seed: int
) -> tuple[float, float]:
    """CPU seconds of its minimizer for a tree trained on ``train``, and the accuracy on ``scored`` rows."""
    with TemporaryDirectory() as folder:
        for name, part in (("train", train), ("fitting", fitting), ("scored", scored)):
            part.to_csv(Path(folder) / f"{name}.csv", index=False)
        line = [os.environ["APT_PYTHON"], "-c", MINIMIZE, folder, str(target), str(seed)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"ai-privacy-toolkit did not run: {done.stderr[-500:]}")
        spent, accuracy = json.loads(done.stdout.splitlines()[-1])
        return float(spent), float(accuracy)
