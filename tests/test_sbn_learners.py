"""Pieces of the learners against closed forms and their readable twins."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from suffice import SigmoidBeliefNetwork
from suffice.kernels.structures.network import add_pairs
from suffice.kernels.structures.network_extra import draw_omega, mean_field_sweep
from suffice.learners.network.expectation import layer_statistics
from suffice.learners.network.m_step import LayerStatistics, Limits, PolyaGamma
from suffice.learners.network.monte_carlo import Chunk, Tables, VisibleRows
from suffice.learners.network.recognition import sampled_statistics
from suffice.learners.network.settings import Settings, longer, stages_of
from suffice.structures import network as model
from suffice.structures.network_enumeration import exact_log_likelihood, exact_posterior, hidden_states


def example(data="binary", n_rows=300, gaps=0.1, hidden=(7,)):
    rng = np.random.default_rng(3)
    sizes = [45, *hidden]
    weights = [rng.standard_normal((a, b)) for b, a in itertools.pairwise(sizes)]
    network = model.Network(weights, [rng.standard_normal(n) - 1 for n in sizes[:-1]], np.zeros(sizes[-1]), data, 0.6)
    hidden = model.sample_hidden(network, n_rows, rng)
    X = model.sample_visible(network, hidden[0], rng)
    X[rng.random(X.shape) < gaps] = np.nan
    return network, hidden, X


@pytest.mark.parametrize("data", ["binary", "count"])
def test_statistics_of_the_kernel_equal_those_of_its_numpy_twin(data):
    network, hidden, X = example(data, hidden=(7, 5))
    visible, rows = VisibleRows(X, data), np.arange(len(X))
    chunk = Chunk(Tables(network), visible.dense(rows), hidden, rows, visible.missing)
    twins = sampled_statistics(network, visible.dense(rows), visible.missing, hidden, "mean")
    for layer, twin in enumerate(twins):
        found = layer_statistics(chunk, layer, "mean")
        np.testing.assert_allclose(found.gradient, twin.gradient, rtol=1e-4, atol=1e-2)
        np.testing.assert_allclose(found.second, twin.second)
        np.testing.assert_allclose(found.omega, twin.omega, rtol=1e-4)
        for a, b in zip(found.samples[0], twin.samples[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_gradient_of_the_statistics_is_that_of_the_enumerated_likelihood():
    """Fisher's identity: the posterior mean of the complete-data gradient is the gradient of log p(v)."""
    network, _, X = example(n_rows=4, gaps=0.0, hidden=(5,))
    states, posterior = hidden_states(network)[0], exact_posterior(network, X)
    residual = X[:, None] - expit(states @ network.weights[0] + network.biases[0])
    gradient = np.einsum("ns,sj,nsm->jm", posterior, states, residual)
    for j, m in [(0, 0), (2, 17), (4, 44)]:
        step, values = 1e-5, []
        for sign in (1, -1):
            w = network.weights[0].copy()
            w[j, m] += sign * step
            moved = model.Network([w], network.biases, network.top_bias)
            values.append(exact_log_likelihood(moved, X).sum())
        assert gradient[j, m] == pytest.approx((values[0] - values[1]) / (2 * step), abs=1e-6)


def test_pairs_over_active_units_equal_the_full_product():
    rng = np.random.default_rng(0)
    H, omega = (rng.random((50, 6)) < 0.3).astype(np.uint8), rng.random((50, 9)).astype(np.float32)
    X = np.zeros((28, 9))
    add_pairs(X, H, omega)
    design = np.column_stack([H, np.ones(50)])
    full = np.einsum("ni,na,nb->iab", omega, design, design)
    np.testing.assert_allclose(X.T, full[:, *np.tril_indices(7)], rtol=1e-5)


@pytest.mark.parametrize("penalty", [0.0, 4.0])
def test_polya_gamma_step_equals_the_readable_update(penalty):
    network, hidden, X = example(gaps=0.0)
    visible, h = VisibleRows(X), hidden[0]
    statistics = sampled_statistics(network, visible.dense(np.arange(len(X))), None, hidden, "mean")[0]
    step = PolyaGamma(penalty, len(X), Limits(1e3, 1e3), ridge=1e-12)
    parameters = np.vstack([network.weights[0], network.biases[0]])
    found = step.update(step.initial(parameters), parameters, statistics, 1.0)
    weights, bias = model.polya_gamma_update(network.weights[0], network.biases[0], h.astype(float), X, penalty=penalty)
    np.testing.assert_allclose(found, np.vstack([weights, bias]), rtol=1e-3, atol=1e-3)


