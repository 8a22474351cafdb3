"""Posterior probabilities of one row."""

import math

from ..compile import compiled


@compiled
def softmax(scores, posterior):
    """log sum exp of the scores; fills `posterior`."""
    top = scores[0]
    for k in range(1, len(scores)):
        top = max(top, scores[k])
    norm = 0.0
    for k in range(len(scores)):
        posterior[k] = math.exp(scores[k] - top)
        norm += posterior[k]
    for k in range(len(scores)):
        posterior[k] /= norm
    return top + math.log(norm)
