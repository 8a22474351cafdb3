"""Hidden Markov chains by enumeration of all paths: what the recursions must equal."""

from itertools import product

import numpy as np


def paths_and_logs(scores, start, A, end):
    """All paths (n, T), and log p(x, path) (n,)."""
    T, S = scores.shape
    with np.errstate(divide="ignore"):
        log_start, log_A, log_end = np.log(start), np.log(A), np.log(end)
    paths = np.array(list(product(range(S), repeat=T)))
    logs = log_start[paths[:, 0]] + sum(scores[t, paths[:, t]] for t in range(T)) + log_end[paths[:, -1]]
    for t in range(1, T):
        logs = logs + log_A[paths[:, t - 1], paths[:, t]]
    return paths, logs


def shares_of(logs):
    top = logs.max()
    loglik = top + np.log(np.exp(logs - top).sum())
    return loglik, np.exp(logs - loglik)


def filtered(scores, start, A):
    """p(state_t | x_1 .. x_t) of the last step."""
    S = scores.shape[1]
    paths, logs = paths_and_logs(scores, start, A, np.ones(S))
    if logs.max() == -np.inf:
        return np.zeros(S)
    _, shares = shares_of(logs)
    return np.bincount(paths[:, -1], weights=shares, minlength=S)


def enumerated(scores, start, A, end=None):
    """(log p(x), posteriors (T, S), pairs (S, S), filtered (T, S), best path, its log p(x, path)) of one short sequence."""
    T, S = scores.shape
    pairs, nothing = np.zeros((S, S)), np.zeros((T, S))
    if T == 0:
        return 0.0, nothing, pairs, nothing, np.zeros(0, int), 0.0
    paths, logs = paths_and_logs(scores, start, A, np.ones(S) if end is None else end)
    past = np.array([filtered(scores[: t + 1], start, A) for t in range(T)])
    if logs.max() == -np.inf:
        return -np.inf, nothing, pairs, past, paths[0], -np.inf
    loglik, shares = shares_of(logs)
    gamma = np.array([np.bincount(paths[:, t], weights=shares, minlength=S) for t in range(T)])
    for t in range(1, T):
        np.add.at(pairs, (paths[:, t - 1], paths[:, t]), shares)
    return loglik, gamma, pairs, past, paths[logs.argmax()], logs.max()
