"""All losses of all rows in one pass over the scores."""

import math

import numpy as np

from ..compile import ForLoss, compiled
from ..machine.fast_exp import exponentials

CHUNK = 64  # rows whose exponentials are taken together
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


def told_apart(scores, y):
    """(rivals (n, K), behind (n,), own (n,)) of scores: less that of the second best, -inf for the best; the second best less the best;
    and the label's among the rivals, inf where it is the best.

    The arrays are made here: Ctrl-C while a kernel hands an array to Python is a SystemError.
    """
    apart = np.empty(scores.shape), np.empty(len(scores)), np.empty(len(scores))
    tell_apart(scores, y, *apart)
    return apart


@compiled
def tell_apart(scores, y, rivals, behind, own):
    """`told_apart` into arrays."""
    n, K = scores.shape
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


@compiled
def tempered_loss(apart, weights, factor, rivalry, background, often):
    """sum_i weight_i log-loss_i of probabilities as `calibration` makes them of scores that were `told_apart`.

    `factor` is the temperature, often_i the frequency of the label.
    """
    rivals, behind, own = apart
    n, K = rivals.shape
    powers, scratch = np.empty(CHUNK * K), np.empty(CHUNK * K)
    second, label = np.empty(CHUNK), np.empty(CHUNK)
    total = 0.0
    for first in range(0, n, CHUNK):
        m = min(CHUNK, n - first)
        cells = rivals[first : first + m].reshape(-1)
        for j in range(m * K):
            powers[j] = rivalry * factor * cells[j]
        for i in range(m):
            second[i] = factor * behind[first + i]
            label[i] = rivalry * factor * min(own[first + i], 0.0)
        exponentials(powers[: m * K], scratch[: m * K])
        exponentials(second[:m], scratch[:m])
        exponentials(label[:m], scratch[:m])
        for i in range(m):
            norm = 0.0
            for j in range(i * K, (i + 1) * K):
                norm += powers[j]
            odds = second[i] * (norm if rivalry == 1.0 else norm ** (1.0 / rivalry))
            share = 1.0 / (1.0 + odds)
            if own[first + i] < np.inf:
                share *= odds * label[i] / norm
            total -= weights[first + i] * math.log((1.0 - background) * share + background * often[first + i])
    return total
