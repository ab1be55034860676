"""ai-privacy-toolkit: table.csv, target.csv, out.csv, k, names of its categories (comma-separated)."""

import sys
from importlib.metadata import version

if sys.argv[1:] == ["--version"]:
    print(version("ai-privacy-toolkit"))
    sys.exit()

import warnings
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

import pandas as pd

warnings.simplefilter("ignore")


class Unused(MetaPathFinder, Loader):
    """Frameworks that it imports, and that anonymizing does not use."""

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
preprocessing = import_module("sklearn.preprocessing")

encoder = preprocessing.OneHotEncoder


def encode(handle_unknown, sparse):
    """It was written for a scikit-learn in which this parameter had another name."""
    return encoder(handle_unknown=handle_unknown, sparse_output=sparse)


preprocessing.OneHotEncoder = encode
Anonymize = import_module("apt.anonymization").Anonymize
ArrayDataset = import_module("apt.utils.datasets").ArrayDataset

table, target, out, k, text = sys.argv[1:]
categories = [name for name in text.split(",") if name]
data = pd.read_csv(table, dtype=dict.fromkeys(categories, str), keep_default_na=False)
y = pd.factorize(pd.read_csv(target, dtype=str).iloc[:, 0])[0]
anonymizer = Anonymize(int(k), list(data.columns), categorical_features=categories)
released = anonymizer.anonymize(ArrayDataset(data, y, list(data.columns)))
pd.DataFrame(released, columns=data.columns).to_csv(out, index=False)
