"""Stochastic passes over sparse counts: one step per row, nothing kept (Masegosa 2014, Algorithms 2 and 4, with stored logarithms).

    count_wk += rate * weight_k * x_w,        mass_k += rate * weight_k,        weights of the loss as in `suffice.losses`

The exact twin is `suffice.kernels.paper.words_pass`, which takes a logarithm per word and outcome; here scoring reads stored ones,
and a step refreshes the cells it touched. Weights of at most `least` are left out (0 leaves out nothing). A cell keeps at least half
of itself, so no step leaves the domain.
"""

import math

import numpy as np

from .compile import compiled
from .fast_log import fast_log
from .incremental import HINGE
from .prefetch import LINE, prefetch
from .words import longest

KEEP = 0.5
AHEAD = 12  # words from now that are fetched from memory


@compiled
def score_row_ahead(rows, i, following, log_count, log_weight, log_mass, scores):
    """`words.score_row`, while the rows of the table that will be read AHEAD words from now are on their way."""
    indptr, indices, data = rows
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
        u, v, w, x = data[p], data[p + 1], data[p + 2], data[p + 3]
        length += (u + v) + (w + x)
        for k in range(K):
            scores[k] += (u * log_count[a, k] + v * log_count[b, k]) + (w * log_count[c, k] + x * log_count[d, k])
    for p in range(fours, last):
        length += data[p]
        for k in range(K):
            scores[k] += data[p] * log_count[indices[p], k]
    for k in range(K):
        scores[k] += log_mass[k] - length * log_weight[k]


@compiled
def step_outcome(words, values, state, k, step, buffer):
    """Add step * s(x, k), keep at least KEEP of every cell, refresh the logarithms. Returns how many cells were kept."""
    mass, total, count, weight, log_count, log_weight, log_mass = state
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
    mass[k] = max(mass[k] + step, KEEP * mass[k])
    log_weight[k] = math.log(weight[k])
    log_mass[k] = math.log(mass[k])
    return n_kept


@compiled
def stochastic_pass(rows, y, weights, order, rates, state, loss, margin, least):
    """One pass in the given order; returns the number of cells that were kept from falling too far."""
    indptr, indices, data = rows
    mass, total, count, weight, log_count, log_weight, log_mass = state
    K = len(mass)
    scores = np.empty(K)
    buffer = np.empty(longest(indptr))
    n_kept = 0
    for t in range(len(order)):
        i = order[t]
        label = y[i]
        words = indices[indptr[i] : indptr[i + 1]]
        values = data[indptr[i] : indptr[i + 1]]
        score_row_ahead(rows, i, order[min(t + 1, len(order) - 1)], log_count, log_weight, log_mass, scores)
        rival = -1
        for k in range(K):
            if k != label and (rival < 0 or scores[k] > scores[rival]):
                rival = k
        rate = rates[t] * weights[i]
        if loss == HINGE:
            if scores[label] - scores[rival] < margin:
                n_kept += step_outcome(words, values, state, rival, -rate, buffer)
                n_kept += step_outcome(words, values, state, label, rate, buffer)
            continue
        top = max(scores[label], scores[rival])
        own = math.exp(scores[label] - top)
        cut = math.log(least) - 1.0 if least > 0.0 else -700.0
        others = 0.0
        for k in range(K):
            if k != label:
                scores[k] = math.exp(scores[k] - top) if scores[k] - top > cut else 0.0
                others += scores[k]
        if others <= least * (own + others):
            continue
        for k in range(K):
            if k != label and scores[k] > least * (own + others):
                n_kept += step_outcome(words, values, state, k, -rate * scores[k] / (own + others), buffer)
        n_kept += step_outcome(words, values, state, label, rate * others / (own + others), buffer)
    total[0] = mass.sum()
    return n_kept
