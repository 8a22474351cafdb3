r"""Gaussian rows with a full covariance for each outcome.

    log p(x, k) = log pi_k - 1/2 log |2 pi V_k| - 1/2 (x - m_k)' V_k^-1 (x - m_k)

    statistics   1,  z,  z z'          with z = x - location
    moments      mass[k],  weight[k],  first[k] = weight m,  second[k] = weight (V + m m')
    natural      constant[k],  linear[k] = V^-1 m,  quadratic[k] = -1/2 V^-1
    A_k          1/2 m' V^-1 m + 1/2 log |2 pi V|

One row changes V by a matrix of rank one: with q = (x - m)' V^-1 (x - m) and W' = W + delta,
q' = W q / (W' + delta q)  and  |V'| = |V| (W/W')^d (1 + delta q / W').
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .base import KEEP, Model, expected_log_mass, log_masses, moved_mass, room_below
from .completion import (
    any_missing,
    available_cells,
    completed_by_em,
    completed_sums,
    drawn,
    imputed,
    log_densities,
)
from .gaussian_diagonal import LOG_2PI, floored_variance, pseudo_variance
from .records import Record
from .rows import chunks, dense, label_masses, location_of


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray


def outer(vectors: np.ndarray) -> np.ndarray:
    return vectors[:, :, None] * vectors[:, None, :]


def mean_and_covariance(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    mean = moments.first / weight[:, None]
    return mean, moments.second / weight[:, None, None] - outer(mean)


def from_parameters(mass, weight, mean, covariance) -> Moments:
    return Moments(mass, weight, weight[:, None] * mean, weight[:, None, None] * (covariance + outer(mean)))


def log_determinant(matrices: np.ndarray) -> np.ndarray:
    sign, value = np.linalg.slogdet(matrices)
    return np.where(sign > 0, value, np.nan)


def grams(X, y, weights, location, n_outcomes: int) -> tuple[np.ndarray, np.ndarray]:
    """First and second sums about the location for each label."""
    d = X.shape[1]
    first, second = np.zeros((n_outcomes, d)), np.zeros((n_outcomes, d, d))
    for rows in chunks(X):
        z, labels, w = dense(X[rows]) - location, y[rows], weights[rows]
        for k in np.unique(labels[labels >= 0]):
            part, share = z[labels == k], w[labels == k, None]
            first[k] += (share.T @ part)[0]
            second[k] += (share * part).T @ part
    return first, second


@dataclass(frozen=True, eq=False)
class GaussianFull(Model):
    location: np.ndarray = field(default_factory=lambda: np.zeros(0))

    family = "gaussian_full"

    @classmethod
    def for_data(cls, X, n_outcomes: int) -> GaussianFull:
        return cls(n_outcomes, X.shape[1], location_of(X))

    def is_latent(self, X) -> bool:
        return any_missing(X)

    def statistics(self, X, y, weights) -> Moments:
        """Where cells are missing: their expectations under the maximum-likelihood estimate itself, found by EM."""
        if self.is_latent(X):
            mean, variance = available_cells(self, X, y, weights)
            weight = np.ones(self.n_outcomes)
            start = from_parameters(weight, weight, mean, np.array([np.diag(part) for part in variance]))
            return completed_by_em(self, X, y, weights, start, mean_and_covariance)
        mass = label_masses(y, weights, self.n_outcomes)
        return Moments(mass, mass.copy(), *grams(X, y, weights, self.location, self.n_outcomes))

    def expected_statistics(self, X, responsibilities) -> Moments:
        mass = responsibilities.sum(axis=0)
        first = np.zeros((self.n_outcomes, self.n_features))
        second = np.zeros((self.n_outcomes, self.n_features, self.n_features))
        for rows in chunks(X):
            z, r = dense(X[rows]) - self.location, responsibilities[rows]
            first += r.T @ z
            for k in np.flatnonzero(np.abs(r).max(axis=0) > 0):
                second[k] += (r[:, k, None] * z).T @ z
        return Moments(mass, mass.copy(), first, second)

    def completed_statistics(self, X, responsibilities, moments) -> Moments:
        if not self.is_latent(X):
            return self.expected_statistics(X, responsibilities)
        sums = completed_sums(dense(X) - self.location, responsibilities, *mean_and_covariance(moments))
        return Moments(responsibilities.sum(axis=0), *sums)

    def natural_of(self, moments: Moments) -> Natural:
        mean, covariance = mean_and_covariance(moments)
        precision = np.linalg.inv(covariance)
        natural = Natural(moments.mass, np.einsum("kab,kb->ka", precision, mean), -0.5 * precision)
        return Natural(log_masses(moments) - self.log_partitions(natural), natural.linear, natural.quadratic)

    def log_partitions(self, natural: Natural) -> np.ndarray:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        reach = np.einsum("ka,kab,kb->k", natural.linear, covariance, natural.linear)
        return 0.5 * (reach + log_determinant(covariance) + self.n_features * LOG_2PI)

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        mean = np.einsum("kab,kb->ka", covariance, natural.linear)
        mass = total * np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        return from_parameters(mass, mass.copy(), mean, covariance)

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        mean, covariance = mean_and_covariance(moments)
        cross = statistics.first[:, :, None] * mean[:, None, :]
        squares = statistics.second - cross - cross.transpose(0, 2, 1) + statistics.weight[:, None, None] * outer(mean)
        distances = np.trace(np.linalg.solve(covariance, squares), axis1=1, axis2=2)
        logs = statistics.weight * (log_determinant(covariance) + self.n_features * LOG_2PI)
        return expected_log_mass(statistics, moments) - 0.5 * float((logs + distances).sum())

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        mean, covariance = mean_and_covariance(moments)
        if self.is_latent(X):
            return log_masses(moments) + log_densities(dense(X) - self.location, mean, covariance)
        result = np.empty((X.shape[0], self.n_outcomes))
        for k in range(self.n_outcomes):
            z = dense(X) - self.location - mean[k]
            distance = (z * np.linalg.solve(covariance[k], z.T).T).sum(axis=1)
            result[:, k] = -0.5 * (distance + log_determinant(covariance[k]) + self.n_features * LOG_2PI)
        return log_masses(moments) + result

    def scores(self, moments: Moments, X, state=None, which=None) -> np.ndarray:
        X = X if which is None else X[which]
        return self.log_joint(moments, X) if self.is_latent(X) else super().scores(moments, X, state)

    def imputed(self, moments: Moments, X, responsibilities):
        filled, variance = imputed(X - self.location, responsibilities, *mean_and_covariance(moments))
        return np.where(np.isnan(X), filled + self.location, X), np.sqrt(np.maximum(variance, 0.0))

    def drawn(self, moments: Moments, X, outcomes, generator) -> np.ndarray:
        filled = drawn(X - self.location, outcomes, *mean_and_covariance(moments), generator)
        return np.where(np.isnan(X), filled + self.location, X)

    def log_base_measure(self, X) -> float:
        return 0.0

    def in_domain(self, moments: Moments) -> bool:
        if not (moments.is_finite() and (moments.mass > 0).all() and (moments.weight > 0).all()):
            return False
        return bool((np.linalg.eigvalsh(mean_and_covariance(moments)[1]) > 0).all())

    def filled(self, moments: Moments, mass, weight) -> Moments:
        return from_parameters(mass, weight, *mean_and_covariance(moments))

    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        mean, covariance = mean_and_covariance(moments)
        old, gain, d = moments.mass, direction.mass, self.n_features
        shift = direction.first - mean * gain[:, None]
        cross = direction.first[:, :, None] * mean[:, None, :]
        growth = direction.second - cross - cross.transpose(0, 2, 1) + gain[:, None, None] * outer(mean)
        # covariance' >= KEEP covariance is an eigenvalue bound of a (d + 1) x (d + 1) matrix
        factor = np.linalg.cholesky(covariance)
        whitened_shift = np.linalg.solve(factor, shift[:, :, None])[:, :, 0]
        whitened = np.linalg.solve(factor, np.linalg.solve(factor, growth).transpose(0, 2, 1))
        pencil = np.empty((self.n_outcomes, d + 1, d + 1))
        pencil[:, :d, :d] = (whitened - KEEP * gain[:, None, None] * np.eye(d)) / ((1 - KEEP) * old[:, None, None])
        pencil[:, :d, d] = pencil[:, d, :d] = whitened_shift / (np.sqrt(1 - KEEP) * old[:, None])
        pencil[:, d, d] = gain / old
        lowest = np.linalg.eigvalsh(pencil)[:, 0]
        step = np.minimum(
            rate, np.minimum(room_below(np.ones_like(lowest), (1 - KEEP) * lowest), room_below(old, gain))
        )
        new = old + step * gain
        stride = (step / new)[:, None] * shift
        moved = ((old / new)[:, None, None] * covariance + (step / new)[:, None, None] * growth) - outer(stride)
        mass, shortened = moved_mass(old, gain, rate)
        moved = 0.5 * (moved + moved.transpose(0, 2, 1))
        return from_parameters(mass, mass.copy(), mean + stride, moved), shortened + int((step < rate).sum())

    @property
    def default_pseudo_counts(self) -> float:
        return self.n_features + 1.0

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` examples at each outcome's own mean, independent columns with the pooled within-outcome variance."""
        mean, covariance = mean_and_covariance(statistics)
        n = statistics.weight.sum()
        within = np.einsum("k,kaa->a", statistics.weight, covariance) / n
        square = np.einsum("kaa->a", statistics.second) / n
        typical = floored_variance(within, square - (statistics.first.sum(axis=0) / n) ** 2, square)
        variance = pseudo_variance(typical, mean, statistics.weight[:, None], amount)
        spread = variance[:, :, None] * np.eye(self.n_features)
        return from_parameters(np.zeros(self.n_outcomes), np.full(self.n_outcomes, float(amount)), mean, spread)

    def pooled(self, statistics: Moments) -> Moments:
        share = statistics.mass / statistics.mass.sum()
        first, second = statistics.first.sum(axis=0), statistics.second.sum(axis=0)
        weight = share * statistics.weight.sum()
        return Moments(statistics.mass, weight, share[:, None] * first, share[:, None, None] * second)

    def state_of(self, moments: Moments) -> tuple:
        mean, covariance = mean_and_covariance(moments)
        constant = log_masses(moments) - 0.5 * (log_determinant(covariance) + self.n_features * LOG_2PI)
        total = np.array([moments.mass.sum()])
        precision = np.ascontiguousarray(np.linalg.inv(covariance))
        return moments.mass.copy(), total, moments.weight.copy(), mean + self.location, covariance, precision, constant

    def moments_of_state(self, state: tuple) -> Moments:
        mass, _, weight, mean, covariance, _, _ = state
        symmetric = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        return from_parameters(mass.copy(), weight.copy(), mean - self.location, symmetric)

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        mean, covariance = mean_and_covariance(moments)
        noise = generator.standard_normal((len(outcomes), self.n_features))
        factor = np.linalg.cholesky(covariance)
        return self.location + mean[outcomes] + np.einsum("iab,ib->ia", factor[outcomes], noise)
