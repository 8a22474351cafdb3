r"""Unconstrained coordinates of a model, for minimisers that know nothing of domains.

    masses            logit pi
    Gaussian          m,  log v             (spherical: one log v; correlated: the factor L of the precision L L', log on its diagonal)
    categories, words logit q
    Poisson           log rate

`gradient(vector, statistics)` is the gradient of <theta, statistics> (`Model.log_likelihood`, theta normalised), linear in the
statistics: with the signed statistics of a loss it is minus the loss's gradient, with pseudo-statistics that of the log prior. Numbers
are taken in units of a typical deviation of their column, so the units of the data do not matter to the minimiser.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from . import categorical, gaussian_diagonal, gaussian_full, gaussian_tied, mixed, multinomial, poisson
from .base import Model, log_masses
from .component_priors import typical_of
from .forms import log_density
from .gaussian_diagonal import LOG_2PI
from .gaussian_spherical import GaussianSpherical

LIMIT = 60.0  # logarithms stay within it


def clipped_exp(logs: np.ndarray) -> np.ndarray:
    return np.exp(np.clip(logs, -LIMIT, LIMIT))


class Coordinates:
    """Of the masses; subclasses add their own blocks, a list of arrays (`blocks`, `record`, `slopes`)."""

    def __init__(self, model: Model, moments):
        self.model = model
        self._prepare(moments)
        self.shapes = [np.shape(block) for block in self._all(moments)]
        self.cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]

    def _prepare(self, moments) -> None:
        pass

    def _all(self, moments) -> list[np.ndarray]:
        return [log_masses(moments), *self.blocks(moments)]

    def split(self, vector: np.ndarray) -> list[np.ndarray]:
        return [part.reshape(shape) for part, shape in zip(np.split(vector, self.cuts), self.shapes, strict=True)]

    def vector(self, moments) -> np.ndarray:
        return np.concatenate([np.ravel(block) for block in self._all(moments)])

    def moments(self, vector: np.ndarray):
        """Of total mass one."""
        logits, *blocks = self.split(vector)
        return self.record(softmax(logits), blocks)

    def coefficients(self, vector: np.ndarray, form):
        """What the form's scores need, without a detour over moments where that would round (small variances, far means)."""
        return form.coefficients(self.moments(vector))

    def log_likelihood(self, vector: np.ndarray, statistics) -> float:
        """<theta, statistics>."""
        return self.model.log_likelihood(statistics, self.moments(vector))

    def gradient(self, vector: np.ndarray, statistics) -> np.ndarray:
        logits, *blocks = self.split(vector)
        masses = statistics.mass - softmax(logits) * statistics.mass.sum()
        return np.concatenate([masses, *(np.ravel(slope) for slope in self.slopes(blocks, statistics))])

    def blocks(self, moments) -> list[np.ndarray]:
        raise NotImplementedError

    def record(self, mass: np.ndarray, blocks: list[np.ndarray]) -> Any:
        raise NotImplementedError

    def slopes(self, blocks: list[np.ndarray], statistics) -> list[np.ndarray]:
        raise NotImplementedError


def softmax(logits: np.ndarray) -> np.ndarray:
    shares = clipped_exp(logits - logits.max())
    return shares / shares.sum()


class DiagonalCoordinates(Coordinates):
    """Means and log variances, in units of typical deviations."""

    def _prepare(self, moments):
        self.unit = np.sqrt(typical_of(self.model, moments))
        self.is_spherical = isinstance(self.model, GaussianSpherical)

    def blocks(self, moments):
        mean, variance = gaussian_diagonal.mean_and_variance(moments)
        if self.is_spherical:
            return [mean / self.unit, np.log(variance.mean(axis=1)) - 2 * np.log(self._common)]
        return [mean / self.unit, np.log(variance) - 2 * np.log(self.unit)]

    @property
    def _common(self) -> float:
        return float(np.exp(np.log(self.unit).mean()))

    def _variance(self, logs) -> np.ndarray:
        """In units of the columns."""
        if self.is_spherical:
            return clipped_exp(logs)[:, None] * (self._common / self.unit) ** 2
        return clipped_exp(logs)

    def record(self, mass, blocks):
        mean, variance = blocks[0] * self.unit, self._variance(blocks[1]) * self.unit**2
        return gaussian_diagonal.from_parameters(mass, self.model.spread(mass), mean, variance)

    def coefficients(self, vector, form):
        logits, *blocks = self.split(vector)
        mean, variance = blocks[0] * self.unit, self._variance(blocks[1]) * self.unit**2
        constant = -0.5 * (np.log(variance) + LOG_2PI + mean**2 / variance)
        return form.of_cells(np.log(softmax(logits)), constant, mean / variance, -0.5 / variance)

    def log_likelihood(self, vector, statistics):
        logits, *blocks = self.split(vector)
        mean, variance = blocks[0] * self.unit, self._variance(blocks[1]) * self.unit**2
        squares = statistics.second - 2 * mean * statistics.first + mean**2 * statistics.weight
        cells = statistics.weight * (np.log(variance) + LOG_2PI) + squares / variance
        return float(statistics.mass @ np.log(softmax(logits)) - 0.5 * cells.sum())

    def slopes(self, blocks, statistics):
        mean, variance = blocks[0], self._variance(blocks[1])
        weight, first, second = statistics.weight, statistics.first / self.unit, statistics.second / self.unit**2
        squares = second - 2 * mean * first + mean**2 * weight
        spread = 0.5 * (squares / variance - weight)
        return [(first - mean * weight) / variance, spread.sum(axis=1) if self.is_spherical else spread]


