r"""One Gaussian of rows and target together: a line whose prior has the strength that the rows decide (Bayesian ridge).

    u ~ N(m, C)         y | u ~ N(a + b'u, s)         b ~ N(0, I / lambda)

Statistics of (u, y) are sums of (1, z, z z'); missing cells and targets enter by their expectations (EM, `families.completion`). With
G the centred second moments of u and g those of u and y, the posterior of b is N(b, S), S = (G / s + lambda)^-1, b = S g / s, and
the evidence is maximised by MacKay's updates (as in scikit-learn's BayesianRidge):

    gamma = sum_j w_j / (w_j + lambda s)      (w: eigenvalues of G)     lambda = gamma / b'b     s = residual / (n - gamma)

A row with missing cells has E[u | observed] and Cov[u | observed] in their place, so its target has the variance
s + E[u]' S E[u] + b' Cov[u] b (+ s / n of the intercept).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ..engines.threads import Engine, shards
from ..families.completion import conditionals, observed_log_densities, patterns
from ..families.gaussian_full import GaussianFull
from .design import Design
from .predictive import Predictive
from .targets import GaussianTarget

UPDATES = 300
LEAST, MOST = 1e-10, 1e10  # of lambda
PART = 4096
PSEUDO_ROWS = 0.01
EM_PASSES, ENOUGH = 200, 1e-6  # passes over rows with missing cells, and the relative change that ends them


@dataclass(frozen=True, eq=False)
class Line:
    design: Design
    cuts: tuple[int, ...]  # where the columns of every family end
    statistics: Any  # of (u, y)
    mean: np.ndarray  # (p,) of u
    covariance: np.ndarray  # (p, p) of u
    slope: np.ndarray  # (p,)
    posterior: np.ndarray  # (p, p) covariance of the slope
    centre: float  # of the target
    noise: float
    strength: float  # lambda
    location: float = 0.0
    scale: float = 1.0
    width: float = 1.0

    @classmethod
    def fitted(cls, design: Design, cuts: tuple[int, ...], X, y: np.ndarray, weights: np.ndarray) -> Self:
        both = np.column_stack([vectors(design, cuts, X), y])
        family = family_of(both.shape[1])
        both = np.ascontiguousarray(both)
        found = family.labelled_statistics(both, np.zeros(len(y), dtype=np.int64), weights)
        if family.is_latent(both):
            found = completed(family, both, weights, found)
        return cls.of(design, cuts, found)

    @classmethod
    def of(cls, design: Design, cuts: tuple[int, ...], statistics: Any) -> Self:
        family = family_of(statistics.first.shape[1])
        _, covariance = family.parameters(smoothed(family, statistics))
        n = float(statistics.weight[0])
        plain, spread = family.parameters(statistics)
        found = evidence(n * spread[0][:-1, :-1], n * spread[0][:-1, -1], n * spread[0][-1, -1], n)
        slope, posterior, noise, strength = found
        mean, centre = plain[0, :-1], float(plain[0, -1])
        return cls(design, cuts, statistics, mean, covariance[0][:-1, :-1], slope, posterior, centre, noise, strength)

    def updated(self, X, y: np.ndarray, weights: np.ndarray) -> Line:
        """After more rows, whose missing cells are completed by the model so far."""
        both = np.ascontiguousarray(np.column_stack([vectors(self.design, self.cuts, X), y]))
        family = family_of(both.shape[1])
        more = family.completed_statistics(both, weights[:, None], smoothed(family, self.statistics))
        after = Line.of(self.design, self.cuts, self.statistics + more)
        return replace(after, location=self.location, scale=self.scale)

    @property
    def target(self) -> GaussianTarget:
        return GaussianTarget()

    def predictive(self, X: np.ndarray) -> Predictive:
        u = vectors(self.design, self.cuts, X)
        variance = np.zeros(len(u))
        for rows, seen in patterns(u):
            if seen.all():
                continue
            if not seen.any():
                u[rows], variance[rows] = self.mean, self.slope @ self.covariance @ self.slope
                continue
            means, spread = conditionals(u[rows], seen, self.mean[None], self.covariance[None])
            hidden = np.flatnonzero(~seen)
            u[np.ix_(rows, hidden)] = means[0]
            variance[rows] = self.slope[hidden] @ spread[0] @ self.slope[hidden]
        z = u - self.mean
        eta = self.centre + z @ self.slope
        with np.errstate(over="ignore", invalid="ignore"):  # so far from all rows that nothing is known
            variance = variance + np.nan_to_num(((z @ self.posterior) * z).sum(axis=1), nan=np.inf)
        variance = variance + self.noise / float(self.statistics.weight[0])
        shares = np.ones((len(u), 1))
        return Predictive(
            self.target, shares, eta[:, None], np.maximum(variance, 0.0)[:, None], np.array([self.noise]), self.location, self.scale
        )  # fmt: skip

    def over_parts(self, function: Any, X: np.ndarray, *others: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """function(predictive, its part of the others) of parts of the rows, put together."""
        parts = shards(len(X), PART) or [slice(0, 0)]
        found = Engine(n_threads).each(
            lambda p: function(self.predictive(X[p]), *(other[p] for other in others)), parts
        )
        return np.concatenate(list(found))

    def mean_and_variance(self, X: np.ndarray, n_threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        found = self.over_parts(lambda p: np.column_stack(p.mean_and_variance()), X, n_threads=n_threads)
        return found[:, 0], found[:, 1]

    def log_density(self, X: np.ndarray, y: np.ndarray, n_threads: int = 1) -> np.ndarray:
        return self.over_parts(Predictive.log_density, X, y, n_threads=n_threads)

    def log_rows(self, X: np.ndarray, n_threads: int = 1) -> np.ndarray:
        u = vectors(self.design, self.cuts, X)
        return observed_log_densities(u, self.mean[None], self.covariance[None])[:, 0]


def family_of(size: int) -> GaussianFull:
    return GaussianFull(1, size, np.zeros(size))


def smoothed(family: GaussianFull, statistics: Any) -> Any:
    """With just enough of a prior to be inverted: as many pseudo-rows as columns would hide strong correlations."""
    return statistics + family.pseudo_counts(statistics, PSEUDO_ROWS)


def completed(family: GaussianFull, both: np.ndarray, weights: np.ndarray, statistics: Any) -> Any:
    """Statistics whose missing cells are expected under the Gaussian that they lead to (EM)."""
    for _ in range(EM_PASSES):
        before = statistics
        statistics = family.completed_statistics(both, weights[:, None], smoothed(family, before))
        change = np.abs(statistics.second - before.second).max() / max(float(np.abs(statistics.second).max()), 1e-300)
        if change < ENOUGH:
            break
    return statistics


def vectors(design: Design, cuts: tuple[int, ...], X: np.ndarray) -> np.ndarray:
    """(n, p) array: u, NaN in the place of what a missing cell would give."""
    pieces = np.split(X, cuts, axis=1)
    hidden = []
    for part, own in zip(design.parts, pieces, strict=True):
        times = getattr(part, "n_categories", np.ones(part.n_columns, dtype=np.int64))
        hidden.append(np.repeat(np.isnan(own), times, axis=1))
    u = design.vectors(pieces)
    u[np.hstack(hidden)] = np.nan
    return u


def evidence(
    squares: np.ndarray, cross: np.ndarray, total: float, n: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """(b, S, s, lambda) at the largest evidence, from centred second moments."""
    values, axes = np.linalg.eigh(squares)
    values, along = np.maximum(values, 0.0), axes.T @ cross
    least = max(1e-10 * total / max(n, 1.0), 1e-12)
    noise, strength = max(total / max(n, 1.0), least), 1.0
    for _ in range(UPDATES):
        slope = along / (values + strength * noise)
        gamma = float((values / (values + strength * noise)).sum())
        residual = max(total - 2 * float(along @ slope) + float(values @ slope**2), 0.0)
        before = noise, strength
        strength = float(np.clip(gamma / max(float(slope @ slope), 1e-300), LEAST, MOST))
        noise = max(residual / max(n - gamma, 0.5), least)
        if abs(noise - before[0]) <= 1e-8 * noise and abs(strength - before[1]) <= 1e-6 * strength:
            break
    slope = along / (values + strength * noise)
    return axes @ slope, (axes * (noise / (values + strength * noise))) @ axes.T, noise, strength
