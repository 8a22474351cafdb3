r"""A hidden Markov chain (work in progress)."""

from __future__ import annotations

import numpy as np


def forward_backward(scores: np.ndarray, start: np.ndarray, A: np.ndarray, end: np.ndarray | None = None):
    """(log p(x), first posterior (S,), expected transitions (S, S), last posterior (S,), posteriors (T, S)) of one sequence.

    The readable twin of `kernels.structures.chain.run_lanes`; scores (T, S) are log b. Without `end` the third is zero.
    """
    T, S = scores.shape
    alpha, totals = np.empty((T, S)), np.empty(T)
    top = scores.max(axis=1, keepdims=True)
    b = np.exp(scores - top)
    for t in range(T):
        joint = b[t] * (alpha[t - 1] @ A if t else start)
        totals[t] = joint.sum()
        alpha[t] = joint / totals[t]
    closing = 1.0 if end is None else float(alpha[-1] @ end)
    beta = np.ones(S) if end is None else end / closing
    posteriors, pairs = np.empty((T, S)), np.zeros((S, S))
    for t in range(T - 1, -1, -1):
        posteriors[t] = alpha[t] * beta
        if t:
            onward = b[t] * beta / totals[t]
            pairs += A * np.outer(alpha[t - 1], onward)
            beta = A @ onward
    loglik = float(top.sum() + np.log(totals).sum() + np.log(closing))
    return loglik, posteriors[0], pairs, posteriors[-1] if end is not None else np.zeros(S), posteriors
