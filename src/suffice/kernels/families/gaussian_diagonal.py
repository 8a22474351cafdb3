"""Kernels of the Gaussian with diagonal covariance. The mathematics is in `suffice.families.gaussian_diagonal`.

state = (weight[K, d], mean[K, d], variance[K, d], precision[K, d], constant[K])
constant[k] = -1/2 sum_j log 2 pi variance[k, j];  scratch[k, j] = squared standardised distance q
"""

import math

import numpy as np

from ..compile import compiled, summing
from ..machine.sums import product_of, sum_of

LOG_2PI = math.log(2 * math.pi)
LANES = 16  # factors multiplied before a logarithm is taken


@compiled
def scratch_for(state):
    return np.empty(state[0].shape)


@compiled
def score(state, row, scores, scratch):
    weight, mean, variance, precision, constant = state
    for k in range(len(scores)):
        for j in range(len(row)):
            difference = row[j] - mean[k, j]
            scratch[k, j] = difference * difference * precision[k, j]
        distance = sum_of(scratch[k])
        if distance == distance:
            scores[k] += constant[k] - 0.5 * distance
        else:  # a missing cell is integrated out: its factor is one
            distance = 0.0
            for j in range(len(row)):
                if row[j] == row[j]:
                    distance += scratch[k, j]
                else:
                    distance -= LOG_2PI + math.log(variance[k, j])
            scores[k] += constant[k] - 0.5 * distance


@compiled
def any_missing(row):
    total = sum_of(row)
    return total != total


@summing
def slope(state, row, k, scratch):
    """d score_k / d delta_k at zero: sum_j (1 + q^2) / 2 weight."""
    weight, mean, variance, precision, constant = state
    rise = 0.0
    for j in range(len(row)):
        q = scratch[k, j]
        term = (1.0 + q * q) / weight[k, j]
        rise += term if term == term else 0.0
    return 0.5 * rise


@summing
def curve(state, row, delta, rate, moved, scratch):
    """moved[k] += the change of the score of class k after adding rate * delta[k] of this row to it, exactly.

    With W' = W + step:  q' = W q / (W' + step q)  and  variance' / variance = W (W' + step q) / W'^2.
    """
    weight, mean, variance, precision, constant = state
    for k in range(len(delta)):
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = 0.0
        logs = 0.0
        for start in range(0, len(row), LANES):
            ratio = 1.0
            for j in range(start, min(start + LANES, len(row))):
                old = weight[k, j]
                new = old + step
                spread = new + step * scratch[k, j]
                change += scratch[k, j] * (old / spread - 1.0)
                ratio *= old * spread / (new * new)
            logs += math.log(ratio)
        if change != change:  # missing cells take no part
            change = 0.0
            logs = 0.0
            for j in range(len(row)):
                q = scratch[k, j]
                if q == q:
                    old = weight[k, j]
                    spread = old + step + step * q
                    change += q * (old / spread - 1.0)
                    logs += math.log(old * spread / ((old + step) * (old + step)))
        moved[k] -= 0.5 * (change + logs)


@compiled
def reach(state, row, delta, scratch):
    """The largest rate at which every variance stays positive: delta > -weight / (1 + q)."""
    weight, mean, variance, precision, constant = state
    limit = np.inf
    for k in range(len(delta)):
        if delta[k] < 0.0:
            tightest = 0.0
            for j in range(len(row)):
                load = (1.0 + scratch[k, j]) / weight[k, j]
                tightest = load if load > tightest else tightest
            limit = min(limit, 1.0 / (tightest * -delta[k]))
    return limit


@compiled
def move(state, row, delta, scratch):
    """Add delta[k] of this row's statistics to class k (centred update: no digits are lost)."""
    weight, mean, variance, precision, constant = state
    complete = not any_missing(row)
    for k in range(len(delta)):
        step = delta[k]
        if step == 0.0:
            continue
        logs = 0.0
        if complete:  # short loops over two or three arrays each: those the compiler turns into vector code
            for j in range(len(row)):
                inverse = 1.0 / (weight[k, j] + step)
                scratch[k, j] = (1.0 + step * inverse * scratch[k, j]) * weight[k, j] * inverse
            for start in range(0, len(row), LANES):
                logs += math.log(product_of(scratch[k], start, min(start + LANES, len(row))))
            for j in range(len(row)):
                weight[k, j] += step
                mean[k, j] += step / weight[k, j] * (row[j] - mean[k, j])
            for j in range(len(row)):
                variance[k, j] *= scratch[k, j]
            for j in range(len(row)):
                precision[k, j] = 1.0 / variance[k, j]
        else:
            for j in range(len(row)):
                if row[j] == row[j]:
                    old = weight[k, j]
                    share = step / (old + step)
                    factor = (1.0 + share * scratch[k, j]) * old / (old + step)
                    mean[k, j] += share * (row[j] - mean[k, j])
                    weight[k, j] = old + step
                    variance[k, j] *= factor
                    precision[k, j] /= factor
                    logs += math.log(factor)
        constant[k] -= 0.5 * logs


@compiled
def add_labelled(rows, location, y, sample_weight, weight, first, second):
    """weight, first, second[y_i] += sample_weight_i (1, z, z^2) with z = row - location, from zero; a missing cell adds nothing."""
    mass, n = np.zeros(len(weight)), len(location)
    for i in range(len(rows)):  # as if no cell were missing
        k = y[i]
        if k < 0:
            continue
        w, row, own_first, own_second = sample_weight[i], rows[i], first[k], second[k]
        mass[k] += w
        for j in range(n):
            z = row[j] - location[j]
            own_first[j] += w * z
            own_second[j] += w * z * z
    if not np.isnan(first.sum()):
        for k in range(len(weight)):
            weight[k] = mass[k]
        return
    first[:], second[:] = 0.0, 0.0
    for i in range(len(rows)):
        k = y[i]
        if k < 0:
            continue
        for j in range(n):
            z = rows[i, j] - location[j]
            if z == z:
                weight[k, j] += sample_weight[i]
                first[k, j] += sample_weight[i] * z
                second[k, j] += sample_weight[i] * z * z
