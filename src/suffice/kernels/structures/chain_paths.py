r"""The most probable paths of hidden Markov chains (Viterbi), many sequences side by side.

    delta_tj = log b_tj + max_i (delta_{t-1,i} + log A_ij)          back_tj: the i that it is

Lanes and pieces are those of `chain`. Scores are made for some steps at a time; `back` is held for a block of ROOM_BACK entries,
which a batch of pieces fits into, so that going back is one look a step. Where it does not, delta is kept at the ends of the blocks,
and they are made again on the way back: memory does not grow with the length. Pieces of a long sequence are exact where neighbours
agree at a seam: the same delta there (up to a constant: then all decisions after it are the same), and the same state of the path.
`chain_logs.best_paths` is the readable twin.
"""

import numpy as np

from ..compile import compiled, merged
from .chain import LANES
from .chain_kinds import SCORES, log_scores, n_phi
from .chain_lanes import width_at

ROOM_BACK = 9 << 18  # entries of a block of `back`: 64 pieces of the usual length and 8 states fit into it
ROOM = 1 << 14  # numbers of some steps' scores: they stay in the nearest memory
MOST_STEPS = 64  # whose scores are made at a time


@compiled
def climb(log_A, source, target, back, arg):
    """target[j, w] = max_i (source[i, w] + log_A[i, j]), and back[j, w] the first such i."""
    S, W = target.shape
    whole = S // 4 * 4
    for j in range(S):
        best = target[j]
        for w in range(W):
            best[w] = -np.inf
            arg[w] = 0
        for i in range(0, whole, 4):
            a0, a1, a2, a3 = log_A[i, j], log_A[i + 1, j], log_A[i + 2, j], log_A[i + 3, j]
            for w in range(W):
                x0, x1 = source[i, w] + a0, source[i + 1, w] + a1
                x2, x3 = source[i + 2, w] + a2, source[i + 3, w] + a3
                k0, k2 = i + 1 if x1 > x0 else i, i + 3 if x3 > x2 else i + 2
                x0, x2 = x1 if x1 > x0 else x0, x3 if x3 > x2 else x2
                k0, x0 = k2 if x2 > x0 else k0, x2 if x2 > x0 else x0
                arg[w] = k0 if x0 > best[w] else arg[w]
                best[w] = x0 if x0 > best[w] else best[w]
        for i in range(whole, S):
            a0 = log_A[i, j]
            for w in range(W):
                x0 = source[i, w] + a0
                arg[w] = i if x0 > best[w] else arg[w]
                best[w] = x0 if x0 > best[w] else best[w]
        for w in range(W):
            back[j, w] = arg[w]


@compiled
def climb_steps(lane, log_start, log_A, constant, t0, b, back, current, prediction, arg):
    """delta after every step of b (`current`: the one before, and the last), what is at the seams and at the end of a lane.

    Returns nothing; `lane` has what is kept: places (3, W) of steps, delta there (W, 3, S), and what was taken off it (3, W).
    """
    fresh, places, kept, shift, taken = lane
    S, h, W = b.shape
    is_quiet = True
    for side in range(3):
        for w in range(W):
            is_quiet &= places[side, w] < t0 or places[side, w] >= t0 + h
    for i in range(h):
        if t0 + i == 0:
            for j in range(S):
                for w in range(W):
                    prediction[j, w] = log_start[j] if fresh[w] else 0.0
                    back[i, j, w] = 0
        else:
            climb(log_A, current, prediction, back[i], arg)
        for j in range(S):
            own = constant[j]
            for w in range(W):
                current[j, w] = prediction[j, w] + (b[j, i, w] + own)
        if is_quiet:
            continue
        for side in range(3):
            for w in range(W):
                if places[side, w] == t0 + i:
                    taken[side, w] = shift[w]
                    for j in range(S):
                        kept[w, side, j] = current[j, w]


@compiled
def lower(current, shift):
    """delta less its largest entry, which `shift` gets."""
    S, W = current.shape
    for w in range(W):
        top = -np.inf
        for j in range(S):
            top = current[j, w] if current[j, w] > top else top
        top = top if top > -np.inf else 0.0
        shift[w] += top
        for j in range(S):
            current[j, w] -= top


@compiled
def trace_block(base, length, first, last, t0, h, back, W, state, path, seam_states):
    """From the last step of a block to its first: the states of the paths, also at the seams. `state` is that of the last step."""
    for w in range(W):
        here, begin, end = state[w], first[w], last[w]
        for t in range(min(length[w], t0 + h) - 1, t0 - 1, -1):
            if begin <= t and t < end:
                path[base[w] + t] = here
            if t == begin - 1:
                seam_states[w, 0] = here
            if t == end - 1:
                seam_states[w, 1] = here
            here = back[t - t0, here, w]
        state[w] = here


@compiled
def last_states(kept, closes, log_end, state):
    """The best state of every lane's last step."""
    W, _, S = kept.shape
    for w in range(W):
        top = -np.inf
        state[w] = 0
        for j in range(S):
            value = kept[w, 2, j] + (log_end[j] if closes[w] else 0.0)
            if value > top:
                state[w], top = j, value


