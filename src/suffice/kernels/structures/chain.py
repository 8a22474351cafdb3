r"""Forward-backward of hidden Markov chains, 32 sequences side by side.

Lanes. A batch is LANES sequences: an array of a step is (states, LANES), so the recursion

    alpha_t = b_t * (A' alpha_{t-1}) / c_t          c_t = p(x_t | x_<t) up to the scale of b_t
    beta_t  = A (b_{t+1} * beta_{t+1}) / c_{t+1}    sum_j alpha_tj beta_tj = 1:  their product is the posterior of the state
    xi_ij   = A_ij sum_t alpha_{t-1,i} b_tj beta_tj / c_t

is a few small products of matrices. Shorter sequences are padded with b = 1 and weight 0, which is exact. Blocks of BLOCK steps are
held at once: alpha is kept at their ends and the steps inside are made again on the way back.

Scaling. b_t = exp(log b_t - max), at least exp(-700). What is lost of alpha that way is below 1e-204; it weighs lost * beta in the
posterior, and beta is computed for every state. So a lane is exact to rounding if c_t > LEAST at every step and beta < MOST. Where it
is not (zeros in the transitions and observations that speak against all states that can be reached), the lane is repeated with
logarithms (`chain_logs`): the fast way is never silently wrong.

A lane is a run of rows base .. base + length of the scores log b; of them first .. last count, the others only warm up the messages of
a piece that was cut out of a long sequence. `fresh`: it begins where the sequence begins; `closes`: it ends where that ends.
"""

import numpy as np

from ..compile import compiled
from ..machine.fast_exp import exponentials
from .chain_logs import filter_lane, smooth_lane

LANES = 32
BLOCK = 128
LEAST = 1e-100
MOST = 1e180
FEW = 16  # states: with fewer, the loops here are faster than a call of BLAS
SCORE, SMOOTH, FILTER = 0, 1, 2  # log-likelihoods only; all expectations; posteriors given the past only


@compiled
def mix(matrix, source, target):
    """target[j, w] = sum_i matrix[i, j] source[i, w]."""
    S = matrix.shape[0]
    for j in range(S):
        for w in range(LANES):
            target[j, w] = 0.0
        i = 0
        while i + 4 <= S:
            m0, m1, m2, m3 = matrix[i, j], matrix[i + 1, j], matrix[i + 2, j], matrix[i + 3, j]
            for w in range(LANES):
                target[j, w] += (m0 * source[i, w] + m1 * source[i + 1, w]) + (
                    m2 * source[i + 2, w] + m3 * source[i + 3, w]
                )
            i += 4
        while i < S:
            m0 = matrix[i, j]
            for w in range(LANES):
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
def gather(scores, base, length, t, b, top, least, powers):
    """b[j, w] = exp(log b - top[w]) of step t of all lanes; 1 after a lane's end."""
    S = b.shape[0]
    for w in range(LANES):
        if t < length[w]:
            row = base[w] + t
            for j in range(S):
                b[j, w] = scores[row, j]
        else:
            for j in range(S):
                b[j, w] = 0.0
    for w in range(LANES):
        top[w] = b[0, w]
        least[w] = b[0, w]
    for j in range(1, S):
        for w in range(LANES):
            top[w] = b[j, w] if b[j, w] > top[w] else top[w]
            least[w] = b[j, w] if b[j, w] < least[w] else least[w]
    lowest = 0.0
    for w in range(LANES):
        lowest = least[w] if least[w] < lowest else lowest
        top[w] = top[w] if top[w] > -np.inf else 0.0
    for j in range(S):
        for w in range(LANES):
            b[j, w] -= top[w]
    exponentials(b.reshape(-1), powers)
    if lowest == -np.inf:
        for w in range(LANES):
            if t < length[w]:
                for j in range(S):
                    if scores[base[w] + t, j] == -np.inf:
                        b[j, w] = 0.0


