"""Columns of sets: the loss beside that of the published apriori method, and what the search costs.

The baseline is apriori-based anonymization with direct generalisation, as M. Terrovitis, N. Mamoulis and
P. Kalnis describe it ("Privacy-preserving anonymization of set-valued data", VLDB 2008): one generalisation
for the whole table, chosen combination by combination. It is written here from the paper.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import polars as pl

import shoal
from measure import Figures, cpu
from shoal.table.samples import sample, sample_hierarchies

Basket = frozenset[int]
SIZES = ((2_000, 64, 5), (2_000, 64, 20), (10_000, 256, 10))  # baskets, items, k


def main() -> None:
    figures = Figures("Columns of sets")
    for rows, items, k in SIZES if "--full" in sys.argv else SIZES[:1]:
        baskets, nodes = make_baskets(rows, items), name_nodes(items)
        table = pl.DataFrame(
            {"basket": ["|".join(f"i{item:03}" for item in sorted(each)) for each in baskets]}
        )
        tree = [[f"i{item:03}", *names[1:]] for item, names in enumerate(nodes)]
        for knows in (1, 2, 3):
            paper = AprioriMethod(baskets, nodes, k).anonymize(knows)
            found = shoal.anonymize(
                table, k=k, sets={"basket": "|"}, knows=knows, hierarchies={"basket": tree}
            )
            loss = f"{rows:,} baskets of {items} items, k = {k}, knows {knows}"
            figures.add(f"loss, {loss}", found.report.ncp, "", paper)
    compare_stays(figures, 5_000 if "--full" in sys.argv else 1_000)
    table = pl.DataFrame({"basket": ["|".join(map(str, each)) for each in make_baskets(10_000, 100)]})
    # Taking the cells apart and counting single items is the least that a run has to do.
    counted = cpu(lambda: table["basket"].str.split("|").explode().value_counts(), 5)
    for knows in (1, 2, 3, "all"):
        spent = cpu(lambda knows=knows: shoal.anonymize(table, k=10, sets={"basket": "|"}, knows=knows), 1)
        figures.add(f"a run to counting single items, 10,000 baskets, knows {knows}", spent / counted, "x")
    figures.close()


def compare_stays(figures: Figures, rows: int) -> None:
    """The diagnoses of hospital stays, of patients who have several: patients are counted in both."""
    stays = sample("visits", rows=rows).select("patient_id", "diagnoses")
    baskets, nodes = read_stays(stays)
    owners = stays["patient_id"].rank("dense").to_list()
    for k in (5, 20):
        for knows in (1, 2, 3):
            paper = AprioriMethod(baskets, nodes, k, owners).anonymize(knows)
            found = shoal.anonymize(
                stays,
                person="patient_id",
                k=k,
                sets={"diagnoses": "|"},
                knows=knows,
                hierarchies={"diagnoses": sample_hierarchies("visits")["diagnoses"]},
            )
            name = f"loss, {rows:,} stays of {stays['patient_id'].n_unique():,} patients, k = {k}"
            figures.add(f"{name}, knows {knows}", found.report.ncp, "", paper)


def read_stays(stays: pl.DataFrame) -> tuple[list[Basket], list[list[str]]]:
    """The diagnoses of each stay, by their places in the hierarchy, and the groups above each."""
    tree = sample_hierarchies("visits")["diagnoses"]
    place = {row[0]: at for at, row in enumerate(tree)}
    cells = [cell.split("|") if cell else [] for cell in stays["diagnoses"].to_list()]
    nodes = [[f"{level}:{name}" for level, name in enumerate(row)] for row in tree]
    return [frozenset(place[name] for name in cell) for cell in cells], nodes


def make_baskets(rows: int, items: int, seed: int = 7) -> list[Basket]:
    """Baskets of one to eight items, some of which are common and most of which are rare."""
    random = np.random.default_rng(seed)
    share = 1 / np.arange(1, items + 1)
    names = random.permutation(items)
    size = random.integers(1, 9, rows)
    return [frozenset(names[random.choice(items, n, p=share / share.sum())].tolist()) for n in size]


def name_nodes(items: int, fan: int = 4) -> list[list[str]]:
    """The groups above each item, up to one root; ``fan`` items or groups in each."""
    levels = 0
    while fan**levels < items:
        levels += 1
    return [[f"{level}:{item // fan**level}" for level in range(levels + 1)] for item in range(items)]


class AprioriMethod:
    """One generalisation for a whole table, found with combinations of one item, then of two, and so on."""

    def __init__(
        self, baskets: list[Basket], nodes: list[list[str]], k: int, owners: list[int] | None = None
    ) -> None:
        self.baskets, self.k, self.owners = baskets, k, owners
        self.nodes = nodes
        self.occurrences = Counter(item for basket in baskets for item in basket)
        self.leaves = Counter(node for names in self.nodes for node in names)
        self.level = [0] * len(nodes)
        # Who has an item of a node, a bit a basket.
        self.having: dict[str, int] = dict.fromkeys(self.leaves, 0)
        for place, basket in enumerate(baskets):
            for item in basket:
                for node in self.nodes[item]:
                    self.having[node] |= 1 << place

    def anonymize(self, knows: int) -> float:
        """Generalise until every combination of so many items is in k baskets; the loss."""
        for size in range(1, knows + 1):
            for combination in sorted(self.list_combinations(size)):
                # Its items may have been generalised since for another combination.
                now = {self.nodes[item][self.level[item]] for item in combination}
                if self.count_baskets(now) < self.k:
                    self.generalise(combination)
        return self.measure()

    def list_combinations(self, size: int) -> set[tuple[int, ...]]:
        """All combinations of generalised items that a basket has, each by some items that make it."""
        found = {}
        for basket in self.baskets:
            released = {self.nodes[item][self.level[item]]: item for item in sorted(basket)}
            for names in combinations(sorted(released), size):
                found.setdefault(names, tuple(released[name] for name in names))
        return set(found.values())

    def count_baskets(self, names: set[str]) -> int:
        """How many baskets have an item of every node; of owners who have several, how many, k at most."""
        everybody = (1 << len(self.baskets)) - 1
        for name in names:
            everybody &= self.having[name]
        if self.owners is None or everybody.bit_count() < self.k:
            return everybody.bit_count()
        found: set[int] = set()
        while everybody and len(found) < self.k:
            found.add(self.owners[(everybody & -everybody).bit_length() - 1])
            everybody &= everybody - 1
        return len(found)

    def generalise(self, combination: tuple[int, ...]) -> None:
        """Take the cheapest generalisation of its items by which enough baskets have it."""
        best = min(
            (choice for choice in self.list_choices(combination)), key=lambda each: each[0], default=None
        )
        if best is None:
            raise ValueError("even the root is in too few baskets")
        for item, level in zip(combination, best[1], strict=True):
            self.lift(item, level)

    def list_choices(self, combination: tuple[int, ...]) -> Iterator[tuple[float, tuple[int, ...]]]:
        """The levels of the items by which enough baskets have the combination, with what they cost."""
        for levels in product(*(range(self.level[item], len(self.nodes[item])) for item in combination)):
            names = {self.nodes[item][level] for item, level in zip(combination, levels, strict=True)}
            if self.count_baskets(names) >= self.k:
                before = list(self.level)
                for item, level in zip(combination, levels, strict=True):
                    self.lift(item, level)
                yield self.measure(), levels
                self.level = before

    def lift(self, item: int, level: int) -> None:
        """Generalise an item, and with it all that are below the same node."""
        node = self.nodes[item][level]
        for other, names in enumerate(self.nodes):
            if names[level] == node:
                self.level[other] = max(self.level[other], level)

    def measure(self) -> float:
        """The mean over all items of what their node covers: values but one, of all but one."""
        every = self.occurrences.total() * (len(self.nodes) - 1)
        lost = sum(
            times * (self.leaves[self.nodes[item][self.level[item]]] - 1)
            for item, times in self.occurrences.items()
        )
        return lost / every


if __name__ == "__main__":
    main()
