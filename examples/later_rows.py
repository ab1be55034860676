"""A table that grows: one release, and later months put into its classes.

Two releases of the same people can be laid over each other. So later rows do not make a new release; they go
into the classes of the first.
"""

# %% The first month, released with hierarchies: groups with names have room for people who come later.
import tempfile
from pathlib import Path

import polars as pl

import shoal
from shoal.table.samples import write_hierarchies

folder = Path(tempfile.mkdtemp())
write_hierarchies("hospital", folder / "trees")
quasi = ["age", "sex", "postcode"]
january = shoal.sample("hospital", rows=4000).select(*quasi, "diagnosis")
release = shoal.anonymize(
    january,
    quasi=quasi,
    sensitive=["diagnosis"],
    k=5,
    l=2,
    hierarchies={name: folder / "trees" / f"{name}.csv" for name in quasi},
)
release.saved_recoding().save(folder / "classes.json")
print(release.report.classes, "classes from", january.height, "rows")

# %% Later months, one by one. Everything released so far counts as company for those who come.
saved = shoal.SavedRecoding.load(folder / "classes.json")
published = release.frame
for month, seed in (("February", 2), ("March", 3)):
    later = shoal.sample("hospital", rows=500, seed=seed).select(*quasi, "diagnosis")
    applied = saved.apply(later, earlier=published, suppress=0.05)
    print(
        f"{month}: {applied.frame.height} of {later.height} rows fit, {applied.suppressed_rows} are left out"
    )
    published = pl.concat([published, applied.frame], how="vertical_relaxed")

# %% All months together keep the promise of the first.
found = shoal.verify(published, quasi=quasi, sensitive=["diagnosis"], k=5, l=2)
print("all months together hold:", found.holds, "in", found.classes, "classes")
assert found.holds
