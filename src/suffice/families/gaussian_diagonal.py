r"""Gaussian columns, independent given the outcome (diagonal covariance).

    log p(x | k) = sum_j [ -1/2 log 2 pi v_kj - (x_j - m_kj)^2 / 2 v_kj ]

    statistics   weight,  z,  z^2           with z = x - location (a fixed column vector: only rounding depends on it)
    moments      weight[k, j],  first[k, j] = weight m,  second[k, j] = weight (v + m^2)
    natural      linear[k, j] = m/v,  quadratic[k, j] = -1/2v
    A_k          sum_j m^2/2v + 1/2 log 2 pi v

Adding a step delta of one row to an outcome of weight W changes mean and variance to  m + delta/W' (x - m)  and
W/W' (v + delta/W' (x - m)^2),  W' = W + delta,  so the step must stay above  -W / (1 + (x - m)^2 / v).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from typing_extensions import override

from .base import KEEP, Change, room_below
from .charts import DiagonalChart
from .columns import Columns
from .conjugates import NormalGamma, wide
from .forms import LOG_2PI, SquareForm
from .points import standardised, weighted_means
from .records import Record
from .rows import as_read, chunks, dense, location_of

LEAST_SQUARE = 1e-200  # of a column: smaller ones are zero up to rounding
MIN_VARIANCE = 1e-6  # of the pooled variance: the smallest a prior may ask for
RESOLUTION = 1e-12  # a variance below this share of the squared mean is lost in the rounding of second moments


@dataclass(frozen=True, eq=False)
class Moments(Record):
    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    linear: np.ndarray
    quadratic: np.ndarray


def mean_and_variance(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """(K, d) arrays, relative to the location; a block of no weight has mean 0 and variance 0."""
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    mean = moments.first / weight
    return mean, np.maximum(moments.second / weight - mean**2, 0.0)


def from_parameters(weight, mean, variance) -> Moments:
    return Moments(weight, weight * mean, weight * (variance + mean**2))


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


def above_rounding(location: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Variances of columns that are constant up to rounding: the square of their value, or 1."""
    square = location**2
    return np.where(variance > 1e-14 * square, variance, np.where(square > 0, square, 1.0))


