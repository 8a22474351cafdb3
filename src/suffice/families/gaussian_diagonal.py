r"""Gaussian columns, independent given the outcome (diagonal covariance).

    log p(x, k) = log pi_k + sum_j [ -1/2 log 2 pi v_kj - (x_j - m_kj)^2 / 2 v_kj ]

    statistics   1,  z,  z^2           with z = x - location (a fixed column vector: only rounding depends on it)
    moments      mass[k],  weight[k, j],  first[k, j] = weight m,  second[k, j] = weight (v + m^2)
    natural      constant[k],  linear[k, j] = m/v,  quadratic[k, j] = -1/2v
    A_k          sum_j m^2/2v + 1/2 log 2 pi v

Adding a step delta of one row to an outcome of weight W changes mean and variance to  m + delta/W' (x - m)  and
W/W' (v + delta/W' (x - m)^2),  W' = W + delta,  so the step must stay above  -W / (1 + (x - m)^2 / v).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .base import KEEP, Model, expected_log_mass, log_masses, moved_mass, room_below
from .records import Record
from .rows import chunks, dense, label_masses, location_of

LOG_2PI = float(np.log(2 * np.pi))
LEAST_SQUARE = 1e-200  # of a column: smaller ones are zero up to rounding
MIN_VARIANCE = 1e-6  # of the pooled variance: the smallest a prior may ask for
RESOLUTION = 1e-12  # a variance below this share of the squared mean is lost in the rounding of second moments


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


def mean_and_variance(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """Relative to the location; a block of no weight has mean 0 and variance 0."""
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    mean = moments.first / weight
    return mean, np.maximum(moments.second / weight - mean**2, 0.0)


def from_parameters(mass, weight, mean, variance) -> Moments:
    return Moments(mass, weight, weight * mean, weight * (variance + mean**2))


def floored_variance(within: np.ndarray, overall: np.ndarray, square: np.ndarray) -> np.ndarray:
    """A positive variance for every column: within outcomes, at least a trace of the overall one.

    `square` is the mean square about the location. A column that is constant up to rounding takes it; if it is zero too, the median of
    the columns that vary, so that units do not matter (1 if none does).
    """
    floored = np.maximum(within, MIN_VARIANCE * overall)
    square = np.where(square > LEAST_SQUARE, square, 0.0)
    varies = (overall > 1e-12 * square) & (square > 0)
    typical = float(np.median(floored[varies])) if varies.any() else 1.0
    return np.where(varies, floored, np.where(square > 0, square, typical))


def typical_variance(statistics: Moments) -> np.ndarray:
    """Pooled within-outcome variance of each column."""
    _, variance = mean_and_variance(statistics)
    weight = np.maximum(statistics.weight.sum(axis=0), 1e-300)
    within = (statistics.weight * variance).sum(axis=0) / weight
    square = statistics.second.sum(axis=0) / weight
    return floored_variance(within, square - (statistics.first.sum(axis=0) / weight) ** 2, square)


def pseudo_variance(typical: np.ndarray, mean: np.ndarray, weight, amount: float) -> np.ndarray:
    """Variance of `amount` pseudo-examples: the typical one, or what moments need to hold it beside examples of a huge weight."""
    if amount <= 0:
        return np.broadcast_to(typical, mean.shape)
    return np.maximum(typical, RESOLUTION * (1.0 + weight / amount) * (mean**2 + typical))


@dataclass(frozen=True, eq=False)
class GaussianDiagonal(Model):
    location: np.ndarray = field(default_factory=lambda: np.zeros(0))

    family = "gaussian_diagonal"

    @classmethod
    def for_data(cls, X, n_outcomes: int) -> GaussianDiagonal:
        return cls(n_outcomes, X.shape[1], location_of(X))

    def statistics(self, X, y, weights) -> Moments:
        """Compiled; `expected_statistics` of one-hot weights is its readable twin."""
        from ..kernels.families.gaussian_diagonal import add_labelled

        shape = (self.n_outcomes, self.n_features)
        total = Moments(label_masses(y, weights, self.n_outcomes), np.zeros(shape), np.zeros(shape), np.zeros(shape))
        for rows in chunks(X):  # sums of chunks, so that rounding does not grow with the rows
            part = Moments(np.zeros(self.n_outcomes), np.zeros(shape), np.zeros(shape), np.zeros(shape))
            add_labelled(
                np.ascontiguousarray(dense(X[rows])),
                self.location,
                y[rows],
                weights[rows],
                part.weight,
                part.first,
                part.second,
            )
            total = total + part
        return total

    def expected_statistics(self, X, responsibilities) -> Moments:
        shape = (self.n_outcomes, self.n_features)
        weight, first, second = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for rows in chunks(X):
            z, r = dense(X[rows]) - self.location, responsibilities[rows].T
            if np.isnan(z.sum()):
                missing = np.isnan(z)
                z[missing] = 0.0
                weight += r @ ~missing
            else:
                weight += r.sum(axis=1, keepdims=True)
            first += r @ z
            second += r @ z**2
        return Moments(responsibilities.sum(axis=0), weight, first, second)

    def natural_of(self, moments: Moments) -> Natural:
        mean, variance = mean_and_variance(moments)
        linear, quadratic = mean / variance, -0.5 / variance
        constant = log_masses(moments) - self.log_partitions(Natural(moments.mass, linear, quadratic))
        return Natural(constant, linear, quadratic)

    def log_partitions(self, natural: Natural) -> np.ndarray:
        variance = -0.5 / natural.quadratic
        return 0.5 * (natural.linear**2 * variance + np.log(variance) + LOG_2PI).sum(axis=1)

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        variance = -0.5 / natural.quadratic
        share = np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        weight = self.spread(total * share)
        return from_parameters(total * share, weight, natural.linear * variance, variance)

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        mean, variance = mean_and_variance(moments)
        squares = statistics.second - 2 * mean * statistics.first + mean**2 * statistics.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = statistics.weight * (np.log(variance) + LOG_2PI) + squares / variance
        return expected_log_mass(statistics, moments) - 0.5 * float(terms.sum())

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        mean, variance = mean_and_variance(moments)
        z = dense(X) - self.location
        columns = np.stack(
            [-0.5 * (LOG_2PI + np.log(v) + (z - m) ** 2 / v) for m, v in zip(mean, variance, strict=True)]
        )
        return log_masses(moments) + np.nansum(columns, axis=2).T  # a missing cell is integrated out

    def log_base_measure(self, X) -> float:
        return 0.0

    def in_domain(self, moments: Moments) -> bool:
        variance = mean_and_variance(moments)[1]
        return moments.is_finite() and bool(
            (moments.mass > 0).all() and (moments.weight > 0).all() and (variance > 0).all()
        )

    def filled(self, moments: Moments, mass, weight) -> Moments:
        return from_parameters(mass, weight, *mean_and_variance(moments))

    def spread(self, mass) -> np.ndarray:
        return np.repeat(mass[:, None], self.n_features, axis=1)

    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        mean, variance = mean_and_variance(moments)
        old = moments.mass[:, None]
        gain = direction.mass[:, None]
        shift = direction.first - mean * gain
        growth = direction.second - 2 * mean * direction.first + mean**2 * gain
        # variance' >= KEEP variance is an eigenvalue bound of a 2 x 2 matrix for every cell
        a = (growth / variance - KEEP * gain) / ((1 - KEEP) * old)
        b = shift / np.sqrt(variance) / (np.sqrt(1 - KEEP) * old)
        g = gain / old
        lowest = (a + g) / 2 - np.hypot((a - g) / 2, b)
        limit = np.minimum(room_below(np.ones_like(lowest), (1 - KEEP) * lowest), room_below(old, gain))
        step = np.minimum(rate, limit)
        new = old + step * gain
        new_mean = mean + step * shift / new
        new_variance = (old * variance + step * growth) / new - (step * shift / new) ** 2
        mass, shortened = moved_mass(moments.mass, direction.mass, rate)
        weight = self.spread(mass)
        new_variance = np.maximum(new_variance, KEEP * variance)
        return from_parameters(mass, weight, new_mean, new_variance), shortened + int((step < rate).sum())

    @property
    def default_pseudo_counts(self) -> float:
        return 3.0

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` examples at each outcome's own mean with the pooled within-outcome variance."""
        mean, _ = mean_and_variance(statistics)
        variance = pseudo_variance(typical_variance(statistics), mean, statistics.weight, amount)
        return from_parameters(np.zeros(self.n_outcomes), np.full_like(mean, amount), mean, variance)

    def pooled(self, statistics: Moments) -> Moments:
        share = (statistics.mass / statistics.mass.sum())[:, None]
        blocks = (share * array.sum(axis=0) for array in (statistics.weight, statistics.first, statistics.second))
        return Moments(statistics.mass, *blocks)

    def state_of(self, moments: Moments) -> tuple:
        mean, variance = mean_and_variance(moments)
        constant = log_masses(moments) - 0.5 * (np.log(variance) + LOG_2PI).sum(axis=1)
        total = np.array([moments.mass.sum()])
        return (
            moments.mass.copy(), total, moments.weight.copy(), mean + self.location, variance, 1 / variance, constant,
        )  # fmt: skip

    def moments_of_state(self, state: tuple) -> Moments:
        mass, _, weight, mean, variance, _, _ = state
        return from_parameters(mass.copy(), weight.copy(), mean - self.location, variance)

    def cell_moments(self, moments: Moments):
        mean, variance = mean_and_variance(moments)
        return mean + self.location, variance

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        mean, variance = mean_and_variance(moments)
        noise = generator.standard_normal((len(outcomes), self.n_features))
        return self.location + mean[outcomes] + noise * np.sqrt(variance[outcomes])
