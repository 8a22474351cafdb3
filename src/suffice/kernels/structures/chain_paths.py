r"""The most probable paths of hidden Markov chains (Viterbi), many sequences side by side.

    delta_tj = log b_tj + max_i (delta_{t-1,i} + log A_ij)

Lanes, blocks and pieces are those of `chain`: delta is kept at the ends of blocks, the steps inside are made again on the way back, and
a step back looks for the best state before, so nothing is stored for a state and step beyond a block. Pieces of a long sequence are
exact where neighbours agree at a seam: the same delta there (up to a constant: then all decisions after it are the same), and the same
state of the path. `chain_logs.best_paths` is the readable twin.
"""

import numpy as np

from ..compile import compiled
from .chain import LANES
from .chain_kinds import SCORES, log_scores, n_phi
from .chain_lanes import block_steps, width_at


@compiled
def climb(log_A, source, target):
    """target[j, w] = max_i (source[i, w] + log_A[i, j])."""
    S, W = target.shape
    whole = S // 4 * 4
    target[:] = -np.inf
    for j in range(S):
        for i in range(0, whole, 4):
            a0, a1, a2, a3 = log_A[i, j], log_A[i + 1, j], log_A[i + 2, j], log_A[i + 3, j]
            for w in range(W):
                x0, x1 = source[i, w] + a0, source[i + 1, w] + a1
                x2, x3 = source[i + 2, w] + a2, source[i + 3, w] + a3
                x0 = x0 if x0 > x1 else x1
                x2 = x2 if x2 > x3 else x3
                x0 = x0 if x0 > x2 else x2
                target[j, w] = x0 if x0 > target[j, w] else target[j, w]
        for i in range(whole, S):
            a0 = log_A[i, j]
            for w in range(W):
                x0 = source[i, w] + a0
                target[j, w] = x0 if x0 > target[j, w] else target[j, w]


@compiled
def climb_block(lane, log_start, log_A, constant, t0, b, past, current, prediction):
    """delta before every step of a block (`past`); `current`: the one that comes in, and that goes out."""
    fresh = lane[4]
    S, h, W = b.shape
    for i in range(h):
        for j in range(S):
            for w in range(W):
                past[j, i, w] = current[j, w]
        if t0 + i == 0:
            for j in range(S):
                for w in range(W):
                    prediction[j, w] = log_start[j] if fresh[w] else 0.0
        else:
            climb(log_A, current, prediction)
        for j in range(S):
            own = constant[j]
            for w in range(W):
                current[j, w] = prediction[j, w] + (b[j, i, w] + own)


@compiled
def trace_block(
    lane, closes, log_start, log_A, log_end, constant, t0, b, past, current, state, path, best, seams, seam_states
):
    """From the last step of a block to its first: the states of the paths, their log-probabilities, and what is at the seams."""
    base, length, first, last, fresh = lane
    S, h, W = b.shape
    for w in range(W):
        for i in range(min(length[w] - t0, h) - 1, -1, -1):
            t = t0 + i
            if t == length[w] - 1:
                state[w], top = 0, -np.inf
                for j in range(S):
                    value = (past[j, i + 1, w] if i + 1 < h else current[j, w]) + (log_end[j] if closes[w] else 0.0)
                    if value > top:
                        state[w], top = j, value
                best[w] += log_end[state[w]] if closes[w] else 0.0
            for side in range(2):
                if t == (first[w] if side == 0 else last[w]) - 1:
                    seam_states[w, side] = state[w]
                    for j in range(S):
                        seams[w, side, j] = past[j, i + 1, w] if i + 1 < h else current[j, w]
            here, before, top = state[w], 0, -np.inf
            if t > 0:
                for j in range(S):
                    value = past[j, i, w] + log_A[j, here]
                    if value > top:
                        before, top = j, value
            if first[w] <= t and t < last[w]:
                path[base[w] + t] = here
                best[w] += b[here, i, w] + constant[here]
                if t > 0:
                    best[w] += log_A[before, here]
                else:
                    best[w] += log_start[here] if fresh[w] else 0.0
            state[w] = before


