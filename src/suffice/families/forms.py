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

from ..kernels.structures import mixture as loops
from .rows import any_missing

CACHE = 131072  # numbers of phi held at a time
TINY = 1e-300  # probabilities below it are taken as it
LOG_2PI = float(np.log(2 * np.pi))
NOTHING = np.zeros(0)


def safe_log(values) -> np.ndarray:
    return np.log(np.maximum(values, TINY))


def log_peak(whitening: np.ndarray) -> np.ndarray:
    """log of a Gaussian's density at its mean, from the whitening of its precision."""
    logs = np.log(np.diagonal(whitening, axis1=-2, axis2=-1)).sum(axis=-1)
    return logs - 0.5 * whitening.shape[-1] * LOG_2PI


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

    def _prepare(self) -> None:
        self.n_blocks = self.family.n_statistics + (not self.is_complete)
        self.size = self.n_blocks * self.family.n_features

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        part = X[start : start + n]
        blocks = list(self.family.phi(part))
        if not self.is_complete:
            seen = ~np.isnan(part)
            blocks = [seen, *(np.where(seen, block, 0.0) for block in blocks)]
        np.concatenate(blocks, axis=1, out=buffers[:n], casting="unsafe")
        return buffers[:n]

    def of_cells(self, constant, *coefficients):
        if self.is_complete:
            return constant.sum(axis=1), np.hstack(coefficients).T.copy()
        return np.zeros(len(constant)), np.hstack([constant, *coefficients]).T.copy()

    def record(self, mass, out):
        blocks = [block.copy() for block in np.split(out.T, self.n_blocks, axis=1)]
        if self.is_complete:
            blocks.insert(0, np.repeat(mass[:, None], self.family.n_features, axis=1))
        return self.family.from_sums(*blocks)


class SquareForm(CellForm):
    """phi = (z, z^2), z = x - location, by a compiled loop."""

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        loop = loops.squares if self.is_complete else loops.seen_squares
        loop(X, start, n, self.family.location, buffers)
        return buffers[:n]

    def kernel(self):
        if not isinstance(self.X, np.ndarray):
            return None
        return "squares" if self.is_complete else "seen_squares", self.X, self.family.location


class ValueForm(CellForm):
    """phi = x: the rows themselves. Sparse rows without missing cells stay sparse."""

    def _prepare(self) -> None:
        super()._prepare()
        self.is_sparse = self.is_complete and not isinstance(self.X, np.ndarray)

    @property
    def chunk(self) -> int:
        return 4096 if self.is_sparse else super().chunk

    def buffers(self):
        return None if self.is_complete else super().buffers()

    def read(self, first, n, buffers):
        if self.is_sparse:
            return first, n
        if self.is_complete:
            return self.X[first : first + n]
        X, start = self.rows(first, n)
        loops.seen_values(X, start, n, buffers)
        return buffers[:n]

    def scores(self, phi, theta):
        if not self.is_sparse:
            return super().scores(phi, theta)
        scores = np.empty((phi[1], self.family.n_outcomes))
        loops.sparse_scores(self.X.indptr, self.X.indices, self.X.data, *phi, theta, scores)
        return scores

    def add(self, phi, weights, theta, out):
        if not self.is_sparse:
            super().add(phi, weights, theta, out)
            return
        loops.sparse_sums(self.X.indptr, self.X.indices, self.X.data, *phi, weights, out)

    def kernel(self):
        if self.is_sparse:
            return "words", (self.X.indptr, self.X.indices, self.X.data), NOTHING
        if not isinstance(self.X, np.ndarray) or not self.X.flags.c_contiguous:
            return None
        return "values" if self.is_complete else "seen_values", self.X, NOTHING


class WordForm(ValueForm):
    """phi = the counts of a sparse row."""

    def _prepare(self) -> None:
        self.is_sparse, self.is_complete, self.size = True, True, self.family.n_features

    def of_cells(self, logits):
        return np.zeros(logits.shape[1]), np.ascontiguousarray(logits)

    def record(self, mass, out):
        return self.family.from_sums(out.copy())


class CategoryForm(Form):
    """phi = one-hot of every column, never made: sums run over the cells of a row."""

    def _prepare(self) -> None:
        if not isinstance(self.X, np.ndarray):
            self.X = self.X.toarray()
        self.size = int(self.family.n_categories.sum())

    @property
    def chunk(self) -> int:
        return 4096

    def buffers(self):
        return None

    def read(self, first, n, buffers):
        return first, n

    def of_cells(self, logits):
        return np.zeros(logits.shape[1]), np.ascontiguousarray(logits)

    def scores(self, phi, theta):
        scores = np.empty((phi[1], self.family.n_outcomes))
        loops.category_scores(self.X, *phi, self.family.offset, theta, scores)
        return scores

    def add(self, phi, weights, theta, out):
        loops.category_sums(self.X, *phi, self.family.offset, weights, out)

    def record(self, mass, out):
        return self.family.of_counts(out.copy())

    def kernel(self):
        return "categories", self.X, self.family.offset


