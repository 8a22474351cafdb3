"""Sampled topics and every likelihood estimator against full enumeration over topic assignments; a Geweke test of the sampler.

Statistical tests have fixed seeds and allow five standard errors (from independent chains): a right sampler fails one in a million.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.structures import topics_sampling as kernel
from suffice.kernels.structures.topics_gibbs import online_pass
from suffice.learners.driver import Problem
from suffice.learners.topics.allocation import Tokens
from suffice.learners.topics.gibbs import POINTS, OnlineGibbs
from suffice.losses import loss_named
from suffice.structures import topics_enumeration as exact
from suffice.structures.topics import Moments, Topics

CASES = [(2, 0.3, (2, 1, 3, 1)), (3, 0.8, (1, 2, 1, 2)), (2, 1.5, (9, 0, 1, 0))]


def case(n_topics, concentration, counts, share):
    beta = np.random.default_rng(n_topics).dirichlet(np.full(4, 0.5), n_topics).T.copy()
    counts = np.array(counts)
    words = np.flatnonzero(counts)
    position, size = np.zeros(counts.sum(), np.int64), np.zeros(counts.sum(), np.int64)
    n = kernel.fill_tokens(counts[words], share, position, size)
    return beta[words].copy(), position[:n], size[:n]


def within(values, want) -> None:
    """The mean over independent chains is within five standard errors."""
    values = np.asarray(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - want) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("share", (True, False))
@pytest.mark.parametrize(("n_topics", "concentration", "counts"), CASES)
def test_gibbs_statistics_are_the_enumerated_ones(n_topics, concentration, counts, share):
    beta, position, size = case(n_topics, concentration, counts, share)
    posterior = exact.token_posteriors(position, size, beta, concentration)
    want = np.zeros(beta.shape)
    np.add.at(want, position, posterior * size[:, None])
    found, usage = [], []
    for chain in range(60):
        shares, mean_usage = np.empty(beta.shape), np.empty(n_topics)
        kernel.sample_topics(
            beta, position, size, len(position), concentration, 30, 2000, np.array([chain * 7919 + 1], np.uint64),
            np.empty(len(position), np.int64), np.empty(n_topics), np.empty(n_topics), shares, mean_usage,
        )  # fmt: skip
        found.append(shares / 2000)
        usage.append(mean_usage)
    within(found, want)
    within(usage, want.sum(axis=0))
    plug_in = np.log(
        (beta * ((concentration + want.sum(axis=0)) / (size.sum() + n_topics * concentration))).sum(axis=1)
    )
    values = np.bincount(position, size).astype(float)
    scores = [kernel.plug_in(beta, values, np.array(u), float(size.sum()), concentration) for u in usage]
    assert abs(np.mean(scores) - values @ plug_in) < 0.01 * abs(values @ plug_in)


@pytest.mark.parametrize("n_particles", (1, 10))
@pytest.mark.parametrize("share", (True, False))
@pytest.mark.parametrize(("n_topics", "concentration", "counts"), CASES)
def test_left_to_right_is_unbiased(n_topics, concentration, counts, share, n_particles):
    beta, position, size = case(n_topics, concentration, counts, share)
    want = exact.log_likelihood(position, size, beta, concentration)
    values = [
        kernel.left_to_right(
            beta, position, size, len(position), np.ones(len(beta)), concentration, n_particles,
            np.array([seed * 104729 + 3], np.uint64), np.empty(n_topics),
        )
        for seed in range(3000)
    ]  # fmt: skip
    within(np.exp(np.array(values) - want), 1.0)


def test_geweke():
    """Draws of (topics, words) from the prior, and from a chain that alternates sweeps with fresh words, agree in distribution."""
    generator = np.random.default_rng(0)
    W, Z, a, length = 5, 3, 0.4, 6
    beta = generator.dirichlet(np.full(W, 0.4), Z).T.copy()

    def functions(words, topics):
        usage = np.bincount(topics, minlength=Z)
        return [usage[0], usage[1] ** 2, usage.max(), (words == 1).sum(), (words == 2).sum() * usage[0]]

    def words_given(topics):
        reached = np.cumsum(beta, axis=0)[:, topics] < generator.random(len(topics))
        return np.minimum(reached.sum(axis=0), W - 1)

    forward = []
    for _ in range(6000):
        topics = generator.choice(Z, size=length, p=generator.dirichlet(np.full(Z, a)))
        forward.append(functions(words_given(topics), topics))
    backward = []
    for chain in range(60):
        topics = generator.choice(Z, size=length, p=generator.dirichlet(np.full(Z, a)))
        words, values, random = words_given(topics), [], np.array([chain * 15485863 + 5], np.uint64)
        for _ in range(150):
            usage = np.bincount(topics, minlength=Z).astype(float)
            probabilities = np.empty(Z)
            for t in range(length):  # one sweep, by the sampler's own pieces
                usage[topics[t]] -= 1
                total = kernel.conditional(beta, words[t], 1, usage, a, probabilities)
                topics[t] = kernel.drawn(probabilities, total, random)
                usage[topics[t]] += 1
            words = words_given(topics)
            values.append(functions(words, topics))
        backward.append(np.mean(values, axis=0))
    forward, backward = np.array(forward, float), np.array(backward)
    error = np.sqrt(forward.var(axis=0) / len(forward) + backward.var(axis=0, ddof=1) / len(backward))
    assert (np.abs(forward.mean(axis=0) - backward.mean(axis=0)) <= 5 * error).all()


def test_the_fast_sweep_has_the_same_distribution():
    beta, position, size = case(3, 0.8, (1, 2, 1, 2), False)
    want = (exact.token_posteriors(position, size, beta, 0.8) * size[:, None]).sum(axis=0)
    X = sparse.csr_matrix(np.array([[1.0, 2.0, 1.0, 2.0]]))
    means = []
    for chain in range(40):
        tokens, total = Tokens.of(X, 3), np.zeros(3)
        tokens.sweep(beta, 0.8, 1000 * chain, 1, is_start=True, gather=False)
        for sweep in range(300):
            tokens.sweep(beta, 0.8, 1000 * chain + sweep + 1, 1, gather=False)
            if sweep >= 20:
                total += tokens.usage[0]
        means.append(total / 280)
    within(means, want)


def test_estimators_rank_as_they_must():
    """Of a document: the bound is below the likelihood; the plug-in, which knows the proportions, above the bound."""
    beta, position, size = case(2, 0.3, (2, 1, 3, 1), False)
    likelihood = exact.log_likelihood(position, size, beta, 0.3)
    X = sparse.csr_matrix(np.array([[2.0, 1.0, 3.0, 1.0]]))
    moments = Moments(np.ones(1), beta[:, :, None])
    scores = {}
    for name in ("plug-in", "left-to-right", "variational"):
        model = Topics(1, 4, 2, 0.3, "gibbs", likelihood=name, share=False, n_sweeps=2000)
        scores[name] = float(model.scores(moments, X)[0, 0])
    assert scores["variational"] <= likelihood + 1e-9
    assert scores["left-to-right"] == pytest.approx(likelihood, abs=0.1)
    assert scores["plug-in"] > scores["variational"]


def test_a_pass_without_errors_pulls_towards_the_prior_and_one_with_errors_stays_inside():
    """Documents beyond the margin move nothing: of the deviation from the prior (1 - rate / n)^n is left. Others never empty a cell."""
    X = sparse.csr_matrix(np.kron(np.eye(2), [[6.0, 1.0]]).repeat(5, axis=0))
    y, weights, order = np.repeat([0, 1], 5), np.ones(10), np.arange(10)
    model = Topics(2, 4, 2, 0.5, "gibbs")
    rows, counts = model.sampling_rows(X)
    own = (10.0, 2.0)
    count = np.zeros((4, 2, 2))
    count[:2, :, 0] = count[2:, :, 1] = 50.0

    def one_pass(labels, rate):
        state = model.state_of(Moments(np.zeros(2), count.copy()))
        loss = loss_named("hinge")
        found = online_pass.of(loss.kernels)(
            rows, counts, labels, weights, order, np.full(10, rate), state, own, 1.0, 1.0, 0.5, 0, True, 3, False, loss.settings, 0
        )  # fmt: skip
        return state, *found

    state, scale, n_shortened = one_pass(y, 0.5)
    assert scale == pytest.approx((1 - 0.05) ** 10) and n_shortened == 0
    np.testing.assert_array_equal(state[2], count)
    state, scale, n_shortened = one_pass(1 - y, 20.0)
    cells = own[1] + scale * state[2]
    assert n_shortened > 0 and (cells > 0).all() and (own[0] + scale * state[0] > 0).all()
    assert cells[2:, :, 0].sum() > own[1] * 4  # wrong labels move words to the other class
    np.testing.assert_allclose(state[3], state[2].sum(axis=0))


def test_many_chains_see_both_modes_of_a_document():
    """Two alike topics: all words of a document are of the one or of the other, and a chain stays where it started."""
    count = np.full((6, 2, 1), 10.0)
    model = Topics(1, 6, 2, 0.05, "gibbs", length=60.0, share=False, n_sweeps=2, n_burn=2)
    moments = Moments(np.ones(1), count)
    X = sparse.csr_matrix(np.random.default_rng(0).multinomial(60, np.full(6, 1 / 6), 200).astype(float))
    one = model.sampled(moments, X)[1][:, 0, 0]
    many = replace(model, n_chains=64).sampled(moments, X)[1][:, 0, 0]
    assert one.std() > 0.35
    assert many.std() < 1.5 * one.std() / 8
    assert abs(many.mean() - 0.5) < 5 * many.std() / np.sqrt(200)
    assert np.array_equal(many, replace(model, n_chains=64, n_jobs=2).sampled(moments, X)[1][:, 0, 0])


def test_the_second_half_of_the_passes_is_averaged():
    rng = np.random.default_rng(1)
    X, y = sparse.csr_matrix(rng.poisson(0.8, (64, 12)).astype(float)), np.arange(64) % 2
    model = Topics(2, 12, 2, 0.5, "gibbs", length=10.0, row_norm=10.0)
    prior = Moments(np.full(2, 10.0), np.full((12, 2, 2), 5.0))
    problem = Problem(model, X, y, np.ones(64), loss_named("ncll"), prior)
    seen = []

    class Watched(OnlineGibbs):
        def _moments(self, problem, state):
            seen.append(super()._moments(problem, state))
            return seen[-1]

    learner = Watched(nll_passes=1, n_passes=4, watch=False)
    state = learner.init(problem, prior, np.random.default_rng(0))
    for _ in range(4):
        state = learner.step(problem, state)
    assert state.is_done and len(seen) == 2 + 2 * POINTS  # ends of the first half, points of the second
    mean = sum(moments.count for moments in seen[2:]) / (2 * POINTS)
    np.testing.assert_allclose(state.moments.count, mean, rtol=1e-12)
    assert not np.allclose(mean, seen[-1].count, rtol=1e-3)