@compiled
def best_of_batch(source, lane, closes, log_start, log_A, log_end, work, path, best, seams, seam_states):
    """The paths of one batch of lanes."""
    base, length, first, last, fresh = lane
    kind, rows, constant = source[0], source[1], source[5]
    S, W_all, n = len(log_start), len(length), 0
    D = rows.shape[1] if kind != SCORES else 0
    F = n_phi(kind, D)
    for w in range(W_all):
        n = max(n, length[w])
    size = block_steps(S, W_all)
    n_blocks = (n + size - 1) // size
    messages, state = np.zeros((n_blocks + 1, S, W_all)), np.zeros(W_all, np.int64)
    small = np.empty((2, S * W_all))
    for sweep in range(2 * n_blocks):
        block = sweep if sweep < n_blocks else 2 * n_blocks - 1 - sweep
        t0 = block * size
        h, W = min(n - t0, size), width_at(length, t0)
        m = h * W
        b, past = work[0, : S * m].reshape(S, h, W), work[1, : S * m].reshape(S, h, W)
        phi, z = work[2, : F * m].reshape(F, m), work[3, : D * m].reshape(D, h, W)
        current, prediction = small[0, : S * W].reshape(S, W), small[1, : S * W].reshape(S, W)
        if sweep != n_blocks:
            log_scores(source, base, length, t0, False, z, phi, b)
            for j in range(S):
                for w in range(W):
                    current[j, w] = messages[block, j, w]
            climb_block(lane, log_start, log_A, constant, t0, b, past, current, prediction)
        if sweep >= n_blocks:
            trace_block(
                lane,
                closes,
                log_start,
                log_A,
                log_end,
                constant,
                t0,
                b,
                past,
                current,
                state,
                path,
                best,
                seams,
                seam_states,
            )
            continue
        for w in range(W):
            top = -np.inf
            for j in range(S):
                top = current[j, w] if current[j, w] > top else top
            top = top if top > -np.inf else 0.0
            for j in range(S):
                messages[block + 1, j, w] = current[j, w] - top


@compiled
def best_in_lanes(
    source, base, length, first, last, fresh, closes, log_start, log_A, log_end, path, best, seams, seam_states
):
    """path[row]: states of the most probable paths of all lanes; best (lanes,): what their steps that count add to log p(x, path).

    seams (lanes, 2, S) and seam_states (lanes, 2): delta and the path's state at the steps before `first` and `last`.
    """
    L, S = len(base), len(log_start)
    kind, D = source[0], source[1].shape[1]
    width = min(LANES, (L + 7) // 8 * 8)
    size = (block_steps(S, width) + 1) * width
    work = np.empty((4, size * max(S, n_phi(kind, D), D)))
    for at in range(0, L, LANES):
        n = min(LANES, L - at)
        W = (n + 7) // 8 * 8
        own = (np.zeros(W, np.int64), np.zeros(W, np.int64), np.zeros(W, np.int64), np.zeros(W, np.int64),
               np.zeros(W, np.bool_))  # fmt: skip
        own_closes, own_best = np.zeros(W, np.bool_), np.zeros(W)
        own_seams, own_states = np.zeros((W, 2, S)), np.zeros((W, 2), np.int64)
        for w in range(n):
            own[0][w], own[1][w], own[2][w], own[3][w] = base[at + w], length[at + w], first[at + w], last[at + w]
            own[4][w], own_closes[w] = fresh[at + w], closes[at + w]
        best_of_batch(source, own, own_closes, log_start, log_A, log_end, work, path, own_best, own_seams, own_states)
        for w in range(n):
            best[at + w], seams[at + w], seam_states[at + w] = own_best[w], own_seams[w], own_states[w]
