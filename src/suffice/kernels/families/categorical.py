"""Kernels of independent categorical columns. The mathematics is in `suffice.families.categorical`.

state = (count[C, K], weight[d, K], log_count[C, K], log_weight[d, K], offset[d])
A row holds category codes; NaN is a missing cell. Category v of column j is cell offset[j] + v of C.
scratch[j] = cell of column j, or -1 where it is missing
"""

import math

import numpy as np

from ..compile import compiled


@compiled
def scratch_for(state):
    return np.empty(len(state[4]), np.int64)


@compiled
def score(state, row, scores, scratch):
    count, weight, log_count, log_weight, offset = state
    for j in range(len(row)):
        if row[j] == row[j]:
            cell = offset[j] + int(row[j])
            scratch[j] = cell
            for k in range(len(scores)):
                scores[k] += log_count[cell, k] - log_weight[j, k]
        else:
            scratch[j] = -1


@compiled
def slope(state, row, k, scratch):
    count, weight, log_count, log_weight, offset = state
    rise = 0.0
    for j in range(len(row)):
        if scratch[j] >= 0:
            rise += 1.0 / count[scratch[j], k] - 1.0 / weight[j, k]
    return rise


@compiled
def curve(state, row, delta, rate, moved, scratch):
    count, weight, log_count, log_weight, offset = state
    for k in range(len(delta)):
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        above = 1.0
        below = 1.0
        for j in range(len(row)):
            if scratch[j] >= 0:
                above *= 1.0 + step / count[scratch[j], k]
                below *= 1.0 + step / weight[j, k]
                if above > 1e100 or above < 1e-100 or below > 1e100 or below < 1e-100:
                    moved[k] += math.log(above) - math.log(below)
                    above = 1.0
                    below = 1.0
        moved[k] += math.log(above) - math.log(below)


@compiled
def reach(state, row, delta, scratch):
    count, weight, log_count, log_weight, offset = state
    limit = np.inf
    for k in range(len(delta)):
        if delta[k] < 0.0:
            bound = np.inf
            for j in range(len(row)):
                if scratch[j] >= 0:
                    bound = min(bound, count[scratch[j], k])
            limit = min(limit, bound / -delta[k])
    return limit


@compiled
def move(state, row, delta, scratch):
    count, weight, log_count, log_weight, offset = state
    for k in range(len(delta)):
        step = delta[k]
        if step == 0.0:
            continue
        for j in range(len(row)):
            cell = scratch[j]
            if cell >= 0:
                count[cell, k] += step
                weight[j, k] += step
                log_count[cell, k] = math.log(count[cell, k])
                log_weight[j, k] = math.log(weight[j, k])
