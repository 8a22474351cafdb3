"""Kernels of the multinomial over sparse counts. The mathematics is in `suffice.families.multinomial`.

state = (mass[K], total[1], count[W, K], weight[K], log_count[W, K], log_weight[K], log_mass[K]);  weight = column sums of count
A row is (words, counts) of its non-zeros. scratch[0] = its length (the sum of its counts).
"""

import math

import numpy as np

from ..compile import bound, compiled

WORDS = 1.0  # what a step of an outcome adds its row's words with; a family may bind another sign
LEAST = 1e-8  # share of the mean weight that every outcome keeps: nothing else holds it above zero, and rounding is of the mean's size


@compiled
def scratch_for(state):
    return np.zeros(1)


@compiled
def score(state, row, scores, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    length = 0.0
    for k in range(len(mass)):
        scores[k] = 0.0
    for position in range(len(words)):
        word = words[position]
        value = values[position]
        length += value
        for k in range(len(mass)):
            scores[k] += value * log_count[word, k]
    scratch[0] = length
    log_total = math.log(total[0])
    for k in range(len(mass)):
        scores[k] += log_mass[k] - log_total - length * log_weight[k]


@compiled
def slope(state, row, k, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    rise = 1.0 / mass[k] - scratch[0] * scratch[0] / weight[k]
    for position in range(len(words)):
        rise += values[position] * values[position] / count[words[position], k]
    return max(rise, 1.0 / mass[k])


def curved(state, row, scores, delta, rate, moved, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    for k in range(len(mass)):
        moved[k] = scores[k]
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = -scratch[0] * math.log(1.0 + WORDS * step * scratch[0] / weight[k])
        for position in range(len(words)):
            value = values[position]
            change += value * math.log(1.0 + WORDS * step * value / count[words[position], k])
        moved[k] += math.log(1.0 + step / mass[k]) + WORDS * change


@compiled
def reach(state, row, delta, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    limit = np.inf
    least = LEAST * weight.mean()
    for k in range(len(mass)):
        if delta[k] < 0.0:
            bound = min(mass[k], max(weight[k] - least, 0.0) / max(scratch[0], 1e-300))
            for position in range(len(words)):
                if values[position] > 0.0:
                    bound = min(bound, count[words[position], k] / values[position])
            limit = min(limit, bound / -delta[k])
    return limit


def moved(state, row, delta, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    for k in range(len(mass)):
        step = delta[k]
        if step == 0.0:
            continue
        mass[k] += step
        log_mass[k] = math.log(mass[k])
        weight[k] += WORDS * step * scratch[0]
        log_weight[k] = math.log(weight[k])
        for position in range(len(words)):
            word = words[position]
            count[word, k] += WORDS * step * values[position]
            log_count[word, k] = math.log(count[word, k])


curve = bound(curved, "multinomial")
move = bound(moved, "multinomial")
