r"""Words that occur in one row only, joined, so that a choice among priors costs the words that rows share.

Words of the same row and count have the same column: every prior and every pass treats them alike. Multinomials and Dirichlets add up,
so m words of count x and pseudo-count a are one column of count m x and pseudo-count m a:

    (m x) log(m N) = m x log N + constant,        (m x)^2 / (m N) = m x^2 / N,        sum of the counts: m N

The steps of every learner are the same, and so are the scores of a row once a constant that all outcomes share is taken off. In runs of
two words most words are of this kind. Words that no row has are one column too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from typing_extensions import override

from .words import ScaledRows, column_sizes


def share_of_lone_words(counts: sparse.csr_matrix) -> float:
    """The share of the words that at most one row has."""
    return float(np.mean(rows_with(counts) <= 1))


def rows_with(counts: sparse.csr_matrix) -> np.ndarray:
    """(words,) array: how many rows have each word; no copy of the places is made."""
    return column_sizes(counts, np.ones(counts.shape[0]))[0]


@dataclass(frozen=True, eq=False)
class Join:
    """Which entries of some counts are kept, and for how many words each column of them stands."""

    place: np.ndarray  # (words,) array: the column of every word
    alike: np.ndarray  # (columns,) array: how many words a column stands for
    kept: np.ndarray  # (non-zeros,) array of bool: the first of its row and column
    indices: np.ndarray  # the columns of those that are kept
    indptr: np.ndarray

    @classmethod
    def of(cls, counts: sparse.csr_matrix) -> Join:
        n = counts.shape[0]
        n_rows = rows_with(counts)
        is_shared = n_rows > 1
        n_shared = int(is_shared.sum())
        place = np.cumsum(is_shared) - 1
        is_there = counts.data != 0.0  # zeros may be stored
        is_lone = ~is_shared[counts.indices] & is_there
        row = np.repeat(np.arange(n), np.diff(counts.indptr))
        entries = np.flatnonzero(is_lone)
        entries = entries[np.lexsort((counts.data[entries], row[entries]))]
        differs = np.diff(row[entries]).astype(bool) | np.diff(counts.data[entries]).astype(bool)
        is_first = np.concatenate([np.ones(min(len(entries), 1), dtype=bool), differs])
        place[counts.indices[entries]] = n_shared + np.cumsum(is_first) - 1
        place[n_rows == 0] = n_shared + int(is_first.sum())
        kept = ~is_lone & is_there
        kept[entries[is_first]] = True
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=n))])
        kind = counts.indices.dtype
        return cls(
            place, np.bincount(place).astype(float), kept, place[counts.indices[kept]].astype(kind), indptr.astype(kind)
        )

    def joined(self, rows: ScaledRows | sparse.csr_matrix) -> JoinedRows:
        """Rows of these counts with their words joined; the m-fold value of a count under roots is the root of m^(2^roots) counts."""
        rows = rows if isinstance(rows, ScaledRows) else ScaledRows(rows, np.ones(rows.shape[0]))
        data = rows.counts.data[self.kept] * self.alike[self.indices] ** 2.0**rows.roots
        made = sparse.csr_matrix((data, self.indices, self.indptr), (rows.shape[0], len(self.alike)))
        return JoinedRows(made, rows.factors, rows.roots, rows.counts, self)

    def summed(self, table: np.ndarray) -> np.ndarray:
        """(columns, K) array: a table of all words, summed over those of a column."""
        sums = np.zeros((len(self.alike), table.shape[1]))
        np.add.at(sums, self.place, table)
        return sums

    def of_words(self, table: np.ndarray) -> np.ndarray:
        """(words, K) array: every word's share of its column in such a table."""
        return (table / self.alike[:, None])[self.place]


@dataclass(frozen=True, eq=False)
class JoinedRows(ScaledRows):
    """Rows whose words were joined; `whole` are the counts that they were made of."""

    whole: sparse.csr_matrix | None = None
    join: Join | None = None

    @property
    @override
    def given(self) -> sparse.csr_matrix:
        assert self.whole is not None
        return self.whole

    @cached_property
    def constants(self) -> np.ndarray:
        """(n,) array: sum over the columns of m x log m, by which a row's scores exceed those of its words."""
        assert self.join is not None
        return (self @ np.log(self.join.alike)[:, None])[:, 0]
