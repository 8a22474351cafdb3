r"""Families as sums over many rows want them: log p(x | k) = constant_k + <theta_k, phi(x)>, and statistics = sum of r_k phi(x).

A form holds the rows and knows how to walk over them a cache-full at a time:

    coefficients(moments)                 (constant, theta)
    read(first, n, buffers)               phi of n rows, in a buffer
    scores(phi, theta)                    log p(x | k) without the constant, n by outcomes
    add(phi, weights, theta, out)         out += phi' weights, in the shape of `zeros()`
    record(mass, out)                     the sums as the family's record of statistics; `mass` (K,) is the sum of the weights

`family.cells(moments)` and `of_cells` split `coefficients` in two where columns are independent, so that a learner may put
expectations under a posterior of the parameters in the place of the parameters (variational Bayes). All is products of matrices and
compiled loops. `kernel` names the loops of `suffice.kernels.structures.mixture_sums` that do all of it for a shard in one call; None:
there are none, and the methods here are taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ..kernels.structures import mixture as loops
from .rows import any_missing

CACHE = 131072  # numbers of phi held at a time
TINY = 1e-300  # probabilities below it are taken as it
LOG_2PI = float(np.log(2 * np.pi))
NOTHING = np.zeros(0)


def safe_log(values) -> np.ndarray:
    return np.log(np.maximum(values, TINY))


class Form:
    """Columns of phi side by side in a dense buffer. Subclasses say which they are."""

    size = 0  # columns of phi

    def __init__(self, family, X, is_complete: bool | None = None):
        self.family, self.X = family, X
        self.is_complete = not any_missing(X) if is_complete is None else is_complete
        self._prepare()

    def some(self, rows) -> Form:
        """The form of some of the rows, with the same columns of phi even where none of these has a missing cell."""
        return type(self)(self.family, self.X[rows], self.is_complete)

    @property
    def chunk(self) -> int:
        """Rows at a time; depends on the shape of the problem only."""
        return min(max(CACHE // max(self.size, self.family.n_outcomes, 1), 64), 4096)

    def _prepare(self) -> None:
        raise NotImplementedError

    def buffers(self) -> Any:
        return np.empty((self.chunk, self.size))

    def rows(self, first: int, n: int) -> tuple[Any, int]:
        """Dense rows and where they begin in them."""
        if isinstance(self.X, np.ndarray):
            return self.X, first
        return self.X[first : first + n].toarray(), 0

    def read(self, first: int, n: int, buffers):
        raise NotImplementedError

    def of_cells(self, *cells: np.ndarray) -> tuple:
        raise NotImplementedError

    def coefficients(self, moments) -> tuple:
        with np.errstate(divide="ignore"):
            return self.of_cells(*self.family.cells(moments))

    def scores(self, phi, theta) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # a row too far away for a score is impossible
            return phi @ theta

    def zeros(self) -> np.ndarray:
        return np.zeros((self.size, self.family.n_outcomes))

    def add(self, phi, weights: np.ndarray, theta, out: np.ndarray) -> None:
        out += phi.T @ weights

    def record(self, mass: np.ndarray, out: np.ndarray):
        raise NotImplementedError

    def kernel(self) -> tuple[str, Any, np.ndarray] | None:
        """(kind, rows, extra) of `suffice.kernels.structures.mixture_sums`."""
        return None


class CellForm(Form):
    """phi = the statistics of every cell, or (seen, statistics) where cells are missing: columns that are independent.

    A family has `n_statistics`, `phi(X)` (as many arrays in the shape of X), `cells(moments)` = (constant, coefficient of each
    statistic), (K, n_features) arrays, and `from_sums(seen, *sums)`.
    """

    @override
    def _prepare(self) -> None:
        self.n_blocks = self.family.n_statistics + (not self.is_complete)
        self.size = self.n_blocks * self.family.n_features

    @override
    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        part = X[start : start + n]
        blocks = list(self.family.phi(part))
        if not self.is_complete:
            seen = ~np.isnan(part)
            blocks = [seen, *(np.where(seen, block, 0.0) for block in blocks)]
        np.concatenate(blocks, axis=1, out=buffers[:n], casting="unsafe")
        return buffers[:n]

    @override
    def of_cells(self, constant, *coefficients):  # type: ignore[override]  # its own statistics by name
        if self.is_complete:
            return constant.sum(axis=1), np.hstack(coefficients).T.copy()
        return np.zeros(len(constant)), np.hstack([constant, *coefficients]).T.copy()

    @override
    def record(self, mass, out):
        d = self.family.n_features
        blocks = [out.T[:, a : a + d].copy() for a in range(0, self.n_blocks * d, d)]
        if self.is_complete:
            blocks.insert(0, np.repeat(mass[:, None], self.family.n_features, axis=1))
        return self.family.from_sums(*blocks)


class SquareForm(CellForm):
    """phi = (z, z^2), z = x - location, by a compiled loop."""

    @override
    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        loop = loops.squares if self.is_complete else loops.seen_squares
        loop(X, start, n, self.family.location, buffers)
        return buffers[:n]

    @override
    def kernel(self):
        if not isinstance(self.X, np.ndarray):
            return None
        return "squares" if self.is_complete else "seen_squares", self.X, self.family.location


class ValueForm(CellForm):
    """phi = x: the rows themselves. Sparse rows without missing cells stay sparse."""

    @override
    def _prepare(self) -> None:
        super()._prepare()
        self.is_sparse = self.is_complete and not isinstance(self.X, np.ndarray)

    @property
    @override
    def chunk(self) -> int:
        return 4096 if self.is_sparse else super().chunk

    @override
    def buffers(self):
        return None if self.is_complete else super().buffers()

    @override
    def read(self, first, n, buffers):
        if self.is_sparse:
            return first, n
        if self.is_complete:
            return self.X[first : first + n]
        X, start = self.rows(first, n)
        loops.seen_values(X, start, n, buffers)
        return buffers[:n]

    @override
    def scores(self, phi, theta):
        if not self.is_sparse:
            return super().scores(phi, theta)
        scores = np.empty((phi[1], self.family.n_outcomes))
        loops.sparse_scores(self.X.indptr, self.X.indices, self.X.data, *phi, theta, scores)
        return scores

    @override
    def add(self, phi, weights, theta, out):
        if not self.is_sparse:
            super().add(phi, weights, theta, out)
            return
        loops.sparse_sums(self.X.indptr, self.X.indices, self.X.data, *phi, weights, out)

    @override
    def kernel(self):
        if self.is_sparse:
            return "words", (self.X.indptr, self.X.indices, self.X.data), NOTHING
        if not isinstance(self.X, np.ndarray) or not self.X.flags.c_contiguous:
            return None
        return "values" if self.is_complete else "seen_values", self.X, NOTHING


class WordForm(ValueForm):
    """phi = the counts of a sparse row."""

    @override
    def _prepare(self) -> None:
        self.is_sparse, self.is_complete, self.size = True, True, self.family.n_features

    @override
    def of_cells(self, logits):  # type: ignore[override]  # its own statistics by name
        return np.zeros(logits.shape[1]), np.ascontiguousarray(logits)

    @override
    def record(self, mass, out):
        return self.family.from_sums(out.copy())


class CategoryForm(Form):
    """phi = one-hot of every column, never made: sums run over the cells of a row."""

    @override
    def _prepare(self) -> None:
        if not isinstance(self.X, np.ndarray):
            self.X = self.X.toarray()
        self.size = int(self.family.n_categories.sum())

    @property
    @override
    def chunk(self) -> int:
        return 4096

    @override
    def buffers(self):
        return None

    @override
    def read(self, first, n, buffers):
        return first, n

    @override
    def of_cells(self, logits):  # type: ignore[override]  # its own statistics by name
        return np.zeros(logits.shape[1]), np.ascontiguousarray(logits)

    @override
    def scores(self, phi, theta):
        scores = np.empty((phi[1], self.family.n_outcomes))
        loops.category_scores(self.X, *phi, self.family.offset, theta, scores)
        return scores

    @override
    def add(self, phi, weights, theta, out):
        loops.category_sums(self.X, *phi, self.family.offset, weights, out)

    @override
    def record(self, mass, out):
        return self.family.of_counts(out.copy())

    @override
    def kernel(self):
        return "categories", self.X, self.family.offset
