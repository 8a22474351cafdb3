r"""Unconstrained coordinates of a family, for minimisers that know nothing of domains.

    Gaussian          m,  log v             (spherical: one log v; correlated: the factor L of the precision L L', log on its diagonal)
    categories, words logit q
    Poisson           log rate

`slopes(blocks, statistics)` is the gradient of <theta, statistics> - A, linear in the statistics: with the signed statistics of a loss
it is minus the loss's gradient, with pseudo-statistics that of the log prior. Numbers are taken in units of a typical deviation
of their column, so the units of the data do not matter to the minimiser. `structures.chart` puts families side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from .forms import LOG_2PI
from .forms_correlated import log_peak

LIMIT = 60.0  # logarithms stay within it


def clipped(logs: np.ndarray) -> np.ndarray:
    return np.clip(logs, -LIMIT, LIMIT)


def clipped_exp(logs: np.ndarray) -> np.ndarray:
    return np.exp(clipped(logs))


class Chart:
    """Coordinates around some moments, which set the units: a list of arrays, `blocks`."""

    def __init__(self, family, moments):
        self.family = family
        self._prepare(moments)

    def _prepare(self, moments) -> None:
        pass

    def blocks(self, moments) -> list[np.ndarray]:
        raise NotImplementedError

    def record(self, blocks: list[np.ndarray], mass: np.ndarray) -> Any:
        """Moments of these coordinates, of mass[k] examples of every outcome."""
        raise NotImplementedError

    def slopes(self, blocks: list[np.ndarray], statistics) -> list[np.ndarray]:
        raise NotImplementedError

    def coefficients(self, blocks: list[np.ndarray], mass: np.ndarray, form) -> tuple:
        """What the form's scores need, without a detour over moments where that would round (small variances, far means)."""
        return form.coefficients(self.record(blocks, mass))

    def log_likelihood(self, blocks: list[np.ndarray], mass: np.ndarray, statistics) -> float:
        return self.family.log_likelihood(statistics, self.record(blocks, mass))


class CellChart(Chart):
    """Of `columns.Columns`: the coefficients of its statistics, by the family's own pair of maps."""

    @override
    def blocks(self, moments):
        return list(self.family.unconstrained(*self.family.coefficients(*self.family.means_of(moments))))

    def _means(self, blocks) -> tuple:
        return self.family.means(*self.family.constrained(*blocks))

    @override
    def record(self, blocks, mass):
        return self.family.from_means(self.family.weight_of(mass), *self._means(blocks))

    @override
    def slopes(self, blocks, statistics):
        weight, *sums = statistics.arrays()
        gradients = tuple(own - weight * mean for own, mean in zip(sums, self._means(blocks), strict=True))
        return list(self.family.chained(tuple(blocks), gradients))


class DiagonalChart(Chart):
    """Means and log variances, in units of typical deviations; spherical: one log variance for all columns of an outcome."""

    @override
    def _prepare(self, moments):
        self.unit = np.sqrt(self.family.typical(moments))
        self.is_spherical = self.family.is_spherical

    @override
    def blocks(self, moments):
        mean, variance = self.family.parameters(moments)
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

    def _parameters(self, blocks) -> tuple[np.ndarray, np.ndarray]:
        return blocks[0] * self.unit, self._variance(blocks[1]) * self.unit**2

    @override
    def record(self, blocks, mass):
        return self.family.from_parameters(self.family.weight_of(mass), *self._parameters(blocks))

    @override
    def coefficients(self, blocks, mass, form):
        mean, variance = self._parameters(blocks)
        constant = -0.5 * (np.log(variance) + LOG_2PI + mean**2 / variance)
        return form.of_cells(constant, mean / variance, -0.5 / variance)

    @override
    def log_likelihood(self, blocks, mass, statistics):
        mean, variance = self._parameters(blocks)
        squares = statistics.second - 2 * mean * statistics.first + mean**2 * statistics.weight
        cells = statistics.weight * (np.log(variance) + LOG_2PI) + squares / variance
        return -0.5 * float(cells.sum())

    @override
    def slopes(self, blocks, statistics):
        mean, variance = blocks[0], self._variance(blocks[1])
        weight, first, second = statistics.weight, statistics.first / self.unit, statistics.second / self.unit**2
        squares = second - 2 * mean * first + mean**2 * weight
        spread = 0.5 * (squares / variance - weight)
        return [(first - mean * weight) / variance, spread.sum(axis=1) if self.is_spherical else spread]


