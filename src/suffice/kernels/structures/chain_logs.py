"""Hidden Markov chains in logarithms, one sequence at a time: exact whatever the numbers are, and slower.

The same expectations as `chain`, for the lanes that scaling cannot hold, and the best path (Viterbi). A sequence that cannot occur
has the log-likelihood -infinity and adds to no sum.
"""

import numpy as np

from ..compile import compiled


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
def log_forward(lane, scores, start, A, log_alpha, steps):
    """log p(state_t | x_1 .. x_t) and log p(x_t | x_<t) of every step of the lane: differences between states are not lost in sums of
    huge scores."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    log_A, terms = np.log(A), np.empty(S)
    for t in range(length):
        top = scores[base + t, 0]
        for j in range(1, S):
            top = max(top, scores[base + t, j])
        top = top if top > -np.inf else 0.0
        for j in range(S):
            if t == 0:
                came = np.log(start[j]) if fresh else -np.log(S)
            else:
                for i in range(S):
                    terms[i] = log_alpha[t - 1, i] + log_A[i, j]
                came = log_sum(terms)
            log_alpha[t, j] = came + (scores[base + t, j] - top)
        norm = log_sum(log_alpha[t])
        steps[t] = top + norm
        if norm > -np.inf:
            log_alpha[t] -= norm


@compiled
def counted(lane, log_alpha, steps, end):
    """The log-likelihood of the steps that count; -infinity where the whole lane cannot occur."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(end)
    terms = np.empty(S)
    for j in range(S):
        terms[j] = log_alpha[length - 1, j] + (np.log(end[j]) if closes else 0.0)
    ending, found = log_sum(terms), 0.0
    for t in range(length):
        if steps[t] == -np.inf or ending == -np.inf:
            return -np.inf
        if first <= t < last:
            found += steps[t]
    return found + (ending if last == length else 0.0)


@compiled
def smooth_lane(lane, scores, start, A, end, begun, xi, ended, posterior, seams):
    """The log-likelihood of the steps that count; all sums are added to, as `chain.run_lanes` says."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    log_alpha, log_beta, terms, pairs = np.empty((length, S)), np.empty((length, S)), np.empty(S), np.empty((S, S))
    steps = np.empty(length)
    log_forward(lane, scores, start, A, log_alpha, steps)
    log_A = np.log(A)
    found = counted(lane, log_alpha, steps, end)
    if found == -np.inf:
        for t in range(first, last):
            for j in range(S):
                posterior[base + t, j] = 0.0
        seams[:] = np.nan
        return -np.inf
    for j in range(S):
        log_beta[length - 1, j] = np.log(end[j]) if closes else 0.0
    for t in range(length - 2, -1, -1):
        best = -np.inf
        for j in range(S):
            best = max(best, scores[base + t + 1, j])
        for i in range(S):
            for j in range(S):
                terms[j] = log_A[i, j] + (scores[base + t + 1, j] - best) + log_beta[t + 1, j]
            log_beta[t, i] = log_sum(terms)
        log_beta[t] -= log_beta[t].max()
    for t in range(first, last):
        for j in range(S):
            terms[j] = log_alpha[t, j] + log_beta[t, j]
        norm = log_sum(terms)
        for j in range(S):
            share = weight * np.exp(terms[j] - norm)
            posterior[base + t, j] = share
            if t == 0 and fresh:
                begun[j] += share
            if t == length - 1 and closes:
                ended[j] += share
        if t > 0:
            best = scores[base + t].max()
            for j in range(S):
                onward = (scores[base + t, j] - best) + log_beta[t, j]
                for i in range(S):
                    pairs[i, j] = log_alpha[t - 1, i] + log_A[i, j] + onward
            norm = log_sum(pairs.reshape(-1))
            for i in range(S):
                for j in range(S):
                    xi[i, j] += weight * np.exp(pairs[i, j] - norm)
    for side in range(2):
        t = first - 1 if side == 0 else last - 1
        if t >= 0:
            norm, norm_beta = log_sum(log_alpha[t]), log_sum(log_beta[t])
            for j in range(S):
                seams[side, j] = np.exp(log_alpha[t, j] - norm)
                seams[2 + side, j] = np.exp(log_beta[t, j] - norm_beta)
    return found


@compiled
def filter_lane(lane, scores, start, A, end, posterior, steps):
    """The log-likelihood; posteriors given the past, and log p(x_t | x_<t), of the steps that count."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    log_alpha, own = np.empty((length, S)), np.empty(length)
    log_forward(lane, scores, start, A, log_alpha, own)
    for t in range(first, last):
        steps[base + t] = own[t]
        for j in range(S):
            posterior[base + t, j] = np.exp(log_alpha[t, j]) if own[t] > -np.inf else 0.0
    return counted(lane, log_alpha, own, end)


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
