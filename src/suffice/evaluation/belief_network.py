"""Held-out log-likelihood of sigmoid belief networks: exact, by annealing, and by bounds.

Every function takes a fitted `SigmoidBeliefNetwork` or a `suffice.structures.network.Network`, and rows that may have
missing cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, logsumexp
from threadpoolctl import threadpool_limits

from ..learners.network.annealing import annealed_log_weights, log_coefficients
from ..learners.network.mean_field import MeanFieldRows
from ..learners.network.monte_carlo import Chunk, Tables, VisibleRows, ancestral, content_ids, in_chunks
from ..learners.network.recognition import local_signals, propose
from ..saving.checkpoints import load_checkpoint
from ..structures.network import Network, mean_visible
from ..structures.network_enumeration import exact_log_likelihood
from .results import Estimate


def network_of(model: Any) -> Network:
    """The parameters behind a fitted estimator; a Network is returned as it is."""
    if isinstance(model, Network):
        return model
    if not hasattr(model, "network_"):
        raise TypeError(f"{type(model).__name__} is not a fitted SigmoidBeliefNetwork: call fit first")
    return model.network_


def rows_of(model: Any, X: Any) -> VisibleRows:
    network = network_of(model)
    if hasattr(model, "visible_rows"):
        return model.visible_rows(X)
    X = np.asarray(X)
    if X.ndim != 2 or X.shape[1] != network.sizes[0]:
        raise ValueError(f"X has shape {X.shape}; the network has {network.sizes[0]} visible units")
    return VisibleRows(X, network.data)


def exact(model: Any, X: Any) -> Estimate:
    """By enumeration of all hidden states: networks of at most 16 hidden units.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import SigmoidBeliefNetwork
    >>> from suffice.evaluation import exact
    >>> X = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0]], 20, axis=0)
    >>> model = SigmoidBeliefNetwork(hidden=(2,), max_iter=5, random_state=0).fit(X)
    >>> found = exact(model, X[:5])
    >>> found.per_sample.shape
    (5,)
    """
    visible = rows_of(model, X)
    values = visible.values.astype(float)
    if visible.missing is not None:
        values[visible.missing] = np.nan
    return Estimate("exact by enumeration", exact_log_likelihood(network_of(model), values), 0)


def annealed_importance_sampling(
    model: Any, X: Any, n_temperatures: int = 1000, n_chains: int = 1, random_state: int = 0, n_jobs: int = 1
) -> Estimate:
    """log p(v) by annealing: a lower bound in expectation, tight for many temperatures (1,000 a layer is a good start).

    `details["log_weights"]` has one column a chain; their spread is the estimator's own error,
    `details["chain_error"]`.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import SigmoidBeliefNetwork
    >>> from suffice.evaluation import annealed_importance_sampling
    >>> X = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0]], 20, axis=0)
    >>> model = SigmoidBeliefNetwork(hidden=(2,), max_iter=5, random_state=0).fit(X)
    >>> found = annealed_importance_sampling(model, X[:5], n_temperatures=50)
    >>> found.per_sample.shape
    (5,)
    """
    if n_temperatures < 1 or n_chains < 1:
        raise ValueError(f"n_temperatures={n_temperatures} and n_chains={n_chains} must be at least 1")
    with threadpool_limits(1, user_api="blas"):
        weights = annealed_log_weights(
            network_of(model), rows_of(model, X), n_temperatures, n_chains, int(random_state), n_jobs
        )
    values = logsumexp(weights, axis=1) - np.log(n_chains)
    error = float(weights.mean(0).std(ddof=1) / np.sqrt(n_chains)) if n_chains > 1 else None
    details = {"n_temperatures": n_temperatures, "n_chains": n_chains, "log_weights": weights, "chain_error": error}
    return Estimate(f"annealed importance sampling, {n_temperatures} temperatures", values, n_chains, details)


def mean_field_means(network: Network, visible: VisibleRows, rows: Any, n_sweeps: int) -> MeanFieldRows:
    start = [np.broadcast_to(expit(b), (len(rows), len(b))) for b in [*network.biases[1:], network.top_bias]]
    eta = [np.ascontiguousarray(p, dtype=np.float32) for p in start]
    found = MeanFieldRows(network, visible.dense(rows), visible.missing_at(rows), eta)
    for _ in range(n_sweeps):
        found.sweep()
    return found


def variational_bound(model: Any, X: Any, n_samples: int = 10, n_sweeps: int = 50, random_state: int = 0) -> Estimate:
    """E_q[log p(v, h) - log q(h)]; q is the model's recognition network, or mean field fitted to each row.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import SigmoidBeliefNetwork
    >>> from suffice.evaluation import variational_bound
    >>> X = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0]], 20, axis=0)
    >>> model = SigmoidBeliefNetwork(hidden=(2,), max_iter=5, random_state=0).fit(X)
    >>> found = variational_bound(model, X[:5])
    >>> found.per_sample.shape
    (5,)
    """
    weights, name = proposal_weights(model, X, n_samples, n_sweeps, random_state)
    return Estimate(f"variational lower bound, {name}", weights.mean(1), n_samples)


def importance_weighted_bound(
    model: Any, X: Any, n_samples: int = 50, n_sweeps: int = 50, random_state: int = 0
) -> Estimate:
    """log mean of p(v, h) / q(h) over samples of q: between the variational bound and log p(v).

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import SigmoidBeliefNetwork
    >>> from suffice.evaluation import importance_weighted_bound
    >>> X = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0]], 20, axis=0)
    >>> model = SigmoidBeliefNetwork(hidden=(2,), max_iter=5, random_state=0).fit(X)
    >>> found = importance_weighted_bound(model, X[:5])
    >>> found.per_sample.shape
    (5,)
    """
    weights, name = proposal_weights(model, X, n_samples, n_sweeps, random_state)
    values = logsumexp(weights, axis=1) - np.log(n_samples)
    return Estimate(f"importance-weighted bound, {name}", values, n_samples)


def proposal_weights(model: Any, X: Any, n_samples: int, n_sweeps: int, random_state: int) -> tuple[np.ndarray, str]:
    """log p(v, h) - log q(h) for samples of q: shape (rows, samples)."""
    network, visible = network_of(model), rows_of(model, X)
    recognition = getattr(model, "recognition_", None)
    rng = np.random.default_rng([int(random_state), 17])
    out = np.empty((len(visible), n_samples))
    for start in range(0, len(visible), 500):
        rows = np.arange(start, min(start + 500, len(visible)))
        dense, missing = visible.dense(rows), visible.missing_at(rows)
        means = [] if recognition else mean_field_means(network, visible, rows, n_sweeps).eta
        for k in range(n_samples):
            if recognition:
                hidden, used = propose(network, recognition, dense, rng)
            else:
                hidden, used = [(rng.random(p.shape) < p).astype(np.uint8) for p in means], means
            out[rows, k] = local_signals(network, dense, missing, hidden, used)[0]
        out[rows] += log_coefficients(network, visible.values[rows])[:, None]
    return out, "recognition network" if recognition else "mean field"


def posterior_means(
    network: Network, visible: VisibleRows, n_burn: int, n_samples: int, seed: int = 0, n_jobs: int = 1, layer: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Rao-Blackwell means of a hidden layer, and of sigma(psi) of the visible cells, under Gibbs sampling."""
    tables, ids = Tables(network), content_ids(visible.values, visible.missing)

    def one(rows):
        hidden, missing = ancestral(network, seed, ids[rows]), visible.missing_at(rows)
        chunk = Chunk(tables, visible.dense(rows), hidden, ids[rows], missing, precise=True)
        for k in range(n_burn):  # a short annealing run instead of a cold start: fewer chains stuck in a bad mode
            chunk.sweep(seed, k, beta=min(1.0, 2 * (k + 1) / n_burn))
        chunk.restart()
        total = np.zeros((len(rows), network.sizes[layer + 1]))
        below = np.zeros((len(rows), network.sizes[0]))
        for k in range(n_samples):
            for other in range(network.n_layers):
                found = chunk.probabilities(other, seed, n_burn + k)
                if other == layer:
                    total += found
            psi = chunk.hidden[0].astype(float) @ network.weights[0] + network.biases[0]
            below += mean_visible(network, psi)
        return total / n_samples, below / n_samples

    pieces = list(in_chunks(one, np.arange(len(visible)), n_jobs))
    return np.concatenate([p[0] for p in pieces]), np.concatenate([p[1] for p in pieces])


def sample_posterior(network: Network, visible: VisibleRows, n_sweeps: int, seed: int) -> np.ndarray:
    """One draw of the first hidden layer given the observed cells of each row: the last state of an annealed Gibbs chain."""
    rows = np.arange(len(visible))
    chunk = Chunk(
        Tables(network),
        visible.dense(rows),
        ancestral(network, seed, rows),
        rows,
        visible.missing_at(rows),
        precise=True,
    )
    for k in range(n_sweeps):
        chunk.sweep(seed, k, beta=min(1.0, 2 * (k + 1) / n_sweeps))
    return chunk.hidden[0]


def load_network(path: Any) -> Network:
    """The network of a checkpoint: to look at a fit that is still going."""
    found = load_checkpoint(path)
    states = [snapshot.state for snapshot in found.under_way.values()] + [entry.result for entry in found.done.values()]
    networks = [state.moments for state in states if isinstance(getattr(state, "moments", None), Network)]
    if not networks:
        raise ValueError(f"checkpoint={str(path)!r} is of {found.identity['estimator']} and has no network in it yet")
    return networks[0]
