"""Exact answers for small sigmoid belief networks by summing over every hidden state: the oracle of tests."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from .network import Network, log_joint, log_visible, polya_gamma_update

MAX_UNITS = 16


def hidden_states(network: Network) -> list[np.ndarray]:
    """All states of all hidden units, one matrix a layer, first hidden layer first."""
    sizes = network.sizes[1:]
    if sum(sizes) > MAX_UNITS:
        raise ValueError(
            f"enumeration needs 2^{sum(sizes)} states; at most {MAX_UNITS} hidden units are enumerated: "
            "use suffice.evaluation.annealed_importance_sampling"
        )
    codes = np.arange(2 ** sum(sizes))
    bits = (codes[:, None] >> np.arange(sum(sizes))) & 1
    return np.split(bits.astype(float), np.cumsum(sizes)[:-1], axis=1)


def log_joint_table(network: Network, X: np.ndarray) -> np.ndarray:
    """log p(v_n, h) for every row n and every hidden state: shape (rows, states)."""
    states = hidden_states(network)
    no_data = np.full((1, X.shape[1]), np.nan)
    log_prior = log_joint(network, no_data, states)
    psi = states[0] @ network.weights[0] + network.biases[0]
    return np.stack([log_prior + log_visible(network, psi, row[None]) for row in X])


def exact_log_likelihood(network: Network, X: np.ndarray) -> np.ndarray:
    return logsumexp(log_joint_table(network, X), axis=1)


def exact_posterior(network: Network, X: np.ndarray) -> np.ndarray:
    """p(h | v_n) over `hidden_states`: shape (rows, states)."""
    table = log_joint_table(network, X)
    return np.exp(table - logsumexp(table, axis=1, keepdims=True))


def exact_em_step(network: Network, X: np.ndarray, penalty: float = 0.0, inner_updates: int = 1) -> Network:
    """Batch EM with the exact E-step and the Polya-Gamma M-step; no row of X may have missing cells."""
    states = hidden_states(network)
    posterior = exact_posterior(network, X)
    weights, biases = [], []
    for layer in range(network.n_layers):
        if layer == 0:  # one row for every (datum, state)
            above = np.tile(states[0], (len(X), 1))
            below = np.repeat(X, len(states[0]), axis=0)
            rows = posterior.ravel()
            u = below + network.dispersion if network.data == "count" else 1.0
        else:
            above, below, rows, u = states[layer], states[layer - 1], posterior.sum(0), 1.0
        w, b = network.weights[layer], network.biases[layer]
        for _ in range(inner_updates):
            w, b = polya_gamma_update(w, b, above, below, u, rows, penalty)
        weights.append(w)
        biases.append(b)
    mean = np.clip(posterior.mean(0) @ states[-1], 1e-9, 1 - 1e-9)
    return Network(weights, biases, np.log(mean / (1 - mean)), network.data, network.dispersion)
