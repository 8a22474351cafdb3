"""Annealed importance sampling of log p(v) (Neal 2001; Salakhutdinov and Murray 2008).

Path: p_beta(h) proportional to p(h) p(v | h_1)^beta, beta = (k/T)^2 for k = 0, ..., T, from an ancestral sample. At
every temperature the log weight gains (next beta - beta) log p(v | h_1), then one Gibbs sweep of all layers leaves
p_beta unchanged. Every weight is an unbiased estimate of p(v), so its logarithm is a lower bound in expectation, and
tight when T is large. Squares put more temperatures where the likelihood first takes hold: a nat more than even steps
for two layers on MNIST at T = 1000, the same for one layer.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from ...structures.network import Network
from .monte_carlo import Chunk, Tables, VisibleRows, ancestral, content_ids, in_chunks

RENEW = 100  # temperatures between fresh sums of psi, against rounding


def log_coefficients(network: Network, values: np.ndarray) -> np.ndarray:
    """The part of log p(v | h) that does not depend on h: the binomial coefficient of counts."""
    if network.data != "count":
        return np.zeros(len(values))
    r, v = network.dispersion, values.astype(np.float64)
    return (gammaln(v + r) - gammaln(r) - gammaln(v + 1)).sum(1)


def annealed_log_weights(
    network: Network, visible: VisibleRows, n_temperatures: int, n_chains: int, seed: int, n_jobs: int = 1
) -> np.ndarray:
    """Log importance weights, shape (rows, chains); a row's weights depend on its content and the seed alone."""
    tables = Tables(network)
    ids = content_ids(visible.values, visible.missing)

    def chunk_weights(rows, chain):
        missing, seed_here = visible.missing_at(rows), seed * 1009 + chain
        hidden = ancestral(network, seed_here, ids[rows])
        chunk = Chunk(tables, visible.dense(rows), hidden, ids[rows], missing, precise=True)
        total = np.zeros(len(rows))
        for k in range(n_temperatures):
            beta, following = (k / n_temperatures) ** 2, ((k + 1) / n_temperatures) ** 2
            total += (following - beta) * chunk.log_visible()
            if k + 1 < n_temperatures:
                chunk.sweep(seed_here, k, beta=following)
                if (k + 1) % RENEW == 0:
                    chunk.restart()
        return total + log_coefficients(network, visible.values[rows])  # a missing cell is stored as 0: log 1

    rows = np.arange(len(visible))
    columns = [
        np.concatenate(list(in_chunks(lambda r, c=chain: chunk_weights(r, c), rows, n_jobs)))
        for chain in range(n_chains)
    ]
    return np.stack(columns, axis=1)
