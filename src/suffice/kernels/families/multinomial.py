"""Kernels of the multinomial over sparse counts. The mathematics is in `suffice.families.multinomial`.

state = (count[W, K], weight[K], log_count[W, K], log_weight[K]);  weight = column sums of count
A row is (words, counts) of its non-zeros. scratch[0] = its length (the sum of its counts).
"""

import math

import numpy as np

from ..compile import bound, compiled

WORDS = 1.0  # sign of a row's words in scores and steps; a family may bind another
LEAST = 1e-8  # share of the mean weight that every outcome keeps: nothing else holds it above zero, and rounding is of the mean's size


@compiled
def scratch_for(state):
    return np.zeros(1)


def scored(state, row, scores, scratch):
    count, weight, log_count, log_weight = state
    words, values = row
    length = 0.0
    for position in range(len(words)):
        word = words[position]
        value = values[position]
        length += value
        for k in range(len(weight)):
            scores[k] += WORDS * value * log_count[word, k]
    scratch[0] = length
    for k in range(len(weight)):
        scores[k] -= WORDS * length * log_weight[k]


@compiled
def slope(state, row, k, scratch):
    count, weight, log_count, log_weight = state
    words, values = row
    rise = -scratch[0] * scratch[0] / weight[k]
    for position in range(len(words)):
        rise += values[position] * values[position] / count[words[position], k]
    return max(rise, 0.0)


def curved(state, row, delta, rate, moved, scratch):
    count, weight, log_count, log_weight = state
    words, values = row
    for k in range(len(weight)):
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = -scratch[0] * math.log(1.0 + WORDS * step * scratch[0] / weight[k])
        for position in range(len(words)):
            value = values[position]
            change += value * math.log(1.0 + WORDS * step * value / count[words[position], k])
        moved[k] += WORDS * change


@compiled
def reach(state, row, delta, scratch):
    count, weight, log_count, log_weight = state
    words, values = row
    limit = np.inf
    least = LEAST * weight.mean()
    for k in range(len(weight)):
        if delta[k] < 0.0:
            bound = max(weight[k] - least, 0.0) / max(scratch[0], 1e-300)
            for position in range(len(words)):
                if values[position] > 0.0:
                    bound = min(bound, count[words[position], k] / values[position])
            limit = min(limit, bound / -delta[k])
    return limit


def moved(state, row, delta, scratch):
    count, weight, log_count, log_weight = state
    words, values = row
    for k in range(len(weight)):
        step = delta[k]
        if step == 0.0:
            continue
        weight[k] += WORDS * step * scratch[0]
        log_weight[k] = math.log(weight[k])
        for position in range(len(words)):
            word = words[position]
            count[word, k] += WORDS * step * values[position]
            log_count[word, k] = math.log(count[word, k])


score = bound(scored, "multinomial")
curve = bound(curved, "multinomial")
move = bound(moved, "multinomial")
