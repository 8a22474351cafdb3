r"""Scores and sums of steps whose category columns come in patterns.

    score[t, k] = sum_g  patterns[ids[t, g], k],       patterns[p, k] = sum over the cells c of pattern p of table[c, k]

A pattern is a combination of cells that a group of columns shows together: a word with its affixes and its shape. There are far fewer
of them than steps, so a cell's row of the table is read once a pattern and not once a step; sums go the same way back.
"""

import numpy as np

from ..compile import compiled

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads neighbouring numbers over the table (Knuth, multiplicative hashing)


@compiled
def rank(values, places, first):
    """How many distinct values >= 0 there are; number k stands first at first[k], and places[t] is the number of values[t]."""
    bits = 4
    while (1 << bits) < 2 * len(values):
        bits += 1
    shift, mask = np.uint64(64 - bits), (1 << bits) - 1
    slots, n = np.full(1 << bits, -1, np.int64), 0
    for t in range(len(values)):
        slot = np.int64((np.uint64(values[t]) * GOLDEN) >> shift)
        while slots[slot] >= 0 and values[first[slots[slot]]] != values[t]:
            slot = (slot + 1) & mask
        if slots[slot] < 0:
            slots[slot], first[n] = n, t
            n += 1
        places[t] = slots[slot]
    return n


@compiled
def add_cells(bounds, cells, table, patterns):
    """patterns[p] = sum of table[c] over cells[bounds[p] : bounds[p + 1]]."""
    S = table.shape[1]
    for p in range(len(bounds) - 1):
        for k in range(S):
            patterns[p, k] = 0.0
        for place in range(bounds[p], bounds[p + 1]):
            c = cells[place]
            for k in range(S):
                patterns[p, k] += table[c, k]


@compiled
def add_patterns(ids, first, patterns, scores):
    """scores[t] = sum over g of patterns[ids[first + t, g]]."""
    n, S = scores.shape
    for t in range(n):
        for k in range(S):
            scores[t, k] = 0.0
        for g in range(ids.shape[1]):
            p = ids[first + t, g]
            for k in range(S):
                scores[t, k] += patterns[p, k]


@compiled
def spread_steps(ids, weights, patterns):
    """patterns[p] = sum of the weights (n, S) of the steps that show pattern p."""
    n, S = weights.shape
    patterns[:] = 0.0
    for t in range(n):
        for g in range(ids.shape[1]):
            p = ids[t, g]
            for k in range(S):
                patterns[p, k] += weights[t, k]


@compiled
def spread_patterns(bounds, cells, patterns, table):
    """table[c] += patterns[p] for the cells of every pattern."""
    S = table.shape[1]
    for p in range(len(bounds) - 1):
        for place in range(bounds[p], bounds[p + 1]):
            c = cells[place]
            for k in range(S):
                table[c, k] += patterns[p, k]
