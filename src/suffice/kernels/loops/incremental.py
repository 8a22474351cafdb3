"""Incremental (dual) EM: one pass that replaces one row's contribution at a time.

A model is its prior plus a weighted sum of its training statistics, `moments = prior + sum_i sample_weight_i r_ik s(x_i, k)`. The
pass visits the rows in the given order, computes the weights the loss wants at the current model, and moves r (and with it the
moments) towards them by an exact search along that direction. Rows without a label have the posterior for their r: the full step
raises the bound (Neal and Hinton 1998).

The loop below is bound to the families' kernels of a joint (`score`, `slope`, `curve`, `reach`, `move`, `scratch_for`: see
`suffice.kernels.structures.joint`), to those of a loss (`select`, `direct`, `rise`: see `suffice.kernels.losses`) and to a layout of
rows (`row_of`).
"""

import math

import numpy as np

from ..compile import ForLoss, bound
from ..machine.softmax import softmax
from ..rows import ROWS

BOUNDARY = 0.25  # the share of the way to the edge of the domain that one step may take: more, and cells near zero jam
FLOOR = 1e-300


def epoch(X, y, sample_weight, order, multipliers, state, settings, softness, tolerance):
    """(rows moved, steps shortened at the edge of the domain) of one pass; `state` and `multipliers` change in place."""
    K = multipliers.shape[1]
    scores = np.empty(K)
    posterior = np.empty(K)
    moved = np.empty(K)
    delta = np.empty(K)
    slopes = np.empty(K)
    moves = np.empty(K)
    room = np.empty((3, K))
    active = np.empty(K, np.int64)
    masses, columns = state
    mass, total, log_mass = masses
    scratch = scratch_for(columns)
    n_moved = 0
    n_shortened = 0
    for i in order:
        weight = sample_weight[i]
        label = y[i]
        if weight == 0.0:
            continue
        own = multipliers[i]
        row = row_of(X, i)
        for k in range(K):
            scores[k] = log_mass[k] - total[1]  # log pi_k
        score(columns, row, scores, scratch)
        if label < 0:  # no label: the marginal likelihood, whatever the loss of the labelled rows
            softmax(scores, posterior)
            largest = 0.0
            for k in range(K):
                delta[k] = posterior[k] - own[k]
                largest = max(largest, abs(delta[k]))
            if largest < tolerance:
                continue
            rate = 1.0
        else:
            n, _, largest, _ = select(scores, own, label, settings, tolerance, posterior, active, moves)
            if NEEDS_SLOPES and n > 0:
                for j in range(n):
                    slopes[j] = 1.0 / mass[active[j]] + slope(columns, row, active[j], scratch)
                largest = direct(scores, slopes, own, active, n, weight, settings, room, moves)
            if n == 0 or largest < tolerance:
                continue
            for k in range(K):
                delta[k] = 0.0
            for j in range(n):
                delta[active[j]] = moves[j]
        for k in range(K):
            delta[k] *= weight
        if label >= 0:
            limit = reach(columns, row, delta, scratch)
            for k in range(K):
                if delta[k] < 0.0:
                    limit = min(limit, mass[k] / -delta[k])
            limit *= BOUNDARY
            low = 0.0
            high = min(1.0, limit)
            rise_low = rise(scores, delta, own, weight, label, settings, 0.0)
            if rise_low <= 0.0 or limit <= 0.0:
                continue
            bend = 0.0  # how far the slope falls over a full step, to first order
            for k in range(K):
                if delta[k] != 0.0:
                    bent = 1.0 / mass[k] + slope(columns, row, k, scratch) + softness / weight
                    bend += delta[k] * delta[k] * bent
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
                for k in range(K):
                    moved[k] = scores[k]
                    if delta[k] != 0.0:
                        moved[k] += math.log(1.0 + rate * delta[k] / mass[k])
                curve(columns, row, delta, rate, moved, scratch)
                risen = rise(moved, delta, own, weight, label, settings, rate)
                if abs(risen) <= small or (risen >= 0.0 and rate == high):
                    break
                if risen > 0.0:
                    low = rate
                    rise_low = risen
                    rise_high *= 0.5
                else:
                    high = rate
                    rise_high = risen
                    rise_low *= 0.5
                if high - low < 0.1 * high:
                    rate = low if low > 0.0 else rate
                    break
            if rate >= limit:
                n_shortened += 1
        for k in range(K):
            delta[k] *= rate
            own[k] += delta[k] / weight
            if delta[k] != 0.0:
                mass[k] += delta[k]
                log_mass[k] = math.log(mass[k])
        move(columns, row, delta, scratch)
        n_moved += 1
    return n_moved, n_shortened


def score_rows(X, n_rows, state, scores):
    """scores[i, k] = log p(x_i, k) for every row; -inf where a row is so far off that its distance is no number."""
    masses, columns = state
    mass, total, log_mass = masses
    scratch = scratch_for(columns)
    for i in range(n_rows):
        for k in range(scores.shape[1]):
            scores[i, k] = log_mass[k] - total[1]
        score(columns, row_of(X, i), scores[i], scratch)
        for k in range(scores.shape[1]):
            if math.isnan(scores[i, k]):
                scores[i, k] = -np.inf


def bind(kernels, layout: str) -> dict:
    """The loops of a joint's kernels (`kernels.structures.joint.Kernels`) over one layout of rows: `score_rows` compiled, `epoch`
    for every loss."""
    name, open_names = f"{kernels.name}_{layout}", kernels.called("") | {"row_of": ROWS[layout]}
    return {"epoch": ForLoss(epoch, name, **open_names), "score_rows": bound(score_rows, name, **open_names)}
