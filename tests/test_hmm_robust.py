"""Hidden Markov models on hard input give finite answers or a sentence; the fast E-step equals the readable one and keeps its bits."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from test_hmm_em import KINDS, problem_of

from suffice.hmm import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM
from suffice.kernels.structures.chain_paths import ROOM_BACK
from suffice.learners import chain_steps

MODELS = (GaussianHMM, PoissonHMM, BernoulliHMM, CategoricalHMM, MixedHMM)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_compiled_e_step_equals_the_one_by_scores(kind, missing, monkeypatch):
    lengths = np.random.default_rng(3).integers(0, 300, size=90)
    problem, moments = problem_of(kind, "cyclic", lengths, missing, has_end=True)
    problem.rows.evidence = np.where(np.random.default_rng(4).random((lengths.sum(), 3)) < 0.05, -2.0, 0.0)
    parameters = problem.parameters(moments)
    fast = [problem.rows.expected(parameters) for _ in range(4)]  # from the second on with the cells in lanes
    for other in fast[1:]:
        assert other.log_likelihood == fast[0].log_likelihood
        np.testing.assert_array_equal(other.statistics.flat(), fast[0].statistics.flat())
    best = problem.rows.best(parameters)
    monkeypatch.setattr(chain_steps, "source_of", lambda *_: None)
    slow = problem.rows.expected(parameters)
    np.testing.assert_allclose(fast[0].log_likelihood, slow.log_likelihood, rtol=1e-11)
    np.testing.assert_allclose(fast[0].statistics.flat(), slow.statistics.flat(), rtol=1e-8, atol=1e-8)
    again = problem.rows.best(parameters)
    np.testing.assert_allclose(again[0], best[0], rtol=1e-11)
    np.testing.assert_array_equal(again[1], best[1])


def finite(model, X) -> None:
    """Every answer is finite, and so is every parameter."""
    assert model.moments_.is_finite() and np.isfinite(model.startprob_).all() and np.isfinite(model.transmat_).all()
    for name in ("score_samples", "predict_proba", "filter", "score_steps", "predict"):
        answer = getattr(model, name)(X)
        assert all(np.isfinite(part).all() for part in (answer if isinstance(answer, list) else [answer])), name


@pytest.mark.parametrize(("topology", "n"), [("ergodic", 1_000_000), ("cyclic", 1_000_000), ("left-right", 100_000)])
def test_a_million_steps_with_an_outlier(topology, n):
    generator = np.random.default_rng(0)
    states = np.cumsum(generator.random(n) < 0.01) % 3
    X = (generator.normal(size=n) + 4 * states)[:, None]
    X[n // 2] = 1e6
    model = GaussianHMM(3, topology=topology, random_state=0, max_iter=2, tol=1.0).fit(X)
    assert model.moments_.is_finite()
    assert np.isfinite(model.score(X)) and np.isfinite(model.predict_proba(X)).all()
    path = model.predict(X)
    assert path.min() >= 0 and path.max() <= 2


def test_memory_does_not_grow_with_length():
    generator = np.random.default_rng(0)
    model = GaussianHMM.of([0.5, 0.5], [[0.99, 0.01], [0.02, 0.98]], [[0.0], [3.0]], [[1.0], [1.0]])
    for uncut in (False, True):
        more = []
        for n in (100_000, 400_000):
            X = generator.normal(size=(n, 1))
            _, rows = model._given(X, None)
            rows.burn = None if uncut else rows.burn
            parameters = model._parameters(rows)
            rows.best(parameters)
            tracemalloc.start()
            rows.best(
                parameters
            )  # compiled loops take their memory elsewhere: some steps, and delta at the ends of blocks
            more.append((tracemalloc.get_traced_memory()[1] - ROOM_BACK) / n)
            tracemalloc.stop()
        assert max(more) < 8 + 4  # the path, and little else beside a block of states


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("algorithm", ["em", "accelerated", "online"])
def test_empty_short_and_missing_sequences(kind, algorithm):
    generator = np.random.default_rng(0)
    some = [generator.integers(0, 2, size=(n, 2)).astype(float) for n in (20, 1, 30, 2)]
    hard = [np.zeros((0, 2)), some[1], np.full((4, 2), np.nan), np.full((1, 2), np.nan)]
    model = kind(2, algorithm=algorithm, random_state=0, max_iter=5, tol=1e-2).fit([*hard, *some])
    finite(model, [*hard, *some])
    scores = model.score_samples(hard)
    assert scores[0] == 0 and np.allclose(scores[2:], 0, atol=1e-12)
    assert [len(path) for path in model.predict(hard)] == [0, 1, 4, 1]
    with pytest.raises(ValueError, match="no steps"):
        kind(2).fit([np.zeros((0, 2))])


@pytest.mark.parametrize("kind", MODELS)
def test_nothing_but_missing_cells_is_a_sentence_or_finite(kind):
    X = [np.full((5, 2), np.nan), np.full((3, 2), np.nan)]
    try:
        model = kind(2, random_state=0, max_iter=3, tol=1e-1).fit(X)
    except ValueError as error:
        assert len(str(error)) > 20
    else:
        finite(model, X)


def test_a_symbol_that_was_never_seen_counts_as_missing():
    model = CategoricalHMM(2, random_state=0, prior=0.0, max_iter=20).fit(["abab", "bbaa"])
    with pytest.warns(UserWarning, match="not seen"):
        finite(model, ["azb", "zz", "z"])


@pytest.mark.parametrize("prior", ["auto", 0.0])
def test_a_state_that_nobody_visits(prior):
    generator = np.random.default_rng(0)
    X, states = [generator.normal(size=(30, 1)) for _ in range(4)], [np.arange(30) % 2 for _ in range(4)]
    for kind, data, known in ((GaussianHMM, X, states), (CategoricalHMM, ["abab"], [[0, 1, 0, 1]])):
        model = kind(3, prior=prior, random_state=0)
        if prior == 0.0:
            with pytest.raises(ValueError, match="left the domain"):
                model.fit(data, states=known)
        else:
            finite(model.fit(data, states=known), data)
            np.testing.assert_allclose(model.transmat_.sum(axis=1), 1)


def test_a_thousand_states():
    generator = np.random.default_rng(0)
    X = generator.integers(0, 300, size=(500, 1)).astype(float)
    model = CategoricalHMM(1000, random_state=0, max_iter=1, tol=1.0).fit(X)
    assert np.isfinite(model.transmat_).all() and np.isfinite(model.score(X))
    assert model.predict(X[:50]).shape == (50,)
