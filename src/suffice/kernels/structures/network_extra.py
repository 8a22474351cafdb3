"""Compiled loops of the other learners: mean field (vb) and Polya-Gamma draws (gibbs)."""

from __future__ import annotations

import math

import numpy as np

from ..compile import compiled, summing
from .network import U, uniform


@summing
def bound_slope(omega, w, psi, rest):
    """sum_m omega_m w_m (psi_m + rest w_m)."""
    total = np.float32(0)
    for m in range(len(w)):
        total += omega[m] * w[m] * (psi[m] + rest * w[m])
    return total


@compiled
def mean_field_sweep(eta, prior, drive, omega, psi, W):
    """One coordinate sweep of q(h) = prod Bernoulli(eta) under the quadratic bound; psi = E[psi] follows eta.

    logit eta_j = prior_j + sum_m kappa_m W_jm - sum_m omega_m W_jm (psi_m without j + W_jm / 2), drive = kappa W'.
    """
    n_rows, n_units = eta.shape
    for n in range(n_rows):
        for j in range(n_units):
            old = eta[n, j]
            total = bound_slope(omega[n], W[j], psi[n], np.float32(0.5) - old)
            new = np.float32(1.0 / (1.0 + np.exp(-(prior[n, j] + drive[n, j] - total))))
            eta[n, j] = new
            change = new - old
            if abs(change) > np.float32(1e-6):
                for m in range(W.shape[1]):
                    psi[n, m] += change * W[j, m]


@compiled
def next_uniform(stream):
    stream[1] += U(1)
    return uniform(stream[0], stream[1])


@compiled
def next_normal(stream):
    radius = np.sqrt(-2.0 * np.log(next_uniform(stream)))
    return radius * np.cos(2.0 * np.pi * next_uniform(stream))


@compiled
def normal_cdf_log(x):
    """log Phi(x), stable far in the lower tail."""
    if x > -10.0:
        return np.log(0.5 * math.erfc(-x / np.sqrt(2.0)))
    return -0.5 * x * x - np.log(-x) - 0.5 * np.log(2.0 * np.pi)


@compiled
def truncated_inverse_gaussian(z, limit, stream):
    """X ~ InverseGaussian(1/z, 1) given X < limit (Polson, Scott and Windle 2013, algorithm 3)."""
    if z < 1.0 / limit:
        while True:
            while True:
                first = -np.log(next_uniform(stream))
                second = -np.log(next_uniform(stream))
                if first * first <= 2.0 * second / limit:
                    break
            x = limit / (1.0 + limit * first) ** 2
            if next_uniform(stream) < np.exp(-0.5 * z * z * x):
                return x
    mean = 1.0 / z
    while True:
        y = next_normal(stream) ** 2
        x = mean + 0.5 * mean * mean * y - 0.5 * mean * np.sqrt(4.0 * mean * y + (mean * y) ** 2)
        if next_uniform(stream) > mean / (mean + x):
            x = mean * mean / x
        if x < limit:
            return x


@compiled
def series_term(n, x, limit):
    half = n + 0.5
    if x > limit:
        return np.pi * half * np.exp(-half * half * np.pi * np.pi * x / 2.0)
    return np.pi * half * (2.0 / (np.pi * x)) ** 1.5 * np.exp(-2.0 * half * half / x)


@compiled
def draw_polya_gamma(psi, stream):
    """An exact PG(1, psi) draw: Devroye's alternating series (Polson, Scott and Windle 2013)."""
    z = abs(psi) / 2.0
    limit = 0.64
    rate = np.pi * np.pi / 8.0 + z * z / 2.0
    right = np.log(np.pi / 2.0 / rate) - rate * limit
    root = 1.0 / np.sqrt(limit)
    left_a = normal_cdf_log(root * (limit * z - 1.0)) - z
    left_b = normal_cdf_log(-root * (limit * z + 1.0)) + z
    left = np.log(2.0) + max(left_a, left_b) + np.log1p(np.exp(-abs(left_a - left_b)))
    share_right = 1.0 / (1.0 + np.exp(left - right))
    while True:
        if next_uniform(stream) < share_right:
            x = limit - np.log(next_uniform(stream)) / rate
        else:
            x = truncated_inverse_gaussian(z, limit, stream)
        total = series_term(0, x, limit)
        y = next_uniform(stream) * total
        n = 0
        while True:
            n += 1
            if n % 2 == 1:
                total -= series_term(n, x, limit)
                if y <= total:
                    return x / 4.0
            else:
                total += series_term(n, x, limit)
                if y > total:
                    break


@compiled
def draw_omega(e, n_below, seed, rows):
    """omega ~ PG(1, psi) for every cell below, from e = exp(psi); 0 where missing."""
    quarter = e.shape[2]
    out = np.empty((len(e), n_below), np.float32)
    stream = np.empty(2, np.uint64)
    for n in range(len(e)):
        for i in range(n_below):
            odds = np.float64(e[n, i // quarter, i % quarter])
            if odds <= 0.0:
                out[n, i] = 0.0
                continue
            stream[0] = seed
            stream[1] = U(rows[n] * n_below + i) * U(1024)
            out[n, i] = draw_polya_gamma(np.log(odds), stream)
    return out
