"""anjana: table.csv, folder of hierarchies, out.csv, k, suppression limit in percent."""

import contextlib
import io
import sys
from importlib.metadata import version

if sys.argv[1:] == ["--version"]:
    print(version("anjana"))
    sys.exit()

import pandas as pd
from anjana.anonymity import k_anonymity

table, trees, out, k, limit = sys.argv[1:]
data = pd.read_csv(table, dtype=str, keep_default_na=False)
quasi = list(data.columns)
given = {
    name: dict(pd.read_csv(f"{trees}/{name}.csv", sep=";", header=None, dtype=str, keep_default_na=False))
    for name in quasi
}
data["row"] = range(len(data))
with contextlib.redirect_stdout(io.StringIO()):
    released = k_anonymity(data, [], quasi, int(k), float(limit), given)
if released.empty:
    sys.exit("it returned an empty table: the goal was not reached")
released[quasi].to_csv(out, index=False)
