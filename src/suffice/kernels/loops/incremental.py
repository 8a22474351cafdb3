"""Incremental (dual) EM: one pass that replaces one row's contribution at a time.

A model is its prior plus a weighted sum of its training statistics, `moments = prior + sum_i sample_weight_i r_ik s(x_i, k)`. The
pass visits the rows in the given order, computes the weights the loss wants at the current model, and moves r (and with it the
moments) towards them by an exact search along that direction:

nll    r = posterior (rows without a label) or one-hot (fixed): the full step raises the bound (Neal and Hinton 1998)
ncll   a = onehot - r is a distribution; direction d = a - p; the dual rises while  sum_k d_k (log a_k - score_k) > 0
hinge  direction from a few pairwise steps on the quadratic model (Crammer and Singer); the dual rises while
       margin d_y - sum_k d_k score_k > 0

The loop below is bound to each family's kernels (`score`, `slope`, `curve`, `reach`, `move`, `scratch_for`, `row_of`).
"""

import math

import numpy as np

from ..compile import bound, compiled
from ..rows import ROWS

NLL, NCLL, HINGE = 0, 1, 2
BOUNDARY = 0.25  # the share of the way to the edge of the domain that one step may take: more, and cells near zero jam
FLOOR = 1e-300
SMALL = 0.03  # entries of a direction below this share of its largest are left for a later pass


@compiled
def softmax(scores, posterior):
    """Fill `posterior`; return log sum exp of the scores."""
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


@compiled
def conditional_direction(posterior, multipliers, label, delta, tolerance):
    """delta = onehot - posterior - multipliers, its small entries left for later, sum kept at zero. Returns its largest entry."""
    largest = 0.0
    rival = 0.0
    for k in range(len(delta)):
        delta[k] = (1.0 if k == label else 0.0) - posterior[k] - multipliers[k]
        largest = max(largest, abs(delta[k]))
        if k != label:
            rival = max(rival, abs(delta[k]))
    small = max(
        0.1 * tolerance, min(SMALL * largest, 0.5 * rival)
    )  # a flat posterior of many outcomes has only small ones
    kept = 0.0
    for k in range(len(delta)):
        if k != label:
            if abs(delta[k]) < small:
                delta[k] = 0.0
            kept += delta[k]
    delta[label] = -kept
    return largest


@compiled
def hinge_direction(scores, slopes, multipliers, label, margin, delta, wanted):
    """A few exact pairwise steps on the block's quadratic model; `wanted` holds the scores it predicts."""
    K = len(scores)
    for k in range(K):
        delta[k] = 0.0
        wanted[k] = scores[k]
    for _ in range(3):
        best = -1
        lowest = -1
        for k in range(K):
            if k != label and slopes[k] > 0.0:  # label against rival
                step = (margin - wanted[label] + wanted[k]) / (slopes[label] + slopes[k])
                step = min(max(step, multipliers[k] + delta[k]), 1.0 - multipliers[label] - delta[label])
                delta[label] += step
                delta[k] -= step
                wanted[label] += slopes[label] * step
                wanted[k] -= slopes[k] * step
        for k in range(K):
            if k != label and slopes[k] > 0.0:
                if best < 0 or wanted[k] > wanted[best]:
                    best = k
                if multipliers[k] + delta[k] < -1e-12 and (lowest < 0 or wanted[k] < wanted[lowest]):
                    lowest = k
        if (
            best >= 0 and lowest >= 0 and best != lowest
        ):  # rival against rival: needed when the label's multiplier is at one
            step = min(
                (wanted[best] - wanted[lowest]) / (slopes[best] + slopes[lowest]),
                -(multipliers[lowest] + delta[lowest]),
            )
            if step > 0.0:
                delta[best] -= step
                delta[lowest] += step
                wanted[best] -= slopes[best] * step
                wanted[lowest] += slopes[lowest] * step
    largest = 0.0
    for k in range(K):
        largest = max(largest, abs(delta[k]))
    return largest


@compiled
def dual_slope(loss, moved, delta, multipliers, weight, label, margin, softness, rate):
    """The derivative of the dual at `rate` along delta / weight, whose scores are `moved`."""
    rise = 0.0
    for k in range(len(delta)):
        if delta[k] != 0.0:
            direction = delta[k] / weight
            if loss == NCLL:
                share = (1.0 if k == label else 0.0) - multipliers[k] - rate * direction
                rise += direction * (math.log(max(share, FLOOR)) - moved[k])
            else:
                own = softness * (multipliers[k] + rate * direction)
                rise += direction * ((margin if k == label else 0.0) - moved[k] - own)
    return rise


