"""Kernels of the Gaussian with diagonal covariance. The mathematics is in `suffice.models.gaussian_diagonal`.

state = (mass[K], total[1], weight[K, d], mean[K, d], variance[K, d], precision[K, d], constant[K])
constant[k] = log mass/total - 1/2 sum_j log 2 pi variance[k, j];  scratch[k, j] = squared standardised distance q
"""

import math

import numpy as np

from .compile import compiled

LOG_2PI = math.log(2 * math.pi)


@compiled
def scratch_for(state):
    return np.empty(state[2].shape)


@compiled
def score(state, row, scores, scratch):
    mass, total, weight, mean, variance, precision, constant = state
    for k in range(len(mass)):
        distance = 0.0
        for j in range(len(row)):
            difference = row[j] - mean[k, j]
            q = difference * difference * precision[k, j]
            scratch[k, j] = q
            distance += q
        if distance == distance:
            scores[k] = constant[k] - 0.5 * distance
        else:  # a missing cell is integrated out: its factor is one
            distance = 0.0
            for j in range(len(row)):
                if row[j] == row[j]:
                    distance += scratch[k, j]
                else:
                    distance -= LOG_2PI + math.log(variance[k, j])
            scores[k] = constant[k] - 0.5 * distance


@compiled
def slope(state, row, k, scratch):
    """d score_k / d delta_k at zero: 1/mass + sum_j (1 + q^2) / 2 weight."""
    mass, total, weight, mean, variance, precision, constant = state
    rise = 0.0
    for j in range(len(row)):
        q = scratch[k, j]
        term = (1.0 + q * q) / weight[k, j]
        rise += term if term == term else 0.0
    return 1.0 / mass[k] + 0.5 * rise


@compiled
def curve(state, row, scores, delta, rate, moved, scratch):
    """moved[k] = score of class k after adding rate * delta[k] of this row to it, exactly."""
    mass, total, weight, mean, variance, precision, constant = state
    for k in range(len(mass)):
        moved[k] = scores[k]
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = 0.0
        ratio = 1.0
        logs = 0.0
        for j in range(len(row)):
            q = scratch[k, j]
            if q == q:
                old = weight[k, j]
                new = old + step
                spread = new + step * q
                change += old * q / spread - q  # q' = old q / (new + step q)
                ratio *= old * spread / (new * new)  # variance' / variance
                if ratio < 1e-100 or ratio > 1e100:
                    logs += math.log(ratio)
                    ratio = 1.0
        moved[k] += math.log(1.0 + step / mass[k]) - 0.5 * (change + logs + math.log(ratio))


@compiled
def reach(state, row, delta, scratch):
    """The largest rate at which mass and every variance stay positive: delta > -weight / (1 + q)."""
    mass, total, weight, mean, variance, precision, constant = state
    limit = np.inf
    for k in range(len(mass)):
        if delta[k] < 0.0:
            bound = mass[k]
            for j in range(len(row)):
                q = scratch[k, j]
                room = weight[k, j] / (1.0 + q)
                bound = min(bound, room if room == room else bound)
            limit = min(limit, bound / -delta[k])
    return limit


@compiled
def move(state, row, delta, scratch):
    """Add delta[k] of this row's statistics to class k (centred update: no digits are lost)."""
    mass, total, weight, mean, variance, precision, constant = state
    for k in range(len(mass)):
        step = delta[k]
        if step == 0.0:
            continue
        logs = 0.0
        ratio = 1.0
        for j in range(len(row)):
            difference = row[j] - mean[k, j]
            if difference == difference:
                old = weight[k, j]
                new = old + step
                share = step / new
                factor = (1.0 + share * scratch[k, j]) * old / new
                mean[k, j] += share * difference
                weight[k, j] = new
                variance[k, j] *= factor
                precision[k, j] /= factor
                ratio *= factor
                if ratio < 1e-100 or ratio > 1e100:
                    logs += math.log(ratio)
                    ratio = 1.0
        constant[k] += math.log(1.0 + step / mass[k]) - 0.5 * (logs + math.log(ratio))
        mass[k] += step
