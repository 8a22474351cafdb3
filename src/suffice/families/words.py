"""Sparse rows of counts: in units of their own without a copy of their values, and as the kernels of words read them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Sparse rows, the square root of their counts taken `roots` times over, each times its factor.

    The kernels compute the values as they read a row; the counts stay the caller's.
    """

    counts: sparse.csr_matrix
    factors: np.ndarray
    roots: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.counts.shape

    @property
    def given(self) -> sparse.csr_matrix:
        """The counts as they were given."""
        return self.counts

    @property
    def data(self) -> np.ndarray:
        """The counts: enough to see whether some are missing."""
        return self.counts.data

    def __getitem__(self, rows) -> ScaledRows:
        return ScaledRows(self.counts[rows], self.factors[rows], self.roots)

    def __matmul__(self, table: np.ndarray) -> np.ndarray:
        from ..kernels.rows import multiply

        products = np.empty((self.shape[0], table.shape[1]))
        multiply(word_rows(self), np.ascontiguousarray(table), products)
        return products

    def tocsr(self) -> sparse.csr_matrix:
        values = self.counts.data**0.5**self.roots * np.repeat(self.factors, np.diff(self.counts.indptr))
        return sparse.csr_matrix((values, self.counts.indices, self.counts.indptr), self.shape)

    def toarray(self) -> np.ndarray:
        return self.tocsr().toarray()


def word_rows(X) -> tuple:
    """The layout "pairs" of `suffice.kernels.rows`, with room for the longest row.

    Places are unsigned numbers: compiled loops need not ask whether they count from the end.
    """
    rows = X if isinstance(X, ScaledRows) else ScaledRows(X, np.ones(X.shape[0]))
    counts = rows.counts
    room = np.empty(int(np.diff(counts.indptr).max(initial=1)))
    places = counts.indices.view(f"u{counts.indices.itemsize}")
    return counts.indptr, places, counts.data, rows.factors, room, rows.roots


def weighted_sums(X, shares: np.ndarray) -> np.ndarray:
    """sum_i x_i shares_i."""
    from ..kernels.rows import add_weighted

    columns = shares if shares.ndim == 2 else shares[:, None]
    sums = np.zeros((X.shape[1], columns.shape[1]))
    add_weighted(word_rows(X), np.ascontiguousarray(columns), sums)
    return sums if shares.ndim == 2 else sums[:, 0]


def row_sizes(X) -> tuple[np.ndarray, np.ndarray, float]:
    """Length and squared Euclidean norm of every row, and the smallest positive count (infinity where there is none)."""
    from ..kernels.rows import row_sums

    lengths, squares = np.empty(X.shape[0]), np.empty(X.shape[0])
    return lengths, squares, float(row_sums(word_rows(X), lengths, squares))


def column_sizes(X, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight of the rows that have each word, and the weighted sum of its squares."""
    from ..kernels.rows import column_sums

    n_rows, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    column_sums(word_rows(X), weights, n_rows, squares)
    return n_rows, squares
