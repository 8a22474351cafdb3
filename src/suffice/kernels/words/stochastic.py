"""Stochastic passes over sparse counts: one step per row, nothing kept (Masegosa 2014, Algorithms 2 and 4, with stored logarithms).

    count_wk += rate * weight_k * x_w,        mass_k += rate * weight_k,        weights of the loss by its `weigh_largest`

The exact twin is `kernels.loops.paper.words_pass`, which takes a logarithm per word and outcome; here scoring reads stored ones,
and a step refreshes the cells it touched. Weights of at most `least` are left out (0 leaves out nothing). A cell keeps at least half
of itself, so no step leaves the domain.
"""

import math

import numpy as np

from ..compile import ForLoss, bound
from ..machine.fast_log import fast_log
from ..rows import pairs_row
from .passes import WORDS, score_one

KEEP = 0.5


def stepped(words, values, state, k, step, buffer):
    """Add step * s(x, k) (WORDS times that of words), keep at least KEEP of every cell, refresh the logarithms. Returns how many cells
    were kept."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
    mass[k] = max(mass[k] + step, KEEP * mass[k])
    step *= WORDS
    n = len(words)
    gained = 0.0
    n_kept = 0
    for p in range(n):
        old = count[words[p], k]
        new = max(old + step * values[p], KEEP * old)
        n_kept += new > old + step * values[p]
        gained += new - old
        count[words[p], k] = new
        buffer[p] = new
    for p in range(n):
        buffer[p] = fast_log(buffer[p])
    for p in range(n):
        log_count[words[p], k] = buffer[p]
    weight[k] += gained
    log_weight[k] = math.log(weight[k])
    log_mass[k] = math.log(mass[k])
    return n_kept


step_outcome = bound(stepped, "multinomial")


def stochastic_loop(rows, y, weights, order, rates, state, settings, least):
    """One pass in the given order; returns the number of cells that were kept from falling too far, and the sum of the labels' weights:
    it falls as rows are learned."""
    mass, total = state[0], state[1]
    K = len(mass)
    scores = np.empty(K)
    signed = np.empty(K)
    buffer = np.empty(len(rows[4]))
    n_kept = 0
    misfit = 0.0
    for t in range(len(order)):
        i = order[t]
        words, values = pairs_row(rows, i)
        score_one(rows, order, t, values, state, scores)
        norm = weigh_largest(scores, y[i], settings, least, signed)
        if norm == 0.0:
            continue
        misfit += weights[i] * signed[y[i]] / norm
        rate = rates[t] * weights[i]
        for k in range(K):
            if signed[k] != 0.0:
                n_kept += step_outcome(words, values, state, k, rate * signed[k] / norm, buffer)
    total[0] = mass.sum()
    return n_kept, misfit


def bind(name, **kernels) -> ForLoss:
    """The pass over the words of a family that brings its own `score_one` and `step_outcome`, for every loss."""
    return ForLoss(stochastic_loop, name, **kernels)


stochastic_pass = bind("multinomial")