class FullChart(Chart):
    """Means and lower factors of the precisions (logarithms on their diagonals), in units of typical deviations; tied: one factor."""

    @override
    def _prepare(self, moments):
        self.unit = np.sqrt(self.family.typical(moments))
        self.is_tied = self.family.is_tied
        self.lower = np.tril_indices(self.family.n_features)
        self.diagonal = self.lower[0] == self.lower[1]

    @override
    def blocks(self, moments):
        mean, covariance = self.family.parameters(moments)
        covariance = np.reshape(covariance, (-1, *covariance.shape[-2:])) / np.outer(self.unit, self.unit)
        factor = np.linalg.cholesky(np.linalg.inv(covariance))
        packed = factor[:, self.lower[0], self.lower[1]]
        packed[:, self.diagonal] = np.log(packed[:, self.diagonal])
        return [mean / self.unit, packed]

    def _factors(self, packed: np.ndarray) -> np.ndarray:
        d = self.family.n_features
        factors = np.zeros((len(packed), d, d))
        values = np.where(self.diagonal, clipped_exp(0.5 * packed) ** 2, packed)
        factors[:, self.lower[0], self.lower[1]] = values
        return factors

    def _own(self, matrices: np.ndarray) -> np.ndarray:
        return matrices[0] if self.is_tied else matrices

    @override
    def record(self, blocks, mass):
        inverse = np.linalg.inv(self._factors(blocks[1]))
        covariance = inverse.transpose(0, 2, 1) @ inverse * np.outer(self.unit, self.unit)
        return self.family.from_parameters(mass.copy(), blocks[0] * self.unit, self._own(covariance))

    @override
    def coefficients(self, blocks, mass, form):
        whitening = self._own(self._factors(blocks[1]) / self.unit[:, None])
        return form.of_whitening(log_peak(whitening), blocks[0] * self.unit, whitening)

    @override
    def log_likelihood(self, blocks, mass, statistics):
        factors = self._factors(blocks[1])
        scatter, total = self._scatter(blocks[0], statistics)
        whitened = factors.transpose(0, 2, 1) @ scatter @ factors
        return float(total @ log_peak(factors / self.unit[:, None]) - 0.5 * np.einsum("kaa->", whitened))

    def _scatter(self, mean, statistics) -> tuple[np.ndarray, np.ndarray]:
        """Squares about the means in units of the columns, and their weights: for every outcome, or for all together."""
        weight, first = statistics.weight, statistics.first / self.unit
        second = statistics.second / np.outer(self.unit, self.unit)
        cross = mean[:, :, None] * first[:, None, :]
        own = weight[:, None, None] * (mean[:, :, None] * mean[:, None, :])
        if self.is_tied:
            scatter = second - (cross + cross.transpose(0, 2, 1)).sum(axis=0) + own.sum(axis=0)
            return scatter[None], np.array([weight.sum()])
        return second - cross - cross.transpose(0, 2, 1) + own, weight

    @override
    def slopes(self, blocks, statistics):
        mean, factors = blocks[0], self._factors(blocks[1])
        weight, first = statistics.weight, statistics.first / self.unit
        scatter, total = self._scatter(mean, statistics)
        d = self.family.n_features
        precision = np.broadcast_to(factors @ factors.transpose(0, 2, 1), (len(mean), d, d))
        means = np.einsum("kab,kb->ka", precision, first - weight[:, None] * mean)
        slope = -(scatter @ factors)[:, self.lower[0], self.lower[1]]
        own_factor = factors[:, self.lower[0], self.lower[1]]
        slope = np.where(self.diagonal, slope * own_factor + total[:, None], slope)
        return [means, slope]


class LogitChart(Chart):
    """Logits of categories, or of words (one column of many). The family has `column_sums` and `column_maxima`: of the cells of a
    column, in the place of each of them."""

    def _shares(self, logits: np.ndarray) -> np.ndarray:
        shares = clipped_exp(logits - self.family.column_maxima(logits))
        return shares / self.family.column_sums(shares)

    @override
    def blocks(self, moments):
        return [np.log(moments.count / self.family.column_sums(moments.count))]

    @override
    def record(self, blocks, mass):
        return self.family.from_shares(self._shares(blocks[0]), mass)

    @override
    def slopes(self, blocks, statistics):
        return [statistics.count - self._shares(blocks[0]) * self.family.column_sums(statistics.count)]
