"""Kernels of independent Poisson columns. The mathematics is in `suffice.families.poisson`.

state = (mass[K], total[1], weight[K, d], count[K, d], log_rate[K, d], constant[K])
rate = count / weight;  constant[k] = log mass/total - sum_j rate[k, j].  scratch is not used.
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
    mass, total, weight, count, log_rate, constant = state
    for k in range(len(mass)):
        sum_ = dot(row, log_rate[k])
        if sum_ != sum_:  # missing cells: neither their count nor their rate takes part
            sum_ = 0.0
            for j in range(len(row)):
                sum_ += row[j] * log_rate[k, j] if row[j] == row[j] else count[k, j] / weight[k, j]
        scores[k] = constant[k] + sum_


@summing
def slope(state, row, k, scratch):
    """1/mass + sum_j (x - rate)^2 / (weight rate)."""
    mass, total, weight, count, log_rate, constant = state
    rise = 1.0 / mass[k]
    for j in range(len(row)):
        rate = count[k, j] / weight[k, j]
        term = (row[j] - rate) * (row[j] - rate) / count[k, j]
        rise += term if term == term else 0.0
    return rise


@compiled
def curve(state, row, scores, delta, rate, moved, scratch):
    mass, total, weight, count, log_rate, constant = state
    for k in range(len(mass)):
        moved[k] = scores[k]
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = math.log(1.0 + step / mass[k])
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
    mass, total, weight, count, log_rate, constant = state
    limit = np.inf
    for k in range(len(mass)):
        if delta[k] < 0.0:
            bound = mass[k]
            for j in range(len(row)):
                if row[j] == row[j]:
                    bound = min(bound, weight[k, j])
                    if row[j] > 0.0:
                        bound = min(bound, count[k, j] / row[j])
            limit = min(limit, bound / -delta[k])
    return limit


@compiled
def move(state, row, delta, scratch):
    mass, total, weight, count, log_rate, constant = state
    for k in range(len(mass)):
        step = delta[k]
        if step == 0.0:
            continue
        constant[k] += math.log(1.0 + step / mass[k])
        mass[k] += step
        for j in range(len(row)):
            if row[j] == row[j]:
                old = count[k, j] / weight[k, j]
                count[k, j] += step * row[j]
                weight[k, j] += step
                new = count[k, j] / weight[k, j]
                constant[k] += old - new
                log_rate[k, j] = math.log(new)
