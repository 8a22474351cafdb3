"""One step of many hidden Markov chains side by side: loops run over the lanes (see `chain`).

Arrays of a block are (states, steps, lanes), messages (states, lanes).
"""

import numpy as np

from ..compile import compiled
from ..machine.fused import exponential, fma

LEAST = 1e-100  # of a total: below it a lane is repeated with logarithms
BLOCK = 127  # steps, fewer where there are many states; odd: states of a step do not meet in one set of the cache
ROOM = 1 << 20  # numbers of a block
FEW = 24  # states: with fewer, the loops here are faster than a call of BLAS


@compiled
def mix(matrix, source, at, target):
    """target[j, w] = sum_i matrix[i, j] source[i, at, w], four by four."""
    S, W = target.shape
    whole = S // 4 * 4
    for j in range(0, whole, 4):
        for i in range(0, whole, 4):
            a0, a1, a2, a3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            b0, b1, b2, b3 = matrix[i, j + 1], matrix[i + 1, j + 1], matrix[i + 2, j + 1], matrix[i + 3, j + 1]
            c0, c1, c2, c3 = matrix[i, j + 2], matrix[i + 1, j + 2], matrix[i + 2, j + 2], matrix[i + 3, j + 2]
            d0, d1, d2, d3 = matrix[i, j + 3], matrix[i + 1, j + 3], matrix[i + 2, j + 3], matrix[i + 3, j + 3]
            if i == 0:
                for w in range(W):
                    x0, x1, x2, x3 = source[i, at, w], source[i + 1, at, w], source[i + 2, at, w], source[i + 3, at, w]
                    target[j, w] = fma(a0, x0, fma(a1, x1, fma(a2, x2, a3 * x3)))
                    target[j + 1, w] = fma(b0, x0, fma(b1, x1, fma(b2, x2, b3 * x3)))
                    target[j + 2, w] = fma(c0, x0, fma(c1, x1, fma(c2, x2, c3 * x3)))
                    target[j + 3, w] = fma(d0, x0, fma(d1, x1, fma(d2, x2, d3 * x3)))
                continue
            for w in range(W):
                x0, x1, x2, x3 = source[i, at, w], source[i + 1, at, w], source[i + 2, at, w], source[i + 3, at, w]
                target[j, w] = fma(a0, x0, fma(a1, x1, fma(a2, x2, fma(a3, x3, target[j, w]))))
                target[j + 1, w] = fma(b0, x0, fma(b1, x1, fma(b2, x2, fma(b3, x3, target[j + 1, w]))))
                target[j + 2, w] = fma(c0, x0, fma(c1, x1, fma(c2, x2, fma(c3, x3, target[j + 2, w]))))
                target[j + 3, w] = fma(d0, x0, fma(d1, x1, fma(d2, x2, fma(d3, x3, target[j + 3, w]))))
        for i in range(whole, S):
            a0, b0, c0, d0 = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            for w in range(W):
                x0 = source[i, at, w]
                target[j, w] = fma(a0, x0, target[j, w])
                target[j + 1, w] = fma(b0, x0, target[j + 1, w])
                target[j + 2, w] = fma(c0, x0, target[j + 2, w])
                target[j + 3, w] = fma(d0, x0, target[j + 3, w])
    for j in range(whole, S):
        target[j] = 0.0
        for i in range(0, whole, 4):
            a0, a1, a2, a3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            for w in range(W):
                x0, x1, x2, x3 = source[i, at, w], source[i + 1, at, w], source[i + 2, at, w], source[i + 3, at, w]
                target[j, w] = fma(a0, x0, fma(a1, x1, fma(a2, x2, fma(a3, x3, target[j, w]))))
        for i in range(whole, S):
            a0 = matrix[i, j]
            for w in range(W):
                target[j, w] = fma(a0, source[i, at, w], target[j, w])


@compiled
def product(matrix, transposed, source, at, target):
    """target = matrix' source[:, at], by the faster way."""
    if matrix.shape[0] < FEW:
        mix(matrix, source, at, target)
    else:
        np.dot(transposed, np.ascontiguousarray(source[:, at]), target)


@compiled
def exponentiate(b, constant, has_holes, top):
    """b <- exp(b + constant - top) of every step, top (steps, lanes) the largest of it. `has_holes`: b may be -infinity."""
    S, h, W = b.shape
    for i in range(h):
        best = top[i]
        for w in range(W):
            best[w] = b[0, i, w] + constant[0]
        for j in range(1, S):
            own = constant[j]
            for w in range(W):
                value = b[j, i, w] + own
                best[w] = value if value > best[w] else best[w]
        if has_holes:
            for w in range(W):
                best[w] = best[w] if best[w] > -np.inf else 0.0
        for j in range(S):
            own = constant[j]
            if has_holes:
                for w in range(W):
                    power = exponential((b[j, i, w] + own) - best[w])
                    b[j, i, w] = power if b[j, i, w] > -np.inf else 0.0
            else:
                for w in range(W):
                    b[j, i, w] = exponential((b[j, i, w] + own) - best[w])


@compiled
def pad(length, t0, b, top):
    """After a lane's end b is 1 and top 0."""
    S, h, W = b.shape
    for w in range(W):
        for i in range(max(min(length[w] - t0, h), 0), h):
            top[i, w] = 0.0
            for j in range(S):
                b[j, i, w] = 1.0


@compiled
def absorb(prediction, scale, b, i, target, at, inverse, total):
    """target[:, at] = prediction * scale * b, `total` its sum, `inverse` one over that: what divides it is left to the next step."""
    S, W = prediction.shape
    for w in range(W):
        total[w] = 0.0
    for j in range(S):
        for w in range(W):
            value = prediction[j, w] * scale[w] * b[j, i, w]
            target[j, at, w] = value
            total[w] += value
    for w in range(W):
        inverse[w] = 1.0 / (total[w] if total[w] > 0.0 else 1.0)


@compiled
def divide(alpha, at, beta, i, b, share, inverse, entry, most, shares, scaled):
    """A step back: shares = alpha beta share; scaled = b beta / total, and in the place of b what enters the transitions."""
    S, W = beta.shape
    for j in range(S):
        for w in range(W):
            most[w] = beta[j, w] if beta[j, w] > most[w] else most[w]
            shares[j, i, w] = alpha[j, at, w] * beta[j, w] * share[w]
        for w in range(W):
            onward = b[j, i, w] * beta[j, w] * inverse[w]
            scaled[j, 0, w] = onward
            b[j, i, w] = onward * entry[w]


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


@compiled
def block_steps(S, W):
    """Steps of a block."""
    return min(BLOCK, max(ROOM // (S * W), 16))


@compiled
def width_at(length, t):
    """Lanes up to the last one that is not over at step t, in eights."""
    n = 0
    for w in range(len(length)):
        if length[w] > t:
            n = w + 1
    return (n + 7) // 8 * 8
