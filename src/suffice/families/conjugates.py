r"""Conjugate posteriors of a family's parameters (variational Bayes).

    Gaussian, independent       normal-gamma:    lambda ~ Gamma(shape, rate),  m | lambda ~ N(mean, 1 / (kappa lambda))
    Gaussian, correlated        normal-Wishart:  Lambda ~ W(dof, inv(scatter)),  m | Lambda ~ N(mean, inv(kappa Lambda))
    categories, words           Dirichlet
    Poisson                     gamma

The priors are weak and in the units of the data: one pseudo-row of a typical variance or frequency; the prior of a mean is as
wide as the data. `structures.posterior` adds the Dirichlet of the masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, multigammaln
from typing_extensions import override

from .forms import LOG_2PI

HELD = 1e-14  # of a squared mean: moments hold no smaller variance


def dirichlet_divergence(a: np.ndarray, b: np.ndarray) -> float:
    """KL(Dir(a) | Dir(b)) of vectors, or summed over the columns of matrices."""
    total = a.sum(axis=0)
    norms = gammaln(total) - gammaln(b.sum(axis=0)) - (gammaln(a) - gammaln(b)).sum(axis=0)
    return float(np.sum(norms + ((a - b) * (digamma(a) - digamma(total))).sum(axis=0)))


def gamma_divergence(shape, rate, shape0, rate0) -> float:
    terms = (shape - shape0) * digamma(shape) - gammaln(shape) + gammaln(shape0)
    with np.errstate(over="ignore"):  # as far as can be said: a divergence that is infinite is never the least
        return float(np.sum(terms + shape0 * (np.log(rate) - np.log(rate0)) + shape * (rate0 - rate) / rate))


def log_determinant(matrices: np.ndarray) -> np.ndarray:
    """NaN where it is not positive."""
    sign, value = np.linalg.slogdet(matrices)
    return np.where(sign > 0, value, np.nan)


@dataclass(frozen=True, eq=False)
class Conjugate:
    """A prior of a family's parameters. A posterior is a tuple of arrays, its hyperparameters."""

    family: Any
    hyper: tuple

    def updated(self, statistics) -> tuple:
        """The posterior after data with these statistics."""
        raise NotImplementedError

    def coefficients(self, arrays: tuple, form) -> tuple:
        """(constant, theta) of the form whose scores are E[log p(x | k)] under the posterior."""
        return form.of_cells(*self.cells(arrays))

    def cells(self, arrays: tuple) -> tuple:
        raise NotImplementedError

    def divergence(self, arrays: tuple) -> float:
        """KL(posterior | prior)."""
        raise NotImplementedError

    def mean_moments(self, arrays: tuple, mass: np.ndarray):
        """Moments at the posterior means, of mass[k] examples of every outcome."""
        raise NotImplementedError


class NormalGamma(Conjugate):
    """hyper = (kappa, shape, rate of every column); spherical: one precision for all columns of a component."""

    @override
    def updated(self, statistics):
        kappa0, shape0, rate0 = self.hyper
        kappa = kappa0 + statistics.weight
        mean = statistics.first / kappa
        scatter = np.maximum(statistics.second - kappa * mean**2, 0.0)
        weight = statistics.weight
        if self.family.is_spherical:
            weight, scatter = weight.sum(axis=1, keepdims=True), scatter.sum(axis=1, keepdims=True)
        return kappa, mean, shape0 + 0.5 * weight, rate0 + 0.5 * scatter

    @override
    def cells(self, arrays):
        kappa, mean, shape, rate = arrays
        precision = np.broadcast_to(shape / rate, mean.shape)
        log_precision = np.broadcast_to(digamma(shape) - np.log(rate), mean.shape)
        constant = 0.5 * (log_precision - LOG_2PI - precision * mean**2 - 1.0 / kappa)
        return constant, precision * mean, -0.5 * precision

    @override
    def divergence(self, arrays):
        kappa, mean, shape, rate = arrays
        kappa0, shape0, rate0 = self.hyper
        means = np.log(kappa / kappa0) + kappa0 / kappa - 1 + kappa0 * (shape / rate) * mean**2
        rate0 = np.broadcast_to(rate0, np.shape(rate))
        return 0.5 * float(means.sum()) + gamma_divergence(shape, rate, shape0, rate0)

    @override
    def mean_moments(self, arrays, mass):
        _, mean, shape, rate = arrays
        variance = np.maximum(rate / shape, HELD * mean**2)
        return self.family.from_parameters(self.family.weight_of(mass), mean, variance)