@compiled
def absorb(prediction, b, alpha, inverse, total):
    """alpha = prediction * b / total; `inverse` = 1 / total."""
    S = prediction.shape[0]
    for w in range(LANES):
        total[w] = 0.0
    for j in range(S):
        for w in range(LANES):
            alpha[j, w] = prediction[j, w] * b[j, w]
    for j in range(S):
        for w in range(LANES):
            total[w] += alpha[j, w]
    for w in range(LANES):
        inverse[w] = 1.0 / total[w] if total[w] > 0.0 else 1.0
    for j in range(S):
        for w in range(LANES):
            alpha[j, w] *= inverse[w]


@compiled
def fold(total, top, counts, produced, loglik):
    """Log-likelihoods: totals are multiplied, and a logarithm is taken where the product is small."""
    smallest = 1.0
    for w in range(LANES):
        produced[w] *= total[w] if counts[w] > 0.0 else 1.0
        loglik[w] += counts[w] * top[w]
        smallest = produced[w] if produced[w] < smallest else smallest
    if smallest < LEAST:
        for w in range(LANES):
            if produced[w] < LEAST and produced[w] > 0.0:
                loglik[w] += np.log(produced[w])
                produced[w] = 1.0


@compiled
def forward_block(lane, scores, start, A, At, t0, incoming, b, top, alpha, inverse, counts, prediction, total, powers):
    """The steps of a block: b, top, alpha and 1 / c of each; alpha[0] is the message that comes in."""
    base, length, first, last, fresh = lane
    h, S = b.shape[0], b.shape[1]
    alpha[0] = incoming
    for i in range(h):
        t = t0 + i
        gather(scores, base, length, t, b[i], top[i], total[i], powers)
        if t == 0:
            for j in range(S):
                for w in range(LANES):
                    prediction[j, w] = start[j] if fresh[w] else 1.0 / S
        else:
            product(A, At, alpha[i], prediction)
        absorb(prediction, b[i], alpha[i + 1], inverse[i], total[i])
        for w in range(LANES):
            counts[i, w] = 1.0 if first[w] <= t and t < last[w] else 0.0


@compiled
def note_forward(lane, t0, alpha, total, is_bad, seams):
    """Lanes whose totals underflow, and the messages at the seams of pieces."""
    base, length, first, last, fresh = lane
    S = alpha.shape[1]
    for i in range(total.shape[0]):
        t = t0 + i
        for w in range(LANES):
            if t < length[w]:
                is_bad[w] = is_bad[w] or not total[i, w] > LEAST
                if t == first[w] - 1:
                    for j in range(S):
                        seams[w, 0, j] = alpha[i + 1, j, w]
                if t == last[w] - 1:
                    for j in range(S):
                        seams[w, 1, j] = alpha[i + 1, j, w]


@compiled
def note_filtered(lane, t0, b, alpha, A, total, top, has_zeros, is_bad, posterior, steps):
    """Posteriors given the past, and log p(x_t | x_<t). With zeros in A a state that fades away is a reason for logarithms:
    no beta says what it is worth later."""
    base, length, first, last, fresh = lane
    S = alpha.shape[1]
    for i in range(total.shape[0]):
        t = t0 + i
        for w in range(LANES):
            if t < length[w] and first[w] <= t and t < last[w]:
                row = base[w] + t
                steps[row] = top[i, w] + np.log(max(total[i, w], LEAST))
                for j in range(S):
                    posterior[row, j] = alpha[i + 1, j, w]
                    if has_zeros and alpha[i + 1, j, w] < 1e-250 and b[i, j, w] > 0.0 and t > 0 and not is_bad[w]:
                        for k in range(S):
                            is_bad[w] = is_bad[w] or (alpha[i, k, w] > 0.0 and A[k, j] > 0.0)


