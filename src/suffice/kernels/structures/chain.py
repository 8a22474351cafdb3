r"""Forward-backward of hidden Markov chains, many sequences side by side.

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
from .chain_lanes import LEAST, absorb, fold, gather, prepare, product
from .chain_logs import filter_lane, smooth_lane

LANES = 64  # at most; fewer where there are fewer sequences
BLOCK = 128
MOST = 1e180
SCORE, SMOOTH, FILTER = 0, 1, 2  # log-likelihoods only; all expectations; posteriors given the past only


@compiled
def forward_block(lane, rows, tops, start, A, At, t0, incoming, b, top, alpha, inverse, counts, prediction, total):
    """The steps of a block: b, top, alpha and 1 / c of each; alpha[0] is the message that comes in."""
    base, length, first, last, fresh = lane
    h, S, W = b.shape
    alpha[0] = incoming
    for i in range(h):
        t = t0 + i
        gather(rows, tops, base, length, t, b[i], top[i])
        if t == 0:
            for j in range(S):
                for w in range(W):
                    prediction[j, w] = start[j] if fresh[w] else 1.0 / S
        else:
            product(A, At, alpha[i], prediction)
        absorb(prediction, b[i], alpha[i + 1], inverse[i], total[i])
        for w in range(W):
            counts[i, w] = 1.0 if first[w] <= t and t < last[w] else 0.0


@compiled
def note_forward(lane, t0, alpha, total, is_bad, seams):
    """Lanes whose totals underflow, and the messages at the seams of pieces."""
    base, length, first, last, fresh = lane
    h, S, W = total.shape[0], alpha.shape[1], alpha.shape[2]
    n_small = 0
    for i in range(h):
        for w in range(W):
            n_small += not total[i, w] > LEAST
    if n_small:
        for i in range(h):
            for w in range(W):
                is_bad[w] = is_bad[w] or (t0 + i < length[w] and not total[i, w] > LEAST)
    for w in range(W):
        for side in range(2):
            i = (first[w] if side == 0 else last[w]) - 1 - t0
            if 0 <= i < h:
                for j in range(S):
                    seams[w, side, j] = alpha[i + 1, j, w]


@compiled
def note_filtered(lane, t0, b, alpha, A, total, top, has_zeros, is_bad, posterior, steps):
    """Posteriors given the past, and log p(x_t | x_<t). With zeros in A a state that fades away is a reason for logarithms:
    no beta says what it is worth later."""
    base, length, first, last, fresh = lane
    S, W = alpha.shape[1], alpha.shape[2]
    for i in range(total.shape[0]):
        t = t0 + i
        for w in range(W):
            if t < length[w] and first[w] <= t and t < last[w]:
                row = base[w] + t
                steps[row] = top[i, w] + np.log(max(total[i, w], LEAST))
                for j in range(S):
                    posterior[row, j] = alpha[i + 1, j, w]
                    if has_zeros and alpha[i + 1, j, w] < 1e-250 and b[i, j, w] > 0.0 and t > 0 and not is_bad[w]:
                        for k in range(S):
                            is_bad[w] = is_bad[w] or (alpha[i, k, w] > 0.0 and A[k, j] > 0.0)


@compiled
def meet(lane, closes, weights, end, t, alpha, beta, seams, loglik, begun, ended, is_bad):
    """What happens to beta and the sums where a lane begins, ends, or has a seam."""
    base, length, first, last, fresh = lane
    S, W = alpha.shape
    for w in range(W):
        if t == length[w] - 1:
            c = 1.0
            if closes[w]:
                c = 0.0
                for j in range(S):
                    c += alpha[j, w] * end[j]
                is_bad[w] = is_bad[w] or not c > LEAST
                loglik[w] += np.log(max(c, LEAST))
            for j in range(S):
                beta[j, w] = end[j] / max(c, LEAST) if closes[w] else 1.0
                if closes[w]:
                    ended[j] += alpha[j, w] * beta[j, w] * weights[w]
        for j in range(S):
            if t == last[w] - 1:
                seams[w, 3, j] = beta[j, w]
            if t == first[w] - 1:
                seams[w, 2, j] = beta[j, w]
            if t == 0 and fresh[w] and length[w] > 0:
                begun[j] += alpha[j, w] * beta[j, w] * weights[w]


@compiled
def backward_block(
    lane, closes, weights, A, At, end, t0, b, alpha, inverse, counts, beta, scaled, most, past, onward, posterior, seams,
    loglik, begun, ended, is_bad,
):  # fmt: skip
    """From the last step of a block to its first: posteriors, and what the transitions are summed from (`past`, `onward`)."""
    base, length, first, last, fresh = lane
    h, S, W = b.shape
    factor, shares, is_event = np.empty(W), np.empty((S, W)), np.zeros(h, np.bool_)
    for w in range(W):
        for t in (0, length[w] - 1, first[w] - 1, last[w] - 1):
            if t0 <= t < t0 + h:
                is_event[t - t0] = True
    for i in range(h - 1, -1, -1):
        t = t0 + i
        if is_event[i]:
            meet(lane, closes, weights, end, t, alpha[i + 1], beta, seams, loglik, begun, ended, is_bad)
        into = 1.0 if t > 0 else 0.0
        for w in range(W):
            factor[w] = counts[i, w] * weights[w]
        for j in range(S):
            for w in range(W):
                most[w] = beta[j, w] if beta[j, w] > most[w] else most[w]
                shares[j, w] = alpha[i + 1, j, w] * beta[j, w] * factor[w]
            for w in range(W):
                scaled[j, w] = b[i, j, w] * beta[j, w] * inverse[i, w]
            for w in range(W):
                past[j, i, w] = alpha[i, j, w]
                onward[j, i, w] = scaled[j, w] * (into * factor[w])
        for w in range(W):
            if counts[i, w] > 0.0:
                row = base[w] + t
                for j in range(S):
                    posterior[row, j] = shares[j, w]
        product(At, A, scaled, beta)


@compiled
def smooth_batch(
    mode, lane, closes, weights, rows, tops, start, A, At, end, has_zeros, work, loglik, begun, xi, ended, posterior, steps,
    seams, is_bad,
):  # fmt: skip
    """One batch of lanes. Sums are added to begun, xi (without the factor A) and ended; `is_bad` says whom to repeat."""
    base, length, first, last, fresh = lane
    S, W, n = len(start), len(length), 0
    for w in range(W):
        n = max(n, length[w])
    n_blocks = (n + BLOCK - 1) // BLOCK
    messages = np.zeros((n_blocks + 1, S, W))
    produced, beta, scaled, most = np.ones(W), np.ones((S, W)), np.empty((S, W)), np.zeros(W)
    prediction, part = np.empty((S, W)), np.empty((S, S))
    n_sweeps = 2 * n_blocks if mode == SMOOTH else n_blocks
    for sweep in range(n_sweeps):
        block = sweep if sweep < n_blocks else 2 * n_blocks - 1 - sweep
        t0 = block * BLOCK
        h = min(n - t0, BLOCK)
        size = S * W
        b = work[0, : h * size].reshape(h, S, W)
        alpha = work[1, : (h + 1) * size].reshape(h + 1, S, W)
        past, onward = work[2, : h * size].reshape(S, h, W), work[3, : h * size].reshape(S, h, W)
        top, inverse = work[4, : h * W].reshape(h, W), work[5, : h * W].reshape(h, W)
        counts, total = work[6, : h * W].reshape(h, W), work[7, : h * W].reshape(h, W)
        if sweep != n_blocks:  # the last block is still there when the way back begins
            forward_block(
                lane, rows, tops, start, A, At, t0, messages[block], b, top, alpha, inverse, counts, prediction, total,
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
        np.dot(past.reshape(S, h * W), onward.reshape(S, h * W).T, part)
        xi += part
    for w in range(W):
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
    mode, base, length, first, last, fresh, closes, weights, scores, has_holes, start, A, end, has_zeros, loglik, begun, xi, ended,
    posterior, steps, seams,
):  # fmt: skip
    """All lanes of a shard in batches, in their order; the number of them that were repeated with logarithms.

    loglik (lanes,), begun (S,), xi (S, S), ended (S,), posterior (rows, S), steps (rows,) and seams (lanes, 4, S) are filled.
    """
    L, S = len(base), len(start)
    At = A.T.copy()
    work = np.empty((8, (BLOCK + 1) * S * min(LANES, L + 7)))
    rows, tops = np.empty(scores.shape), np.empty(len(scores))
    prepare(scores, has_holes, rows, tops, np.empty(S * max(2048 // S, 1)))
    n_repeated = 0
    for at in range(0, L, LANES):
        n = min(LANES, L - at)
        W = (n + 7) // 8 * 8
        own = (np.zeros(W, np.int64), np.zeros(W, np.int64), np.zeros(W, np.int64), np.zeros(W, np.int64),
               np.zeros(W, np.bool_))  # fmt: skip
        own_closes, own_weights = np.zeros(W, np.bool_), np.zeros(W)
        for w in range(n):
            own[0][w], own[1][w], own[2][w], own[3][w] = base[at + w], length[at + w], first[at + w], last[at + w]
            own[4][w], own_closes[w], own_weights[w] = fresh[at + w], closes[at + w], weights[at + w]
        is_bad = np.zeros(W, np.bool_)
        excluded = np.zeros(W, np.bool_)
        while True:
            own_seams, own_loglik = np.zeros((W, 4, S)), np.zeros(W)
            own_begun, own_xi, own_ended = np.zeros(S), np.zeros((S, S)), np.zeros(S)
            smooth_batch(
                mode, own, own_closes, own_weights, rows, tops, start, A, At, end, has_zeros, work, own_loglik, own_begun,
                own_xi, own_ended, posterior, steps, own_seams, is_bad,
            )  # fmt: skip
            n_bad = 0
            for w in range(W):
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
