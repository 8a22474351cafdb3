"""A chunk of rows under the conditional likelihood: cells of categories are added to the scores, and the scores become weights.

The products of matrices before and after it (numbers) are BLAS's; this is what lies between them.
"""

import math

import numpy as np

from ..compile import compiled
from ..machine.fast_exp import exponentials


@compiled
def add_cells(codes, logits, scores):
    """scores[i] += the logits of the row's cells; `codes` are places among all cells, the last of which is zero (a missing one)."""
    n, K = scores.shape
    for i in range(n):
        for j in range(codes.shape[1]):
            cell = codes[i, j]
            for k in range(K):
                scores[i, k] += logits[cell, k]


@compiled
def weigh_rows(scores, y, weights, scratch):
    """The sum of -weight log p(label); scores <- weight (p(k | x) - [k is the label]), the gradient in the scores, in place."""
    n, K = scores.shape
    total = 0.0
    for i in range(n):
        top = scores[i, 0]
        for k in range(1, K):
            top = max(top, scores[i, k])
        for k in range(K):
            scores[i, k] -= top
        total -= weights[i] * scores[i, y[i]]
    exponentials(scores.reshape(n * K), scratch)
    for i in range(n):
        whole = 0.0
        for k in range(K):
            whole += scores[i, k]
        total += weights[i] * math.log(whole)
        factor = weights[i] / whole
        for k in range(K):
            scores[i, k] *= factor
        scores[i, y[i]] -= weights[i]
    return total


@compiled
def sum_cells(codes, weights, sums):
    """sums[cell] += weights[i] for every cell of every row."""
    n, K = weights.shape
    for i in range(n):
        for j in range(codes.shape[1]):
            cell = codes[i, j]
            for k in range(K):
                sums[cell, k] += weights[i, k]


@compiled
def walk(T, offset, sizes, centre, logits):
    """logits <- slope times centre plus the sum of increments, column by column; T has the slopes, then the increments of all cells."""
    m, K = len(offset), T.shape[1]
    for j in range(m):
        first = offset[j]
        for k in range(K):
            total, slope = 0.0, T[j, k]
            logits[first, k] = slope * centre[first]
            for cell in range(first + 1, first + sizes[j]):
                total += T[m + cell, k]
                logits[cell, k] = slope * centre[cell] + total


@compiled
def walk_back(g, offset, sizes, centre, gradient):
    """gradient <- that of (slopes, increments), of the gradient g of the logits."""
    m, K = len(offset), g.shape[1]
    for j in range(m):
        first = offset[j]
        for k in range(K):
            total, slope = 0.0, 0.0
            for cell in range(first + sizes[j] - 1, first, -1):
                total += g[cell, k]
                slope += g[cell, k] * centre[cell]
                gradient[m + cell, k] = total
            gradient[m + first, k] = 0.0
            gradient[j, k] = slope + g[first, k] * centre[first]


def plain_walk(T, offset, sizes, centre):
    """The logits of `walk`: its readable twin."""
    m, parts = len(offset), []
    for j, (first, size) in enumerate(zip(offset, sizes, strict=True)):
        cells = slice(first, first + size)
        steps = T[m + first : m + first + size].copy()
        steps[0] = 0.0
        parts.append(np.cumsum(steps, axis=0) + centre[cells, None] * T[j])
    return np.concatenate(parts)


def plain_weights(scores, y, weights):
    """(total, gradient) of `weigh_rows`: its readable twin."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    posterior = shifted / shifted.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    total = -float(weights @ np.log(posterior[rows, y]))
    posterior[rows, y] -= 1.0
    return total, weights[:, None] * posterior
