r"""Conjugate posteriors of the parameters of a mixture (variational Bayes).

    masses                      Dirichlet
    Gaussian, independent       normal-gamma:    lambda ~ Gamma(shape, rate),  m | lambda ~ N(mean, 1 / (kappa lambda))
    Gaussian, correlated        normal-Wishart:  Lambda ~ W(dof, inv(scatter)),  m | Lambda ~ N(mean, inv(kappa Lambda))
    categories, words           Dirichlet
    Poisson                     gamma

A family has `posterior(statistics)`, the expected scores `coefficients(q)` (in the shape its form takes), the divergence
KL(q | prior) and `mean_moments(q)`, the model at the posterior means. The priors are weak and in the units of the data: one pseudo-row
of a typical variance or frequency; the prior of a mean is as wide as the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, multigammaln

from . import categorical, gaussian_diagonal, gaussian_full, gaussian_tied, mixed, multinomial, poisson
from .base import Model
from .component_priors import typical_of
from .gaussian_diagonal import LOG_2PI
from .gaussian_spherical import GaussianSpherical


@dataclass(frozen=True, eq=False)
class Posterior:
    """Hyperparameters: of the masses, and the family's own."""

    mass: np.ndarray
    arrays: tuple


def dirichlet_divergence(a: np.ndarray, b: np.ndarray) -> float:
    """KL(Dir(a) | Dir(b)) of vectors, or summed over the columns of matrices."""
    total = a.sum(axis=0)
    norms = gammaln(total) - gammaln(b.sum(axis=0)) - (gammaln(a) - gammaln(b)).sum(axis=0)
    return float(np.sum(norms + ((a - b) * (digamma(a) - digamma(total))).sum(axis=0)))


def gamma_divergence(shape, rate, shape0, rate0) -> float:
    terms = (shape - shape0) * digamma(shape) - gammaln(shape) + gammaln(shape0)
    return float(np.sum(terms + shape0 * (np.log(rate) - np.log(rate0)) + shape * (rate0 - rate) / rate))


@dataclass(frozen=True, eq=False)
class Family:
    """A prior of one family. `form` turns expected cells into coefficients."""

    model: Model
    form: Any
    concentration: float
    hyper: tuple

    def posterior(self, statistics) -> Posterior:
        return Posterior(self.concentration + statistics.mass, self.updated(statistics))

    def coefficients(self, q: Posterior):
        log_mass = digamma(q.mass) - digamma(q.mass.sum())
        return self.expected(log_mass, q.arrays)

    def expected(self, log_mass, arrays):
        return self.form.of_cells(log_mass, *self.cells(arrays))

    def divergence(self, q: Posterior) -> float:
        prior = np.full_like(q.mass, self.concentration)
        return dirichlet_divergence(q.mass, prior) + self.own_divergence(q.arrays)

    def updated(self, statistics) -> tuple:
        raise NotImplementedError

    def cells(self, arrays) -> tuple:
        raise NotImplementedError

    def own_divergence(self, arrays) -> float:
        raise NotImplementedError

    def mean_moments(self, q: Posterior):
        raise NotImplementedError


class NormalGamma(Family):
    """hyper = (kappa, shape, rate of every column); spherical: one precision for all columns of a component."""

    @property
    def is_spherical(self) -> bool:
        return isinstance(self.model, GaussianSpherical)

    def updated(self, statistics):
        kappa0, shape0, rate0 = self.hyper
        kappa = kappa0 + statistics.weight
        mean = statistics.first / kappa
        scatter = np.maximum(statistics.second - kappa * mean**2, 0.0)
        weight = statistics.weight
        if self.is_spherical:
            weight, scatter = weight.sum(axis=1, keepdims=True), scatter.sum(axis=1, keepdims=True)
        return kappa, mean, shape0 + 0.5 * weight, rate0 + 0.5 * scatter

    def cells(self, arrays):
        kappa, mean, shape, rate = arrays
        precision = np.broadcast_to(shape / rate, mean.shape)
        log_precision = np.broadcast_to(digamma(shape) - np.log(rate), mean.shape)
        constant = 0.5 * (log_precision - LOG_2PI - precision * mean**2 - 1.0 / kappa)
        return constant, precision * mean, -0.5 * precision

    def own_divergence(self, arrays):
        kappa, mean, shape, rate = arrays
        kappa0, shape0, rate0 = self.hyper
        means = np.log(kappa / kappa0) + kappa0 / kappa - 1 + kappa0 * (shape / rate) * mean**2
        rate0 = np.broadcast_to(rate0, np.shape(rate))
        return 0.5 * float(means.sum()) + gamma_divergence(shape, rate, shape0, rate0)

    def mean_moments(self, q):
        _, mean, shape, rate = q.arrays
        variance = np.broadcast_to(rate / shape, mean.shape)
        return gaussian_diagonal.from_parameters(q.mass, self.model.spread(q.mass), mean, variance)