@dataclass(frozen=True, eq=False)
class GaussianDiagonal(Columns):
    location: np.ndarray = field(default_factory=lambda: np.zeros(0))

    stored_as: ClassVar[dict[str, str]] = {"location": "float[n_features]"}

    kernels = "suffice.kernels.families.gaussian_diagonal"
    conditional = "numbers"
    record: ClassVar[Any] = Moments
    natural: ClassVar[Any] = Natural
    n_statistics = 2
    is_spherical = False
    printed = "gaussian"

    @classmethod
    @override
    def for_data(cls, X, n_outcomes: int) -> Self:
        return cls(n_outcomes, X.shape[1], location_of(X))

    @override
    def centred(self, X, weights):
        return replace(self, location=weighted_means(dense(X), weights))

    @override
    def phi(self, X):
        z = X - self.location
        return z, z**2

    @override
    def labelled_statistics(self, X, outcomes, weights) -> Moments:
        """Compiled; `statistics` of one-hot shares is its readable twin."""
        from ..kernels.families.gaussian_diagonal import add_labelled

        shape = (self.n_outcomes, self.n_features)
        total = Moments(np.zeros(shape), np.zeros(shape), np.zeros(shape))
        for rows in chunks(X):  # sums of chunks, so that rounding does not grow with the rows
            part = Moments(np.zeros(shape), np.zeros(shape), np.zeros(shape))
            own = as_read(dense(X[rows])), as_read(self.location), outcomes[rows], weights[rows]
            add_labelled(*own, part.weight, part.first, part.second)
            total = total + part
        return total

    @override
    def statistics(self, X, shares) -> Moments:
        shape = (self.n_outcomes, self.n_features)
        weight, first, second = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        for rows in chunks(X):
            z, r = dense(X[rows]) - self.location, shares[rows].T
            if np.isnan(z.sum()):
                missing = np.isnan(z)
                z[missing] = 0.0
                weight += r @ ~missing
            else:
                weight += r.sum(axis=1, keepdims=True)
            first += r @ z
            second += r @ z**2
        return Moments(weight, first, second)

    # -- the maps of a cell -------------------------------------------------------------------------------------------

    @override
    def coefficients(self, mean, square):  # type: ignore[override]  # its own statistics by name
        variance = np.maximum(square - mean**2, 0.0)
        return mean / variance, -0.5 / variance

    @override
    def means(self, linear, quadratic):  # type: ignore[override]  # its own statistics by name
        variance = -0.5 / quadratic
        mean = linear * variance
        return mean, variance + mean**2

    @override
    def log_norm(self, linear, quadratic):  # type: ignore[override]  # its own statistics by name
        variance = -0.5 / quadratic
        return 0.5 * (linear**2 * variance + np.log(variance) + LOG_2PI)

    @override
    def is_inside(self, mean, square):  # type: ignore[override]  # its own statistics by name
        return np.maximum(square - mean**2, 0.0) > 0

    def parameters(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        return mean_and_variance(moments)

    def from_parameters(self, weight, mean, variance) -> Moments:
        return from_parameters(weight, mean, variance)

    # -- the same about the means, which rounds less ------------------------------------------------------------------

    @override
    def cells(self, moments: Moments):
        mean, variance = mean_and_variance(moments)
        precision = 1.0 / variance
        return -0.5 * (np.log(variance) + LOG_2PI + mean**2 * precision), mean * precision, -0.5 * precision

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        mean, variance = mean_and_variance(moments)
        squares = statistics.second - 2 * mean * statistics.first + mean**2 * statistics.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = statistics.weight * (np.log(variance) + LOG_2PI) + squares / variance
        return -0.5 * float(terms.sum())

    @override
    def log_densities(self, moments: Moments, X) -> np.ndarray:
        return self.cell_log_densities(moments, dense(X)).sum(axis=2)

    @override
    def cell_log_densities(self, moments: Moments, X) -> np.ndarray:
        z, cells = X - self.location, zip(*mean_and_variance(moments), strict=True)
        columns = np.stack([-0.5 * (LOG_2PI + np.log(v) + (z - m) ** 2 / v) for m, v in cells], axis=1)
        return np.where(np.isnan(columns), 0.0, columns)  # a missing cell is integrated out

    @override
    def at_weight(self, moments: Moments, weight) -> Moments:
        return from_parameters(weight, *mean_and_variance(moments))

    @override
    def move(self, moments: Moments, direction: Moments, rate: float, change: Change) -> tuple[Moments, int]:
        mean, variance = mean_and_variance(moments)
        old, gain = change.before[:, None], change.gain[:, None]
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
        new_variance = np.maximum(new_variance, KEEP * variance)
        return from_parameters(self.weight_of(change.after), new_mean, new_variance), int((step < rate).sum())

    # -- priors -------------------------------------------------------------------------------------------------------

    @property
    @override
    def default_pseudo_counts(self) -> float:
        return 3.0

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` examples at each outcome's own mean with the pooled within-outcome variance."""
        mean, _ = mean_and_variance(statistics)
        variance = pseudo_variance(typical_variance(statistics), mean, statistics.weight, amount)
        return from_parameters(np.full_like(mean, amount), mean, variance)

    @override
    def typical(self, statistics: Moments) -> np.ndarray:
        """(d,) array: variances within outcomes."""
        return above_rounding(self.location, typical_variance(statistics))

    @override
    def pseudo_rows(self, statistics: Moments, amount: float, typical) -> Moments:
        """`amount` rows at the component's own mean with the typical variance V0: V = (W V_ml + amount V0) / (W + amount)."""
        mean, _ = mean_and_variance(statistics)
        return from_parameters(np.full_like(mean, amount), mean, np.broadcast_to(typical, mean.shape))

    @override
    def resolved(self, moments: Moments, typical) -> Moments:
        mean, variance = mean_and_variance(moments)
        least = RESOLUTION * (mean**2 + typical)
        if (variance >= least).all():
            return moments
        return from_parameters(moments.weight, mean, np.maximum(variance, least))

    @override
    def ridged(self, moments: Moments, ridge: float) -> Moments:
        mean, variance = mean_and_variance(moments)
        return from_parameters(moments.weight, mean, variance + ridge)

    @override
    def conjugate(self, statistics: Moments) -> NormalGamma:
        squares, weight = statistics.second.sum(axis=0), statistics.weight.sum(axis=0)
        kappa, rate = wide(self.typical(statistics), squares, weight)
        return NormalGamma(self, (kappa, 1.0, float(rate.mean()) if self.is_spherical else rate))

    @override
    def points(self, X, weights):
        return standardised(dense(X) - self.location, weights)

    @override
    def form_for(self, X):
        return SquareForm

    @override
    def chart_for(self, moments):
        return DiagonalChart

    # -- compiled code and new rows -----------------------------------------------------------------------------------

    @override
    def state_of(self, moments: Moments) -> tuple:
        mean, variance = mean_and_variance(moments)
        constant = -0.5 * (np.log(variance) + LOG_2PI).sum(axis=1)
        return moments.weight.copy(), mean + self.location, variance, 1 / variance, constant

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        weight, mean, variance, _, _ = state
        return from_parameters(weight.copy(), mean - self.location, variance)

    @override
    def cell_moments(self, moments: Moments):
        mean, variance = mean_and_variance(moments)
        return mean + self.location, variance

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        mean, variance = mean_and_variance(moments)
        noise = generator.standard_normal((len(outcomes), self.n_features))
        return self.location + mean[outcomes] + noise * np.sqrt(variance[outcomes])
