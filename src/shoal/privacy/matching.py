"""k-anonymity by matching, checked against the original table.

The search decides by strongly connected components; this check asks for the matchings themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.support.warning_codes import CodedWarning
from shoal.table.formats import import_optional

WARNING = CodedWarning(
    "W16",
    "semantics=matching: each released row could be k of the original rows, but it can be unlike every other "
    "released row; someone who knows only one person may be able to exclude rows, and 'shoal verify', which "
    "does not have the original table, will not find classes of k rows",
)
_ALL = 64  # rows up to which every possible assignment is counted


def count_fewest_partners(
    original: NDArray[np.integer], lo: NDArray[np.integer], hi: NDArray[np.integer], enough: int
) -> int:
    """Least number of original rows that a released row is assigned in some perfect matching.

    Parameters
    ----------
    original : [rows, columns]
        Codes of the original rows.
    lo, hi : [rows, columns]
        Ends of the released intervals.
    enough : int
        In larger tables no more than this is counted for a row.

    References
    ----------
    A. Gionis, A. Mazza, T. Tassa, "k-anonymization revisited", ICDE 2008.
    """
    covers = np.ones((original.shape[0],) * 2, np.bool_)
    for j in range(original.shape[1]):
        covers &= (lo[:, [j]] <= original[:, j]) & (original[:, j] <= hi[:, [j]])
    limit = original.shape[0] if original.shape[0] <= _ALL else enough
    return min(_count_partners(covers, row, limit) for row in range(original.shape[0]))


def _count_partners(covers: NDArray[np.bool_], row: int, limit: int) -> int:
    """Number of originals, up to ``limit``, that ``row`` is assigned in some perfect matching."""
    count = 0
    for column in np.flatnonzero(covers[row]):
        # Fix this pair: the others must still have a perfect matching.
        rest = np.delete(np.delete(covers, row, axis=0), column, axis=1)
        count += _is_perfect(rest)
        if count == limit:
            break
    return count


def _is_perfect(covers: NDArray[np.bool_]) -> bool:
    """Whether every row can be given an original of its own (Hopcroft and Karp)."""
    sparse = import_optional("scipy.sparse", "shoal[scipy]")
    csgraph = import_optional("scipy.sparse.csgraph", "shoal[scipy]")

    if covers.size == 0:
        return True
    return bool(
        (csgraph.maximum_bipartite_matching(sparse.csr_matrix(covers), perm_type="column") >= 0).all()
    )
