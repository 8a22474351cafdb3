"""Kernels of the complement-style multinomial over sparse counts. The mathematics is in `suffice.families.complement`.

The state and rows are those of `kernels.families.multinomial`, but counts are of the words of all other outcomes: a step of an outcome
takes the row's words off its counts, and a score falls with them. total[0] is the mean mass, so that equal masses score nothing.
"""

import math

import numpy as np

from ..compile import bound, compiled
from . import multinomial
from .multinomial import LEAST, scratch_for

__all__ = ["curve", "move", "reach", "score", "scratch_for", "slope"]

slope = multinomial.slope  # d score / d step: counts fall, and the score is minus their logarithms
curve = bound(multinomial.curved, "complement", WORDS=-1.0)
move = bound(multinomial.moved, "complement", WORDS=-1.0)


@compiled
def score(state, row, scores, scratch):
    mass, total, count, weight, log_count, log_weight, log_mass = state
    multinomial.score(state, row, scores, scratch)
    log_total = math.log(total[0])
    for k in range(len(mass)):
        scores[k] = 2.0 * (log_mass[k] - log_total) - scores[k]


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
