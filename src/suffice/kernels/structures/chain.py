r"""Forward-backward of hidden Markov chains, many sequences side by side.

Lanes. A batch is LANES sequences: arrays of a block of steps are (states, steps, lanes), so the recursion

    alpha_t = b_t * (A' alpha_{t-1}) / c_t          c_t = p(x_t | x_<t) up to the scale of b_t
    beta_t  = A (b_{t+1} * beta_{t+1}) / c_{t+1}    sum_j alpha_tj beta_tj = 1:  their product is the posterior of the state
    xi_ij   = A_ij sum_t alpha_{t-1,i} b_tj beta_tj / c_t

is a few small products of matrices, and so are scores and statistics of a block (`chain_kinds`). Shorter sequences are padded with
b = 1 and weight 0, which is exact, and lanes that are over are left out of the blocks that follow. alpha is kept at the ends of blocks
and the steps inside are made again on the way back, so memory does not grow with length.

Scaling. b_t = exp(log b_t - max), at least exp(-700). What is lost of alpha that way is below 1e-204; it weighs lost * beta in the
posterior, and beta is computed for every state. So a lane is exact to rounding if c_t > LEAST at every step and beta < MOST. Where it
is not (zeros in the transitions and observations that speak against all states that can be reached), the lane is repeated with
logarithms (`chain_logs`): the fast way is never silently wrong.

A lane is a run of rows base .. base + length of the steps; of them first .. last count, the others only warm up the messages of
a piece that was cut out of a long sequence. `fresh`: it begins where the sequence begins; `closes`: it ends where that ends.
"""

import numpy as np

from ..compile import compiled, merged
from .chain_kinds import SCORES, add, fill, n_phi, symbol_table
from .chain_lanes import BLOCK as BLOCK
from .chain_lanes import LEAST, absorb, block_steps, divide, fold, product, width_at
from .chain_logs import filter_lane, smooth_lane

LANES = 64  # at most; fewer where there are fewer sequences
MOST = 1e180
SCORE, SMOOTH, FILTER = 0, 1, 2  # log-likelihoods only; all expectations; posteriors given the past only


@merged
def forward_block(lane, start, A, At, t0, b, past, current, inverse, counts, prediction, total, ones):
    """alpha before every step of a block (`past`), 1 / c, and what counts; `current`: the message that comes in, and that goes out.

    past[:, i + 1] is alpha c of step i, to be multiplied by inverse[i]; past[:, 0] and `current` come in as alpha itself.
    """
    base, length, first, last, fresh = lane
    S, h, W = b.shape
    after = current.reshape(S, 1, W)
    for i in range(h):
        t = t0 + i
        scale = inverse[i - 1] if i > 0 else ones[:W]
        if t == 0:
            for j in range(S):
                for w in range(W):
                    prediction[j, w] = start[j] if fresh[w] else 1.0 / S
        else:
            product(A, At, past, i, prediction)
        target, at = (past, i + 1) if i + 1 < h else (after, 0)
        absorb(prediction, scale, b, i, target, at, inverse[i], total[i])
        for w in range(W):
            counts[i, w] = 1.0 if first[w] <= t and t < last[w] else 0.0
    for j in range(S):
        for w in range(W):
            current[j, w] *= inverse[h - 1, w]


@compiled
def note_forward(lane, t0, past, current, inverse, total, is_bad, seams):
    """Lanes whose totals underflow, and the messages at the seams of pieces."""
    base, length, first, last, fresh = lane
    S, h, W = past.shape
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
            i = (first[w] if side == 0 else last[w]) - t0
            if 1 <= i <= h:
                for j in range(S):
                    seams[w, side, j] = past[j, i, w] * inverse[i - 1, w] if i < h else current[j, w]


@compiled
def note_filtered(lane, t0, b, past, current, inverse, A, total, top, has_zeros, is_bad, posterior, steps):
    """Posteriors given the past, and log p(x_t | x_<t). With zeros in A a state that fades away is a reason for logarithms:
    no beta says what it is worth later."""
    base, length, first, last, fresh = lane
    S, h, W = past.shape
    for i in range(h):
        t = t0 + i
        for w in range(W):
            if t < length[w] and first[w] <= t and t < last[w]:
                row = base[w] + t
                steps[row] = top[i, w] + np.log(max(total[i, w], LEAST))
                for j in range(S):
                    value = past[j, i + 1, w] * inverse[i, w] if i + 1 < h else current[j, w]
                    posterior[row, j] = value
                    if has_zeros and value < 1e-250 and b[j, i, w] > 0.0 and t > 0 and not is_bad[w]:
                        for k in range(S):
                            is_bad[w] = is_bad[w] or (past[k, i, w] > 0.0 and A[k, j] > 0.0)


