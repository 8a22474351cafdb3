"""Kernels of independent Poisson columns. The mathematics is in `suffice.families.poisson`.

state = (weight[K, d], count[K, d], log_rate[K, d], norm[K])
rate = count / weight;  norm[k] = sum_j rate[k, j].  scratch is not used.
"""

import math

import numpy as np

from ..compile import compiled, summing
from ..machine.sums import dot


@compiled
def scratch_for(state):
    return np.zeros(1)


@compiled
def score(state, row, scores, scratch):
    weight, count, log_rate, norm = state
    for k in range(len(norm)):
        sum_ = dot(row, log_rate[k])
        if sum_ != sum_:  # missing cells: neither their count nor their rate takes part
            sum_ = 0.0
            for j in range(len(row)):
                sum_ += row[j] * log_rate[k, j] if row[j] == row[j] else count[k, j] / weight[k, j]
        scores[k] += sum_ - norm[k]


@summing
def slope(state, row, k, scratch):
    """sum_j (x - rate)^2 / (weight rate)."""
    weight, count, log_rate, norm = state
    rise = 0.0
    for j in range(len(row)):
        rate = count[k, j] / weight[k, j]
        term = (row[j] - rate) * (row[j] - rate) / count[k, j]
        rise += term if term == term else 0.0
    return rise


@compiled
def curve(state, row, delta, rate, moved, scratch):
    weight, count, log_rate, norm = state
    for k in range(len(norm)):
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = 0.0
        for j in range(len(row)):
            value = row[j]
            if value == value:
                old = count[k, j] / weight[k, j]
                new = (count[k, j] + step * value) / (weight[k, j] + step)
                change += old - new
                if value > 0.0:
                    change += value * math.log(new / old)
        moved[k] += change


@compiled
def reach(state, row, delta, scratch):
    weight, count, log_rate, norm = state
    limit = np.inf
    for k in range(len(norm)):
        if delta[k] < 0.0:
            bound = np.inf
            for j in range(len(row)):
                if row[j] == row[j]:
                    bound = min(bound, weight[k, j])
                    if row[j] > 0.0:
                        bound = min(bound, count[k, j] / row[j])
            limit = min(limit, bound / -delta[k])
    return limit


@compiled
def move(state, row, delta, scratch):
    weight, count, log_rate, norm = state
    for k in range(len(norm)):
        step = delta[k]
        if step == 0.0:
            continue
        for j in range(len(row)):
            if row[j] == row[j]:
                old = count[k, j] / weight[k, j]
                count[k, j] += step * row[j]
                weight[k, j] += step
                new = count[k, j] / weight[k, j]
                norm[k] += new - old
                log_rate[k, j] = math.log(new)
