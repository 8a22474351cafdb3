r"""What an expert says of the target: p(y | eta, V, spread), eta = a + b'u the linear part and V its variance where cells are missing.

    gaussian           y ~ N(eta, spread + V)                                     spread: a variance
    poisson            y ~ Poisson(rate),  log rate = eta + V/2
    negative_binomial  y ~ NB of mean rate and variance rate + spread rate^2      log rate = eta + V/2,  spread: a dispersion
    bernoulli          y ~ Bernoulli(sigmoid(eta / sqrt(1 + pi V / 8)))

V is exact for a Gaussian target; exp(eta + V/2) is the mean of a log-normal rate, and the last is the usual approximation of a
logistic-normal probability. `terms` gives log p and its derivatives in eta, V and the spread, each an (n, K) array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, digamma, expit, gammaln, ndtr, pdtr
from typing_extensions import override

LOG_2PI = float(np.log(2 * np.pi))
LARGEST = 40.0  # of a log rate
FLOOR = 1e-5  # of a variance, of that of all targets


@dataclass(frozen=True, eq=False)
class Target(ABC):
    name = ""
    has_spread = False
    is_whole = False  # targets are whole numbers >= 0
    is_compiled = False  # experts weigh it by the loops of a Gaussian target
    largest = np.inf  # of a target
    floor = 0.0  # of the spread

    @abstractmethod
    def terms(self, y: np.ndarray, eta: np.ndarray, variance: np.ndarray, spread: np.ndarray) -> tuple: ...

    @abstractmethod
    def moments(self, eta, variance, spread) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of y."""

    @abstractmethod
    def information(self, eta, variance, spread) -> np.ndarray:
        """(n, K) array: Fisher information of eta."""

    @abstractmethod
    def working(self, y: np.ndarray) -> np.ndarray:
        """Targets as a first linear part: where least squares starts."""

    @abstractmethod
    def cdf(self, y, eta, variance, spread) -> np.ndarray:
        """P(target <= y)."""

    @abstractmethod
    def sample(self, eta, variance, spread, generator) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class GaussianTarget(Target):
    name = "gaussian"
    has_spread = True
    is_compiled = True
    floor = FLOOR

    @override
    def terms(self, y, eta, variance, spread):
        variance = spread + variance
        residual = y - eta
        slope = residual / variance
        curve = 0.5 * (slope**2 - 1.0 / variance)
        return -0.5 * (LOG_2PI + np.log(variance) + residual * slope), slope, curve, curve

    @override
    def moments(self, eta, variance, spread):
        return eta, spread + variance

    @override
    def information(self, eta, variance, spread):
        return np.broadcast_to(1.0 / (spread + variance), eta.shape)

    @override
    def working(self, y):
        return y

    @override
    def cdf(self, y, eta, variance, spread):
        return ndtr((y - eta) / np.sqrt(spread + variance))

    @override
    def sample(self, eta, variance, spread, generator):
        return eta + np.sqrt(spread + variance) * generator.standard_normal(eta.shape)


class Rated(Target):
    """Counts whose log rate is linear."""

    is_whole = True

    def rate(self, eta, variance):
        return np.exp(np.clip(eta + 0.5 * variance, -LARGEST, LARGEST))

    @override
    def working(self, y):
        return np.log(y + 0.5)


@dataclass(frozen=True, eq=False)
class PoissonTarget(Rated):
    name = "poisson"

    @override
    def terms(self, y, eta, variance, spread):
        rate = self.rate(eta, variance)
        slope = y - rate
        return y * np.log(rate) - rate - gammaln(y + 1), slope, 0.5 * slope, np.zeros_like(slope)

    @override
    def moments(self, eta, variance, spread):
        rate = self.rate(eta, variance)
        return rate, rate

    @override
    def information(self, eta, variance, spread):
        return self.rate(eta, variance)

    @override
    def cdf(self, y, eta, variance, spread):
        return np.where(y >= 0, pdtr(np.floor(np.maximum(y, 0.0)), self.rate(eta, variance)), 0.0)

    @override
    def sample(self, eta, variance, spread, generator):
        return generator.poisson(np.minimum(self.rate(eta, variance), 1e15)).astype(float)


@dataclass(frozen=True, eq=False)
class NegativeBinomialTarget(Rated):
    name = "negative_binomial"
    has_spread = True
    floor = 1e-6

    @override
    def terms(self, y, eta, variance, spread):
        rate, shape = self.rate(eta, variance), 1.0 / spread
        whole = rate + shape
        value = gammaln(y + shape) - gammaln(shape) - gammaln(y + 1) - shape * np.log1p(rate * spread)
        value = value + y * (np.log(rate) - np.log(whole))
        slope = (y - rate) * shape / whole
        of_shape = digamma(y + shape) - digamma(shape) + np.log(shape / whole) + (rate - y) / whole
        return value, slope, 0.5 * slope, -of_shape * shape**2

    @override
    def moments(self, eta, variance, spread):
        rate = self.rate(eta, variance)
        return rate, rate + spread * rate**2

    @override
    def information(self, eta, variance, spread):
        rate = self.rate(eta, variance)
        return rate / (1.0 + spread * rate)

    @override
    def cdf(self, y, eta, variance, spread):
        share = 1.0 / (1.0 + spread * self.rate(eta, variance))
        return np.where(y >= 0, betainc(1.0 / spread, np.floor(np.maximum(y, 0.0)) + 1.0, share), 0.0)

    @override
    def sample(self, eta, variance, spread, generator):
        rates = self.rate(eta, variance) * generator.gamma(1.0 / np.broadcast_to(spread, eta.shape)) * spread
        return generator.poisson(np.minimum(rates, 1e15)).astype(float)


@dataclass(frozen=True, eq=False)
class BernoulliTarget(Target):
    name = "bernoulli"
    is_whole = True
    largest = 1.0

    def logit(self, eta, variance):
        return eta / np.sqrt(1.0 + np.pi / 8.0 * variance)

    @override
    def terms(self, y, eta, variance, spread):
        logit, scale = self.logit(eta, variance), 1.0 + np.pi / 8.0 * variance
        slope = y - expit(logit)
        value = y * logit - np.logaddexp(0.0, logit)
        return value, slope / np.sqrt(scale), -0.5 * slope * logit / scale * np.pi / 8.0, np.zeros_like(slope)

    @override
    def moments(self, eta, variance, spread):
        share = expit(self.logit(eta, variance))
        return share, share * (1.0 - share)

    @override
    def information(self, eta, variance, spread):
        return np.maximum(self.moments(eta, variance, spread)[1], 1e-3)

    @override
    def working(self, y):
        return 4.0 * y - 2.0

    @override
    def cdf(self, y, eta, variance, spread):
        zero = 1.0 - self.moments(eta, variance, spread)[0]
        return np.where(y >= 1, 1.0, np.where(y >= 0, zero, 0.0))

    @override
    def sample(self, eta, variance, spread, generator):
        return (generator.random(eta.shape) < self.moments(eta, variance, spread)[0]).astype(float)


TARGETS: dict[str, type[Target]] = {
    cls.name: cls for cls in (GaussianTarget, PoissonTarget, NegativeBinomialTarget, BernoulliTarget)
}
