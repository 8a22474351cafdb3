r"""Gaussian rows whose outcomes share one covariance (linear discriminant analysis).

    log p(x, k) = log pi_k - 1/2 log |2 pi V| - 1/2 (x - m_k)' V^-1 (x - m_k)

    statistics   1,  z,  z z' (of all outcomes together)          with z = x - location
    moments      mass[k],  weight[k],  first[k] = weight m,  second = sum_k weight_k (V + m_k m_k')
    natural      constant[k],  linear[k] = V^-1 m,  quadratic = -1/2 V^-1
    A_k          1/2 m' V^-1 m + 1/2 log |2 pi V|

Losses whose weights sum to zero never move `second`: the covariance changes only because the means do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .base import KEEP, Model, expected_log_mass, log_masses, room_below
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
from .gaussian_full import log_determinant
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


def mean_and_covariance(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    mean = moments.first / weight[:, None]
    return mean, (moments.second - (moments.weight[:, None] * mean).T @ mean) / moments.weight.sum()


def from_parameters(mass, weight, mean, covariance) -> Moments:
    first = weight[:, None] * mean
    return Moments(mass, weight, first, weight.sum() * covariance + first.T @ mean)


@dataclass(frozen=True, eq=False)
class GaussianTied(Model):
    location: np.ndarray = field(default_factory=lambda: np.zeros(0))

    family = "gaussian_tied"

    @classmethod
    def for_data(cls, X, n_outcomes: int) -> GaussianTied:
        return cls(n_outcomes, X.shape[1], location_of(X))

    def is_latent(self, X) -> bool:
        return any_missing(X)

    def statistics(self, X, y, weights) -> Moments:
        """Where cells are missing: their expectations under the maximum-likelihood estimate itself, found by EM."""
        if self.is_latent(X):
            mean, variance = available_cells(self, X, y, weights)
            weight = np.ones(self.n_outcomes)
            start = from_parameters(weight, weight, mean, np.diag(variance.mean(axis=0)))
            return completed_by_em(self, X, y, weights, start, mean_and_covariance)
        mass = label_masses(y, weights, self.n_outcomes)
        labels = np.zeros((len(y), self.n_outcomes))
        labelled = np.flatnonzero(y >= 0)
        labels[labelled, y[labelled]] = weights[labelled]
        return Moments(mass, mass.copy(), *self._sums(X, labels))

    def expected_statistics(self, X, responsibilities) -> Moments:
        mass = responsibilities.sum(axis=0)
        return Moments(mass, mass.copy(), *self._sums(X, responsibilities))

    def completed_statistics(self, X, responsibilities, moments) -> Moments:
        if not self.is_latent(X):
            return self.expected_statistics(X, responsibilities)
        weight, first, second = completed_sums(
            dense(X) - self.location, responsibilities, *self._for_each_outcome(moments)
        )
        return Moments(responsibilities.sum(axis=0), weight, first, second.sum(axis=0))

    def _for_each_outcome(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        mean, covariance = mean_and_covariance(moments)
        return mean, np.broadcast_to(covariance, (self.n_outcomes, *covariance.shape))

    def _sums(self, X, responsibilities) -> tuple[np.ndarray, np.ndarray]:
        first = np.zeros((self.n_outcomes, self.n_features))
        second = np.zeros((self.n_features, self.n_features))
        for rows in chunks(X):
            z, r = dense(X[rows]) - self.location, responsibilities[rows]
            first += r.T @ z
            second += (r.sum(axis=1, keepdims=True) * z).T @ z
        return first, second

    def natural_of(self, moments: Moments) -> Natural:
        mean, covariance = mean_and_covariance(moments)
        precision = np.linalg.inv(covariance)
        natural = Natural(moments.mass, mean @ precision, -0.5 * precision)
        return Natural(log_masses(moments) - self.log_partitions(natural), natural.linear, natural.quadratic)

    def log_partitions(self, natural: Natural) -> np.ndarray:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        reach = ((natural.linear @ covariance) * natural.linear).sum(axis=1)
        return 0.5 * (reach + log_determinant(covariance) + self.n_features * LOG_2PI)

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        mass = total * np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        return from_parameters(mass, mass.copy(), natural.linear @ covariance, covariance)

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        mean, covariance = mean_and_covariance(moments)
        cross = statistics.first.T @ mean
        squares = statistics.second - cross - cross.T + (statistics.weight[:, None] * mean).T @ mean
        distance = np.trace(np.linalg.solve(covariance, squares))
        logs = statistics.weight.sum() * (log_determinant(covariance) + self.n_features * LOG_2PI)
        return expected_log_mass(statistics, moments) - 0.5 * float(logs + distance)

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        if self.is_latent(X):
            return log_masses(moments) + log_densities(dense(X) - self.location, *self._for_each_outcome(moments))
        mean, covariance = mean_and_covariance(moments)
        distances = np.empty((X.shape[0], self.n_outcomes))
        for k in range(self.n_outcomes):
            z = dense(X) - self.location - mean[k]
            distances[:, k] = (z * np.linalg.solve(covariance, z.T).T).sum(axis=1)
        return log_masses(moments) - 0.5 * (distances + log_determinant(covariance) + self.n_features * LOG_2PI)

    def scores(self, moments: Moments, X, state=None, which=None) -> np.ndarray:
        X = X if which is None else X[which]
        return self.log_joint(moments, X) if self.is_latent(X) else super().scores(moments, X, state)

    def imputed(self, moments: Moments, X, responsibilities):
        filled, variance = imputed(X - self.location, responsibilities, *self._for_each_outcome(moments))
        return np.where(np.isnan(X), filled + self.location, X), np.sqrt(np.maximum(variance, 0.0))

    def drawn(self, moments: Moments, X, outcomes, generator) -> np.ndarray:
        filled = drawn(X - self.location, outcomes, *self._for_each_outcome(moments), generator)
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
        cross = direction.first.T @ mean
        growth = direction.second - cross - cross.T + (gain[:, None] * mean).T @ mean
        # one step for all: covariance' >= KEEP covariance is an eigenvalue bound of a (d + K) x (d + K) matrix
        whole, size = old.sum(), d + self.n_outcomes
        factor = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(factor, np.linalg.solve(factor, growth).T)
        pencil = np.zeros((size, size))
        pencil[:d, :d] = (whitened - KEEP * gain.sum() * np.eye(d)) / ((1 - KEEP) * whole)
        pencil[:d, d:] = np.linalg.solve(factor, shift.T) / np.sqrt((1 - KEEP) * whole * old)
        pencil[d:, :d] = pencil[:d, d:].T
        pencil[d:, d:] = np.diag(gain / old)
        lowest = np.linalg.eigvalsh(pencil)[:1]
        limit = min(room_below(np.ones(1), (1 - KEEP) * lowest)[0], room_below(old, gain).min())
        step = min(rate, float(limit))
        moved = moments + step * direction
        moved_second = 0.5 * (moved.second + moved.second.T)
        return Moments(moved.mass, moved.mass.copy(), moved.first, moved_second), int(step < rate)

    @property
    def default_pseudo_counts(self) -> float:
        return self.n_features + 1.0

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` examples in all at the outcomes' own means, independent columns with the pooled within-outcome variance."""
        mean, within = mean_and_covariance(statistics)
        n = statistics.weight.sum()
        square = np.diagonal(statistics.second) / n
        typical = floored_variance(np.diagonal(within), square - (statistics.first.sum(axis=0) / n) ** 2, square)
        spread = np.diag(pseudo_variance(typical, np.abs(mean).max(axis=0), n, amount))
        share = statistics.weight / n
        return from_parameters(np.zeros(self.n_outcomes), amount * share, mean, spread)

    def pooled(self, statistics: Moments) -> Moments:
        share = statistics.mass / statistics.mass.sum()
        first = share[:, None] * statistics.first.sum(axis=0)
        return Moments(statistics.mass, share * statistics.weight.sum(), first, statistics.second)

    def state_of(self, moments: Moments) -> tuple:
        mean, covariance = mean_and_covariance(moments)
        constant = log_masses(moments) - 0.5 * (log_determinant(covariance) + self.n_features * LOG_2PI)
        total = np.array([moments.mass.sum()])
        precision = np.ascontiguousarray(np.linalg.inv(covariance))
        linear = mean @ precision
        square = (linear * mean).sum(axis=1)
        return (
            moments.mass.copy(), total, moments.weight.copy(), mean, covariance, precision, constant, linear, square, self.location,
        )  # fmt: skip

    def moments_of_state(self, state: tuple) -> Moments:
        mass, weight, mean, covariance = state[0], state[2], state[3], state[4]
        return from_parameters(mass.copy(), weight.copy(), mean.copy(), 0.5 * (covariance + covariance.T))

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        mean, covariance = mean_and_covariance(moments)
        noise = generator.standard_normal((len(outcomes), self.n_features))
        return self.location + mean[outcomes] + noise @ np.linalg.cholesky(covariance).T
