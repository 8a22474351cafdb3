"""Hidden Markov chains in logarithms, one sequence at a time: exact whatever the numbers are, and slower.

The same expectations as `chain`, for the lanes that scaling cannot hold, and the best path (Viterbi). A sequence that cannot occur
has the log-likelihood -infinity and adds to no sum.
"""

import numpy as np

from ..compile import compiled

BLOCK = 512  # steps held at once


@compiled
def log_sum(values):
    top = values[0]
    for k in range(1, len(values)):
        top = max(top, values[k])
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(len(values)):
        total += np.exp(values[k] - top)
    return top + np.log(total)


@compiled
def log_forward(lane, scores, start, log_A, t0, log_alpha):
    """log p(x_1 .. x_t, state_t) of steps t0 .. of the lane in log_alpha[1:]; log_alpha[0] is what comes in."""
    base, fresh = lane[0], lane[4]
    S = len(start)
    terms = np.empty(S)
    for k in range(len(log_alpha) - 1):
        for j in range(S):
            if t0 + k == 0:
                came = np.log(start[j]) if fresh else -np.log(S)
            else:
                for i in range(S):
                    terms[i] = log_alpha[k, i] + log_A[i, j]
                came = log_sum(terms)
            log_alpha[k + 1, j] = came + scores[base + t0 + k, j]


@compiled
def forward_ends(lane, scores, start, log_A, end):
    """(messages at the ends of blocks, log-likelihood of the whole lane, of the steps before `first`, and up to `last`)."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    n_blocks = (length + BLOCK - 1) // BLOCK
    ends, before, stop = np.empty((n_blocks + 1, S)), 0.0, -np.inf
    ends[0] = 0.0
    for block in range(n_blocks):
        t0 = block * BLOCK
        h = min(length - t0, BLOCK)
        log_alpha = np.empty((h + 1, S))
        log_alpha[0] = ends[block]
        log_forward(lane, scores, start, log_A, t0, log_alpha)
        ends[block + 1] = log_alpha[h]
        if t0 < first <= t0 + h:
            before = log_sum(log_alpha[first - t0])
        if t0 < last <= t0 + h:
            stop = log_sum(log_alpha[last - t0])
    terms = np.empty(S)
    for j in range(S):
        terms[j] = ends[n_blocks, j] + (np.log(end[j]) if closes else 0.0)
    whole = log_sum(terms)
    return ends, whole, before, whole if last == length else stop


@compiled
def smooth_lane(lane, scores, start, A, end, begun, xi, ended, posterior, seams):
    """The log-likelihood of the steps that count; all sums are added to, as `chain.run_batches` says."""
    base, length, first, last, fresh, closes, weight = lane
    S, log_A = len(start), np.log(A)
    ends, whole, before, stop = forward_ends(lane, scores, start, log_A, end)
    if whole == -np.inf:
        for t in range(first, last):
            for j in range(S):
                posterior[base + t, j] = 0.0
        seams[:] = np.nan
        return -np.inf
    beta, terms, onward = np.empty(S), np.empty(S), np.empty(S)
    for j in range(S):
        beta[j] = np.log(end[j]) if closes else 0.0
    for block in range(len(ends) - 2, -1, -1):
        t0 = block * BLOCK
        h = min(length - t0, BLOCK)
        log_alpha = np.empty((h + 1, S))
        log_alpha[0] = ends[block]
        log_forward(lane, scores, start, log_A, t0, log_alpha)
        for k in range(h - 1, -1, -1):
            t = t0 + k
            for side in range(2):
                if t == (first if side == 0 else last) - 1:
                    norm, norm_beta = log_sum(log_alpha[k + 1]), log_sum(beta)
                    for j in range(S):
                        seams[side, j] = np.exp(log_alpha[k + 1, j] - norm)
                        seams[2 + side, j] = np.exp(beta[j] - norm_beta)
            for j in range(S):
                onward[j] = scores[base + t, j] + beta[j]
                if first <= t and t < last:
                    share = weight * np.exp(log_alpha[k + 1, j] + beta[j] - whole)
                    posterior[base + t, j] = share
                    if t == 0 and fresh:
                        begun[j] += share
                    if t == length - 1 and closes:
                        ended[j] += share
                    if t > 0:
                        for i in range(S):
                            xi[i, j] += weight * np.exp(log_alpha[k, i] + log_A[i, j] + onward[j] - whole)
            for i in range(S):
                for j in range(S):
                    terms[j] = log_A[i, j] + onward[j]
                beta[i] = log_sum(terms)
    return -np.inf if stop == -np.inf else stop - before


@compiled
def filter_lane(lane, scores, start, A, end, posterior, steps):
    """The log-likelihood; posteriors given the past, and log p(x_t | x_<t), of the steps that count."""
    base, length, first, last, fresh, closes, weight = lane
    S, log_A = len(start), np.log(A)
    ends, whole, so_far, stop = forward_ends(lane, scores, start, log_A, end)
    before = so_far
    for block in range(len(ends) - 1):
        t0 = block * BLOCK
        h = min(length - t0, BLOCK)
        log_alpha = np.empty((h + 1, S))
        log_alpha[0] = ends[block]
        log_forward(lane, scores, start, log_A, t0, log_alpha)
        for t in range(max(first, t0), min(last, t0 + h)):
            norm = log_sum(log_alpha[t - t0 + 1])
            steps[base + t] = norm - before if before > -np.inf else -np.inf
            before = norm
            for j in range(S):
                posterior[base + t, j] = np.exp(log_alpha[t - t0 + 1, j] - norm) if norm > -np.inf else 0.0
    return -np.inf if stop == -np.inf else stop - so_far


@compiled
def best_paths(base, length, scores, log_start, log_A, log_end, path, best):
    """path[row]: the states of the most probable path of every sequence (Viterbi); best: log p(x, path)."""
    S = len(log_start)
    longest = 0
    for k in range(len(base)):
        longest = max(longest, length[k])
    back = np.empty((longest, S), np.int32)
    delta, following, came = np.empty(S), np.empty(S), np.empty(S, np.int32)
    for k in range(len(base)):
        if length[k] == 0:
            best[k] = 0.0
            continue
        for j in range(S):
            delta[j] = log_start[j] + scores[base[k], j]
        for t in range(1, length[k]):
            for j in range(S):
                following[j] = delta[0] + log_A[0, j]
                came[j] = 0
            for i in range(1, S):
                so_far = delta[i]
                for j in range(S):
                    value = so_far + log_A[i, j]
                    came[j] = i if value > following[j] else came[j]
                    following[j] = max(value, following[j])
            for j in range(S):
                delta[j] = following[j] + scores[base[k] + t, j]
                back[t, j] = came[j]
        state = 0
        for j in range(S):
            delta[j] += log_end[j]
            if delta[j] > delta[state]:
                state = j
        best[k] = delta[state]
        for t in range(length[k] - 1, -1, -1):
            path[base[k] + t] = state
            if t > 0:
                state = back[t, state]
