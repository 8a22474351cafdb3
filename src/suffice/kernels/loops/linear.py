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


def plain_weights(scores, y, weights):
    """(total, gradient) of `weigh_rows`: its readable twin."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    posterior = shifted / shifted.sum(axis=1, keepdims=True)
    rows = np.arange(len(y))
    total = -float(weights @ np.log(posterior[rows, y]))
    posterior[rows, y] -= 1.0
    return total, weights[:, None] * posterior
