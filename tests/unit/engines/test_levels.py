"""Level by level the classes are those of the search in memory, whatever lies in which partition.

Here the cluster is a list of partitions in this process: what executors do is done on one after the other.
"""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from tests.cases import thin_out

from shoal.algorithms import Problem
from shoal.algorithms.mondrian import CUTS, Mondrian
from shoal.codespace.encoding import Column, build_dictionary, encode_column
from shoal.codespace.frequency import CodedRows
from shoal.engines.level_workers import CutSettings, LeafFinder, NodePartitioner, RowLayout, cell_columns
from shoal.engines.levels import LevelwisePartition
from shoal.engines.packing import CodePacking
from shoal.engines.spark.levels import SparkRows
from shoal.privacy import DistinctL, KAnonymity, TCloseness
from shoal.support.progress import silent
from shoal.table.samples import write_sample

QUASI = ("age", "sex", "postcode", "education", "occupation", "marital_status")
GOALS = {
    "k": (KAnonymity(10),),
    "l": (KAnonymity(10), DistinctL(3, "diagnosis")),
    "t": (KAnonymity(10), TCloseness(0.3, column="diagnosis")),
}


class Frame:
    """As much of a Spark frame as is needed."""

    def __init__(self, parts):
        self.parts = parts

    def mapInArrow(self, work, schema):  # noqa: N802
        batches = (list(work(part.to_arrow().to_batches(20_000))) for part in self.parts)
        return Frame([pl.concat(map(pl.from_arrow, found)) for found in batches if found])

    def groupBy(self, *names):  # noqa: N802
        return Groups(self.whole(), names)

    def select(self, *names):
        return Frame([self.whole().select([name.strip("`") for name in names])])

    def toDF(self, *names):  # noqa: N802
        return Frame([self.whole().rename(dict(zip(self.whole().columns, names, strict=True)))])

    def toArrow(self):  # noqa: N802
        return self.whole().to_arrow()

    def whole(self):
        return pl.concat(self.parts)


class Groups:
    def __init__(self, frame, names):
        self.frame, self.names = frame, list(names)

    def agg(self, how):
        by = [getattr(pl.col(name), each)().alias(f"{each}({name})") for name, each in how.items()]
        return Frame([self.frame.group_by(self.names).agg(by)])

    def applyInArrow(self, work, schema):  # noqa: N802
        groups = self.frame.partition_by(self.names)
        return Frame([pl.from_arrow(work(group.to_arrow())) for group in groups])


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = tmp_path_factory.mktemp("levels") / "sample.parquet"
    write_sample("hospital", path, 120_000)
    table = pl.read_parquet(path)
    encoded = [encode_column(table[name], Column(name)) for name in QUASI]
    distinct, codes, missing = build_dictionary(table["diagnosis"])
    sizes = tuple(column.domain.size for column in encoded)
    coded = CodedRows(tuple(column.codes for column in encoded), sizes, (codes,), (len(distinct) + missing,))
    return [column.domain for column in encoded], coded


def partitions(layout, rows, number):
    """Counted rows in lexicographic order, in partitions that divide no weighted row."""
    words = layout.packing.pack_codes(list(rows.quasi))
    frame = pl.DataFrame({"k0": words[0].astype(np.int64), "s0": rows.sensitive[0]})
    counted = frame.group_by("k0", "s0").len("n").with_columns(pl.col("n").cast(pl.Int64)).sort("k0")
    word = counted["k0"].to_numpy()
    ends = np.searchsorted(word, word[np.arange(1, number) * word.size // number]).tolist()
    borders = enumerate(pairwise([0, *ends, word.size]))
    return Frame([counted[a:b].with_columns(part=pl.lit(i, pl.Int32)) for i, (a, b) in borders])


def classes(levels, layout, goal, flat):
    """Cells of all weighted rows in order: of nodes that executors finish, and of those that stay whole."""
    where, finish = LeafFinder(layout, levels.build_tree()), NodePartitioner(layout, goal, flat)
    found = []
    for part in levels.rows.frame.mapInArrow(where.__call__, "").whole().partition_by("node"):
        node = part["node"][0]
        if node in levels.closed:
            cells = [
                codes if every else [codes[0], codes[-1]]
                for codes, every in zip(levels.closed[node], flat, strict=True)
            ]
            same = {name: pl.lit(cell) for name, cell in zip(cell_columns(layout), cells, strict=True)}
            found.append(part.select("k0").unique().with_columns(**same))
        else:
            found.append(pl.from_arrow(finish(part.to_arrow())).select("k0", *cell_columns(layout)))
    lists = pl.col(cell_columns(layout)).cast(pl.List(pl.Int32))
    return pl.concat([each.with_columns(lists) for each in found]).sort("k0").drop("k0")


def expected(table, class_of, layout, flat):
    names = cell_columns(layout)
    frame = pl.DataFrame({name: table.codes[:, j].astype(np.int32) for j, name in enumerate(names)})
    cells = [
        pl.col(name).unique().sort()
        if every
        else pl.concat_list(pl.col(name).min(), pl.col(name).max()).first()
        for name, every in zip(names, flat, strict=True)
    ]
    frame = frame.with_columns(pl.Series("class", class_of))
    by_class = frame.group_by("class").agg(cells)
    return frame.select("class").join(by_class, on="class", how="left", maintain_order="left").drop("class")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goal", "cut", "most", "number"),
    thin_out([("l", "nearest", 20_000, 7), ("t", "greedy", 20_000, 3), ("k", "greedy", 3_000, 1)], 3),
)
def test_levels(rows, goal, cut, most, number):
    domains, coded = rows
    problem = Problem(tuple(domains), coded, ("diagnosis",), GOALS[goal], "ncp", np.ones(len(QUASI)))
    layout = RowLayout(CodePacking.from_sizes(coded.sizes), coded.sensitive_sizes)
    shared = CutSettings.from_rules(problem.build_axes(), problem.build_rules(problem.table), CUTS[cut])
    levels = LevelwisePartition(SparkRows(partitions(layout, coded, number)), layout, shared, most)
    levels.cut_large_nodes(silent)
    proposal = Mondrian(cut=cut).search(problem)
    flat = tuple(domain.kind == "flat" for domain in domains)
    assert classes(levels, layout, shared, flat).equals(
        expected(proposal.table, proposal.class_of, layout, flat)
    )
    assert levels.trace.samples > 0  # of more than 32,768 distinct rows a sample is cut
    assert (levels.trace.margins > 0) == (goal != "l")
