r"""Families as sums over many rows want them: log p(x, k) = constant_k + <theta_k, phi(x)>, and statistics = sum of r_k phi(x).

A form holds the rows and knows how to walk over them a cache-full at a time:

    coefficients(moments)                 (constant, theta)
    read(first, n, buffers)               phi of n rows, in a buffer
    scores(phi, theta)                    log p(x, k) without the constant, n by outcomes
    add(phi, weights, theta, out)         out += phi' weights, `size` by outcomes
    record(mass, out)                     the sums as the family's record of statistics

`cells` and `of_cells` split `coefficients` in two where columns are independent, so that a learner may put expectations under a
posterior of the parameters in the place of the parameters (variational Bayes). All is products of matrices and compiled loops.
`kernel` names the loops of `suffice.kernels.structures.mixture_sums` that do all of it for a shard in one call; None: there are none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.structures import mixture as loops
from . import categorical, gaussian_diagonal, gaussian_full, gaussian_tied, mixed, multinomial, poisson
from .base import Model, log_masses
from .completion import any_missing
from .gaussian_diagonal import LOG_2PI

CACHE = 131072  # numbers of phi held at a time
TINY = 1e-300  # probabilities below it are taken as it
NOTHING = np.zeros(0)


def safe_log(values) -> np.ndarray:
    return np.log(np.maximum(values, TINY))


def log_density(whitening: np.ndarray) -> np.ndarray:
    """log of a Gaussian's density at its mean, from the whitening of its precision."""
    logs = np.log(np.diagonal(whitening, axis1=-2, axis2=-1)).sum(axis=-1)
    return logs - 0.5 * whitening.shape[-1] * LOG_2PI


