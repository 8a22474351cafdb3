"""All losses of all rows in one pass over the scores."""

import math

import numpy as np

from ..compile import compiled
from ..machine.fast_exp import LOWEST, exponentials
from .incremental import HINGE, NCLL, NLL

FIELDS = ("loss", "labelled", "nll", "ncll", "hinge", "correct", "gap")


@compiled
def measure_rows(scores, y, weights, multipliers, loss, margin, softness):
    """Weighted sums over rows, in the order of FIELDS. Without multipliers (no rows) the gap is zero.

    With `softness` the loss is the hinge of the scores that a row's own feature has added to, and what that feature costs.
    """
    n, K = scores.shape
    sums = np.zeros(7)
    shifted, scratch = np.empty(K), np.empty(K)
    for i in range(n):
        weight = weights[i]
        if weight == 0.0:
            continue
        top = 0
        for k in range(1, K):
            if scores[i, k] > scores[i, top]:
                top = k
        for k in range(K):
            shifted[k] = scores[i, k] - scores[i, top]
        exponentials(shifted, scratch)
        norm = scores[i, top] + math.log(shifted.sum())
        label = y[i]
        if label < 0:
            sums[0] -= weight * norm
            continue
        own = scores[i, label]
        rival = -np.inf
        for k in range(K):
            if k != label:
                rival = max(rival, scores[i, k])
        hinge = max(0.0, margin - own + rival)
        sums[0] += weight * (-own if loss == NLL else norm - own if loss == NCLL else hinge)
        sums[1] += weight
        sums[2] -= weight * own
        sums[3] += weight * (norm - own)
        sums[4] += weight * hinge
        sums[5] += weight * (top == label)
        if len(multipliers) == 0:
            continue
        gap = 0.0
        if loss == NCLL:  # KL(onehot - r || p)
            for k in range(K):
                share = (1.0 if k == label else 0.0) - multipliers[i, k]
                if share > 0.0:
                    gap += share * (math.log(share) - scores[i, k] + norm)
        elif loss == HINGE:  # h+ - <b, h>
            own += softness * multipliers[i, label]
            soft = 0.0
            cost = multipliers[i, label] ** 2
            for k in range(K):
                if k != label:
                    excess = margin - own + scores[i, k] + softness * multipliers[i, k]
                    soft = max(soft, excess)
                    gap += multipliers[i, k] * excess
                    cost += multipliers[i, k] ** 2
            gap += soft
            if softness > 0.0:
                sums[0] += weight * (soft + 0.5 * softness * cost - hinge)
        sums[6] += weight * max(gap, 0.0)
    return sums


@compiled
def tempered_loss(scores, y, weights, factor, rivalry, background, frequency):
    """sum_i weight_i log-loss_i of probabilities as `calibration` makes them of the scores (`factor` is the temperature)."""
    n, K = scores.shape
    rivals, scratch = np.empty(K), np.empty(K)
    total = 0.0
    for i in range(n):
        best = 0
        for k in range(1, K):
            if scores[i, k] > scores[i, best]:
                best = k
        second = -np.inf
        for k in range(K):
            if k != best:
                second = max(second, scores[i, k])
        shift = second if second > -np.inf else 0.0  # every rival is impossible
        for k in range(K):
            rivals[k] = rivalry * factor * (scores[i, k] - shift)
        rivals[best] = LOWEST
        exponentials(rivals, scratch)
        norm = 0.0
        for k in range(K):
            norm += rivals[k]
        odds = math.exp(factor * (second - scores[i, best])) * (norm if rivalry == 1.0 else norm ** (1.0 / rivalry))
        share = 1.0 / (1.0 + odds)
        if y[i] != best:
            share *= odds * math.exp(rivalry * factor * (scores[i, y[i]] - shift)) / norm
        total -= weights[i] * math.log((1.0 - background) * share + background * frequency[y[i]])
    return total