def epoch(X, y, sample_weight, order, multipliers, state, loss, margin, softness, tolerance):
    """One pass. `state` and `multipliers` change in place; returns (rows moved, steps shortened at the edge of the domain)."""
    K = multipliers.shape[1]
    scores = np.empty(K)
    posterior = np.empty(K)
    moved = np.empty(K)
    delta = np.empty(K)
    slopes = np.empty(K)
    scratch = scratch_for(state)
    n_moved = 0
    n_shortened = 0
    for i in order:
        weight = sample_weight[i]
        label = y[i]
        if weight == 0.0 or (label >= 0 and loss == NLL):
            continue
        own = multipliers[i]
        row = row_of(X, i)
        score(state, row, scores, scratch)
        if label < 0:  # no label: the marginal likelihood, whatever the loss of the labelled rows
            softmax(scores, posterior)
            largest = 0.0
            for k in range(K):
                delta[k] = posterior[k] - own[k]
                largest = max(largest, abs(delta[k]))
            if largest < tolerance:
                continue
            rate = 1.0
        elif loss == NCLL:
            softmax(scores, posterior)
            if conditional_direction(posterior, own, label, delta, tolerance) < tolerance:
                continue
        else:
            rival = -1
            for k in range(K):
                posterior[k] = scores[k] + softness * own[k]
                if k != label and (rival < 0 or posterior[k] > posterior[rival]):
                    rival = k
            at_rest = scores[label] - scores[rival] >= margin
            for k in range(K):
                slopes[k] = 0.0
                if k == label or k == rival or own[k] < -1e-12:
                    at_rest = at_rest and own[k] < 1e-12 and own[k] > -1e-12
            if at_rest:
                continue
            for k in range(K):
                if k == label or k == rival or own[k] < -1e-12:
                    slopes[k] = slope(state, row, k, scratch) * weight + softness
            if hinge_direction(posterior, slopes, own, label, margin, delta, moved) < tolerance:
                continue
        for k in range(K):
            delta[k] *= weight
        if label >= 0:
            limit = BOUNDARY * reach(state, row, delta, scratch)
            low = 0.0
            high = min(1.0, limit)
            rise_low = dual_slope(loss, scores, delta, own, weight, label, margin, softness, 0.0)
            if rise_low <= 0.0 or limit <= 0.0:
                continue
            bend = 0.0  # how far the slope falls over a full step, to first order
            for k in range(K):
                if delta[k] != 0.0:
                    bend += delta[k] * delta[k] * (slope(state, row, k, scratch) + softness / weight)
            bend /= weight
            own_part = abs(delta[label]) / weight
            # an entry of a that is zero has an infinite slope: measure it by where its logarithm meets the bend
            rise_low = min(rise_low, own_part * (1.0 + 0.5 * math.log(1.0 + bend / max(own_part, FLOOR))))
            small = 0.1 * min(rise_low, bend)
            rise_high = -bend
            rate = high
            for attempt in range(12):  # safeguarded false position: the slope falls from rise_low > 0 to rise_high < 0
                share = min(max(rise_low / (rise_low - rise_high), 0.05), 1.0 if attempt == 0 else 0.95)
                rate = low + (high - low) * share
                curve(state, row, scores, delta, rate, moved, scratch)
                rise = dual_slope(loss, moved, delta, own, weight, label, margin, softness, rate)
                if abs(rise) <= small or (rise >= 0.0 and rate == high):
                    break
                if rise > 0.0:
                    low = rate
                    rise_low = rise
                    rise_high *= 0.5
                else:
                    high = rate
                    rise_high = rise
                    rise_low *= 0.5
                if high - low < 0.1 * high:
                    rate = low if low > 0.0 else rate
                    break
            if rate >= limit:
                n_shortened += 1
        for k in range(K):
            delta[k] *= rate
            own[k] += delta[k] / weight
        move(state, row, delta, scratch)
        n_moved += 1
    return n_moved, n_shortened


def score_rows(X, n_rows, state, scores):
    """scores[i, k] = log p(x_i, k) for every row."""
    scratch = scratch_for(state)
    for i in range(n_rows):
        score(state, row_of(X, i), scores[i], scratch)


def bind(family, layout: str) -> dict:
    """The compiled loops of one family (a module of kernels) over one layout of rows."""
    kernels = {name: getattr(family, name) for name in ("score", "slope", "curve", "reach", "move", "scratch_for")}
    name = f"{family.__name__.rpartition('.')[2]}_{layout}"
    return {loop.__name__: bound(loop, name, row_of=ROWS[layout], **kernels) for loop in (epoch, score_rows)}
