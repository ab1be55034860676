"""OpenMed: table.csv, folder of hierarchies, out.csv, k, share of rows that may be suppressed."""

import csv
import sys
from importlib.metadata import version
from pathlib import Path

if sys.argv[1:] == ["--version"]:
    print(version("openmed"))
    sys.exit()

from openmed.risk.kanon import enforce_kanon

table, trees, out, k, limit = sys.argv[1:]
with Path(table).open(encoding="utf-8", newline="") as lines:
    header, *rows = csv.reader(lines)
# It reads values by what a column is called; these names tell it nothing.
quasi = [f"column {i}" for i in range(len(header))]
records = [dict(zip(quasi, row, strict=True)) for row in rows]
given = {}
for plain, name in zip(quasi, header, strict=True):
    with Path(trees, f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter=";"))
    levels = [{"name": "own"}]
    for level in range(1, len(rows[0])):
        # It wants to know what becomes of the labels as well.
        above = {label: row[level] for row in rows for label in row[: level + 1]}
        levels.append({"name": f"level {level}", "values": above})
    given[plain] = levels
found = enforce_kanon(
    records,
    quasi,
    target_k=int(k),
    hierarchies=given,
    suppression_rate=float(limit),
    max_lattice_nodes=10**9,
)
with Path(out).open("w", encoding="utf-8", newline="") as lines:
    writer = csv.writer(lines)
    writer.writerow(header)
    writer.writerows([record[name] for name in quasi] for record in found["records"])
