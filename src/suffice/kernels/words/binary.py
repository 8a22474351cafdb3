"""Incremental passes over sparse counts with two outcomes: everything by differences.

The margin of the label needs only log(count_w1 / count_w0), the slope along a row's step only 1 / count_w0 + 1 / count_w1, and a row
has a single multiplier r in [0, 1] (of its label; the other outcome has -r). So a word is a record (count_w0, count_w1, difference,
slope) of half a cache line: scoring reads the last two, a step refreshes all four. Otherwise as `suffice.kernels.words.passes`. The
loss is known by its `binary_step` (`suffice.kernels.losses`).
"""

import math

import numpy as np

from ..compile import ForLoss, compiled
from ..loops.incremental import BOUNDARY
from ..machine.fast_log import fast_log
from ..machine.prefetch import prefetch
from ..rows import rooted_row
from .passes import DOWNWARDS, FLOOR

DIFFERENCE, SLOPE = 2, 3  # columns of a record
AHEAD = 2  # rows from now that are fetched from memory


@compiled
def read_row(words, values, records):
    """sum_w x_w difference_w, |x|, sum_w x_w^2 slope_w and the largest x_w slope_w."""
    score = 0.0
    length = 0.0
    slope = 0.0
    most = 0.0
    for p in range(len(words)):
        x = values[p]
        share = x * records[words[p], SLOPE]
        score += x * records[words[p], DIFFERENCE]
        slope += x * share
        length += x
        most = max(most, share)
    return score, length, slope, most


@compiled
def largest_share(words, values, records, outcome):
    """The largest x / count: the share of a cell of this outcome that a step of -1 would take."""
    most = 0.0
    for p in range(len(words)):
        most = max(most, values[p] / records[words[p], outcome])
    return most


@compiled
def move_row(words, values, records, step, buffer):
    """Add step * x to the counts of outcome 1, take it off those of outcome 0, and refresh the records."""
    n = len(words)
    for p in range(n):
        record = records[words[p]]
        zero = max(record[0] - step * values[p], FLOOR)
        one = max(record[1] + step * values[p], FLOOR)
        record[0] = zero
        record[1] = one
        buffer[0, p] = zero
        buffer[1, p] = one
    for p in range(n):
        zero, one = buffer[0, p], buffer[1, p]
        ratio = one / zero
        buffer[0, p] = fast_log(ratio)
        buffer[1, p] = (1.0 + ratio) / one
    for p in range(n):
        record = records[words[p]]
        record[DIFFERENCE] = buffer[0, p]
        record[SLOPE] = buffer[1, p]


def binary_loop(rows, y, weights, order, multipliers, state, settings, tolerance, slack):
    indptr, indices, data, factors, room, _ = rows
    mass, total, count, weight, log_count, log_weight, log_mass = state
    records = np.empty((len(count), 4))
    for w in range(len(count)):
        zero, one = count[w, 0], count[w, 1]
        records[w, 0], records[w, 1] = zero, one
        records[w, DIFFERENCE] = log_count[w, 1] - log_count[w, 0]
        records[w, SLOPE] = 1.0 / zero + 1.0 / one
    buffer = np.empty((2, len(room)))
    offset = math.log(mass[1] / mass[0])
    per_word = math.log(weight[1] / weight[0])
    n_moved = 0
    n_shortened = 0
    change = 0.0
    for t in range(len(order)):
        i = order[t]
        if weights[i] <= 0.0:
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        own = multipliers[i, y[i]]
        words, values = rooted_row(rows, i)
        factor = factors[i]
        soon = order[min(t + AHEAD, len(order) - 1)]
        for place in range(indptr[soon], indptr[soon + 1], 8):
            prefetch(indices, np.int64(place) * indices.itemsize)
            prefetch(data, np.int64(place) * 8)
        score, length, slope, most = read_row(words, values, records)
        length *= factor
        slope = slope * factor * factor + 1.0 / mass[0] + 1.0 / mass[1]
        lead = sign * (score * factor + offset - length * per_word)
        steeper = 0.5 * (1.0 + DOWNWARDS) * slope * weights[i]
        step, wanted, slack[i] = binary_step(lead, own, slope * weights[i], steeper, settings, tolerance)
        change += weights[i] * wanted
        if step == 0.0 or wanted < tolerance:
            continue
        falls = 0 if step * sign > 0.0 else 1
        if (
            abs(step) * weights[i] * max(most * factor, 1.0 / mass[falls]) > BOUNDARY
        ):  # `most` is of both outcomes: look closer
            share = max(largest_share(words, values, records, falls) * factor, 1.0 / mass[falls])
            highest = BOUNDARY / (share * weights[i])
            if abs(step) > highest:
                step = math.copysign(highest, step)
                n_shortened += 1
        multipliers[i, y[i]] += step
        multipliers[i, 1 - y[i]] -= step
        step *= sign * weights[i]
        move_row(words, values, records, step * factor, buffer)
        mass[0] = max(mass[0] - step, FLOOR)
        mass[1] = max(mass[1] + step, FLOOR)
        weight[0] = max(weight[0] - step * length, FLOOR)
        weight[1] = max(weight[1] + step * length, FLOOR)
        offset = math.log(mass[1] / mass[0])
        per_word = math.log(weight[1] / weight[0])
        n_moved += 1
    for k in range(2):
        log_mass[k] = math.log(mass[k])
        log_weight[k] = math.log(weight[k])
    for w in range(len(count)):
        for k in range(2):
            count[w, k] = records[w, k]
            log_count[w, k] = fast_log(records[w, k])
    return n_moved, n_shortened, change / max(weights.sum(), 1e-300)


binary_pass = ForLoss(binary_loop)
