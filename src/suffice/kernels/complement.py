"""Kernels of the complement-style multinomial over sparse counts. The mathematics is in `suffice.models.complement`.

The state and rows are those of `suffice.kernels.multinomial`, but counts are of the words of all other outcomes: a step of an outcome
takes the row's words off its counts, and a score falls with them. total[0] is the mean mass, so that equal masses score nothing.
"""

import math

import numpy as np

from . import multinomial
from .compile import compiled
from .multinomial import LEAST, scratch_for

__all__ = ["curve", "move", "reach", "score", "scratch_for", "slope"]

slope = multinomial.slope  # d score / d step: counts fall, and the score is minus their logarithms


@compiled
def score(state, row, scores, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    multinomial.score(state, row, scores, scratch)
    log_total = math.log(total[0])
    for k in range(len(mass)):
        scores[k] = 2.0 * (log_mass[k] - log_total) - scores[k]


@compiled
def curve(state, row, scores, delta, rate, moved, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    for k in range(len(mass)):
        moved[k] = scores[k]
        if delta[k] == 0.0:
            continue
        step = rate * delta[k]
        change = math.log(1.0 + step / mass[k]) + scratch[0] * math.log(1.0 - step * scratch[0] / weight[k])
        for position in range(len(words)):
            value = values[position]
            change -= value * math.log(1.0 - step * value / count[words[position], k])
        moved[k] += change


@compiled
def reach(state, row, delta, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    limit = np.inf
    least = LEAST * weight.mean()
    for k in range(len(mass)):
        if delta[k] < 0.0:
            limit = min(limit, mass[k] / -delta[k])
        elif delta[k] > 0.0:
            bound = max(weight[k] - least, 0.0) / max(scratch[0], 1e-300)
            for position in range(len(words)):
                if values[position] > 0.0:
                    bound = min(bound, count[words[position], k] / values[position])
            limit = min(limit, bound / delta[k])
    return limit


@compiled
def move(state, row, delta, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    words, values = row
    for k in range(len(mass)):
        step = delta[k]
        if step == 0.0:
            continue
        mass[k] += step
        log_mass[k] = math.log(mass[k])
        weight[k] -= step * scratch[0]
        log_weight[k] = math.log(weight[k])
        for position in range(len(words)):
            word = words[position]
            count[word, k] -= step * values[position]
            log_count[word, k] = math.log(count[word, k])
