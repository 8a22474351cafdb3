r"""Gaussian rows with a full covariance for each outcome.

    log p(x | k) = -1/2 log |2 pi V_k| - 1/2 (x - m_k)' V_k^-1 (x - m_k)

    statistics   weight,  z,  z z'          with z = x - location
    moments      weight[k],  first[k] = weight m,  second[k] = weight (V + m m')
    natural      linear[k] = V^-1 m,  quadratic[k] = -1/2 V^-1
    A_k          1/2 m' V^-1 m + 1/2 log |2 pi V|

One row changes V by a matrix of rank one: with q = (x - m)' V^-1 (x - m) and W' = W + delta,
q' = W q / (W' + delta q)  and  |V'| = |V| (W/W')^d (1 + delta q / W').
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from .base import KEEP, Change, room_below
from .conjugates import log_determinant
from .forms import LOG_2PI
from .gaussian_correlated import GaussianCorrelated, Moments, Natural
from .gaussian_diagonal import floored_variance, pseudo_variance
from .rows import chunks, dense, label_masses


def outer(vectors: np.ndarray) -> np.ndarray:
    return vectors[:, :, None] * vectors[:, None, :]


def mean_and_covariance(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    weight = np.where(moments.weight > 0, moments.weight, 1.0)
    mean = moments.first / weight[:, None]
    return mean, moments.second / weight[:, None, None] - outer(mean)


def from_parameters(weight, mean, covariance) -> Moments:
    return Moments(weight, weight[:, None] * mean, weight[:, None, None] * (covariance + outer(mean)))


@dataclass(frozen=True, eq=False)
class GaussianFull(GaussianCorrelated):
    kernels = "suffice.kernels.families.gaussian_full"

    @override
    def parameters(self, moments):
        return mean_and_covariance(moments)

    @override
    def from_parameters(self, weight, mean, covariance) -> Moments:
        return from_parameters(weight, mean, covariance)

    @override
    def complete_statistics(self, X, outcomes, weights) -> Moments:
        d = self.n_features
        first, second = np.zeros((self.n_outcomes, d)), np.zeros((self.n_outcomes, d, d))
        for rows in chunks(X):
            z, labels, w = dense(X[rows]) - self.location, outcomes[rows], weights[rows]
            for k in np.unique(labels[labels >= 0]):
                part, share = z[labels == k], w[labels == k, None]
                first[k] += (share.T @ part)[0]
                second[k] += (share * part).T @ part
        return Moments(label_masses(outcomes, weights, self.n_outcomes), first, second)

    @override
    def statistics(self, X, shares) -> Moments:
        first = np.zeros((self.n_outcomes, self.n_features))
        second = np.zeros((self.n_outcomes, self.n_features, self.n_features))
        for rows in chunks(X):
            z, r = dense(X[rows]) - self.location, shares[rows]
            first += r.T @ z
            for k in np.flatnonzero(np.abs(r).max(axis=0, initial=0.0) > 0):
                second[k] += (r[:, k, None] * z).T @ z
        return Moments(shares.sum(axis=0), first, second)

    @override
    def natural_of(self, moments: Moments) -> Natural:
        mean, covariance = mean_and_covariance(moments)
        precision = np.linalg.inv(covariance)
        return Natural(np.einsum("kab,kb->ka", precision, mean), -0.5 * precision)

    @override
    def log_partitions(self, natural: Natural) -> np.ndarray:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        reach = np.einsum("ka,kab,kb->k", natural.linear, covariance, natural.linear)
        return 0.5 * (reach + log_determinant(covariance) + self.n_features * LOG_2PI)

    @override
    def moments_of(self, natural: Natural, mass) -> Moments:
        covariance = np.linalg.inv(-2 * natural.quadratic)
        return from_parameters(mass.copy(), np.einsum("kab,kb->ka", covariance, natural.linear), covariance)

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        mean, covariance = mean_and_covariance(moments)
        cross = statistics.first[:, :, None] * mean[:, None, :]
        squares = statistics.second - cross - cross.transpose(0, 2, 1) + statistics.weight[:, None, None] * outer(mean)
        distances = np.trace(np.linalg.solve(covariance, squares), axis1=1, axis2=2)
        logs = statistics.weight * (log_determinant(covariance) + self.n_features * LOG_2PI)
        return -0.5 * float((logs + distances).sum())

    @override
    def move(self, moments: Moments, direction: Moments, rate: float, change: Change) -> tuple[Moments, int]:
        mean, covariance = mean_and_covariance(moments)
        old, gain, d = change.before, change.gain, self.n_features
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
        room = np.minimum(room_below(np.ones_like(lowest), (1 - KEEP) * lowest), room_below(old, gain))
        step = np.minimum(rate, room)
        new = old + step * gain
        stride = (step / new)[:, None] * shift
        moved = ((old / new)[:, None, None] * covariance + (step / new)[:, None, None] * growth) - outer(stride)
        moved = 0.5 * (moved + moved.transpose(0, 2, 1))
        return from_parameters(change.after.copy(), mean + stride, moved), int((step < rate).sum())

    @override
    def variances(self, statistics: Moments):
        n = max(float(statistics.weight.sum()), 1e-300)
        within = np.einsum("k,kaa->a", statistics.weight, mean_and_covariance(statistics)[1]) / n
        square = np.einsum("kaa->a", statistics.second) / n
        return within, square - (statistics.first.sum(axis=0) / n) ** 2, square

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` examples at each outcome's own mean, independent columns with the pooled within-outcome variance."""
        mean, _ = mean_and_covariance(statistics)
        typical = floored_variance(*self.variances(statistics))
        variance = pseudo_variance(typical, mean, statistics.weight[:, None], amount)
        spread = variance[:, :, None] * np.eye(self.n_features)
        return from_parameters(np.full(self.n_outcomes, float(amount)), mean, spread)

    @property
    @override
    def default_rows(self) -> float:
        return self.n_features + 1.0

    @override
    def pseudo_rows(self, statistics: Moments, amount: float, typical) -> Moments:
        """`amount` rows at the component's own mean, independent columns with the typical variances."""
        mean, covariance = mean_and_covariance(statistics)
        spread = np.broadcast_to(np.diag(typical), covariance.shape)
        return from_parameters(np.full(self.n_outcomes, amount), mean, spread)

    @override
    def state_of(self, moments: Moments) -> tuple:
        mean, covariance = mean_and_covariance(moments)
        constant = -0.5 * (log_determinant(covariance) + self.n_features * LOG_2PI)
        precision = np.ascontiguousarray(np.linalg.inv(covariance))
        return moments.weight.copy(), mean + self.location, covariance, precision, constant

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        weight, mean, covariance, _, _ = state
        symmetric = 0.5 * (covariance + covariance.transpose(0, 2, 1))
        return from_parameters(weight.copy(), mean - self.location, symmetric)
