r"""Counts in independent Poisson columns.

log p(x, k) = log pi_k + sum_j [ x_j log rate_kj - rate_kj ] - sum_j log x_j!

statistics   1,  x
moments      mass[k],  weight[k, j],  count[k, j] = weight rate
natural      constant[k],  log_rate[k, j]
A_k          sum_j rate_kj
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from .base import Model, expected_log_mass, log_masses, moved_mass, room_below
from .records import Record
from .rows import chunks, dense, label_masses, without_missing


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    weight: np.ndarray
    count: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    log_rate: np.ndarray


def rates(moments: Moments) -> np.ndarray:
    return moments.count / np.where(moments.weight > 0, moments.weight, 1.0)


@dataclass(frozen=True, eq=False)
class Poisson(Model):
    family = "poisson"

    @classmethod
    def for_data(cls, X, n_outcomes: int) -> Poisson:
        return cls(n_outcomes, X.shape[1])

    def statistics(self, X, y, weights) -> Moments:
        labels = np.zeros((len(y), self.n_outcomes))
        labelled = np.flatnonzero(y >= 0)
        labels[labelled, y[labelled]] = weights[labelled]
        return Moments(label_masses(y, weights, self.n_outcomes), *self._sums(X, labels))

    def expected_statistics(self, X, responsibilities) -> Moments:
        return Moments(responsibilities.sum(axis=0), *self._sums(X, responsibilities))

    def _sums(self, X, responsibilities) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(X, np.ndarray):
            seen, missing = without_missing(X)
            weight = responsibilities.sum(axis=0)[:, None] - np.asarray((missing.T @ responsibilities).T)
            return weight, np.asarray((seen.T @ responsibilities).T)
        weight = np.zeros((self.n_outcomes, self.n_features))
        count = np.zeros_like(weight)
        for rows in chunks(X):
            seen, r = ~np.isnan(X[rows]), responsibilities[rows].T
            weight += r @ seen
            count += r @ np.where(seen, X[rows], 0.0)
        return weight, count

    def natural_of(self, moments: Moments) -> Natural:
        rate = rates(moments)
        return Natural(log_masses(moments) - rate.sum(axis=1), np.log(rate))

    def log_partitions(self, natural: Natural) -> np.ndarray:
        return np.exp(natural.log_rate).sum(axis=1)

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        mass = total * np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        weight = self.spread(mass)
        return Moments(mass, weight, weight * np.exp(natural.log_rate))

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        rate = rates(moments)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(statistics.count != 0, statistics.count * np.log(rate), 0.0)
        return expected_log_mass(statistics, moments) + float((logs - statistics.weight * rate).sum())

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        rate, X = rates(moments), dense(X)
        seen = ~np.isnan(X)
        return log_masses(moments) + np.where(seen, X, 0.0) @ np.log(rate).T - seen @ rate.T

    def log_base_measure(self, X) -> np.ndarray:
        if not isinstance(X, np.ndarray):
            X = without_missing(X)[0]
            X.data = gammaln(X.data + 1)
            return -np.asarray(X.sum(axis=1)).ravel()
        return -np.nansum(gammaln(X + 1), axis=1)

    def in_domain(self, moments: Moments) -> bool:
        return moments.is_finite() and all(bool((array > 0).all()) for array in moments.arrays())

    def filled(self, moments: Moments, mass, weight) -> Moments:
        return Moments(mass, weight, weight * rates(moments))

    def spread(self, mass) -> np.ndarray:
        return np.repeat(mass[:, None], self.n_features, axis=1)

    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        old, gain = moments.mass[:, None], direction.mass[:, None]
        count = old * rates(moments)
        limit = np.minimum(room_below(count, direction.count), room_below(old, gain))
        step = np.minimum(rate, limit)
        new_rate = (count + step * direction.count) / (old + step * gain)
        mass, shortened = moved_mass(moments.mass, direction.mass, rate)
        weight = self.spread(mass)
        return Moments(mass, weight, weight * new_rate), shortened + int((step < rate).sum())

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` rows at the pooled rates (a column never seen gets the smallest positive rate of the others)."""
        pooled = statistics.count.sum(axis=0) / np.maximum(statistics.weight.sum(axis=0), 1e-300)
        smallest = pooled[pooled > 0].min() if (pooled > 0).any() else 1.0
        weight = np.full_like(statistics.weight, float(amount))
        return Moments(np.zeros(self.n_outcomes), weight, weight * np.where(pooled > 0, pooled, smallest))

    def pooled(self, statistics: Moments) -> Moments:
        share = (statistics.mass / statistics.mass.sum())[:, None]
        return Moments(statistics.mass, share * statistics.weight.sum(axis=0), share * statistics.count.sum(axis=0))

    def state_of(self, moments: Moments) -> tuple:
        rate = rates(moments)
        total = np.array([moments.mass.sum()])
        constant = log_masses(moments) - rate.sum(axis=1)
        return moments.mass.copy(), total, moments.weight.copy(), moments.count.copy(), np.log(rate), constant

    def moments_of_state(self, state: tuple) -> Moments:
        return Moments(state[0].copy(), state[2].copy(), state[3].copy())

    def cell_moments(self, moments: Moments):
        return rates(moments), rates(moments)

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        return generator.poisson(rates(moments)[outcomes]).astype(float)