class FullCoordinates(Coordinates):
    """Means and lower factors of the precisions (logarithms on their diagonals), in units of typical deviations; also tied ones."""

    def _prepare(self, moments):
        self.unit = np.sqrt(typical_of(self.model, moments))
        self.is_tied = isinstance(self.model, gaussian_tied.GaussianTied)
        self.lower = np.tril_indices(self.model.n_features)
        self.diagonal = self.lower[0] == self.lower[1]

    @property
    def _module(self) -> Any:
        return gaussian_tied if self.is_tied else gaussian_full

    def blocks(self, moments):
        mean, covariance = self._module.mean_and_covariance(moments)
        covariance = np.reshape(covariance, (-1, *covariance.shape[-2:])) / np.outer(self.unit, self.unit)
        factor = np.linalg.cholesky(np.linalg.inv(covariance))
        packed = factor[:, self.lower[0], self.lower[1]]
        packed[:, self.diagonal] = np.log(packed[:, self.diagonal])
        return [mean / self.unit, packed]

    def _factors(self, packed: np.ndarray) -> np.ndarray:
        d = self.model.n_features
        factors = np.zeros((len(packed), d, d))
        values = np.where(self.diagonal, clipped_exp(0.5 * packed) ** 2, packed)
        factors[:, self.lower[0], self.lower[1]] = values
        return factors

    def record(self, mass, blocks):
        factors = self._factors(blocks[1])
        inverse = np.linalg.inv(factors)
        covariance = inverse.transpose(0, 2, 1) @ inverse * np.outer(self.unit, self.unit)
        covariance = covariance[0] if self.is_tied else covariance
        return self._module.from_parameters(mass, mass.copy(), blocks[0] * self.unit, covariance)

    def coefficients(self, vector, form):
        logits, *blocks = self.split(vector)
        whitening = self._factors(blocks[1]) / self.unit[:, None]
        whitening = whitening[0] if self.is_tied else whitening
        return form.of_whitening(np.log(softmax(logits)), log_density(whitening), blocks[0] * self.unit, whitening)

    def log_likelihood(self, vector, statistics):
        logits, *blocks = self.split(vector)
        factors = self._factors(blocks[1])
        scatter, total = self._scatter(blocks[0], statistics)
        whitened = factors.transpose(0, 2, 1) @ scatter @ factors
        spread = total @ log_density(factors / self.unit[:, None]) - 0.5 * np.einsum("kaa->", whitened)
        return float(statistics.mass @ np.log(softmax(logits)) + spread)

    def _scatter(self, mean, statistics) -> tuple[np.ndarray, np.ndarray]:
        """Squares about the means in units of the columns, and their weights: for every outcome, or for all together."""
        weight, first = statistics.weight, statistics.first / self.unit
        second = statistics.second / np.outer(self.unit, self.unit)
        cross = mean[:, :, None] * first[:, None, :]
        own = weight[:, None, None] * gaussian_full.outer(mean)
        if self.is_tied:
            scatter = second - (cross + cross.transpose(0, 2, 1)).sum(axis=0) + own.sum(axis=0)
            return scatter[None], np.array([weight.sum()])
        return second - cross - cross.transpose(0, 2, 1) + own, weight

    def slopes(self, blocks, statistics):
        mean, factors = blocks[0], self._factors(blocks[1])
        weight, first = statistics.weight, statistics.first / self.unit
        scatter, total = self._scatter(mean, statistics)
        d = self.model.n_features
        precision = np.broadcast_to(factors @ factors.transpose(0, 2, 1), (len(mean), d, d))
        means = np.einsum("kab,kb->ka", precision, first - weight[:, None] * mean)
        slope = -(scatter @ factors)[:, self.lower[0], self.lower[1]]
        own_factor = factors[:, self.lower[0], self.lower[1]]
        slope = np.where(self.diagonal, slope * own_factor + total[:, None], slope)
        return [means, slope]