class NormalWishart(Family):
    """hyper = (kappa, dof, scatter); tied: one precision matrix for all components."""

    @property
    def is_tied(self) -> bool:
        return isinstance(self.model, gaussian_tied.GaussianTied)

    def updated(self, statistics):
        kappa0, dof0, scatter0 = self.hyper
        kappa = kappa0 + statistics.weight
        mean = statistics.first / kappa[:, None]
        if self.is_tied:
            dof = np.array([dof0 + statistics.weight.sum()])
            scatter = (scatter0 + statistics.second - (kappa[:, None] * mean).T @ mean)[None]
        else:
            dof = dof0 + statistics.weight
            scatter = scatter0 + statistics.second - kappa[:, None, None] * gaussian_full.outer(mean)
        return kappa, mean, dof, scatter

    def _log_precision(self, dof, scatter) -> np.ndarray:
        d = self.model.n_features
        parts = digamma(0.5 * (dof[:, None] - np.arange(d))).sum(axis=1)
        return parts + d * np.log(2.0) - gaussian_full.log_determinant(scatter)

    def expected(self, log_mass, arrays):
        kappa, mean, dof, scatter = arrays
        d = self.model.n_features
        whitening = np.linalg.inv(np.linalg.cholesky(scatter / dof[:, None, None])).transpose(0, 2, 1)
        constant = 0.5 * (self._log_precision(dof, scatter) - d * LOG_2PI - d / kappa)
        return self.form.of_whitening(log_mass, constant, mean, whitening[0] if self.is_tied else whitening)

    def own_divergence(self, arrays):
        kappa, mean, dof, scatter = arrays
        kappa0, dof0, scatter0 = self.hyper
        d = self.model.n_features
        inverse = np.linalg.inv(scatter)
        precision = np.broadcast_to(dof[:, None, None] * inverse, (len(mean), d, d))
        reach = np.einsum("ka,kab,kb->k", mean, precision, mean)
        means = d * (np.log(kappa / kappa0) + kappa0 / kappa - 1) + kappa0 * reach
        log_det, log_det0 = gaussian_full.log_determinant(scatter), gaussian_full.log_determinant(scatter0)
        norm = 0.5 * dof * log_det - 0.5 * dof * d * np.log(2.0) - multigammaln_each(0.5 * dof, d)
        norm0 = 0.5 * dof0 * log_det0 - 0.5 * dof0 * d * np.log(2.0) - multigammaln(0.5 * dof0, d)
        spread = norm - norm0 + 0.5 * (dof - dof0) * self._log_precision(dof, scatter) - 0.5 * dof * d
        spread = spread + 0.5 * dof * np.einsum("ab,kba->k", scatter0, inverse)
        return 0.5 * float(means.sum()) + float(spread.sum())

    def mean_moments(self, q):
        _, mean, dof, scatter = q.arrays
        covariance = scatter / dof[:, None, None]
        if self.is_tied:
            return gaussian_tied.from_parameters(q.mass, q.mass.copy(), mean, covariance[0])
        return gaussian_full.from_parameters(q.mass, q.mass.copy(), mean, covariance)


def multigammaln_each(values: np.ndarray, d: int) -> np.ndarray:
    return np.array([multigammaln(float(value), d) for value in values])


