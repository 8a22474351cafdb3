"""Kernels of the complement-style multinomial over sparse counts. The mathematics is in `suffice.families.complement`.

The state and rows are those of `kernels.families.multinomial`, but counts are of the words of all other outcomes: a step of an outcome
takes the row's words off its counts, and a score falls with them.
"""

import numpy as np

from ..compile import bound, compiled
from . import multinomial
from .multinomial import LEAST, scratch_for, slope

__all__ = [
    "curve",
    "move",
    "reach",
    "score",
    "scratch_for",
    "slope",
]  # slope: counts fall, and scores with their logarithms

score = bound(multinomial.scored, "complement", WORDS=-1.0)
curve = bound(multinomial.curved, "complement", WORDS=-1.0)
move = bound(multinomial.moved, "complement", WORDS=-1.0)


@compiled
def reach(state, row, delta, scratch):
    count, weight, log_count, log_weight = state
    words, values = row
    limit = np.inf
    least = LEAST * weight.mean()
    for k in range(len(weight)):
        if delta[k] > 0.0:
            bound = max(weight[k] - least, 0.0) / max(scratch[0], 1e-300)
            for position in range(len(words)):
                if values[position] > 0.0:
                    bound = min(bound, count[words[position], k] / values[position])
            limit = min(limit, bound / delta[k])
    return limit
