"""Incremental passes over sparse counts with few outcomes: all that a row asks of a word, in one reading.

Outcomes go four by four in vector lanes. A word is a record of a block for every four outcomes, a block is (count[4], logarithm[4],
1 / count[4]); an outcome that is not there has count 1 and never moves. Scoring reads the slopes and shares as well, which for many
outcomes would be more than is asked of them. A small step refreshes the blocks of its outcomes, a large one their cells. The loops are
those of `suffice.kernels.words.passes`.
"""

import numpy as np

from ..compile import ForLoss, compiled, inlined
from ..machine.fast_log import fast_log
from ..machine.lanes import WIDTH, add, larger, load, over, spread, store, times
from . import passes as own

# places in a block of a record, and in one of what a row finds: sums of x log count and of x^2 / count, the largest x / count
LOG, RATE, BLOCK = WIDTH, 2 * WIDTH, 3 * WIDTH
SLOPE, SHARE = LOG, RATE
SMALL = 1.0 / 64.0  # the series of log(1 + t) ends before t^8 / 8, which is rounding
MOST = 8  # with more outcomes, of which a row asks a few, `suffice.kernels.words.passes` is faster


@compiled
def place_of(k):
    """Of outcome k in the blocks."""
    return k // WIDTH * BLOCK + k % WIDTH


@inlined
def read_block(words, values, records, size, first, found):
    """Sums over the words of a row, of the four outcomes whose block is the one from place `first` on."""
    score = spread(0.0)
    slope = spread(0.0)
    most = spread(0.0)
    for p in range(len(words)):
        x = spread(values[p])
        block = np.int64(words[p]) * size + first
        share = times(x, load(records, block + RATE))
        score = add(score, times(x, load(records, block + LOG)))
        slope = add(slope, times(x, share))
        most = larger(share, most)
    store(found, first, score)
    store(found, first + SLOPE, slope)
    store(found, first + SHARE, most)


@inlined
def score_one(rows, order, t, values, state, scores):
    indptr, indices, _, _, _, _ = rows
    log_weight, log_mass, records, found = state[5], state[6], state[7], state[8]
    own.fetch_words(rows, order[min(t + 2, len(order) - 1)])
    i = order[t]
    words = indices[indptr[i] : indptr[i + 1]]
    for first in range(0, len(found), BLOCK):
        read_block(words, values, records, len(found), first, found)
    length = 0.0
    for value in values:
        length += value
    for k in range(len(scores)):
        scores[k] = found[place_of(k)] + log_mass[k] - length * log_weight[k]
    return length


@inlined
def slope_and_shares(words, values, state, k):
    """As they were found with the scores."""
    rate, found, place = 1.0 / state[0][k], state[8], place_of(k)
    return rate + found[place + SLOPE], max(rate, found[place + SHARE]), 0.0


@compiled
def move_outcome(words, values, records, size, place, step, buffer):
    """Add step * x to the counts of the outcome at this place and refresh its cells."""
    n = len(words)
    logs, rates = buffer[:n], buffer[n : 2 * n]
    for p in range(n):
        cell = np.int64(words[p]) * size + place
        records[cell] = max(records[cell] + step * values[p], own.FLOOR)
        logs[p] = records[cell]
    for p in range(n):
        rates[p] = 1.0 / logs[p]
        logs[p] = fast_log(logs[p])
    for p in range(n):
        cell = np.int64(words[p]) * size + place
        records[cell + LOG] = logs[p]
        records[cell + RATE] = rates[p]


@inlined
def move_block_a_little(words, values, records, size, first, steps):
    """Steps of four outcomes where no count changes by more than its share SMALL: logarithms by the series of log(1 + t)."""
    step = load(steps, first)
    one = spread(1.0)
    for p in range(len(words)):
        block = np.int64(words[p]) * size + first
        change = times(spread(values[p]), step)
        cells = add(load(records, block), change)
        t = times(change, load(records, block + RATE))
        series = add(spread(-1.0 / 6.0), times(t, spread(1.0 / 7.0)))
        series = add(spread(1.0 / 5.0), times(t, series))
        series = add(spread(-1.0 / 4.0), times(t, series))
        series = add(spread(1.0 / 3.0), times(t, series))
        series = add(spread(-1.0 / 2.0), times(t, series))
        series = add(one, times(t, series))
        store(records, block, cells)
        store(records, block + LOG, add(load(records, block + LOG), times(t, series)))
        store(records, block + RATE, over(one, cells))


@inlined
def move_outcomes(words, values, state, active, delta, n, scale, length, _):
    mass, _, _, weight, _, log_weight, log_mass, records, found, steps, largest, buffer = state
    steps[:] = 0.0
    largest[:] = 0.0
    for j in range(n):
        k, step = active[j], scale * delta[j]
        place = place_of(k)
        steps[place] = step
        largest[k // WIDTH] = max(largest[k // WIDTH], abs(step) * found[place + SHARE])
        mass[k] = max(mass[k] + step, own.FLOOR)
        weight[k] = max(weight[k] + step * length, own.FLOOR)
        log_mass[k] = fast_log(mass[k])
        log_weight[k] = fast_log(weight[k])
    for block in range(len(largest)):
        if 0.0 < largest[block] < SMALL:
            move_block_a_little(words, values, records, len(found), block * BLOCK, steps)
    for j in range(n):
        if largest[active[j] // WIDTH] >= SMALL:
            place = place_of(active[j])
            move_outcome(words, values, records, len(found), place, steps[place], buffer)


@compiled
def with_records(state, longest):
    """The state, its words as records, and room for a row's sums, steps, largest changes and cells."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    K = count.shape[1]
    n_blocks = (K + WIDTH - 1) // WIDTH
    size = n_blocks * BLOCK
    records = np.ones(len(count) * size)
    for w in range(len(count)):
        for k in range(K):
            place = w * size + place_of(k)
            records[place] = count[w, k]
            records[place + LOG] = log_count[w, k]
            records[place + RATE] = 1.0 / count[w, k]
    found, steps, largest = np.empty(size), np.empty(size), np.empty(n_blocks)
    buffer = np.empty(2 * longest)
    return mass, total, count, weight, log_count, log_weight, log_mass, records, found, steps, largest, buffer


@compiled
def keep_records(state, records):
    count, log_count = state[2], state[4]
    size = len(records) // max(len(count), 1)
    for w in range(len(count)):
        for k in range(count.shape[1]):
            place = w * size + place_of(k)
            count[w, k] = records[place]
            log_count[w, k] = records[place + LOG]


def lanes_pass(rows, y, weights, order, multipliers, state, settings, tolerance, slack):
    lanes = with_records(state, len(rows[4]))
    told = lanes_loop(rows, y, weights, order, multipliers, lanes, settings, tolerance, slack)
    keep_records(state, lanes[7])
    return told


dual_pass = ForLoss(
    lanes_pass,
    lanes_loop=own.bind("few", score_one=score_one, slope_and_shares=slope_and_shares, move_outcomes=move_outcomes),
)
