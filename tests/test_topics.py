"""Class-conditional topic models: kernels equal their twins, gradients equal finite differences, bounds are bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.structures import topics_steps as kernel
from suffice.learners.driver import Problem, run
from suffice.learners.topics.passes import EM, IncrementalTopics, longest_first, parts_of
from suffice.losses import loss_named
from suffice.structures import topics_enumeration as exact
from suffice.structures.topics import Moments, Topics
from suffice.structures.words import Words

INFERENCES = ("map", "variational")
W, Z, K = 7, 2, 3


def tiny(inference="map", seed=0, n=25, concentration=0.4):
    """Documents of three classes with two topics each: (model, X, y, weights, moments)."""
    generator = np.random.default_rng(seed)
    beta = generator.dirichlet(np.full(W, 0.5), (K, Z))
    y = np.concatenate([np.arange(K), generator.integers(0, K, n - K)])
    phi = generator.dirichlet(np.full(Z, 0.7), n)
    X = np.array([generator.multinomial(12, phi[i] @ beta[y[i]]) for i in range(n)], dtype=float)
    model = Topics(K, W, Z, concentration, inference, length=12.0)
    moments = Moments(generator.gamma(5.0, size=K), generator.gamma(1.0, size=(W, Z, K)) + 0.1)
    return model, sparse.csr_matrix(X), y, generator.uniform(0.5, 2.0, n), moments


@pytest.mark.parametrize("inference", INFERENCES)
def test_scores_equal_their_readable_twin(inference):
    model, X, _, _, moments = tiny(inference)
    np.testing.assert_allclose(model.scores(moments, X), model.log_joint(moments, X), atol=1e-9)


@pytest.mark.parametrize("inference", INFERENCES)
def test_the_gradient_of_the_scores_is_the_expected_statistics(inference):
    """The envelope theorem: d l_k / d log beta_kwz = x_w r_wz, by finite differences of the converged scores."""
    model, X, _, _, moments = tiny(inference, n=4)
    one_by_one = [
        model.expected_statistics(X[i], np.ones((1, K)), moments, n_steps=5000, tolerance=1e-13) for i in range(4)
    ]
    natural = model.natural_of(moments)
    step = 1e-5
    for w, z, k in [(0, 0, 0), (3, 1, 2), (6, 0, 1), (2, 1, 1)]:
        values = []
        for sign in (1, -1):
            logit = natural.logit.copy()
            logit[w, z, k] += sign * step
            beta = np.exp(logit)  # not normalised again: theta is free
            scores = [converged(model, beta, X[i].toarray()[0], k) for i in range(4)]
            values.append(np.array(scores))
        slopes = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(slopes, [part.count[w, z, k] for part in one_by_one], rtol=1e-4, atol=1e-5)


def converged(model, beta, x, k) -> float:
    words = np.flatnonzero(x)
    shape, _ = model.document.inferred(x[words], beta[words][:, :, k], n_steps=3000)
    return model.document.score(x[words], beta[words][:, :, k], shape)


@pytest.mark.parametrize("loss", ("ncll", "hinge"))
@pytest.mark.parametrize("inference", INFERENCES)
def test_the_gradient_of_the_objective(loss, inference):
    """d F / d theta = - sum_ik r_ik s(x_i, k) - prior + (what the prior itself expects), against differences of F."""
    model, X, y, weights, moments = tiny(inference)
    prior = Moments(np.full(K, 2.0), np.full((W, Z, K), 0.3))
    problem = Problem(model, X, y, weights, loss_named(loss), prior)
    signed = weights[:, None] * problem.loss.weights(model.scores(moments, X), y)
    statistics = model.expected_statistics(X, signed, moments)
    beta = moments.count / moments.weight
    want = statistics.count + prior.count  # minus the gradient in log beta, theta free; its normalised part follows
    want = want - want.sum(axis=0) * beta
    step = 1e-5
    for w, z, k in [(0, 0, 0), (3, 1, 2), (6, 0, 1), (2, 1, 1)]:
        values = []
        for sign in (1, -1):
            count = beta.copy()
            count[w, z, k] *= np.exp(sign * step)
            values.append(problem.measure(Moments(moments.mass, count)).objective)
        assert (values[1] - values[0]) / (2 * step) == pytest.approx(want[w, z, k], rel=2e-3, abs=2e-3)


def test_the_bound_never_falls_and_never_exceeds_the_enumerated_likelihood():
    generator = np.random.default_rng(1)
    for trial in range(40):
        n_topics = 2 + trial % 2
        concentration = float(generator.uniform(0.05, 2.0))
        model = Topics(1, 4, n_topics, concentration, "variational")
        beta = generator.dirichlet(np.full(4, 0.3), n_topics).T
        words = generator.integers(0, 4, 8)
        values = np.bincount(words, minlength=4).astype(float)
        seen = np.flatnonzero(values)
        likelihood = exact.log_likelihood(words, np.ones(8), beta, concentration)
        shape = concentration + values[seen] @ generator.dirichlet(np.ones(n_topics), len(seen))
        bounds = []
        for _ in range(60):
            bounds.append(model.document.score(values[seen], beta[seen], shape))
            shape, _ = model.document.inferred(values[seen], beta[seen], 1, shape)
        assert np.diff(bounds).min() >= -1e-11
        assert max(bounds) <= likelihood + 1e-10


@pytest.mark.parametrize("inference", INFERENCES)
def test_em_never_lowers_the_likelihood(inference):
    model, X, y, weights, moments = tiny(inference, n=60)
    y = y.copy()
    y[40:] = -1  # without a label
    problem = Problem(model, X, y, weights, loss_named("nll"), Moments(np.full(K, 1.0), np.full((W, Z, K), 0.1)))
    learner = EM(n_steps=200, tolerance=1e-12)
    state = learner.init(problem, moments, None)
    values = [problem.measure(moments).objective]
    for _ in range(25):
        state = learner.step(problem, state)
        values.append(problem.measure(state.moments).objective)
    assert np.diff(values).max() <= 1e-6 * abs(values[0])
    assert values[-1] < values[0] - 1.0


@pytest.mark.parametrize("loss", ("ncll", "hinge"))
@pytest.mark.parametrize("inference", INFERENCES)
def test_incremental_training_reaches_a_stationary_point(loss, inference):
    """At rest the model is its prior plus the weighted statistics: minus the gradient of F vanishes in every cell."""
    model, X, y, weights, moments = tiny(inference, n=40)
    prior = Moments(np.full(K, 10.0), np.full((W, Z, K), 30.0))
    problem = Problem(model, X, y, weights, loss_named(loss), prior)
    start = run(EM(), replace(problem, loss=loss_named("nll")), moments, None, max_epochs=10).moments
    learner = IncrementalTopics(1e-7 if loss == "ncll" else 1e-3)
    state = learner.init(problem, start, np.random.default_rng(0))
    before = problem.measure(state.moments).objective
    for _ in range(300):
        state = learner.step(problem, state)
        if state.is_done:
            break
    assert state.is_done and state.measure.objective < before
    if loss == "ncll":  # the bound has several maxima: documents stay at theirs
        shapes = state.memory.shapes.copy()
        signed = weights[:, None] * problem.loss.weights(model.scores(state.moments, X, shapes=shapes, n_steps=500), y)
        back = prior + model.expected_statistics(X, signed, state.moments, shapes=shapes)
        np.testing.assert_allclose(state.moments.count, back.count, rtol=1e-3)
        np.testing.assert_allclose(state.moments.mass, back.mass, rtol=1e-3)


def test_one_topic_is_the_multinomial_model():
    from suffice.families.multinomial import Multinomial

    generator = np.random.default_rng(3)
    X = sparse.csr_matrix(generator.poisson(1.0, (10, W)).astype(float))
    count = generator.gamma(1.0, size=(W, K))
    one = Topics(K, W, 1, 0.5).scores(Moments(np.ones(K), count[:, None, :]), X)
    words = Words.of(Multinomial(K, W))
    other = words.scores(words.of_counts(np.ones(K), count), X)
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("loss", ("ncll", "hinge"))
def test_threads_do_not_change_a_bit(loss):
    model, X, y, weights, moments = tiny(n=200)
    prior = Moments(np.full(K, 10.0), np.full((W, Z, K), 3.0))
    fits = []
    for n_jobs in (1, 2, 3):
        problem = Problem(replace(model, n_jobs=n_jobs), X, y, weights, loss_named(loss), prior)
        learner = IncrementalTopics(1e-4, n_jobs=n_jobs, blocks=16)
        fits.append(run(learner, problem, moments, np.random.default_rng(0), max_epochs=4).moments)
    for other in fits[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(fits[0].arrays(), other.arrays(), strict=True))


def test_a_block_of_all_documents_changes_the_model_by_what_is_stored():
    """Many take from the same cells at once: whatever is shortened, the model stays the prior plus the contributions, and positive."""
    model, X, y, weights, moments = tiny(n=120)
    prior = Moments(np.full(K, 2.0), np.full((W, Z, K), 0.3))
    states = []
    for n_jobs in (1, 3):
        problem = Problem(model, X, y, weights, loss_named("ncll"), prior)
        learner = IncrementalTopics(1e-4, n_jobs=n_jobs, blocks=1)
        state = learner.init(problem, moments, np.random.default_rng(0))
        for _ in range(3):
            state = learner.step(problem, state)
            mass, total, count, weight = state.memory.arrays
            want = learner._moments(problem, state.memory.multipliers, state.memory.stored)
            np.testing.assert_allclose(count, want.count, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(mass, want.mass, rtol=1e-9)
            np.testing.assert_allclose(weight, count.sum(axis=0), rtol=1e-9)
            assert total[0] == pytest.approx(mass.sum()) and (count > 0).all() and (mass > 0).all()
        states.append(state)
    assert np.array_equal(states[0].memory.arrays[2], states[1].memory.arrays[2])
    assert np.array_equal(states[0].memory.multipliers, states[1].memory.multipliers)


def test_steps_that_cannot_all_be_taken():
    """Of a block's steps those that would leave too little are shortened; the others stay whole, unless they lean on them."""
    some_whole = all_again = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        n, n_cells = 6, 4
        X = sparse.random(n, 5, 0.6, format="csr", random_state=generator)
        X.sort_indices()
        starts, weights = parts_of(X, 3), generator.uniform(0.5, 2.0, n)
        before = generator.uniform(0.5, 2.0, (5, n_cells))
        first_steps = generator.normal(0.0, 0.25, (X.nnz, n_cells))
        found = []
        for order in ((0, 1, 2), (2, 0, 1)):
            state = np.full(2, 5.0), np.array([10.0]), before.copy(), before.sum(axis=0)
            stored, steps = first_steps.astype(np.float32), first_steps.astype(np.float32).astype(float)
            gains = np.array([steps[a:b].sum(axis=0) for a, b in pairwise(X.indptr)])
            moves, multipliers = np.full((n, 2), 0.1), np.zeros((n, 2))
            proposals = steps, moves, gains, X.indptr[:-1].astype(np.int64), np.zeros(n, bool)
            for part in order:
                kernel.add_part(X.indices, weights, np.arange(n), starts, part, proposals, state[2])
            n_shortened = kernel.end_block(
                X.indices, weights, np.arange(n), starts, multipliers, stored, proposals, state
            )
            found.append((*state, stored, multipliers))
        assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))
        rows = np.repeat(np.arange(n), np.diff(X.indptr))
        want = before.copy()
        np.add.at(want, X.indices, weights[rows, None] * stored)
        np.testing.assert_allclose(state[2], want, rtol=1e-6)
        np.testing.assert_allclose(state[3], want.sum(axis=0), rtol=1e-6)
        np.testing.assert_allclose(state[0], 5.0 + weights @ multipliers)
        assert (state[2] > 0).all() and state[1][0] == pytest.approx(state[0].sum())
        is_whole = np.array([np.array_equal(m, [0.1, 0.1]) for m in multipliers])
        assert n_shortened == (~is_whole).sum()
        failed = proposals[4]
        some_whole += bool(failed.any() and not failed.all())
        all_again += bool(failed.all())
    assert some_whole and all_again


def test_parts_of_the_words_and_the_longest_first():
    generator = np.random.default_rng(0)
    X = sparse.random(30, 50, 0.2, format="csr", random_state=generator)
    X.sort_indices()
    starts = parts_of(X, 4)
    assert np.array_equal(starts[:, 0], X.indptr[:-1]) and np.array_equal(starts[:, -1], X.indptr[1:])
    words = [set().union(*(X.indices[starts[i, j] : starts[i, j + 1]] for i in range(30))) for j in range(4)]
    assert all(max(a) < min(b) for a, b in pairwise(words))
    sizes = np.diff(starts, axis=1).sum(axis=0)
    assert sizes.sum() == X.nnz and sizes.max() - sizes.min() <= 2 * np.bincount(X.indices).max()
    order, lengths = generator.permutation(30), np.diff(X.indptr)
    found = longest_first(order, lengths, 7)
    for start in range(0, 30, 7):
        block = found[start : start + 7]
        assert set(block) == set(order[start : start + 7]) and (np.diff(lengths[block]) <= 0).all()
    assert len(longest_first(order[:0], lengths, 7)) == 0
