"""pyCANON as a second count: the k of release.csv, rows of ``*`` left out."""

import sys
from importlib.metadata import version

if sys.argv[1:] == ["--version"]:
    print(version("pycanon"))
    sys.exit()

import pandas as pd
from pycanon.anonymity import k_anonymity

released = pd.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
released = released[~(released == "*").all(axis=1)].reset_index(drop=True)
print(k_anonymity(released, list(released.columns)))
