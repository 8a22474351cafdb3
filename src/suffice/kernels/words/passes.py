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

from ..compile import ForLoss, bound, compiled, inlined
from ..loops.incremental import BOUNDARY
from ..machine.fast_log import fast_log
from ..machine.lanes import WIDTH, add, of_width, store, times
from ..machine.prefetch import LINE, prefetch
from ..rows import pairs_row

DOWNWARDS = 1.3  # log is steeper downwards than its slope says
FLOOR = 1e-12
LARGE = 2**18  # cells of a table that no near cache holds: fetching ahead pays
WORDS = 1.0  # what a step adds of its row's words; complements take them off


def summed(words, values, table, first, sums):
    """sums_k = sum_w x_w table_wk for the outcomes k of the lanes that begin at `first`."""
    K = len(sums)
    found = spread(0.0)
    for p in range(len(words)):
        found = add(found, times(spread(values[p]), load(table, np.int64(words[p]) * K + first)))
    store(sums, first, found)


sum_four, sum_eight, sum_sixteen = (
    bound(summed, str(width), load=load, spread=spread)
    for width, (load, spread) in ((width, of_width(width)) for width in (WIDTH, 8, 16))
)


@inlined
def sum_words(words, values, table, sums):
    """sums_k = sum_w x_w table_wk, with outcomes in vector lanes; the last four of them are done together, whoever did some before."""
    K = len(sums)
    first = 0
    while K - first >= 16:
        sum_sixteen(words, values, table, first, sums)
        first += 16
    if K - first >= 8:
        sum_eight(words, values, table, first, sums)
        first += 8
    while first < K and K >= WIDTH:
        sum_four(words, values, table, min(first, K - WIDTH), sums)
        first += WIDTH
    for k in range(first, K):
        total = 0.0
        for p in range(len(words)):
            total += values[p] * table[words[p], k]
        sums[k] = total


@inlined
def fetch_words(rows, i):
    """Have the words of row i on their way."""
    indptr, indices, data, _, _, _ = rows
    for place in range(np.int64(indptr[i]), np.int64(indptr[i + 1]), 8):
        prefetch(indices, place * indices.itemsize)
        prefetch(data, place * 8)


@inlined
def fetch_cells(rows, i, table):
    """Have what a table holds for the words of row i on its way."""
    indptr, indices, _, _, _, _ = rows
    width = table.shape[1] * 8
    for place in range(np.int64(indptr[i]), np.int64(indptr[i + 1])):
        offset = np.int64(indices[place]) * width
        for line in range(0, width, LINE):
            prefetch(table, offset + line)


@inlined
def score_one(rows, order, t, values, state, scores):
    """Fill the scores of row order[t] (up to a constant); return its length |x|. `values` are those of its words."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    indptr, indices, data, _, _, _ = rows
    i = order[t]
    fetch_words(rows, order[min(t + 2, len(order) - 1)])
    if log_count.size > LARGE:
        fetch_cells(rows, order[min(t + 1, len(order) - 1)], log_count)
    length = 0.0
    for value in values:
        length += value
    sum_words(indices[indptr[i] : indptr[i + 1]], values, log_count, scores)
    for k in range(len(scores)):
        scores[k] += log_mass[k] - length * log_weight[k]
    return length


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
        own = multipliers[i]
        words, values = pairs_row(rows, i)
        length = score_one(rows, order, t, values, state, scores)
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
