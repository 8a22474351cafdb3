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
def log_forward(lane, scores, start, A, log_alpha):
    """log p(x_1 .. x_t, state_t) of every step of the lane."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    log_A, terms = np.log(A), np.empty(S)
    for t in range(length):
        for j in range(S):
            if t == 0:
                came = np.log(start[j]) if fresh else -np.log(S)
            else:
                for i in range(S):
                    terms[i] = log_alpha[t - 1, i] + log_A[i, j]
                came = log_sum(terms)
            log_alpha[t, j] = came + scores[base + t, j]


@compiled
def counted(lane, log_alpha, end):
    """(log-likelihood of the whole lane, of the steps that count)."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(end)
    terms = np.empty(S)
    for j in range(S):
        terms[j] = log_alpha[length - 1, j] + (np.log(end[j]) if closes else 0.0)
    whole = log_sum(terms)
    stop = whole if last == length else log_sum(log_alpha[last - 1])
    before = log_sum(log_alpha[first - 1]) if first > 0 else 0.0
    return whole, -np.inf if stop == -np.inf else stop - before


@compiled
def smooth_lane(lane, scores, start, A, end, begun, xi, ended, posterior, seams):
    """The log-likelihood of the steps that count; all sums are added to, as `chain.run_lanes` says."""
    base, length, first, last, fresh, closes, weight = lane
    S = len(start)
    log_alpha, log_beta, terms = np.empty((length, S)), np.empty((length, S)), np.empty(S)
    log_forward(lane, scores, start, A, log_alpha)
    log_A = np.log(A)
    whole, found = counted(lane, log_alpha, end)
    if whole == -np.inf:
        for t in range(first, last):
            for j in range(S):
                posterior[base + t, j] = 0.0
        seams[:] = np.nan
        return -np.inf
    for j in range(S):
        log_beta[length - 1, j] = np.log(end[j]) if closes else 0.0
    for t in range(length - 2, -1, -1):
        for i in range(S):
            for j in range(S):
                terms[j] = log_A[i, j] + scores[base + t + 1, j] + log_beta[t + 1, j]
            log_beta[t, i] = log_sum(terms)
    for t in range(first, last):
        for j in range(S):
            share = weight * np.exp(log_alpha[t, j] + log_beta[t, j] - whole)
            posterior[base + t, j] = share
            if t == 0 and fresh:
                begun[j] += share
            if t == length - 1 and closes:
                ended[j] += share
            if t > 0:
                onward = scores[base + t, j] + log_beta[t, j] - whole
                for i in range(S):
                    xi[i, j] += weight * np.exp(log_alpha[t - 1, i] + log_A[i, j] + onward)
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
    log_alpha = np.empty((length, S))
    log_forward(lane, scores, start, A, log_alpha)
    before = log_sum(log_alpha[first - 1]) if first > 0 else 0.0
    for t in range(first, last):
        norm = log_sum(log_alpha[t])
        steps[base + t] = norm - before if before > -np.inf else -np.inf
        before = norm
        for j in range(S):
            posterior[base + t, j] = np.exp(log_alpha[t, j] - norm) if norm > -np.inf else 0.0
    return counted(lane, log_alpha, end)[1]


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