def test_polya_gamma_draws_have_the_right_mean_and_variance():
    psi = np.array([0.0, 0.5, -2.0, 6.0, -15.0])
    n = 20000
    quarter = 8
    e = np.zeros((n, 4, quarter), np.float32)
    e.reshape(n, -1)[:, :5] = np.exp(psi)
    omega = draw_omega(e, 5, np.uint64(5), np.arange(n))
    assert np.all(omega > 0)
    mean = model.polya_gamma_mean(psi)
    with np.errstate(invalid="ignore"):
        size = np.maximum(np.abs(psi), 1e-3)
        variance = (np.sinh(size) - size) / (4 * size**3 * np.cosh(size / 2) ** 2)
    np.testing.assert_allclose(omega.mean(0), mean, atol=5 * np.sqrt(variance / n).max())
    np.testing.assert_allclose(omega.var(0)[:4], variance[:4], rtol=0.1)


def test_mean_field_sweep_equals_its_formula_and_raises_the_bound():
    from suffice.learners.network.mean_field import MeanFieldRows

    network, _, X = example(n_rows=20, gaps=0.0)
    eta = [np.full((20, 7), 0.3, np.float32)]
    rows = MeanFieldRows(network, X.astype(np.float32), None, eta)
    kappa, omega, psi, _, _ = rows.layer(0)
    w, twin, mean = network.weights[0], eta[0].astype(float), psi.astype(float)
    for j in range(7):
        total = (omega * w[j] * (mean + (0.5 - twin[:, j, None]) * w[j])).sum(1)
        new = expit(network.top_bias[j] + kappa @ w[j] - total)
        mean += (new - twin[:, j])[:, None] * w[j]
        twin[:, j] = new
    mean_field_sweep(eta[0], rows.prior(0), kappa @ rows.weights[0].T, omega, psi, rows.weights[0])
    np.testing.assert_allclose(eta[0], twin, atol=1e-5)
    bounds = [rows.bound()]
    for _ in range(20):
        rows.sweep()
        bounds.append(rows.bound())
    assert np.all(np.diff(bounds, axis=0) > -1e-3)  # float32
    assert np.all(bounds[-1] < exact_log_likelihood(network, X) + 1e-3)


def test_limits_never_let_a_parameter_leave_or_become_non_finite():
    old = np.zeros((3, 2))
    new = np.array([[np.nan, 1e9], [np.inf, -1.0], [-1e9, 0.5]])
    np.testing.assert_array_equal(Limits(8, 12).apply(old, new), [[0, 8], [0, -1], [-12, 0.5]])


def test_statistics_add():
    a = LayerStatistics(np.ones((2, 1)), np.ones((2, 2)), np.ones(1), 3)
    assert (a + a).n_rows == 6 and (a + a).gradient[0, 0] == 2


def test_by_default_a_planted_network_is_recovered_and_the_fit_says_why_it_stopped():
    rng = np.random.default_rng(1)
    truth = model.Network([rng.normal(0, 2, (6, 30))], [rng.normal(0, 1, 30)], rng.normal(0, 1, 6))
    X, fresh = (model.sample_visible(truth, model.sample_hidden(truth, n, rng)[0], rng) for n in (4000, 1000))
    fitted = SigmoidBeliefNetwork((6,), random_state=0).fit(X)
    assert fitted.n_iter_ >= 300  # 4 batches a pass, 1,200 steps
    assert fitted.converged_ and "passes more improved the objective by less than" in fitted.stopped_
    assert np.mean(exact_log_likelihood(truth, fresh) - exact_log_likelihood(fitted.network_, fresh)) < 0.3


def test_stages_follow_a_schedule_as_long_as_they_gain():
    settings = Settings(hidden=(3,), max_iter=None, batch_size=10)
    assert [stage.n_passes for stage in stages_of(settings, 40)] == [30]
    more = longer(settings, 6, longer(settings, 6, ()))
    stages = [(stage.n_passes, stage.is_fresh) for stage in stages_of(settings, 6, more)]
    assert stages == [(200, True), (50, False), (100, False)]
    assert not replace(settings, max_minutes=1.0).is_open_ended
