"""Incremental passes over sparse counts with two outcomes: everything by differences.

The margin of the label needs only log(count_w1 / count_w0), so scoring reads one number a word, a step refreshes one, and a row has
a single multiplier r in [0, 1] (of its label; the other outcome has -r). Otherwise as `suffice.kernels.words`.
"""

import math

import numpy as np

from .compile import compiled
from .fast_log import fast_log
from .incremental import BOUNDARY, NCLL
from .words import DOWNWARDS, FLOOR, REST, longest


@compiled
def difference_row(words, values, difference):
    """sum_w x_w log(count_w1 / count_w0), and |x|."""
    total = 0.0
    length = 0.0
    for p in range(len(words)):
        total += values[p] * difference[words[p]]
        length += values[p]
    return total, length


@compiled
def both_slopes(words, values, count, mass):
    slope0 = 1.0 / mass[0]
    slope1 = 1.0 / mass[1]
    ratio0 = slope0
    ratio1 = slope1
    for p in range(len(words)):
        share0 = values[p] / count[words[p], 0]
        share1 = values[p] / count[words[p], 1]
        slope0 += values[p] * share0
        slope1 += values[p] * share1
        ratio0 = max(ratio0, share0)
        ratio1 = max(ratio1, share1)
    return slope0, slope1, ratio0, ratio1


@compiled
def logistic_step(margin, slope, own, wanted):
    """The step t from `own` towards `wanted` with own + t = 1 / (1 + exp(margin + slope t)), by safeguarded Newton."""
    low = min(0.0, wanted)
    high = max(0.0, wanted)
    step = wanted / (1.0 + 0.25 * slope)
    for _ in range(12):
        share = 1.0 / (1.0 + math.exp(margin + slope * step))
        value = own + step - share
        if value > 0.0:
            high = step
        else:
            low = step
        if abs(value) < 0.05 * abs(wanted):
            break
        step -= value / (1.0 + slope * share * (1.0 - share))
        if step <= low or step >= high:
            step = 0.5 * (low + high)
    return step


@compiled
def binary_pass(rows, y, weights, order, multipliers, state, loss, margin, softness, tolerance, slack):
    indptr, indices, data = rows
    mass, total, count, weight, log_count, log_weight, log_mass = state
    difference = np.empty(len(count))
    for w in range(len(count)):
        difference[w] = log_count[w, 1] - log_count[w, 0]
    buffer = np.empty(longest(indptr))
    offset = math.log(mass[1] / mass[0])
    per_word = math.log(weight[1] / weight[0])
    n_moved = 0
    n_shortened = 0
    change = 0.0
    for i in order:
        if weights[i] <= 0.0:
            continue
        sign = 1.0 if y[i] == 1 else -1.0
        own = multipliers[i, y[i]]
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        score, length = difference_row(words, values, difference)
        lead = sign * (score + offset - length * per_word)
        if loss == NCLL:
            wanted = 1.0 / (1.0 + math.exp(lead)) - own
            slack[i] = 0.3 * tolerance - abs(wanted)
            if abs(wanted) < tolerance:
                change += weights[i] * abs(wanted)
                continue
        else:
            slack[i] = lead - margin - REST if own < 1e-12 else 0.0
            if lead >= margin and own < 1e-12:
                continue
        slope0, slope1, ratio0, ratio1 = both_slopes(words, values, count, mass)
        if loss == NCLL:
            falls0 = (wanted > 0.0) == (sign > 0.0)
            slope = slope0 * (DOWNWARDS if falls0 else 1.0) + slope1 * (1.0 if falls0 else DOWNWARDS)
            step = logistic_step(lead, slope * weights[i], own, wanted)
            change += weights[i] * abs(wanted)
        else:
            step = (margin - lead - 2.0 * softness * own) / ((slope0 + slope1) * weights[i] + 2.0 * softness)
            step = min(max(step, -own), 1.0 - own)
            change += weights[i] * abs(step)
            if abs(step) < tolerance:
                continue
        ratio = ratio0 if step * sign > 0.0 else ratio1
        most = BOUNDARY / (ratio * weights[i])
        if abs(step) > most:
            step = math.copysign(most, step)
            n_shortened += 1
        multipliers[i, y[i]] += step
        multipliers[i, 1 - y[i]] -= step
        step *= sign * weights[i]
        for p in range(len(words)):
            cell0 = max(count[words[p], 0] - step * values[p], FLOOR)
            cell1 = max(count[words[p], 1] + step * values[p], FLOOR)
            count[words[p], 0] = cell0
            count[words[p], 1] = cell1
            buffer[p] = cell1 / cell0
        for p in range(len(words)):
            buffer[p] = fast_log(buffer[p])
        for p in range(len(words)):
            difference[words[p]] = buffer[p]
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
            log_count[w, k] = fast_log(count[w, k])
    return n_moved, n_shortened, change / max(weights.sum(), 1e-300)
