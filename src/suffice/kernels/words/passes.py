"""Incremental (dual) passes over sparse counts, made for speed. The readable twin is `suffice.kernels.loops.incremental`.

Both maximise the same dual, one row at a time. The twin evaluates the row's exact curve at every trial of its line search; here
the curve is replaced by its slope at zero, so a search costs a number per active outcome instead of a logarithm per word and outcome.

    score_k = log mass_k + sum_w x_w log count_wk - |x| log weight_k,        slope_k = 1/mass_k + sum_w x_w^2 / count_wk

Logarithms are stored and refreshed only in the cells that a step touched; only outcomes that move are touched. A step takes no cell
more than BOUNDARY of the way to zero.

state = (mass[K], total[1], count[W, K], weight[K], log_count[W, K], log_weight[K], log_mass[K]) as in `kernels.families.multinomial`;
rows are the `pairs` of `suffice.kernels.rows`. Every pass returns (rows moved, steps shortened, mean over rows of the largest wanted
change) and fills `slack`: above zero the row is so far from moving that the learner may leave it out of the next passes.

The loop knows a family only by `score_one`, `slope_and_shares` and `move_outcomes`, and a loss by the kernels of its dual (`select`,
`direct`, `search`: see `suffice.kernels.losses`); another family binds its own (`bind`).
"""

import math

import numpy as np

from ..compile import ForLoss, bound, compiled
from ..loops.incremental import BOUNDARY
from ..machine.fast_log import fast_log
from ..machine.prefetch import LINE, prefetch
from ..rows import pairs_row

DOWNWARDS = 1.3  # log is steeper downwards than its slope says
FLOOR = 1e-12
AHEAD = 12  # words from now that are fetched from memory
LARGE = 2**18  # cells of a table that no near cache holds: fetching ahead pays
WORDS = 1.0  # what a step adds of its row's words; complements take them off


@compiled
def score_row(words, values, log_count, log_weight, log_mass, scores):
    """Fill the scores of one row; return its length |x|."""
    K = len(scores)
    length = 0.0
    for k in range(K):
        scores[k] = log_mass[k]
    n_fours = len(words) & ~3
    for p in range(0, n_fours, 4):
        a, b, c, d = words[p], words[p + 1], words[p + 2], words[p + 3]
        u, v, w, x = values[p], values[p + 1], values[p + 2], values[p + 3]
        length += (u + v) + (w + x)
        for k in range(K):
            scores[k] += (u * log_count[a, k] + v * log_count[b, k]) + (w * log_count[c, k] + x * log_count[d, k])
    for p in range(n_fours, len(words)):
        length += values[p]
        for k in range(K):
            scores[k] += values[p] * log_count[words[p], k]
    for k in range(K):
        scores[k] -= length * log_weight[k]
    return length


@compiled
def score_row_ahead(rows, i, values, following, log_count, log_weight, log_mass, scores):
    """`score_row`, while the rows of the table that will be read AHEAD words from now are on their way."""
    indptr, indices, data, _, _, _ = rows
    K = len(scores)
    width = K * 8
    first, last = np.int64(indptr[i]), np.int64(indptr[i + 1])
    soon = np.int64(indptr[following])
    soon_last = np.int64(indptr[following + 1]) - 1
    for place in range(soon, soon_last + 1, 8):
        prefetch(indices, place * 4)
        prefetch(data, place * 8)
    length = 0.0
    for k in range(K):
        scores[k] = 0.0
    fours = first + ((last - first) & ~3)
    for p in range(first, fours, 4):
        for q in range(p + AHEAD, p + AHEAD + 4):
            place = q if q < last else max(min(soon + q - last, soon_last), first)
            offset = np.int64(indices[place]) * width
            for line in range(0, width, LINE):
                prefetch(log_count, offset + line)
        a, b, c, d = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
        at = p - first
        u, v, w, x = values[at], values[at + 1], values[at + 2], values[at + 3]
        length += (u + v) + (w + x)
        for k in range(K):
            scores[k] += (u * log_count[a, k] + v * log_count[b, k]) + (w * log_count[c, k] + x * log_count[d, k])
    for p in range(fours, last):
        length += values[p - first]
        for k in range(K):
            scores[k] += values[p - first] * log_count[indices[p], k]
    for k in range(K):
        scores[k] += log_mass[k] - length * log_weight[k]
    return length


