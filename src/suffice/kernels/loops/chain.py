"""Tridiagonal matrices, one for every column k of the arrays: their lower factors, and the equations with them.

The matrix has `diagonal[c]` and the coupling `below[c]` of places c and c + 1; its factor L is written over both.
"""

import math

import numpy as np

from ..compile import compiled


@compiled
def factor_chain(diagonal, below):
    n, K = diagonal.shape
    for k in range(K):
        before = 0.0
        for c in range(n):
            root = math.sqrt(max(diagonal[c, k] - before * before, 1e-300))
            before = below[c, k] / root
            diagonal[c, k], below[c, k] = root, before


@compiled
def forward(root, below, g, out):
    """L out = g."""
    n, K = root.shape
    for k in range(K):
        before = 0.0
        for c in range(n):
            now = (g[c, k] - before) / root[c, k]
            before = below[c, k] * now
            out[c, k] = now


@compiled
def backward(root, below, x, out):
    """L' out = x."""
    n, K = root.shape
    for k in range(K):
        after = 0.0
        for c in range(n - 1, -1, -1):
            after = (x[c, k] - below[c, k] * after) / root[c, k]
            out[c, k] = after


def plain_factor(diagonal, below):
    """The (n, n) factor of a single chain: the readable twin."""
    return np.linalg.cholesky(np.diag(diagonal) + np.diag(below[:-1], 1) + np.diag(below[:-1], -1))