class NormalWishart(Conjugate):
    """hyper = (kappa, dof, scatter); tied: one precision matrix for all components."""

    def _own(self, matrices: np.ndarray) -> np.ndarray:
        return matrices[0] if self.family.is_tied else matrices

    @override
    def updated(self, statistics):
        kappa0, dof0, scatter0 = self.hyper
        kappa = kappa0 + statistics.weight
        mean = statistics.first / kappa[:, None]
        if self.family.is_tied:
            dof = np.array([dof0 + statistics.weight.sum()])
            scatter = (scatter0 + statistics.second - (kappa[:, None] * mean).T @ mean)[None]
        else:
            dof = dof0 + statistics.weight
            scatter = scatter0 + statistics.second - kappa[:, None, None] * (mean[:, :, None] * mean[:, None, :])
        return kappa, mean, dof, scatter

    def _log_precision(self, dof, scatter) -> np.ndarray:
        d = self.family.n_features
        parts = digamma(0.5 * (dof[:, None] - np.arange(d))).sum(axis=1)
        return parts + d * np.log(2.0) - log_determinant(scatter)

    @override
    def coefficients(self, arrays, form):
        kappa, mean, dof, scatter = arrays
        d = self.family.n_features
        whitening = np.linalg.inv(np.linalg.cholesky(scatter / dof[:, None, None])).transpose(0, 2, 1)
        constant = 0.5 * (self._log_precision(dof, scatter) - d * LOG_2PI - d / kappa)
        return form.of_whitening(constant, mean, self._own(whitening))

    @override
    def divergence(self, arrays):
        kappa, mean, dof, scatter = arrays
        kappa0, dof0, scatter0 = self.hyper
        d = self.family.n_features
        inverse = np.linalg.inv(scatter)
        precision = np.broadcast_to(dof[:, None, None] * inverse, (len(mean), d, d))
        reach = np.einsum("ka,kab,kb->k", mean, precision, mean)
        means = d * (np.log(kappa / kappa0) + kappa0 / kappa - 1) + kappa0 * reach
        norm = 0.5 * dof * log_determinant(scatter) - 0.5 * dof * d * np.log(2.0) - multigammaln_each(0.5 * dof, d)
        norm0 = 0.5 * dof0 * log_determinant(scatter0) - 0.5 * dof0 * d * np.log(2.0) - multigammaln(0.5 * dof0, d)
        spread = norm - norm0 + 0.5 * (dof - dof0) * self._log_precision(dof, scatter) - 0.5 * dof * d
        spread = spread + 0.5 * dof * np.einsum("ab,kba->k", scatter0, inverse)
        return 0.5 * float(means.sum()) + float(spread.sum())

    @override
    def mean_moments(self, arrays, mass):
        _, mean, dof, scatter = arrays
        covariance = scatter / dof[:, None, None]
        floor = HELD * (mean**2 if len(covariance) == len(mean) else (mean**2).max(axis=0, keepdims=True))
        places = np.arange(mean.shape[1])
        covariance[:, places, places] = np.maximum(covariance[:, places, places], floor)
        return self.family.from_parameters(mass.copy(), mean, self._own(covariance))


def multigammaln_each(values: np.ndarray, d: int) -> np.ndarray:
    return np.array([multigammaln(float(value), d) for value in values])


class Dirichlets(Conjugate):
    """hyper = (pseudo-counts of the cells). Categories, and words as one column of many categories: `family.columns_of(cells)`."""

    @override
    def updated(self, statistics):
        return (self.hyper[0][:, None] + statistics.count,)

    @override
    def cells(self, arrays):
        logs = [digamma(block) - digamma(block.sum(axis=0)) for block in self.family.columns_of(arrays[0])]
        return self.family.cells_of_logits(np.concatenate([arrays[0][:0], *logs]))

    @override
    def divergence(self, arrays):
        prior = np.broadcast_to(self.hyper[0][:, None], arrays[0].shape)
        pairs = zip(self.family.columns_of(arrays[0]), self.family.columns_of(prior), strict=True)
        return sum(dirichlet_divergence(a, b) for a, b in pairs)

    @override
    def mean_moments(self, arrays, mass):
        shares = [block / block.sum(axis=0) for block in self.family.columns_of(arrays[0])]
        return self.family.from_shares(np.concatenate([arrays[0][:0], *shares]), mass)


class Gammas(Conjugate):
    """hyper = (shape of every column, rate)."""

    @override
    def updated(self, statistics):
        shape0, rate0 = self.hyper
        weight, total = statistics.arrays()
        return shape0 + total, rate0 + weight

    @override
    def cells(self, arrays):
        shape, rate = arrays
        return -shape / rate, digamma(shape) - np.log(rate)

    @override
    def divergence(self, arrays):
        shape, rate = arrays
        shape0, rate0 = (np.broadcast_to(value, shape.shape) for value in self.hyper)
        return gamma_divergence(shape, rate, shape0, rate0)

    @override
    def mean_moments(self, arrays, mass):
        shape, rate = arrays
        return self.family.from_means(self.family.weight_of(mass), shape / rate)


def wide(within, squares, weight) -> tuple[float, np.ndarray]:
    """kappa, the pseudo-rows of a mean, so that its prior is as wide as the data; and variances half-way (in logs) to the data's own.

    The parts of a first partition are narrower than components should be where there are more of them than the rows need.
    """
    overall = np.maximum(squares / np.maximum(weight, 1e-300), within)
    return float(np.clip(np.mean(within / overall), 1e-3, 1.0)), np.sqrt(within) * np.sqrt(overall)
