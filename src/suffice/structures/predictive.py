r"""Predictive distributions: for every row a mixture of the target's family, in the target's own units.

p(y | x) = sum_c share_c p(y | eta_c, V_c, spread_c)           components c of all members, shares weighted by the members

mean, variance   sums over components            cdf   a sum of cdfs            quantiles   bisection of the cdf
CRPS             of Gaussian components in closed form (Grimit et al. 2006):
                 sum_c share_c A(y - m_c, v_c) - 1/2 sum_cc' share_c share_c' A(m_c - m_c', v_c + v_c')
                 A(m, v) = m (2 Phi(m / s) - 1) + 2 s phi(m / s),  s = sqrt v
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, ndtr

from .targets import Target

LEFT_OUT = 1e-5  # share of the components that a CRPS leaves out
BISECTIONS = 60
WIDEST = 1e300  # variance


@dataclass(frozen=True, eq=False)
class Predictive:
    target: Target
    shares: np.ndarray  # (n, C)
    eta: np.ndarray  # (n, C), in the units the members were fitted in
    variance: np.ndarray  # (n, C)
    spread: np.ndarray  # (C,)
    location: float = 0.0  # y = location + scale * the target as it was fitted
    scale: float = 1.0
    width: float = 1.0

    def _parameters(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.eta, self.variance, self.spread

    def _plain_components(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those of width 1."""
        mean, variance = self.target.moments(*self._parameters())
        with np.errstate(over="ignore"):  # far outside of the training rows: as wide as numbers can say
            variance = np.minimum(np.square(self.scale) * np.broadcast_to(variance, mean.shape), WIDEST)
        return self.shares, self.location + self.scale * mean, variance

    def components(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shares, means and variances: (n, C) arrays."""
        shares, mean, variance = self._plain_components()
        if self.width == 1.0:
            return shares, mean, variance
        centre = self.centre[:, None]
        with np.errstate(over="ignore"):
            return shares, centre + self.width * (mean - centre), np.minimum(np.square(self.width) * variance, WIDEST)

    @cached_property
    def centre(self) -> np.ndarray:
        """(n,) array: the means."""
        shares, mean, _ = self._plain_components()
        return (shares * mean).sum(axis=1)

    def _widened(self, y: np.ndarray) -> np.ndarray:
        """Where y would be under width 1."""
        return y if self.width == 1.0 else self.centre + (y - self.centre) / self.width

    def mean_and_variance(self) -> tuple[np.ndarray, np.ndarray]:
        shares, mean, variance = self.components()
        centre = (shares * mean).sum(axis=1)
        return centre, (shares * (variance + (mean - centre[:, None]) ** 2)).sum(axis=1)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """(n,) array: log p(y_i | x_i); of whole numbers a log-probability, -infinity where the target cannot be y."""
        if self.target.is_whole:
            can = (y >= 0) & (y == np.floor(y)) & (y <= self.target.largest)
            value = self.target.terms(np.where(can, y, 0.0)[:, None], *self._parameters())[0]
            return np.where(can, self._summed(value), -np.inf)
        y = (self._widened(y) - self.location) / self.scale
        return self._summed(self.target.terms(y[:, None], *self._parameters())[0]) - np.log(self.scale * self.width)

    def _summed(self, value: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return logsumexp(value + np.log(self.shares), axis=1)

    def cdf(self, y: np.ndarray) -> np.ndarray:
        """(n,) array: P(target <= y_i | x_i)."""
        own = self.target.cdf(((self._widened(y) - self.location) / self.scale)[:, None], *self._parameters())
        return np.clip((self.shares * own).sum(axis=1), 0.0, 1.0)

    def quantiles(self, levels: np.ndarray) -> np.ndarray:
        """(n, levels) array: the smallest y with P(target <= y | x) >= level."""
        _, mean, variance = self.components()
        far = 12.0 * np.sqrt(variance)
        low, high = (mean - far).min(axis=1), (mean + far).max(axis=1)
        if self.target.is_whole:
            low, high = np.full(len(mean), -1.0), np.minimum(np.ceil(high) * 4 + 50, self.target.largest)
        return np.column_stack([self._quantile(level, low.copy(), high.copy()) for level in levels])

    def _quantile(self, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            if self.target.is_whole:
                middle = np.floor(middle)
            below = self.cdf(middle) < level
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        if self.target.is_whole:
            return high
        return 0.5 * (low + high)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """(n,) array: the integral of (P(target <= t | x_i) - [y_i <= t])^2 over t."""
        if self.target.is_whole:
            return self._crps_of_whole(y)
        shares, mean, variance = self.components()
        order = np.argsort(-shares, axis=1)
        covered = np.cumsum(np.take_along_axis(shares, order, axis=1), axis=1)
        n_needed = int((covered < 1.0 - LEFT_OUT).sum(axis=1).max(initial=0)) + 1
        if n_needed < shares.shape[1]:
            places = order[:, :n_needed]
            shares, mean, variance = (np.take_along_axis(part, places, axis=1) for part in (shares, mean, variance))
            shares = shares / shares.sum(axis=1, keepdims=True)
        away = (shares * absolute(y[:, None] - mean, variance)).sum(axis=1)
        apart = np.zeros(len(y))
        for c in range(shares.shape[1]):
            between = absolute(mean[:, c : c + 1] - mean, variance[:, c : c + 1] + variance)
            apart += shares[:, c] * (shares * between).sum(axis=1)
        return away - 0.5 * apart

    def _crps_of_whole(self, y: np.ndarray) -> np.ndarray:
        top = int(min(max(float(self.quantiles(np.array([1 - 1e-9])).max()), float(y.max())) + 1, 1e5))
        total = np.zeros(len(y))
        for t in range(top):
            total += (self.cdf(np.full(len(y), float(t))) - (y <= t)) ** 2
        return total

    def sample(self, generator, n_samples: int) -> np.ndarray:
        """(n, n_samples) array: draws for every row."""
        steps = np.cumsum(self.shares, axis=1)
        draws = generator.random((len(steps), n_samples)) * steps[:, -1:]
        chosen = np.stack([np.searchsorted(own, draw) for own, draw in zip(steps, draws, strict=True)])
        chosen = np.minimum(chosen, steps.shape[1] - 1)
        eta, variance = (np.take_along_axis(part, chosen, axis=1) for part in (self.eta, self.variance))
        y = self.location + self.scale * self.target.sample(eta, variance, self.spread[chosen], generator)
        return y if self.width == 1.0 else self.centre[:, None] + self.width * (y - self.centre[:, None])


def absolute(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """E |N(mean, variance)|."""
    deviation = np.sqrt(variance)
    z = mean / deviation
    return mean * (2 * ndtr(z) - 1) + 2 * deviation * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
