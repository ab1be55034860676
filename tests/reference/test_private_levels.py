"""What levels that are drawn privately are worth on Adult, beside the best ones."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.algorithms import safepub
from shoal.table.hierarchies import read_hierarchies

pytestmark = [pytest.mark.exhaustive, pytest.mark.filterwarnings("ignore")]


class StoppedError(Exception):
    """Ends a run where the levels are drawn."""


# Expected detail of what is drawn and of the best levels, as a share of that of the table.
@pytest.mark.parametrize(
    ("epsilon", "search", "drawn", "best"),
    [(1, 0.1, 0.573, 0.573), (1, 0.01, 0.525, 0.574), (1, 0.5, 0.561, 0.561), (2, 0.1, 0.566, 0.568)],
)
def test_adult(epsilon, search, drawn, best, shared_data, monkeypatch):
    folder, given = shared_data / "adult", []
    table = pl.read_csv(folder / "adult_9col.csv", separator=";", infer_schema=False).drop("salary-class")
    trees = read_hierarchies(folder / "hierarchies", table.columns)

    def stop(*asked):
        given.extend(asked)
        raise StoppedError

    monkeypatch.setattr(safepub, "draw_index", stop)
    with pytest.raises(StoppedError):
        shoal.anonymize(
            table,
            quasi=table.columns,
            types=dict.fromkeys(table.columns, "string"),
            hierarchies=trees,
            models=[shoal.SafePub(epsilon, 1e-6, search)],
            algorithm=shoal.SafePubScheme(),
        )
    score, sensitivity = np.array(given[0], np.float64), given[2]
    assert score.size == 6480
    chance = np.exp(search * (score - score.max()) / sensitivity)
    whole = 1e6 * table.height
    assert score @ chance / chance.sum() / whole == pytest.approx(drawn, abs=5e-4)
    assert score.max() / whole == pytest.approx(best, abs=5e-4)
    if (epsilon, search) == (1, 0.1):
        assert sensitivity / 1e6 == pytest.approx(5.83, abs=0.005)
