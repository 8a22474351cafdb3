"""Compiled loops over rows with missing cells of correlated Gaussian columns, grouped by their pattern of missing cells.

`order[bounds[p] : bounds[p + 1]]` are the rows of pattern p, `observed[p]` its observed columns. The mathematics is in
`suffice.families.completion`. Both loops return False where a covariance of observed cells is not positive definite.
"""

import math

import numpy as np

from ..compile import compiled

LOG_2PI = math.log(2 * math.pi)


@compiled
def factorised(matrix, columns, factor):
    """factor <- the lower factor of the rows and columns of `matrix` named in `columns`; False: there is none."""
    for a in range(len(columns)):
        for b in range(a + 1):
            value = matrix[columns[a], columns[b]]
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                if not value > 0.0:
                    return False
                factor[a, a] = math.sqrt(value)
            else:
                factor[a, b] = value / factor[b, b]
    return True


@compiled
def solve_lower(factor, n, x):
    """x <- factor^-1 x, in place."""
    for a in range(n):
        value = x[a]
        for b in range(a):
            value -= factor[a, b] * x[b]
        x[a] = value / factor[a, a]


@compiled
def observed_scores(z, order, bounds, observed, mean, covariance, scores):
    """scores[i, k] = log p(observed cells of row i | k); 0 where there are none."""
    K, d = mean.shape
    factor, x = np.empty((d, d)), np.empty(d)
    for p in range(len(bounds) - 1):
        o = np.flatnonzero(observed[p])
        for k in range(K):
            if not factorised(covariance[k], o, factor):
                return False
            constant = -0.5 * len(o) * LOG_2PI
            for a in range(len(o)):
                constant -= math.log(factor[a, a])
            for place in range(bounds[p], bounds[p + 1]):
                i = order[place]
                for a in range(len(o)):
                    x[a] = z[i, o[a]] - mean[k, o[a]]
                solve_lower(factor, len(o), x)
                square = 0.0
                for a in range(len(o)):
                    square += x[a] * x[a]
                scores[i, k] = constant - 0.5 * square
    return True


@compiled
def completed_moments(z, order, bounds, observed, r, mean, covariance, weight, first, second):
    """weight, first, second += sum_i r_ik (1, E z, E z z') over rows with an observed cell."""
    K, d = mean.shape
    factor, across, x = np.empty((d, d)), np.empty((d, d)), np.empty(d)
    for p in range(len(bounds) - 1):
        o, m = np.flatnonzero(observed[p]), np.flatnonzero(~observed[p])
        if len(o) == 0:
            continue
        for k in range(K):
            total, largest = 0.0, 0.0
            for place in range(bounds[p], bounds[p + 1]):
                total += r[order[place], k]
                largest = max(largest, abs(r[order[place], k]))
            if largest == 0.0:
                continue
            if len(m) and not factorised(covariance[k], o, factor):
                return False
            for b in range(len(m)):  # rows of `across`: factor^-1 V_om, then the gain V_oo^-1 V_om
                for a in range(len(o)):
                    across[b, a] = covariance[k, o[a], m[b]]
                solve_lower(factor, len(o), across[b])
            for a in range(len(m)):
                for b in range(len(m)):
                    spread = covariance[k, m[a], m[b]]
                    for c in range(len(o)):
                        spread -= across[a, c] * across[b, c]
                    second[k, m[a], m[b]] += total * spread
            for b in range(len(m)):
                for a in range(len(o) - 1, -1, -1):
                    value = across[b, a]
                    for c in range(a + 1, len(o)):
                        value -= factor[c, a] * across[b, c]
                    across[b, a] = value / factor[a, a]
            weight[k] += total
            for place in range(bounds[p], bounds[p + 1]):
                i = order[place]
                share = r[i, k]
                if share == 0.0:
                    continue
                for a in range(len(o)):
                    x[o[a]] = z[i, o[a]]
                for b in range(len(m)):
                    value = mean[k, m[b]]
                    for a in range(len(o)):
                        value += across[b, a] * (z[i, o[a]] - mean[k, o[a]])
                    x[m[b]] = value
                for a in range(d):
                    first[k, a] += share * x[a]
                    for b in range(d):
                        second[k, a, b] += share * x[a] * x[b]
    return True