@compiled
def meet(lane, closes, weights, end, t, alpha, at, scale, beta, seams, loglik, begun, ended, is_bad):
    """What happens to beta and the sums where a lane begins, ends, or has a seam."""
    base, length, first, last, fresh = lane
    S, W = beta.shape
    for w in range(W):
        if t == length[w] - 1:
            c = 1.0
            if closes[w]:
                c = 0.0
                for j in range(S):
                    c += alpha[j, at, w] * scale[w] * end[j]
                is_bad[w] = is_bad[w] or not c > LEAST
                loglik[w] += np.log(max(c, LEAST))
            for j in range(S):
                beta[j, w] = end[j] / max(c, LEAST) if closes[w] else 1.0
                if closes[w]:
                    ended[j] += alpha[j, at, w] * scale[w] * beta[j, w] * weights[w]
        for j in range(S):
            if t == last[w] - 1:
                seams[w, 3, j] = beta[j, w]
            if t == first[w] - 1:
                seams[w, 2, j] = beta[j, w]
            if t == 0 and fresh[w] and length[w] > 0:
                begun[j] += alpha[j, at, w] * scale[w] * beta[j, w] * weights[w]


@merged
def backward_block(
    lane, closes, weights, A, At, end, t0, b, past, current, inverse, counts, beta, scaled, factors, ones, most, shares,
    seams, loglik, begun, ended, is_bad,
):  # fmt: skip
    """From the last step of a block to its first: posteriors (`shares`), and in the place of b what the transitions are summed from."""
    base, length, first, last, fresh = lane
    S, h, W = b.shape
    after, is_event = current.reshape(S, 1, W), np.zeros(h, np.bool_)
    for w in range(W):
        for t in (0, length[w] - 1, first[w] - 1, last[w] - 1):
            if t0 <= t < t0 + h:
                is_event[t - t0] = True
    for i in range(h - 1, -1, -1):
        alpha, at, scale = (past, i + 1, inverse[i]) if i + 1 < h else (after, 0, ones[:W])
        before = inverse[i - 1] if i > 0 else ones[:W]
        if is_event[i]:
            meet(lane, closes, weights, end, t0 + i, alpha, at, scale, beta, seams, loglik, begun, ended, is_bad)
        for w in range(W):
            factors[0, w] = counts[i, w] * weights[w] * scale[w]
            factors[1, w] = counts[i, w] * weights[w] * before[w]
        divide(alpha, at, beta, i, b, factors[0], inverse[i], factors[1], most, shares, scaled)
        product(At, A, scaled, 0, beta)


@compiled
def scatter(lane, t0, counts, shares, posterior):
    """Posteriors of the steps that count, as rows."""
    base, length, first, last, fresh = lane
    S, h, W = shares.shape
    for i in range(h):
        for w in range(W):
            if counts[i, w] > 0.0:
                row = base[w] + t0 + i
                for j in range(S):
                    posterior[row, j] = shares[j, i, w]


