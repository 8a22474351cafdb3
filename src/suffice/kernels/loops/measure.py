"""All losses of all rows in one pass over the scores."""

import math

import numpy as np

from ..compile import ForLoss, compiled
from ..machine.fast_exp import exponentials

FIELDS = ("loss", "labelled", "nll", "ncll", "hinge", "correct", "gap")


def measure_each(scores, y, weights, multipliers, margin, settings):
    """(7,) weighted sums over rows, in the order of FIELDS: the loss, and what is reported whatever the loss.

    Without multipliers (no rows) the gap is zero.
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
        sums[0] += weight * value(scores[i], norm, label, settings, scratch)
        sums[1] += weight
        sums[2] -= weight * own
        sums[3] += weight * (norm - own)
        sums[4] += weight * hinge
        sums[5] += weight * (top == label)
        if len(multipliers) == 0:
            continue
        excess, added = gap(scores[i], norm, multipliers[i], label, settings)
        sums[0] += weight * added
        sums[6] += weight * max(excess, 0.0)
    return sums


measure_rows = ForLoss(measure_each)


@compiled
def told_apart(scores, y):
    """(rivals (n, K), behind (n,), own (n,)): scores less that of the second best, -inf for the best; the second best's less the best's; and
    the label's among the rivals, inf where it is the best."""
    n, K = scores.shape
    rivals, behind, own = np.empty((n, K)), np.empty(n), np.empty(n)
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
            rivals[i, k] = scores[i, k] - shift
        rivals[i, best] = -np.inf
        behind[i] = second - scores[i, best]
        own[i] = np.inf if y[i] == best else rivals[i, y[i]]
    return rivals, behind, own


@compiled
def tempered_loss(apart, weights, factor, rivalry, background, often):
    """sum_i weight_i log-loss_i of probabilities as `calibration` makes them of scores that were `told_apart` (`factor` is the temperature,
    often_i the frequency of the label)."""
    rivals, behind, own = apart
    n, K = rivals.shape
    powers, scratch = np.empty(K), np.empty(K)
    total = 0.0
    for i in range(n):
        for k in range(K):
            powers[k] = rivalry * factor * rivals[i, k]
        exponentials(powers, scratch)
        norm = 0.0
        for k in range(K):
            norm += powers[k]
        odds = math.exp(factor * behind[i]) * (norm if rivalry == 1.0 else norm ** (1.0 / rivalry))
        share = 1.0 / (1.0 + odds)
        if own[i] < np.inf:
            share *= odds * math.exp(rivalry * factor * own[i]) / norm
        total -= weights[i] * math.log((1.0 - background) * share + background * often[i])
    return total