@compiled
def backward_block(
    lane, closes, weights, A, At, end, t0, b, alpha, inverse, counts, beta, scaled, most, past, onward, posterior, seams,
    loglik, begun, ended, is_bad,
):  # fmt: skip
    """From the last step of a block to its first: posteriors, and what the transitions are summed from (`past`, `onward`)."""
    base, length, first, last, fresh = lane
    h, S = b.shape[0], b.shape[1]
    factor = np.empty(LANES)
    for i in range(h - 1, -1, -1):
        t = t0 + i
        for w in range(LANES):
            if t == length[w] - 1:
                c = 1.0
                if closes[w]:
                    c = 0.0
                    for j in range(S):
                        c += alpha[i + 1, j, w] * end[j]
                    is_bad[w] = is_bad[w] or not c > LEAST
                    loglik[w] += np.log(max(c, LEAST))
                for j in range(S):
                    beta[j, w] = end[j] / max(c, LEAST) if closes[w] else 1.0
            if t == last[w] - 1:
                for j in range(S):
                    seams[w, 3, j] = beta[j, w]
                    if closes[w] and t == length[w] - 1:
                        ended[j] += alpha[i + 1, j, w] * beta[j, w] * weights[w]
            if t == first[w] - 1:
                for j in range(S):
                    seams[w, 2, j] = beta[j, w]
            if t == 0 and fresh[w] and length[w] > 0:
                for j in range(S):
                    begun[j] += alpha[i + 1, j, w] * beta[j, w] * weights[w]
            if counts[i, w] > 0.0:
                row = base[w] + t
                for j in range(S):
                    posterior[row, j] = alpha[i + 1, j, w] * beta[j, w] * weights[w]
        for w in range(LANES):
            factor[w] = counts[i, w] * weights[w] if t > 0 else 0.0
        for j in range(S):
            for w in range(LANES):
                most[w] = beta[j, w] if beta[j, w] > most[w] else most[w]
                scaled[j, w] = b[i, j, w] * beta[j, w] * inverse[i, w]
            for w in range(LANES):
                past[j, i, w] = alpha[i, j, w]
                onward[j, i, w] = scaled[j, w] * factor[w]
        product(At, A, scaled, beta)


@compiled
def smooth_batch(
    mode, lane, closes, weights, scores, start, A, At, end, has_zeros, work, loglik, begun, xi, ended, posterior, steps,
    seams, is_bad,
):  # fmt: skip
    """One batch of lanes. Sums are added to begun, xi (without the factor A) and ended; `is_bad` says whom to repeat."""
    base, length, first, last, fresh = lane
    S, n = len(start), 0
    for w in range(LANES):
        n = max(n, length[w])
    n_blocks = (n + BLOCK - 1) // BLOCK
    messages = np.zeros((n_blocks + 1, S, LANES))
    produced, beta, scaled, most = np.ones(LANES), np.ones((S, LANES)), np.empty((S, LANES)), np.zeros(LANES)
    prediction, part, powers = np.empty((S, LANES)), np.empty((S, S)), np.empty(S * LANES)
    n_sweeps = 2 * n_blocks if mode == SMOOTH else n_blocks
    for sweep in range(n_sweeps):
        block = sweep if sweep < n_blocks else 2 * n_blocks - 1 - sweep
        t0 = block * BLOCK
        h = min(n - t0, BLOCK)
        size = S * LANES
        b = work[0, : h * size].reshape(h, S, LANES)
        alpha = work[1, : (h + 1) * size].reshape(h + 1, S, LANES)
        past, onward = work[2, : h * size].reshape(S, h, LANES), work[3, : h * size].reshape(S, h, LANES)
        top, inverse = work[4, : h * LANES].reshape(h, LANES), work[5, : h * LANES].reshape(h, LANES)
        counts, total = work[6, : h * LANES].reshape(h, LANES), work[7, : h * LANES].reshape(h, LANES)
        if sweep != n_blocks:  # the last block is still there when the way back begins
            forward_block(
                lane, scores, start, A, At, t0, messages[block], b, top, alpha, inverse, counts, prediction, total,
                powers,
            )  # fmt: skip
        if sweep < n_blocks:
            messages[block + 1] = alpha[h]
            for i in range(h):
                fold(total[i], top[i], counts[i], produced, loglik)
            note_forward(lane, t0, alpha, total, is_bad, seams)
            if mode == FILTER:
                note_filtered(lane, t0, b, alpha, A, total, top, has_zeros, is_bad, posterior, steps)
            continue
        backward_block(
            lane, closes, weights, A, At, end, t0, b, alpha, inverse, counts, beta, scaled, most, past, onward, posterior,
            seams, loglik, begun, ended, is_bad,
        )  # fmt: skip
        np.dot(past.reshape(S, h * LANES), onward.reshape(S, h * LANES).T, part)
        xi += part
    for w in range(LANES):
        loglik[w] += np.log(max(produced[w], 1e-300))
        is_bad[w] = is_bad[w] or not most[w] < MOST
        if mode != SMOOTH and closes[w] and length[w] > 0:
            close_lane(w, end, loglik, is_bad, seams)