@merged
def run_batch(
    mode, source, table, tops, lane, closes, weights, start, A, At, end, has_zeros, work, cache, is_filled, loglik, begun, xi,
    ended, mass, out, posterior, steps, seams, is_bad,
):  # fmt: skip
    """One batch of lanes. Sums are added to begun, xi (without the factor A), ended, mass and out; `is_bad` says whom to repeat."""
    base, length, first, last, fresh = lane
    kind, rows, extra = source[0], source[1], source[2]
    S, W_all, n = len(start), len(length), 0
    D = rows.shape[1] if kind != SCORES else 0
    F, has_sums = n_phi(kind, D), out.shape[0] > 0
    for w in range(W_all):
        n = max(n, length[w])
    size = block_steps(S, W_all)
    n_blocks = (n + size - 1) // size
    messages, place = np.zeros((n_blocks + 1, S, W_all)), np.zeros(n_blocks + 1, np.int64)
    produced, all_beta, all_most = np.ones(W_all), np.ones((S, W_all)), np.zeros(W_all)
    small = np.empty((4, S * W_all))
    factors, part = np.empty((2, W_all)), np.empty((S, S))
    ones = np.ones(size * W_all)
    n_sweeps = 2 * n_blocks if mode == SMOOTH else n_blocks
    for sweep in range(n_sweeps):
        block = sweep if sweep < n_blocks else 2 * n_blocks - 1 - sweep
        t0 = block * size
        h, W = min(n - t0, size), width_at(length, t0)
        m = h * W
        place[block + 1] = place[block] + D * m
        b, past = work[0, : S * m].reshape(S, h, W), work[1, : S * m].reshape(S, h, W)
        shares, phi = work[2, : S * m].reshape(S, h, W), work[3, : F * m].reshape(F, m)
        z = cache[place[block] : place[block + 1]] if len(cache) else work[4, : D * m]
        top, inverse = work[5, :m].reshape(h, W), work[6, :m].reshape(h, W)
        counts, total = work[7, :m].reshape(h, W), work[8, :m].reshape(h, W)
        current, prediction = small[0, : S * W].reshape(S, W), small[1, : S * W].reshape(S, W)
        beta, scaled = small[2, : S * W].reshape(S, W), small[3, : S * W].reshape(S, 1, W)
        cells = z.reshape(D, h, W)
        if sweep != n_blocks:  # the last block is still there when the way back begins
            loaded = len(cache) > 0 and (is_filled or sweep > n_blocks)
            fill(source, table, tops, base, length, t0, loaded, cells, phi, b, top)
            for j in range(S):
                for w in range(W):
                    current[j, w] = past[j, 0, w] = messages[block, j, w]
            forward_block(lane, start, A, At, t0, b, past, current, inverse, counts, prediction, total, ones)
        if sweep < n_blocks:
            for j in range(S):
                for w in range(W):
                    messages[block + 1, j, w] = current[j, w]
            for i in range(h):
                fold(total[i], top[i], counts[i], produced[:W], loglik[:W])
            note_forward(lane, t0, past, current, inverse, total, is_bad, seams)
            if mode == FILTER:
                note_filtered(lane, t0, b, past, current, inverse, A, total, top, has_zeros, is_bad, posterior, steps)
            continue
        for j in range(S):
            for w in range(W):
                beta[j, w] = all_beta[j, w]
        backward_block(
            lane, closes, weights, A, At, end, t0, b, past, current, inverse, counts, beta, scaled, factors, ones, all_most, shares,
            seams, loglik, begun, ended, is_bad,
        )  # fmt: skip
        for j in range(S):
            for w in range(W):
                all_beta[j, w] = beta[j, w]
        np.dot(past.reshape(S, m), b.reshape(S, m).T, part)
        xi += part
        if has_sums:
            mass += np.dot(shares.reshape(S, m), ones[:m])
            add(kind, cells.reshape(D, m), phi, extra, shares.reshape(S, m), out)
        else:
            scatter(lane, t0, counts, shares, posterior)
    for w in range(W_all):
        loglik[w] += np.log(max(produced[w], 1e-300))
        is_bad[w] = is_bad[w] or not all_most[w] < MOST
        if mode != SMOOTH and closes[w] and length[w] > 0:
            close_lane(w, end, loglik, is_bad, seams)
    return place[n_blocks]


@compiled
def close_lane(w, end, loglik, is_bad, seams):
    """The probability of the end, where nothing went backward: from the message at the lane's last step."""
    c = 0.0
    for j in range(len(end)):
        c += seams[w, 1, j] * end[j]
    is_bad[w] = is_bad[w] or not c > LEAST
    loglik[w] += np.log(max(c, LEAST))


