r"""Gaussian rows whose outcomes share one covariance (linear discriminant analysis).

    log p(x | k) = -1/2 log |2 pi V| - 1/2 (x - m_k)' V^-1 (x - m_k)

    statistics   weight,  z,  z z' (of all outcomes together)          with z = x - location
    moments      weight[k],  first[k] = weight m,  second = sum_k weight_k (V + m_k m_k')
    natural      linear[k] = V^-1 m,  quadratic = -1/2 V^-1
    A_k          1/2 m' V^-1 m + 1/2 log |2 pi V|

Losses whose weights sum to zero never move `second`: the covariance changes only because the means do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from typing_extensions import override

from .base import KEEP, Change, room_below
from .conjugates import log_determinant
from .forms import LOG_2PI
from .gaussian_correlated import GaussianCorrelated, Moments, Natural
from .gaussian_diagonal import floored_variance, pseudo_variance
from .rows import chunks, dense


def mean_and_covariance(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    mean = moments.first / weight[:, None]
    return mean, (moments.second - (moments.weight[:, None] * mean).T @ mean) / moments.weight.sum()


def from_parameters(weight, mean, covariance) -> Moments:
    first = weight[:, None] * mean
    with np.errstate(over="ignore", invalid="ignore"):  # BLAS may raise flags of numbers that it does not return
        return Moments(weight, first, weight.sum() * covariance + first.T @ mean)


@dataclass(frozen=True, eq=False)
class GaussianTied(GaussianCorrelated):
    kernels = "suffice.kernels.families.gaussian_tied"
    conditional = "correlated"
    is_tied = True

    @override
    def parameters(self, moments):
        return mean_and_covariance(moments)

    @override
    def from_parameters(self, weight, mean, covariance) -> Moments:
        return from_parameters(weight, mean, covariance)

    @override
    def statistics(self, X, shares) -> Moments:
        first = np.zeros((self.n_outcomes, self.n_features))
        second = np.zeros((self.n_features, self.n_features))
        for rows in chunks(X):
            z, r = dense(X[rows]) - self.location, shares[rows]
            first += r.T @ z
            second += (r.sum(axis=1, keepdims=True) * z).T @ z
        return Moments(shares.sum(axis=0), first, second)

    @override
    def natural_of(self, moments: Moments) -> Natural:
        mean, covariance = mean_and_covariance(moments)
        precision = np.linalg.inv(covariance)
        return Natural(mean @ precision, -0.5 * precision)

    @override
    def log_partitions(self, natural: Natural) -> np.ndarray:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        reach = ((natural.linear @ covariance) * natural.linear).sum(axis=1)
        return 0.5 * (reach + log_determinant(covariance) + self.n_features * LOG_2PI)

    @override
    def moments_of(self, natural: Natural, mass) -> Moments:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        return from_parameters(mass.copy(), natural.linear @ covariance, covariance)

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        mean, covariance = mean_and_covariance(moments)
        cross = statistics.first.T @ mean
        squares = statistics.second - cross - cross.T + (statistics.weight[:, None] * mean).T @ mean
        distance = np.trace(np.linalg.solve(covariance, squares))
        logs = statistics.weight.sum() * (log_determinant(covariance) + self.n_features * LOG_2PI)
        return -0.5 * float(logs + distance)

    @override
    def common_reach(self, moments: Moments, direction: Moments, change) -> float:
        """All outcomes step together: covariance' >= KEEP covariance is an eigenvalue bound of a (d + K) x (d + K) matrix."""
        mean, covariance = mean_and_covariance(moments)
        (old, gain), d = change, self.n_features
        shift = direction.first - mean * gain[:, None]
        cross = direction.first.T @ mean
        growth = direction.second - cross - cross.T + (gain[:, None] * mean).T @ mean
        whole, size = old.sum(), d + self.n_outcomes
        factor = np.linalg.cholesky(covariance)
        whitened = np.linalg.solve(factor, np.linalg.solve(factor, growth).T)
        pencil = np.zeros((size, size))
        pencil[:d, :d] = (whitened - KEEP * gain.sum() * np.eye(d)) / ((1 - KEEP) * whole)
        pencil[:d, d:] = np.linalg.solve(factor, shift.T) / np.sqrt((1 - KEEP) * whole * old)
        pencil[d:, :d] = pencil[:d, d:].T
        pencil[d:, d:] = np.diag(gain / old)
        lowest = np.linalg.eigvalsh(pencil)[:1]
        return float(room_below(np.ones(1), (1 - KEEP) * lowest)[0])

    @override
    def move(self, moments: Moments, direction: Moments, rate: float, change: Change) -> tuple[Moments, int]:
        """With the step of the masses, which `common_reach` has shortened."""
        second = moments.second + change.step * direction.second
        first = moments.first + change.step * direction.first
        return Moments(change.after.copy(), first, 0.5 * (second + second.T)), 0

    @override
    def variances(self, statistics: Moments):
        n = max(float(statistics.weight.sum()), 1e-300)
        square = np.diagonal(statistics.second) / n
        overall = square - (statistics.first.sum(axis=0) / n) ** 2
        return np.diagonal(mean_and_covariance(statistics)[1]), overall, square

    @override
    def pooled(self, statistics: Moments, share) -> Moments:
        even = super().pooled(replace(statistics, second=statistics.first), share)
        return replace(even, second=statistics.second)

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` examples in all at the outcomes' own means, independent columns with the pooled within-outcome variance."""
        mean, n = mean_and_covariance(statistics)[0], statistics.weight.sum()
        typical = floored_variance(*self.variances(statistics))
        spread = np.diag(pseudo_variance(typical, np.abs(mean).max(axis=0), n, amount))
        return from_parameters(amount * (statistics.weight / n), mean, spread)

    @override
    def pseudo_rows(self, statistics: Moments, amount: float, typical) -> Moments:
        """`amount` rows in all, at the components' own means."""
        mean = statistics.first / np.where(statistics.weight > 0, statistics.weight, 1.0)[:, None]
        return from_parameters(np.full(self.n_outcomes, amount / self.n_outcomes), mean, np.diag(typical))

    @override
    def state_of(self, moments: Moments) -> tuple:
        mean, covariance = mean_and_covariance(moments)
        constant = np.full(self.n_outcomes, -0.5 * (log_determinant(covariance) + self.n_features * LOG_2PI))
        precision = np.ascontiguousarray(np.linalg.inv(covariance))
        linear = mean @ precision
        square = (linear * mean).sum(axis=1)
        return moments.weight.copy(), mean, covariance, precision, constant, linear, square, self.location.copy()

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        weight, mean, covariance = state[:3]
        return from_parameters(weight.copy(), mean.copy(), 0.5 * (covariance + covariance.T))