class Form:
    """Columns of phi side by side in a dense buffer. Subclasses say which they are."""

    size = 0  # columns of phi

    def __init__(self, model: Model, X, is_complete: bool | None = None):
        self.model, self.X = model, X
        self.is_complete = not any_missing(X) if is_complete is None else is_complete
        self._prepare()

    def some(self, rows) -> Form:
        """Of some of the rows, with the same columns of phi even where none of these has a missing cell."""
        return type(self)(self.model, self.X[rows], self.is_complete)

    @property
    def chunk(self) -> int:
        """Rows at a time; depends on the shape of the problem only."""
        return min(max(CACHE // max(self.size, self.model.n_outcomes, 1), 64), 4096)

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

    def cells(self, moments) -> tuple:
        raise NotImplementedError

    def of_cells(self, log_mass: np.ndarray, *cells: np.ndarray):
        raise NotImplementedError

    def coefficients(self, moments):
        with np.errstate(divide="ignore"):
            return self.of_cells(log_masses(moments), *self.cells(moments))

    def scores(self, phi, theta) -> np.ndarray:
        return phi @ theta

    def all_scores(self, coefficients, part: slice) -> np.ndarray:
        """(rows of the part, outcomes) array: log p(x_i, k), a cache-full of rows at a time."""
        (constant, theta), buffers = coefficients, self.buffers()
        result = np.empty((part.stop - part.start, self.model.n_outcomes))
        for first in range(part.start, part.stop, self.chunk):
            n = min(self.chunk, part.stop - first)
            phi = self.read(first, n, buffers)
            result[first - part.start : first - part.start + n] = self.scores(phi, theta) + constant
        return result

    def zeros(self) -> np.ndarray:
        return np.zeros((self.size, self.model.n_outcomes))

    def add(self, phi, weights: np.ndarray, theta, out: np.ndarray) -> None:
        out += phi.T @ weights

    def record(self, mass: np.ndarray, out: np.ndarray):
        raise NotImplementedError

    def kernel(self) -> tuple[str, Any, np.ndarray] | None:
        """(kind, rows, extra) of `suffice.kernels.structures.mixture_sums`."""
        return None


class DiagonalForm(Form):
    """phi = (z, z^2), or (seen, z, z^2) where cells are missing."""

    def _prepare(self) -> None:
        self.size = (2 if self.is_complete else 3) * self.model.n_features

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        loop = loops.squares if self.is_complete else loops.seen_squares
        loop(X, start, n, self.model.location, buffers)
        return buffers[:n]

    def cells(self, moments):
        mean, variance = gaussian_diagonal.mean_and_variance(moments)
        precision = 1.0 / variance
        return -0.5 * (np.log(variance) + LOG_2PI + mean**2 * precision), mean * precision, -0.5 * precision

    def of_cells(self, log_mass, constant, linear, quadratic):
        if self.is_complete:
            return log_mass + constant.sum(axis=1), np.hstack([linear, quadratic]).T.copy()
        return log_mass, np.hstack([constant, linear, quadratic]).T.copy()

    def record(self, mass, out):
        blocks = np.split(out.T, 2 if self.is_complete else 3, axis=1)
        weight = [self.model.spread(mass)] if self.is_complete else []
        return gaussian_diagonal.Moments(mass, *weight, *(block.copy() for block in blocks))

    def kernel(self):
        if not isinstance(self.X, np.ndarray):
            return None
        return "squares" if self.is_complete else "seen_squares", self.X, self.model.location


class ValueForm(Form):
    """phi = x, or (seen, x) where cells are missing: Bernoulli and Poisson columns. Sparse rows without missing cells stay sparse."""

    def _prepare(self) -> None:
        self.is_sparse = self.is_complete and not isinstance(self.X, np.ndarray)
        self.size = (1 if self.is_complete else 2) * self.model.n_features

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
        scores = np.empty((phi[1], self.model.n_outcomes))
        loops.sparse_scores(self.X.indptr, self.X.indices, self.X.data, *phi, theta, scores)
        return scores

    def add(self, phi, weights, theta, out):
        if not self.is_sparse:
            super().add(phi, weights, theta, out)
            return
        loops.sparse_sums(self.X.indptr, self.X.indices, self.X.data, *phi, weights, out)

    def of_cells(self, log_mass, constant, linear):
        if self.is_complete:
            return log_mass + constant.sum(axis=1), linear.T.copy()
        return log_mass, np.hstack([constant, linear]).T.copy()

    def seen_and_sum(self, mass, out):
        if self.is_complete:
            return np.repeat(mass[:, None], self.model.n_features, axis=1), out.T.copy()
        return tuple(block.copy() for block in np.split(out.T, 2, axis=1))

    def kernel(self):
        if self.is_sparse:
            return "words", (self.X.indptr, self.X.indices, self.X.data), NOTHING
        if not isinstance(self.X, np.ndarray) or not self.X.flags.c_contiguous:
            return None
        return "values" if self.is_complete else "seen_values", self.X, NOTHING


class PoissonForm(ValueForm):
    def cells(self, moments):
        rate = poisson.rates(moments)
        return -rate, safe_log(rate)

    def record(self, mass, out):
        return poisson.Moments(mass, *self.seen_and_sum(mass, out))


class BernoulliForm(ValueForm):
    def cells(self, moments):
        logs = safe_log(self.model.probabilities(moments)).T
        return logs[:, ::2], logs[:, 1::2] - logs[:, ::2]

    def record(self, mass, out):
        seen, on = self.seen_and_sum(mass, out)
        off = seen - on
        off[np.abs(off) < 1e-12 * np.abs(seen)] = 0.0  # rounding
        count = np.stack([off, on], axis=2).reshape(len(mass), -1).T
        return categorical.Moments(mass, count, self.model.block_sums(count))


class CategoricalForm(Form):
    """phi = one-hot of every column, never made: sums run over the cells of a row."""

    def _prepare(self) -> None:
        if not isinstance(self.X, np.ndarray):
            self.X = self.X.toarray()
        self.size = int(self.model.n_categories.sum())  # type: ignore[attr-defined]

    @property
    def chunk(self) -> int:
        return 4096

    def buffers(self):
        return None

    def read(self, first, n, buffers):
        return first, n

    def cells(self, moments):
        return (safe_log(self.model.probabilities(moments)),)

    def of_cells(self, log_mass, logits):
        return log_mass, np.ascontiguousarray(logits)

    def scores(self, phi, theta):
        scores = np.empty((phi[1], self.model.n_outcomes))
        loops.category_scores(self.X, *phi, self.model.offset, theta, scores)
        return scores

    def add(self, phi, weights, theta, out):
        loops.category_sums(self.X, *phi, self.model.offset, weights, out)

    def record(self, mass, out):
        return categorical.Moments(mass, out.copy(), self.model.block_sums(out))

    def kernel(self):
        return "categories", self.X, self.model.offset


class MultinomialForm(ValueForm):
    """phi = the counts of a sparse row."""

    def _prepare(self) -> None:
        self.is_sparse, self.is_complete, self.size = True, True, self.model.n_features

    def cells(self, moments):
        return (safe_log(moments.count / np.maximum(moments.weight, TINY)),)

    def of_cells(self, log_mass, logits):
        return log_mass, np.ascontiguousarray(logits)

    def record(self, mass, out):
        return multinomial.Moments(mass, out.copy())


class FullForm(Form):
    """phi = (z, upper triangle of z z'); scores by whitening, which rounds less than the expanded square."""

    def _prepare(self) -> None:
        d = self.model.n_features
        self.size = d + d * (d + 1) // 2
        self.triangle = np.triu_indices(d)

    @property
    def chunk(self) -> int:
        return min(max(CACHE // (self.model.n_features * self.model.n_outcomes), 64), 1024)

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        loops.products(X, start, n, self.model.location, buffers)
        return buffers[:n]

    def coefficients(self, moments):
        mean, covariance = gaussian_full.mean_and_covariance(moments)
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)).transpose(0, 2, 1)
        with np.errstate(divide="ignore"):
            return self.of_whitening(log_masses(moments), log_density(whitening), mean, whitening)

    def of_whitening(self, log_mass, constant, mean, whitening):
        """Scores are log_mass + constant - 1/2 |(z - mean)' whitening|^2."""
        side_by_side = np.ascontiguousarray(whitening.transpose(1, 0, 2).reshape(self.model.n_features, -1))
        return log_mass + constant, (side_by_side, np.einsum("ka,kab->kb", mean, whitening))

    def scores(self, phi, theta):
        side_by_side, centres = theta
        scores = np.empty((len(phi), self.model.n_outcomes))
        loops.whitened_scores(phi[:, : self.model.n_features] @ side_by_side, centres, scores)
        return scores

    def square(self, packed: np.ndarray) -> np.ndarray:
        """Upper triangles (outcomes by pairs) as symmetric matrices."""
        d = self.model.n_features
        full = np.empty((len(packed), d, d))
        full[:, self.triangle[0], self.triangle[1]] = packed
        full[:, self.triangle[1], self.triangle[0]] = packed
        return full

    def record(self, mass, out):
        d = self.model.n_features
        return gaussian_full.Moments(mass, mass.copy(), out[:d].T.copy(), self.square(out[d:].T))

    def kernel(self):
        return ("products", self.X, self.model.location) if isinstance(self.X, np.ndarray) else None


class TiedForm(Form):
    """phi = z. The second moments of all outcomes together depend on the rows' total weights alone."""

    def _prepare(self) -> None:
        self.size = self.model.n_features

    def zeros(self):
        d = self.model.n_features
        return np.zeros((d, self.model.n_outcomes + d))

    def read(self, first, n, buffers):
        X, start = self.rows(first, n)
        np.subtract(X[start : start + n], self.model.location, out=buffers[:n])
        return buffers[:n]

    def coefficients(self, moments):
        mean, covariance = gaussian_tied.mean_and_covariance(moments)
        whitening = np.linalg.inv(np.linalg.cholesky(covariance)).T
        with np.errstate(divide="ignore"):
            return self.of_whitening(log_masses(moments), log_density(whitening), mean, whitening)

    def of_whitening(self, log_mass, constant, mean, whitening):
        centres = mean @ whitening
        return log_mass + constant - 0.5 * (centres**2).sum(axis=1), (whitening, np.ascontiguousarray(centres.T))

    def scores(self, phi, theta):
        whitening, centres = theta
        white = phi @ whitening
        scores = white @ centres
        scores -= 0.5 * np.einsum("ij,ij->i", white, white)[:, None]
        return scores

    def add(self, phi, weights, theta, out):
        K = self.model.n_outcomes
        out[:, :K] += phi.T @ weights
        total = weights.sum(axis=1)
        out[:, K:] += (total[:, None] * phi).T @ phi

    def record(self, mass, out):
        K = self.model.n_outcomes
        second = 0.5 * (out[:, K:] + out[:, K:].T)
        return gaussian_tied.Moments(mass, mass.copy(), out[:, :K].T.copy(), second)

    def kernel(self):
        return ("differences", self.X, self.model.location) if isinstance(self.X, np.ndarray) else None


class CompletedForm(Form):
    """Correlated columns with missing cells: statistics are expectations given the observed cells under the same moments."""

    def _prepare(self) -> None:
        K = self.model.n_outcomes
        self.shapes = [np.shape(array) for array in self._empty(K).arrays()[1:]]
        self.size = sum(int(np.prod(shape)) for shape in self.shapes)

    def _empty(self, K: int):
        d = self.model.n_features
        return self.model.statistics(np.zeros((0, d)), np.zeros(0, dtype=np.int64), np.zeros(0))

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
        with np.errstate(divide="ignore"):
            constant = log_masses(moments)
        return constant, (self._even(moments), np.zeros(self.model.n_outcomes))

    def of_whitening(self, log_mass, constant, mean, whitening):
        """Scores are log_mass + constant - 1/2 |(z - mean)' whitening|^2, integrated over the missing cells."""
        K = self.model.n_outcomes
        covariance = np.linalg.inv(whitening @ np.swapaxes(whitening, -1, -2))
        module: Any = gaussian_full if covariance.ndim == 3 else gaussian_tied
        moments = module.from_parameters(np.ones(K), np.ones(K), mean, covariance)
        return log_mass, (moments, constant - log_density(whitening))

    def _even(self, moments):
        return replace(moments, mass=np.ones(self.model.n_outcomes))

    def scores(self, phi, theta):
        moments, extra = theta  # extra: what a row with an observed cell adds
        scores = self.model.log_joint(moments, phi) + np.log(self.model.n_outcomes)
        return scores + np.where(np.isnan(phi).all(axis=1)[:, None], 0.0, extra)

    def add(self, phi, weights, theta, out):
        statistics = self.model.completed_statistics(phi, weights, theta[0])
        out += np.concatenate([np.ravel(array) for array in statistics.arrays()[1:]])

    def record(self, mass, out):
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        arrays = [part.reshape(shape) for part, shape in zip(np.split(out, cuts), self.shapes, strict=True)]
        return type(self._empty(len(mass)))(mass, *arrays)


class MixedForm(Form):
    """The forms of the three kinds of columns, side by side."""

    def _prepare(self) -> None:
        parts = [np.ascontiguousarray(part) for part in self.model.split(self.X)]  # type: ignore[attr-defined]
        self.parts = [
            make(model, part)
            for make, model, part in zip(
                (DiagonalForm, CategoricalForm, PoissonForm),
                self.model.models,  # type: ignore[attr-defined]
                parts,
                strict=True,
            )
        ]
        self.size = sum(part.size for part in self.parts)

    def some(self, rows) -> MixedForm:
        made = MixedForm(self.model, self.X[rows], self.is_complete)
        made.parts, made.size = [part.some(rows) for part in self.parts], self.size
        return made

    @property
    def chunk(self) -> int:
        return min(part.chunk for part in self.parts)

    def buffers(self):
        return [part.buffers() for part in self.parts]

    def read(self, first, n, buffers):
        return [part.read(first, n, own) for part, own in zip(self.parts, buffers, strict=True)]

    def cells(self, moments):
        return tuple(part.cells(own) for part, own in zip(self.parts, moments.parts, strict=True))

    def of_cells(self, log_mass, *cells):
        nothing = np.zeros_like(log_mass)
        made = [part.of_cells(nothing, *own) for part, own in zip(self.parts, cells, strict=True)]
        return log_mass + sum(constant for constant, _ in made), [theta for _, theta in made]

    def scores(self, phi, theta):
        return sum(part.scores(own, part_theta) for part, own, part_theta in zip(self.parts, phi, theta, strict=True))

    def add(self, phi, weights, theta, out):
        first = 0
        for part, own, part_theta in zip(self.parts, phi, theta, strict=True):
            part.add(own, weights, part_theta, out[first : first + part.size])
            first += part.size

    def record(self, mass, out):
        cuts = np.cumsum([part.size for part in self.parts])[:-1]
        blocks = np.split(out, cuts)
        return mixed.joined(*(part.record(mass, block) for part, block in zip(self.parts, blocks, strict=True)))


FORMS = {
    gaussian_diagonal.GaussianDiagonal: DiagonalForm,
    gaussian_full.GaussianFull: FullForm,
    gaussian_tied.GaussianTied: TiedForm,
    categorical.Categorical: CategoricalForm,
    categorical.Bernoulli: BernoulliForm,
    multinomial.Multinomial: MultinomialForm,
    poisson.Poisson: PoissonForm,
    mixed.Mixed: MixedForm,
}


def form_of(model: Model, X) -> Form:
    """The form of a model over rows X."""
    is_complete = not any_missing(X)
    kind = next(FORMS[cls] for cls in type(model).__mro__ if cls in FORMS)
    if not is_complete and kind in (FullForm, TiedForm):
        kind = CompletedForm
    return kind(model, X, is_complete)