@compiled
def score_one(rows, i, values, following, state, scores):
    """Fill the scores of row i (up to a constant) before row `following`; return its length |x|. `values` are those of its words."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    if log_count.size > LARGE:
        return score_row_ahead(rows, i, values, following, log_count, log_weight, log_mass, scores)
    indptr, indices, _, _, _, _ = rows
    return score_row(indices[indptr[i] : indptr[i + 1]], values, log_count, log_weight, log_mass, scores)


@compiled
def slope_and_shares(words, values, state, k):
    """slope_k, and the largest share of a moment that a step of -1 and one of 1 would take."""
    mass, count = state[0], state[2]
    slope = 1.0 / mass[k]
    share = slope
    for p in range(len(words)):
        part = values[p] / count[words[p], k]
        slope += values[p] * part
        share = max(share, part)
    return slope, share, 0.0


def moved(words, values, state, k, step, length, buffer):
    """Add step * s(x, k) to the moments (WORDS times that of words) and refresh the logarithms of the cells it touched."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    mass[k] = max(mass[k] + step, FLOOR)
    log_mass[k] = math.log(mass[k])
    step *= WORDS
    weight[k] = max(weight[k] + step * length, FLOOR)
    log_weight[k] = math.log(weight[k])
    n = len(words)
    for p in range(n):
        cell = max(count[words[p], k] + step * values[p], FLOOR)
        count[words[p], k] = cell
        buffer[p] = cell
    for p in range(n):
        buffer[p] = fast_log(buffer[p])
    for p in range(n):
        log_count[words[p], k] = buffer[p]


move_outcome = bound(moved, "multinomial")


def moved_outcomes(words, values, state, active, delta, n, scale, length, buffer):
    """The steps of one row: scale * delta for each of the active outcomes."""
    for j in range(n):
        if delta[j] != 0.0:
            move_outcome(words, values, state, active[j], scale * delta[j], length, buffer)


def dual_loop(rows, y, weights, order, multipliers, state, settings, tolerance, slack):
    K = multipliers.shape[1]
    scores = np.empty(K)
    posterior = np.empty(K)
    moves = np.empty(K)
    slopes = np.empty(K)
    downs = np.empty(K)
    ups = np.empty(K)
    logs = np.empty(K)
    room = np.empty((3, K))
    active = np.empty(K, np.int64)
    buffer = np.empty(len(rows[4]))
    n_moved = 0
    n_shortened = 0
    change = 0.0
    for t in range(len(order)):
        i = order[t]
        if weights[i] <= 0.0:
            continue
        following = order[min(t + 1, len(order) - 1)]
        own = multipliers[i]
        words, values = pairs_row(rows, i)
        length = score_one(rows, i, values, following, state, scores)
        n, norm, largest, slack[i] = select(scores, own, y[i], settings, tolerance, posterior, active, moves)
        if NEEDS_SLOPES and n > 0:
            for j in range(n):
                slopes[j], downs[j], ups[j] = slope_and_shares(words, values, state, active[j])
            largest = direct(scores, slopes, own, active, n, weights[i], settings, room, moves)
        change += weights[i] * largest
        if n == 0 or largest < tolerance:
            continue
        if not NEEDS_SLOPES:
            for j in range(n):
                slopes[j], downs[j], ups[j] = slope_and_shares(words, values, state, active[j])
        highest = 1.0
        for j in range(n):
            share = downs[j] if moves[j] < 0.0 else ups[j]
            if abs(moves[j]) * share > 0.0:
                slopes[j] *= DOWNWARDS
                highest = min(highest, BOUNDARY / (abs(moves[j]) * share * weights[i]))
            slopes[j] *= weights[i]
        rate = search(scores, norm, posterior, active, n, slopes, moves, highest, logs)
        n_shortened += rate == highest and highest < 1.0
        for j in range(n):
            own[active[j]] += rate * moves[j]
        move_outcomes(words, values, state, active, moves, n, weights[i] * rate, length, buffer)
        n_moved += 1
    return n_moved, n_shortened, change / max(weights.sum(), 1e-300)


def bind(name, **kernels) -> ForLoss:
    """The pass over the words of a family, for every loss: by its `move_outcomes`, or its `move_outcome` one by one."""
    if "move_outcomes" not in kernels:
        kernels["move_outcomes"] = bound(moved_outcomes, name, **kernels)
    return ForLoss(dual_loop, name, **kernels)


dual_pass = bind("multinomial")
