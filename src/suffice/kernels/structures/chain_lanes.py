"""One step of many hidden Markov chains side by side: arrays are (states, lanes), and loops run over the lanes (see `chain`)."""

import numpy as np

from ..compile import compiled
from ..machine.fast_exp import exponentials

LEAST = 1e-100  # of a total: below it a lane is repeated with logarithms
FEW = 16  # states: with fewer, the loops here are faster than a call of BLAS


@compiled
def mix(matrix, source, target):
    """target[j, w] = sum_i matrix[i, j] source[i, w]."""
    S, W = target.shape
    for j in range(S):
        for w in range(W):
            target[j, w] = 0.0
        i = 0
        while i + 4 <= S:
            m0, m1, m2, m3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            for w in range(W):
                target[j, w] += (m0 * source[i, w] + m1 * source[i + 1, w]) + (
                    m2 * source[i + 2, w] + m3 * source[i + 3, w]
                )
            i += 4
        while i < S:
            m0 = matrix[i, j]
            for w in range(W):
                target[j, w] += m0 * source[i, w]
            i += 1


@compiled
def product(matrix, transposed, source, target):
    """target = matrix' source, by the faster way."""
    if matrix.shape[0] < FEW:
        mix(matrix, source, target)
    else:
        np.dot(transposed, source, target)


@compiled
def prepare(scores, has_holes, b, top, powers):
    """b = exp(log b - top) of every row, top (rows,) the largest of it. `has_holes`: scores may be -infinity."""
    n, S = scores.shape
    size = len(powers) // S
    for first in range(0, n, size):
        last = min(first + size, n)
        for row in range(first, last):
            best = scores[row, 0]
            for j in range(1, S):
                best = scores[row, j] if scores[row, j] > best else best
            best = best if best > -np.inf else 0.0
            top[row] = best
            for j in range(S):
                b[row, j] = scores[row, j] - best
        exponentials(b[first:last].reshape(-1), powers[: (last - first) * S])
        if has_holes:
            for row in range(first, last):
                for j in range(S):
                    b[row, j] = b[row, j] if scores[row, j] > -np.inf else 0.0


@compiled
def gather(rows, tops, base, length, t, b, top):
    """b[j, w] and top[w] of step t of all lanes; 1 and 0 after a lane's end."""
    S, W = b.shape
    for w in range(W):
        if t < length[w]:
            row = base[w] + t
            top[w] = tops[row]
            for j in range(S):
                b[j, w] = rows[row, j]
        else:
            top[w] = 0.0
            for j in range(S):
                b[j, w] = 1.0


@compiled
def absorb(prediction, b, alpha, inverse, total):
    """alpha = prediction * b / total; `inverse` = 1 / total."""
    S, W = prediction.shape
    for w in range(W):
        total[w] = 0.0
    for j in range(S):
        for w in range(W):
            value = prediction[j, w] * b[j, w]
            alpha[j, w] = value
            total[w] += value
    for w in range(W):
        inverse[w] = 1.0 / (total[w] if total[w] > 0.0 else 1.0)
    for j in range(S):
        for w in range(W):
            alpha[j, w] *= inverse[w]


@compiled
def fold(total, top, counts, produced, loglik):
    """Log-likelihoods: totals are multiplied, and a logarithm is taken where the product is small."""
    n_small, W = 0, len(total)
    for w in range(W):
        produced[w] *= total[w] if counts[w] > 0.0 else 1.0
        loglik[w] += counts[w] * top[w]
    for w in range(W):
        n_small += produced[w] < LEAST
    if n_small:
        for w in range(W):
            if 0.0 < produced[w] < LEAST:
                loglik[w] += np.log(produced[w])
                produced[w] = 1.0