@merged
def best_of_batch(source, lane, closes, log_start, log_A, log_end, work, back, path, best, seams, seam_states):
    """The paths of one batch of lanes."""
    base, length, first, last, fresh = lane
    kind, rows, constant = source[0], source[1], source[5]
    S, W_all, n = len(log_start), len(length), 0
    D = rows.shape[1] if kind != SCORES else 0
    F = n_phi(kind, D)
    for w in range(W_all):
        n = max(n, length[w])
    few = steps_at_once(S, W_all)
    size = max(len(back) // (S * W_all * few), 1) * few
    n_blocks = (n + size - 1) // size
    messages, shifts, state = np.zeros((n_blocks, S, W_all)), np.zeros((n_blocks, W_all)), np.zeros(W_all, np.int64)
    small, arg, shift = np.empty((2, S * W_all)), np.empty(W_all, np.int64), np.zeros(W_all)
    places, kept, taken = np.empty((3, W_all), np.int64), np.zeros((W_all, 3, S)), np.zeros((3, W_all))
    for w in range(W_all):
        places[0, w], places[1, w], places[2, w] = first[w] - 1, last[w] - 1, length[w] - 1
    for sweep in range(2 * n_blocks):
        block = sweep if sweep < n_blocks else 2 * n_blocks - 1 - sweep
        begin, end = block * size, min((block + 1) * size, n)
        W = width_at(length, begin)
        held = back[: (end - begin) * S * W].reshape(end - begin, S, W)
        if sweep != n_blocks:
            current, prediction = small[0, : S * W].reshape(S, W), small[1, : S * W].reshape(S, W)
            for w in range(W):
                shift[w] = shifts[block, w]
                for j in range(S):
                    current[j, w] = messages[block, j, w]
            own = (fresh, places[:, :W], kept, shift, taken)
            for t0 in range(begin, end, few):
                h = min(end - t0, few)
                b, phi = work[0, : S * h * W].reshape(S, h, W), work[1, : F * h * W].reshape(F, h * W)
                z = work[2, : D * h * W].reshape(D, h, W)
                log_scores(source, base, length, t0, False, z, phi, b)
                climb_steps(
                    own, log_start, log_A, constant, t0, b, held[t0 - begin : t0 - begin + h], current, prediction, arg
                )
                lower(current, shift)
            if sweep < n_blocks - 1:
                for w in range(W):
                    shifts[block + 1, w] = shift[w]
                    for j in range(S):
                        messages[block + 1, j, w] = current[j, w]
        if sweep == n_blocks:
            last_states(kept, closes, log_end, state)
        if sweep >= n_blocks:
            trace_block(base, length, first, last, begin, end - begin, held, W, state, path, seam_states)
    for w in range(W_all):
        if length[w] > 0:
            own_best = kept[w, 1, seam_states[w, 1]] + taken[1, w]
            if first[w] > 0:
                own_best -= kept[w, 0, seam_states[w, 0]] + taken[0, w]
            own_best += log_end[seam_states[w, 1]] if closes[w] else 0.0
            best[w] = own_best if own_best == own_best else -np.inf
            for side in range(2):
                for j in range(S):
                    seams[w, side, j] = kept[w, side, j]


def room_for_back(length, S):
    """An empty array for `back` of these lanes: small numbers where there are few states, and no more of them than ROOM_BACK needs."""
    width = min(LANES, (len(length) + 7) // 8 * 8)
    most = max(ROOM_BACK, MOST_STEPS * S * width)
    return np.empty(min((int(max(length)) + MOST_STEPS) * S * width, most), np.uint8 if S <= 256 else np.int32)


@compiled
def steps_at_once(S, W):
    """Steps whose scores are made at a time."""
    return min(MOST_STEPS, max(ROOM // (S * W), 8))


@compiled
def best_in_lanes(
    source, base, length, first, last, fresh, closes, log_start, log_A, log_end, back, path, best, seams, seam_states
):
    """path[row]: states of the most probable paths of all lanes; best (lanes,): what their steps that count add to log p(x, path).

    `back` is `room_for_back`. seams (lanes, 2, S) and seam_states (lanes, 2):
    delta and the path's state at the steps before `first` and `last`.
    """
    L, S = len(base), len(log_start)
    kind, D = source[0], source[1].shape[1]
    width = min(LANES, (L + 7) // 8 * 8)
    work = np.empty((3, steps_at_once(S, width) * width * max(S, n_phi(kind, D), D)))
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
        best_of_batch(
            source, own, own_closes, log_start, log_A, log_end, work, back, path, own_best, own_seams, own_states
        )
        for w in range(n):
            best[at + w] = own_best[w]
            for side in range(2):
                seam_states[at + w, side] = own_states[w, side]
                for j in range(S):
                    seams[at + w, side, j] = own_seams[w, side, j]