class Dirichlets(Family):
    """hyper = (pseudo-counts of the cells). Categories, and words as one column of many categories."""

    def updated(self, statistics):
        return (self.hyper[0][:, None] + statistics.count,)

    def _blocks(self, cells: np.ndarray) -> list[np.ndarray]:
        if isinstance(self.model, multinomial.Multinomial) or not len(cells):
            return [cells] if len(cells) else []
        return np.split(cells, self.model.offset[1:])  # type: ignore[attr-defined]

    def cells(self, arrays):
        logs = [digamma(block) - digamma(block.sum(axis=0)) for block in self._blocks(arrays[0])]
        logs = np.concatenate([arrays[0][:0], *logs])
        if isinstance(self.model, categorical.Bernoulli):
            return logs[::2].T, (logs[1::2] - logs[::2]).T
        return (logs,)

    def own_divergence(self, arrays):
        prior = np.broadcast_to(self.hyper[0][:, None], arrays[0].shape)
        pairs = zip(self._blocks(arrays[0]), self._blocks(prior), strict=True)
        return sum(dirichlet_divergence(a, b) for a, b in pairs)

    def mean_moments(self, q):
        blocks = [block / block.sum(axis=0) for block in self._blocks(q.arrays[0])]
        shares = np.concatenate([q.arrays[0][:0], *blocks])
        if isinstance(self.model, multinomial.Multinomial):
            return multinomial.Moments(q.mass, q.mass * self.model.length * shares)
        count = q.mass * shares
        return categorical.Moments(q.mass, count, self.model.block_sums(count))


class Gammas(Family):
    """hyper = (shape of every column, rate)."""

    def updated(self, statistics):
        shape0, rate0 = self.hyper
        return shape0 + statistics.count, rate0 + statistics.weight

    def cells(self, arrays):
        shape, rate = arrays
        return -shape / rate, digamma(shape) - np.log(rate)

    def own_divergence(self, arrays):
        shape, rate = arrays
        shape0, rate0 = (np.broadcast_to(value, shape.shape) for value in self.hyper)
        return gamma_divergence(shape, rate, shape0, rate0)

    def mean_moments(self, q):
        shape, rate = q.arrays
        weight = self.model.spread(q.mass)
        return poisson.Moments(q.mass, weight, weight * shape / rate)


class Several(Family):
    """Columns of several kinds. hyper = the families of the parts."""

    def updated(self, statistics):
        return tuple(part.updated(own) for part, own in zip(self.hyper, statistics.parts, strict=True))

    def cells(self, arrays):
        return tuple(part.cells(own) for part, own in zip(self.hyper, arrays, strict=True))

    def own_divergence(self, arrays):
        return sum(part.own_divergence(own) for part, own in zip(self.hyper, arrays, strict=True))

    def mean_moments(self, q):
        parts = zip(self.hyper, q.arrays, strict=True)
        return mixed.joined(*(part.mean_moments(Posterior(q.mass, own)) for part, own in parts))


def posterior_family(model: Model, form, statistics, concentration: float) -> Family:
    """A weak prior from the statistics of some first partition of the rows."""
    if isinstance(model, mixed.Mixed):
        parts = zip(model.models, form.parts, statistics.parts, strict=True)
        return Several(model, form, concentration, tuple(posterior_family(*part, concentration) for part in parts))
    typical = typical_of(model, statistics)
    if isinstance(model, gaussian_diagonal.GaussianDiagonal):
        kappa, typical = wide(typical, statistics.second.sum(axis=0), statistics.weight.sum(axis=0))
        if isinstance(model, GaussianSpherical):
            return NormalGamma(model, form, concentration, (kappa, 1.0, float(typical.mean())))
        return NormalGamma(model, form, concentration, (kappa, 1.0, typical))
    if isinstance(model, (gaussian_full.GaussianFull, gaussian_tied.GaussianTied)):
        second = statistics.second if statistics.second.ndim == 2 else statistics.second.sum(axis=0)
        kappa, typical = wide(typical, np.diagonal(second), statistics.weight.sum())
        dof = model.n_features + 2.0
        return NormalWishart(model, form, concentration, (kappa, dof, dof * np.diag(typical)))
    if isinstance(model, poisson.Poisson):
        return Gammas(model, form, concentration, (np.asarray(typical), 1.0))
    return Dirichlets(model, form, concentration, (np.asarray(typical),))


def wide(within, squares, weight) -> tuple[float, np.ndarray]:
    """kappa, the pseudo-rows of a mean, so that its prior is as wide as the data; and variances half-way (in logs) to the data's own.

    The parts of a first partition are narrower than components should be where there are more of them than the rows need.
    """
    overall = np.maximum(squares / np.maximum(weight, 1e-300), within)
    return float(np.clip(np.mean(within / overall), 1e-3, 1.0)), np.sqrt(within * overall)
