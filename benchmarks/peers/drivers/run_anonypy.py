"""anonypy: table.csv, out.csv, k, names of its numbers (comma-separated)."""

import sys
from importlib.metadata import version

if sys.argv[1:] == ["--version"]:
    print(version("anonypy"))
    sys.exit()

import anonypy
import pandas as pd

table, out, k, numbers = sys.argv[1:]
data = pd.read_csv(table, dtype=str, keep_default_na=False)
quasi = list(data.columns)
for name in quasi:
    data[name] = pd.to_numeric(data[name]) if name in numbers.split(",") else data[name].astype("category")
# It releases how often each sensitive value occurs in a class; of one value, that is the size of the class.
data["sensitive"] = "x"
rows = pd.DataFrame(anonypy.Preserver(data, quasi, "sensitive").anonymize_k_anonymity(int(k)))
for name in quasi:
    rows[name] = rows[name].map(lambda cell: cell[0])  # lists of one string
rows = rows.loc[rows.index.repeat(rows["count"]), quasi]
rows.to_csv(out, index=False)
