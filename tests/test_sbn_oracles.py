"""Sigmoid belief networks against their oracles: the NumPy twin and enumeration of every hidden state."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from suffice.kernels.structures import network as kernels
from suffice.learners.network.annealing import annealed_log_weights
from suffice.learners.network.monte_carlo import Chunk, Tables, VisibleRows, initial_chains, sweep_seed
from suffice.structures import network as model
from suffice.structures.network_enumeration import exact_em_step, exact_log_likelihood, exact_posterior, hidden_states

CASES = [
    ((8,), "binary"),
    ((12,), "binary"),
    ((5, 4), "binary"),
    ((4, 3, 3), "binary"),
    ((6,), "count"),
    ((4, 3), "count"),
]


def small_network(hidden, data, scale=1.0, n_visible=37, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [n_visible, *hidden]
    weights = [scale * rng.standard_normal((a, b)) for b, a in itertools.pairwise(sizes)]
    biases = [rng.standard_normal(n) - 1 for n in sizes[:-1]]
    return model.Network(weights, biases, rng.standard_normal(sizes[-1]) - 0.5, data, 0.7)


def some_rows(network, n_rows=60, seed=1, gaps=0.0):
    rng = np.random.default_rng(seed)
    X = model.sample_visible(network, model.sample_hidden(network, n_rows, rng)[0], rng)
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def chunk_of(network, X, seed=0, precise=True):
    visible = VisibleRows(X, network.data)
    rows = np.arange(len(X))
    chains = initial_chains(network, len(X), seed, 0.5)
    return Chunk(Tables(network), visible.dense(rows), chains, rows, visible.missing_at(rows), precise=precise)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("hidden, data", CASES)
def test_kernel_makes_the_same_draws_as_its_readable_twin(hidden, data, gaps):
    network = small_network(hidden, data)
    X = some_rows(network, gaps=gaps)
    chunk = chunk_of(network, X)
    twin = [h.copy() for h in chunk.hidden]
    rows = np.arange(len(X))
    for beta, sweep in [(1.0, 0), (0.4, 1), (1.0, 2)]:
        chunk.sweep(5, sweep, beta=beta)
        seeds = [sweep_seed(5, sweep, layer) for layer in range(len(hidden))]
        uniforms = [kernels.uniforms(s, rows, h.shape[1]) for s, h in zip(seeds, twin, strict=True)]
        model.gibbs_sweep(network, X, twin, uniforms, beta)
        differ = np.mean([np.mean(a != b) for a, b in zip(chunk.hidden, twin, strict=True)])
        assert differ == 0


@pytest.mark.parametrize("hidden, data", CASES)
def test_gibbs_conditionals_agree_with_enumeration(hidden, data):
    network = small_network(hidden, data)
    X = some_rows(network, n_rows=6, gaps=0.1)
    states, posterior = hidden_states(network), exact_posterior(network, X)
    chunk = chunk_of(network, X)
    for layer in range(len(hidden)):
        before = [h.copy() for h in chunk.hidden]
        probabilities = chunk.probabilities(layer, seed=3, sweep=0)
        last = hidden[layer] - 1  # every other unit of the layer has its new value when the last is visited
        for n in range(len(X)):
            now = [chunk.hidden[i][n] if i == layer else before[i][n] for i in range(len(hidden))]
            same = np.ones(len(states[0]), bool)
            for i, table in enumerate(states):
                others = [j for j in range(table.shape[1]) if (i, j) != (layer, last)]
                same &= (table[:, others] == now[i][others]).all(1)
            weight = posterior[n] * same
            exact = weight[states[layer][:, last] == 1].sum() / weight.sum()
            assert probabilities[n, last] == pytest.approx(exact, abs=5e-6)


@pytest.mark.parametrize("hidden, data", [((6,), "binary"), ((4, 3), "binary"), ((5,), "count")])
def test_gibbs_marginals_agree_with_enumeration_where_chains_mix(hidden, data):
    network = small_network(hidden, data, scale=0.25)
    X = np.repeat(some_rows(network, n_rows=2), 1000, axis=0)  # 2,000 independent chains: standard error below .016
    chunk = chunk_of(network, X)
    chunk.sweep(1, 0, n_sweeps=40)
    states, posterior = hidden_states(network), exact_posterior(network, X[::1000])
    for layer in range(len(hidden)):
        exact = posterior @ states[layer]
        found = chunk.hidden[layer].reshape(2, 1000, -1).mean(1)
        assert np.abs(found - exact).max() < 0.065  # four standard errors


@pytest.mark.parametrize("hidden, data", CASES)
def test_annealing_with_ten_chains_is_within_a_twentieth_of_a_nat(hidden, data):
    network = small_network(hidden, data)
    X = some_rows(network, n_rows=50, gaps=0.05)
    weights = annealed_log_weights(network, VisibleRows(X, data), n_temperatures=300, n_chains=10, seed=0)
    estimate = logsumexp(weights, axis=1) - np.log(10)
    assert abs(estimate.mean() - exact_log_likelihood(network, X).mean()) < 0.05


def test_weights_beyond_the_float32_product_still_give_the_exact_conditional():
    network = small_network((6,), "binary", scale=14.0, n_visible=300)
    X = some_rows(network, n_rows=20)
    chunk = chunk_of(network, X)
    before = [h.copy() for h in chunk.hidden]
    found = chunk.probabilities(0, 3, 0)[:, 0]  # the first unit sees all others as they were
    exact = expit(model.conditional_logit(network, X, before, 0, 0))
    assert np.abs(found - exact).max() < 1e-4


def test_neither_chunks_nor_threads_nor_neighbours_change_annealing():
    network = small_network((12,), "binary")
    X = some_rows(network, n_rows=600)
    whole = annealed_log_weights(network, VisibleRows(X), 20, 1, 0, n_jobs=1)
    threads = annealed_log_weights(network, VisibleRows(X), 20, 1, 0, n_jobs=2)
    some = annealed_log_weights(network, VisibleRows(X[::7]), 20, 1, 0)
    np.testing.assert_array_equal(whole, threads)
    np.testing.assert_allclose(whole[::7], some, rtol=1e-6)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("data", ["binary", "count"])
def test_every_polya_gamma_update_raises_q_up_to_the_gradient_solution(data, penalty):
    from scipy.optimize import minimize

    network = small_network((5,), data, n_visible=4)
    rng = np.random.default_rng(2)
    hidden = model.sample_hidden(network, 400, rng)[0].astype(float)
    below = model.sample_visible(network, hidden, rng)
    u = below + network.dispersion if data == "count" else 1.0
    weights, bias = np.full((5, 4), 0.1), np.zeros(4)
    values = [model.layer_objective(weights, bias, hidden, below, u, penalty=penalty)]
    for _ in range(400):
        weights, bias = model.polya_gamma_update(weights, bias, hidden, below, u, penalty=penalty)
        values.append(model.layer_objective(weights, bias, hidden, below, u, penalty=penalty))
    assert np.all(np.diff(values) > -1e-9 * abs(values[-1]))
    if not penalty:

        def loss(theta):
            w, b = theta[:20].reshape(5, 4), theta[20:]
            psi = hidden @ w + b
            residual = below - u * expit(psi)
            gradient = np.concatenate([(hidden.T @ residual).ravel(), residual.sum(0)])
            return -model.layer_objective(w, b, hidden, below, u), -gradient

        best = minimize(loss, np.zeros(24), jac=True, method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(np.concatenate([weights.ravel(), bias]), best.x, atol=2e-3)


@pytest.mark.parametrize("inner_updates", [1, 3])
@pytest.mark.parametrize("hidden, data", [((6,), "binary"), ((4, 3), "binary"), ((4,), "count")])
def test_batch_em_with_the_exact_e_step_raises_the_likelihood_at_every_step(hidden, data, inner_updates):
    X = some_rows(small_network(hidden, data, n_visible=8), n_rows=120)
    network = small_network(hidden, data, scale=0.3, n_visible=8, seed=9)
    values = [exact_log_likelihood(network, X).sum()]
    for _ in range(25):
        network = exact_em_step(network, X, inner_updates=inner_updates)
        values.append(exact_log_likelihood(network, X).sum())
    assert np.all(np.diff(values) > -1e-8 * abs(values[-1]))
    assert values[-1] > values[0] + 1
