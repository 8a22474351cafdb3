"""Kernels of independent columns whose only statistic is x, made of two compiled functions of a cell and its mean m:

    log_density(x, m)      log p(x)
    variance(m)            of x, so that d log p(x) / d m = (x - m) / variance

state = (weight[K, d], total[K, d]), m = total / weight; means are positive. Adding delta of a row to an outcome moves m to
(total + delta x) / (weight + delta). scratch is not used. A family of its own file says

    scratch_for, score, slope, reach, curve, move = cell_kernels(__name__, log_density, variance)
"""

from typing import Any

import numpy as np

from ..compile import bound, compiled, name_of

log_density: Any = None  # filled in by `cell_kernels`
variance: Any = None


@compiled
def scratch_for(state):
    return np.zeros(1)


def score(state, row, scores, scratch):
    weight, total = state
    for k in range(len(scores)):
        for j in range(len(row)):
            if row[j] == row[j]:  # a missing cell is integrated out
                scores[k] += log_density(row[j], total[k, j] / weight[k, j])


def slope(state, row, k, scratch):
    weight, total = state
    rise = 0.0
    for j in range(len(row)):
        if row[j] == row[j]:
            mean = total[k, j] / weight[k, j]
            rise += (row[j] - mean) * (row[j] - mean) / (weight[k, j] * variance(mean))
    return rise


@compiled
def reach(state, row, delta, scratch):
    weight, total = state
    limit = np.inf
    for k in range(len(delta)):
        if delta[k] < 0.0:
            for j in range(len(row)):
                if row[j] == row[j]:
                    limit = min(limit, weight[k, j] / -delta[k])
                    if row[j] > 0.0:
                        limit = min(limit, total[k, j] / (row[j] * -delta[k]))
    return limit


def curve(state, row, delta, rate, moved, scratch):
    weight, total = state
    for k in range(len(delta)):
        step = rate * delta[k]
        if step != 0.0:
            for j in range(len(row)):
                if row[j] == row[j]:
                    mean = (total[k, j] + step * row[j]) / (weight[k, j] + step)
                    moved[k] += log_density(row[j], mean) - log_density(row[j], total[k, j] / weight[k, j])


@compiled
def move(state, row, delta, scratch):
    weight, total = state
    for k in range(len(delta)):
        for j in range(len(row)):
            if row[j] == row[j]:
                weight[k, j] += delta[k]
                total[k, j] += delta[k] * row[j]


def cell_kernels(module: str, log_density, variance) -> tuple:
    """(scratch_for, score, slope, reach, curve, move) of a module's family."""
    made = {
        loop: bound(loop, name_of(module), log_density=log_density, variance=variance) for loop in (score, slope, curve)
    }
    return scratch_for, made[score], made[slope], reach, made[curve], move