class FullForm(Form):
    """phi = (z, upper triangle of z z'); scores by whitening, which rounds less than the expanded square."""

    def _prepare(self) -> None:
        d = self.family.n_features
        self.size = d + d * (d + 1) // 2
        self.triangle = np.triu_indices(d)

    @property
    def chunk(self) -> int:
        return min(max(CACHE // (self.family.n_features * self.family.n_outcomes), 64), 1024)

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        loops.products(X, start, n, self.family.location, buffers)
        return buffers[:n]

    def coefficients(self, moments):
        mean, covariance = self.family.parameters(moments)
        whitening = np.swapaxes(np.linalg.inv(np.linalg.cholesky(covariance)), -1, -2)
        return self.of_whitening(log_peak(whitening), mean, whitening)

    def of_whitening(self, constant, mean, whitening) -> tuple:
        """Coefficients of scores constant - 1/2 |(z - mean)' whitening|^2."""
        side_by_side = np.ascontiguousarray(whitening.transpose(1, 0, 2).reshape(self.family.n_features, -1))
        return constant, (side_by_side, np.einsum("ka,kab->kb", mean, whitening))

    def scores(self, phi, theta):
        side_by_side, centres = theta
        scores = np.empty((len(phi), self.family.n_outcomes))
        loops.whitened_scores(phi[:, : self.family.n_features] @ side_by_side, centres, scores)
        return scores

    def record(self, mass, out):
        d = self.family.n_features
        packed, second = out[d:].T, np.empty((self.family.n_outcomes, d, d))
        second[:, self.triangle[0], self.triangle[1]] = packed
        second[:, self.triangle[1], self.triangle[0]] = packed
        return self.family.record(mass.copy(), out[:d].T.copy(), second)

    def kernel(self):
        return ("products", self.X, self.family.location) if isinstance(self.X, np.ndarray) else None


class TiedForm(FullForm):
    """phi = z. The second moments of all outcomes together depend on the rows' total weights alone."""

    def _prepare(self) -> None:
        self.size = self.family.n_features

    chunk = Form.chunk

    def zeros(self):
        d = self.family.n_features
        return np.zeros((d, self.family.n_outcomes + d))

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        np.subtract(X[start : start + n], self.family.location, out=buffers[:n])
        return buffers[:n]

    def of_whitening(self, constant, mean, whitening):
        centres = mean @ whitening
        return constant - 0.5 * (centres**2).sum(axis=1), (whitening, np.ascontiguousarray(centres.T))

    def scores(self, phi, theta):
        whitening, centres = theta
        white = phi @ whitening
        scores = white @ centres
        scores -= 0.5 * np.einsum("ij,ij->i", white, white)[:, None]
        return scores

    def add(self, phi, weights, theta, out):
        K = self.family.n_outcomes
        out[:, :K] += phi.T @ weights
        total = weights.sum(axis=1)
        out[:, K:] += (total[:, None] * phi).T @ phi

    def record(self, mass, out):
        K = self.family.n_outcomes
        second = 0.5 * (out[:, K:] + out[:, K:].T)
        return self.family.record(mass.copy(), out[:, :K].T.copy(), second)

    def kernel(self):
        return ("differences", self.X, self.family.location) if isinstance(self.X, np.ndarray) else None


class CompletedForm(Form):
    """Correlated columns with missing cells: statistics are expectations given the observed cells under the same moments.

    theta = (moments, extra): `extra` (K,) is what a row with an observed cell adds to its log-density.
    """

    def _prepare(self) -> None:
        empty = self.family.statistics(np.zeros((0, self.family.n_features)), np.zeros((0, self.family.n_outcomes)))
        self.shapes = [np.shape(array) for array in empty.arrays()]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)

    @property
    def chunk(self) -> int:
        return 4096

    def buffers(self):
        return None

    def zeros(self):
        return np.zeros(self.size)

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        return X[start : start + n]

    def coefficients(self, moments):
        nothing = np.zeros(self.family.n_outcomes)
        return nothing, (moments, nothing)

    def of_whitening(self, constant, mean, whitening):
        """Coefficients of scores constant - 1/2 |(z - mean)' whitening|^2, integrated over the missing cells."""
        K = self.family.n_outcomes
        covariance = np.linalg.inv(whitening @ np.swapaxes(whitening, -1, -2))
        moments = self.family.from_parameters(np.ones(K), mean, covariance)
        return np.zeros(K), (moments, constant - log_peak(whitening))

    def scores(self, phi, theta):
        moments, extra = theta
        scores = self.family.log_densities(moments, phi)
        return scores + np.where(np.isnan(phi).all(axis=1)[:, None], 0.0, extra)

    def add(self, phi, weights, theta, out):
        out += self.family.completed_statistics(phi, weights, theta[0]).flat()

    def record(self, mass, out):
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        arrays = [part.reshape(shape) for part, shape in zip(np.split(out, cuts), self.shapes, strict=True)]
        return self.family.record(*arrays)
