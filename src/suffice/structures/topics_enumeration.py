"""Exact answers for tiny documents by summing over every assignment of topics to tokens: the oracle of tests.

A document's tokens have weights u (1 for plain words; a word that shares one topic for all its occurrences is one token of weight
n_w). With the proportions integrated out,

    p(z) = Gamma(Za) / Gamma(Za + sum u) prod_z Gamma(a + U_z) / Gamma(a),   U_z = sum of u over tokens of topic z,
    p(w, z) = p(z) prod_t beta[w_t, z_t]^u_t.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp

MAX_STATES = 2**18


def assignments(n_tokens: int, n_topics: int) -> np.ndarray:
    """Every assignment, one a row."""
    if n_topics**n_tokens > MAX_STATES:
        raise ValueError(f"{n_topics}^{n_tokens} assignments are too many to enumerate: use an estimator")
    return np.array(list(product(range(n_topics), repeat=n_tokens)), dtype=np.int64).reshape(-1, n_tokens)


def log_joint(words, token_weights, beta: np.ndarray, concentration: float) -> np.ndarray:
    """log p(w, z) for every assignment; `beta` is [words, topics]."""
    words, u = np.asarray(words), np.asarray(token_weights, dtype=float)
    Z = beta.shape[1]
    z = assignments(len(words), Z)
    usage = np.stack([((z == topic) * u).sum(axis=1) for topic in range(Z)], axis=1)
    prior = gammaln(Z * concentration) - gammaln(Z * concentration + u.sum())
    prior = prior + (gammaln(concentration + usage) - gammaln(concentration)).sum(axis=1)
    return prior + (u * np.log(beta)[words, z]).sum(axis=1)


def log_likelihood(words, token_weights, beta, concentration: float) -> float:
    """log p(w): of the tokens in this order (no multinomial coefficient)."""
    return float(logsumexp(log_joint(words, token_weights, beta, concentration)))


def token_posteriors(words, token_weights, beta, concentration: float) -> np.ndarray:
    """p(z_t = z | w) for every token: shape (tokens, topics)."""
    joint = log_joint(words, token_weights, beta, concentration)
    share = np.exp(joint - logsumexp(joint))
    z = assignments(len(words), beta.shape[1])
    return np.stack([share @ (z == topic) for topic in range(beta.shape[1])], axis=1)