@compiled
def run_batches(
    mode, source, base, length, first, last, fresh, closes, weights, start, A, end, has_zeros, cache, is_filled, loglik, begun,
    xi, ended, mass, out, posterior, steps, seams, is_bad,
):  # fmt: skip
    """All lanes of a shard in batches, in their order; lanes that `is_bad` says are not in the sums.

    loglik (lanes,), begun (S,), xi (S, S), ended (S,), seams (lanes, 4, S), and either mass (S,) and out or posterior (rows, S) are
    filled; steps (rows,) where the mode is FILTER. `cache` holds the cells in lanes from one call to the next (or nothing).
    """
    L, S = len(base), len(start)
    kind, D = source[0], source[1].shape[1]
    At, (table, tops) = A.T.copy(), symbol_table(source)
    width = min(LANES, (L + 7) // 8 * 8)
    size = (block_steps(S, width) + 1) * width
    work = np.empty((9, size * max(S, n_phi(kind, D), D if kind != SCORES else 1)))
    at_cache = 0
    for at in range(0, L, LANES):
        n = min(LANES, L - at)
        W = (n + 7) // 8 * 8
        own = (np.zeros(W, np.int64), np.zeros(W, np.int64), np.zeros(W, np.int64), np.zeros(W, np.int64),
               np.zeros(W, np.bool_))  # fmt: skip
        own_closes, own_weights = np.zeros(W, np.bool_), np.zeros(W)
        for w in range(n):
            own[0][w], own[1][w], own[2][w], own[3][w] = base[at + w], length[at + w], first[at + w], last[at + w]
            own[4][w], own_closes[w], own_weights[w] = fresh[at + w], closes[at + w], weights[at + w]
        bad_now, excluded = np.zeros(W, np.bool_), np.zeros(W, np.bool_)
        own_cache, filled, used = cache[at_cache:], is_filled, -1
        while True:
            own_seams, own_loglik, own_out = np.zeros((W, 4, S)), np.zeros(W), np.zeros(out.shape)
            own_begun, own_xi, own_ended, own_mass = np.zeros(S), np.zeros((S, S)), np.zeros(S), np.zeros(S)
            n_cells = run_batch(
                mode, source, table, tops, own, own_closes, own_weights, start, A, At, end, has_zeros, work, own_cache, filled,
                own_loglik, own_begun, own_xi, own_ended, own_mass, own_out, posterior, steps, own_seams, bad_now,
            )  # fmt: skip
            used = n_cells if used < 0 else used
            n_bad = 0
            for w in range(W):
                if bad_now[w] and not excluded[w]:
                    n_bad += 1
                    excluded[w], own_weights[w] = True, 0.0
                bad_now[w] = False
            if n_bad == 0:
                break
            for w in range(W):
                if excluded[w]:
                    own[0][w], own[1][w], own[2][w], own[3][w] = 0, 0, 0, 0
            own_cache, filled = own_cache[:0], False  # the lanes lie otherwise now
        at_cache += used if len(cache) else 0
        begun += own_begun
        xi += A * own_xi
        ended += own_ended
        mass += own_mass
        out += own_out
        for w in range(n):
            is_bad[at + w], loglik[at + w] = excluded[w], own_loglik[w]
            for side in range(4):
                for j in range(S):
                    seams[at + w, side, j] = own_seams[w, side, j]


@compiled
def n_cached(length, S, D):
    """Numbers that `run_batches` keeps of so many lanes with D columns."""
    L, total = len(length), 0
    for at in range(0, L, LANES):
        own = length[at : min(at + LANES, L)]
        W = (len(own) + 7) // 8 * 8
        size = block_steps(S, W)
        for t0 in range(0, own.max(), size):
            total += D * min(own.max() - t0, size) * width_at(own, t0)
    return total


@compiled
def run_lanes(
    mode, base, length, first, last, fresh, closes, weights, scores, has_holes, start, A, end, has_zeros, loglik, begun, xi, ended,
    posterior, steps, seams,
):  # fmt: skip
    """`run_batches` of scores (rows, S), and the lanes that scaling cannot hold with logarithms; the number of these."""
    S, L = len(start), len(base)
    nothing = np.empty((0, S))
    source = (SCORES, scores, np.zeros(S), nothing, nothing, np.zeros(S), nothing, has_holes)
    is_bad = np.zeros(L, np.bool_)
    run_batches(
        mode, source, base, length, first, last, fresh, closes, weights, start, A, end, has_zeros, np.empty(0), False, loglik,
        begun, xi, ended, np.zeros(S), nothing, posterior, steps, seams, is_bad,
    )  # fmt: skip
    for k in range(L):
        if is_bad[k]:
            lane = (base[k], length[k], first[k], last[k], fresh[k], closes[k], weights[k])
            if mode == FILTER:
                loglik[k] = filter_lane(lane, scores, start, A, end, posterior, steps)
            else:
                loglik[k] = smooth_lane(lane, scores, start, A, end, begun, xi, ended, posterior, seams[k])
    return is_bad.sum()