class CategoryCoordinates(Coordinates):
    """Logits of categories, or of words (one column of many)."""

    def _sums(self, cells: np.ndarray) -> np.ndarray:
        """Sums over a column's categories, in the place of each of them."""
        if isinstance(self.model, multinomial.Multinomial):
            return np.broadcast_to(cells.sum(axis=0), cells.shape)
        return self.model.block_sums(cells)[self.model.column_of]  # type: ignore[attr-defined]

    def _shares(self, logits: np.ndarray) -> np.ndarray:
        if isinstance(self.model, multinomial.Multinomial):
            top = np.broadcast_to(logits.max(axis=0), logits.shape)
        else:
            top = np.maximum.reduceat(logits, self.model.offset, axis=0)[self.model.column_of]  # type: ignore[attr-defined]
        shares = clipped_exp(logits - top)
        return shares / self._sums(shares)

    def blocks(self, moments):
        if not len(moments.count):
            return [moments.count]
        return [np.log(moments.count / self._sums(moments.count))]

    def record(self, mass, blocks):
        if not len(blocks[0]):
            return categorical.Moments(mass, blocks[0], self.model.spread(mass))
        shares = self._shares(blocks[0])
        if isinstance(self.model, multinomial.Multinomial):
            return multinomial.Moments(mass, mass * self.model.length * shares)
        return categorical.Moments(mass, mass * shares, self.model.spread(mass))

    def slopes(self, blocks, statistics):
        if not len(blocks[0]):
            return [blocks[0]]
        return [statistics.count - self._shares(blocks[0]) * self._sums(statistics.count)]


class PoissonCoordinates(Coordinates):
    """Log rates."""

    def blocks(self, moments):
        return [np.log(poisson.rates(moments))]

    def record(self, mass, blocks):
        weight = self.model.spread(mass)
        return poisson.Moments(mass, weight, weight * clipped_exp(blocks[0]))

    def slopes(self, blocks, statistics):
        return [statistics.count - statistics.weight * clipped_exp(blocks[0])]


class MixedCoordinates(Coordinates):
    """The blocks of the three kinds of columns, side by side."""

    def _prepare(self, moments):
        kinds = (DiagonalCoordinates, CategoryCoordinates, PoissonCoordinates)
        parts = zip(kinds, self.model.models, moments.parts, strict=True)
        self.parts = [kind(model, own) for kind, model, own in parts]
        self.counts = [len(part.blocks(own)) for part, own in zip(self.parts, moments.parts, strict=True)]

    def _own(self, blocks: list) -> list[list]:
        ends = np.cumsum([0, *self.counts])
        return [blocks[first:last] for first, last in pairwise(ends)]

    def blocks(self, moments):
        parts = zip(self.parts, moments.parts, strict=True)
        return [block for part, own in parts for block in part.blocks(own)]

    def record(self, mass, blocks):
        return mixed.joined(*(part.record(mass, own) for part, own in zip(self.parts, self._own(blocks), strict=True)))

    def slopes(self, blocks, statistics):
        parts = zip(self.parts, self._own(blocks), statistics.parts, strict=True)
        return [slope for part, own, given in parts for slope in part.slopes(own, given)]


KINDS = {
    gaussian_diagonal.GaussianDiagonal: DiagonalCoordinates,
    gaussian_full.GaussianFull: FullCoordinates,
    gaussian_tied.GaussianTied: FullCoordinates,
    categorical.Categorical: CategoryCoordinates,
    multinomial.Multinomial: CategoryCoordinates,
    poisson.Poisson: PoissonCoordinates,
    mixed.Mixed: MixedCoordinates,
}


def coordinates_of(model: Model, moments) -> Coordinates:
    """Coordinates around some moments, which set the units."""
    return next(KINDS[cls] for cls in type(model).__mro__ if cls in KINDS)(model, moments)
