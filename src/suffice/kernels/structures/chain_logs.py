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
def largest(values):
    """The largest, 0 where all are -infinity."""
    top = values[0]
    for k in range(1, len(values)):
        top = max(top, values[k])
    return top if top > -np.inf else 0.0


@compiled
def log_forward(lane, scores, start, log_A, t0, log_alpha, steps):
    """log p(state_t | x_1 .. x_t) of the steps t0 .. in log_alpha[1:], and log p(x_t | x_<t); log_alpha[0] is what comes in.

    Differences between states are not lost in sums of huge scores.
    """
    base, fresh = lane[0], lane[4]
    S = len(start)
    terms = np.empty(S)
    for k in range(len(steps)):
        own = scores[base + t0 + k]
        top = largest(own)
        for j in range(S):
            if t0 + k == 0:
                came = np.log(start[j]) if fresh else -np.log(S)
            else:
                for i in range(S):
                    terms[i] = log_alpha[k, i] + log_A[i, j]
                came = log_sum(terms)
            log_alpha[k + 1, j] = came + (own[j] - top)
        norm = log_sum(log_alpha[k + 1])
        steps[k] = top + norm
        if norm > -np.inf:
            for j in range(S):
                log_alpha[k + 1, j] -= norm


@compiled
def forward_ends(lane, scores, start, log_A, end):
    """(messages at the ends of blocks, log-likelihood of the steps that count: -infinity where the whole lane cannot occur)."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    n_blocks = (length + BLOCK - 1) // BLOCK
    ends, found, terms = np.zeros((n_blocks + 1, S)), 0.0, np.empty(S)
    for block in range(n_blocks):
        t0 = block * BLOCK
        h = min(length - t0, BLOCK)
        log_alpha, steps = np.empty((h + 1, S)), np.empty(h)
        for j in range(S):
            log_alpha[0, j] = ends[block, j]
        log_forward(lane, scores, start, log_A, t0, log_alpha, steps)
        for j in range(S):
            ends[block + 1, j] = log_alpha[h, j]
        for k in range(h):
            if steps[k] == -np.inf:
                return ends, -np.inf
            if first <= t0 + k and t0 + k < last:
                found += steps[k]
    for j in range(S):
        terms[j] = ends[n_blocks, j] + (np.log(end[j]) if closes else 0.0)
    ending = log_sum(terms)
    if ending == -np.inf:
        return ends, -np.inf
    return ends, found + (ending if last == length else 0.0)


@compiled
def smooth_lane(lane, scores, start, A, end, begun, xi, ended, posterior, seams):
    """The log-likelihood of the steps that count; all sums are added to, as `chain.run_batches` says."""
    base, length, first, last, fresh, closes, weight = lane
    S, log_A = len(start), np.log(A)
    ends, found = forward_ends(lane, scores, start, log_A, end)
    if found == -np.inf:
        for t in range(first, last):
            for j in range(S):
                posterior[base + t, j] = 0.0
        seams[:] = np.nan
        return -np.inf
    beta, terms, onward, pairs = np.empty(S), np.empty(S), np.empty(S), np.empty((S, S))
    for j in range(S):
        beta[j] = np.log(end[j]) if closes else 0.0
    for block in range(len(ends) - 2, -1, -1):
        t0 = block * BLOCK
        h = min(length - t0, BLOCK)
        log_alpha, steps = np.empty((h + 1, S)), np.empty(h)
        for j in range(S):
            log_alpha[0, j] = ends[block, j]
        log_forward(lane, scores, start, log_A, t0, log_alpha, steps)
        for k in range(h - 1, -1, -1):
            t = t0 + k
            for side in range(2):
                if t == (first if side == 0 else last) - 1:
                    norm = log_sum(beta)
                    for j in range(S):
                        seams[side, j], seams[2 + side, j] = np.exp(log_alpha[k + 1, j]), np.exp(beta[j] - norm)
            best = largest(scores[base + t])
            for j in range(S):
                terms[j] = log_alpha[k + 1, j] + beta[j]
                onward[j] = (scores[base + t, j] - best) + beta[j]
            if first <= t and t < last:
                norm = log_sum(terms)
                for j in range(S):
                    share = weight * np.exp(terms[j] - norm)
                    posterior[base + t, j] = share
                    if t == 0 and fresh:
                        begun[j] += share
                    if t == length - 1 and closes:
                        ended[j] += share
                if t > 0:
                    for i in range(S):
                        for j in range(S):
                            pairs[i, j] = log_alpha[k, i] + log_A[i, j] + onward[j]
                    norm = log_sum(pairs.reshape(-1))
                    for i in range(S):
                        for j in range(S):
                            xi[i, j] += weight * np.exp(pairs[i, j] - norm)
            for i in range(S):
                for j in range(S):
                    pairs[i, j] = log_A[i, j] + onward[j]
                beta[i] = log_sum(pairs[i])
            beta -= beta.max()
    return found


@compiled
def filter_lane(lane, scores, start, A, end, posterior, steps):
    """The log-likelihood; posteriors given the past, and log p(x_t | x_<t), of the steps that count."""
    base, length, first, last, fresh, closes, weight = lane
    S, log_A = len(start), np.log(A)
    ends, found = forward_ends(lane, scores, start, log_A, end)
    before = np.zeros(S)
    for t0 in range(0, length, BLOCK):
        h = min(length - t0, BLOCK)
        log_alpha, own = np.empty((h + 1, S)), np.empty(h)
        for j in range(S):
            log_alpha[0, j] = before[j]
        log_forward(lane, scores, start, log_A, t0, log_alpha, own)
        before = log_alpha[h]
        for t in range(max(first, t0), min(last, t0 + h)):
            steps[base + t] = own[t - t0]
            for j in range(S):
                posterior[base + t, j] = np.exp(log_alpha[t - t0 + 1, j]) if own[t - t0] > -np.inf else 0.0
    return found


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