@compiled
def close_lane(w, end, loglik, is_bad, seams):
    """The probability of the end, where nothing went backward: from the message at the lane's last step."""
    c = 0.0
    for j in range(len(end)):
        c += seams[w, 1, j] * end[j]
    is_bad[w] = is_bad[w] or not c > LEAST
    loglik[w] += np.log(max(c, LEAST))


@compiled
def run_lanes(
    mode, base, length, first, last, fresh, closes, weights, scores, start, A, end, has_zeros, loglik, begun, xi, ended,
    posterior, steps, seams,
):  # fmt: skip
    """All lanes of a shard in batches, in their order; the number of them that were repeated with logarithms.

    loglik (lanes,), begun (S,), xi (S, S), ended (S,), posterior (rows, S), steps (rows,) and seams (lanes, 4, S) are filled.
    """
    L, S = len(base), len(start)
    At = A.T.copy()
    work = np.empty((8, (BLOCK + 1) * S * LANES))
    n_repeated = 0
    for at in range(0, L, LANES):
        n = min(LANES, L - at)
        own = (np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64), np.zeros(LANES, np.int64),
               np.zeros(LANES, np.bool_))  # fmt: skip
        own_closes, own_weights = np.zeros(LANES, np.bool_), np.zeros(LANES)
        for w in range(n):
            own[0][w], own[1][w], own[2][w], own[3][w] = base[at + w], length[at + w], first[at + w], last[at + w]
            own[4][w], own_closes[w], own_weights[w] = fresh[at + w], closes[at + w], weights[at + w]
        is_bad = np.zeros(LANES, np.bool_)
        excluded = np.zeros(LANES, np.bool_)
        while True:
            own_seams, own_loglik = np.zeros((LANES, 4, S)), np.zeros(LANES)
            own_begun, own_xi, own_ended = np.zeros(S), np.zeros((S, S)), np.zeros(S)
            smooth_batch(
                mode, own, own_closes, own_weights, scores, start, A, At, end, has_zeros, work, own_loglik, own_begun,
                own_xi, own_ended, posterior, steps, own_seams, is_bad,
            )  # fmt: skip
            n_bad = 0
            for w in range(LANES):
                if is_bad[w] and not excluded[w]:
                    n_bad += 1
                    excluded[w], own[1][w], own[2][w], own[3][w] = True, 0, 0, 0
                is_bad[w] = False
            if n_bad == 0:
                break
        begun += own_begun
        xi += A * own_xi
        ended += own_ended
        for w in range(n):
            k = at + w
            if excluded[w]:
                n_repeated += 1
                lane = (base[k], length[k], first[k], last[k], fresh[k], closes[k], weights[k])
                if mode == FILTER:
                    loglik[k] = filter_lane(lane, scores, start, A, end, posterior, steps)
                else:
                    loglik[k] = smooth_lane(lane, scores, start, A, end, begun, xi, ended, posterior, seams[k])
            else:
                loglik[k] = own_loglik[w]
                seams[k] = own_seams[w]
    return n_repeated
