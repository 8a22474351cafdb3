"""Mixtures as emissions and ties: equal to the enumeration of (state, component) paths, and EM climbs at every step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chain_oracle import enumerated
from test_hmm_em import KINDS, problem_of

import suffice
from suffice.hmm import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM
from suffice.learners.accelerated import AcceleratedEM
from suffice.learners.chain_em import ChainProblem, start_statistics
from suffice.learners.chain_steps import ChainSteps
from suffice.learners.em import BatchEM
from suffice.structures.chain import Chain, ChainPrior
from suffice.structures.joint import Joint

S = 3
SHAPES = {"mixtures": (2, None, None), "shared": (1, [0, 0, 1], None), "both": (2, [0, 1, 0], [0, 0, 1])}


def problem(kind, shape, lengths=(5, 4, 0, 5, 1), missing=False, topology="ergodic"):
    """(problem, moments) of a chain with so many components, ties of emissions and of rows."""
    plain, _ = problem_of(kind, topology, lengths, missing, has_end=True)
    M, emission_of, row_ties = SHAPES[shape]
    n = M * (S if emission_of is None else max(emission_of) + 1)
    emissions = Joint.of(*(replace(family, n_outcomes=n) for family in plain.model.emissions.families))
    as_array = [None if given is None else np.array(given) for given in (emission_of, row_ties)]
    chain = Chain(emissions, plain.model.start_cells, plain.model.cells, True, M, *as_array)
    rows = ChainSteps(chain, emissions.form(plain.rows.form.X), plain.rows.offsets, plain.rows.weights)
    statistics = start_statistics(rows, "random", np.random.default_rng(0))
    prior = ChainPrior.of(chain, statistics, 3.0 if kind == "full" else 1.0)
    return ChainProblem(rows, prior), prior.posterior(statistics)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_expectations_equal_enumeration_over_states_and_components(kind, shape, missing):
    found, moments = problem(kind, shape, missing=missing)
    rows, chain = found.rows, found.model
    M, groups = chain.n_mixtures, chain.groups.argmax(axis=1)
    expected = found.expected(moments)
    emissions, mass = chain.emissions, moments.emissions.mass.reshape(-1, M)
    weights = (mass / mass.sum(axis=1, keepdims=True)).reshape(-1)
    densities = emissions.log_joint(moments.emissions, rows.form.X) - emissions.log_masses(moments.emissions)
    # a state of the enumeration is a pair (state, component)
    outcome = np.array([groups[j] * M + m for j in range(S) for m in range(M)])
    state = np.repeat(np.arange(S), M)
    start, A, end = chain.start_of(moments)[state], chain.transitions_of(moments), chain.end_of(moments)[state]
    wide = A[np.ix_(state, state)] * weights[outcome][None]
    total, shares, pairs = 0.0, np.zeros((len(densities), emissions.n_outcomes)), np.zeros((S, S))
    for k, weight in enumerate(rows.weights):
        own = slice(rows.offsets[k], rows.offsets[k + 1])
        loglik, gamma, xi, *_ = enumerated(densities[own][:, outcome], start * weights[outcome], wide, end)
        total += weight * loglik
        np.add.at(shares[own].T, outcome, weight * gamma.T)
        np.add.at(pairs, (state[:, None], state[None]), weight * xi)
    np.testing.assert_allclose(expected.log_likelihood, total, rtol=1e-10)
    np.testing.assert_allclose(expected.statistics.transitions, pairs, atol=1e-10)
    np.testing.assert_allclose(expected.statistics.emissions.mass, shares.sum(axis=0), atol=1e-10)
    wanted = emissions.completed_statistics(rows.form.X, shares, moments.emissions)
    for one, other in zip(expected.statistics.emissions.arrays(), wanted.arrays(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8, rtol=1e-10)


@pytest.mark.parametrize("learner", [BatchEM(), AcceleratedEM()], ids=["em", "accelerated"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_step_raises_the_objective_and_ties_hold(kind, shape, learner):
    found, start = problem(kind, shape, (30, 10, 0, 40, 1))
    state = learner.init(found, start, np.random.default_rng(0))
    objectives = [state.measure.objective]
    for _ in range(15):
        state = learner.step(found, state)
        objectives.append(found.measure(state.moments).objective)
    assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1]) + 1e-9).all(), np.diff(objectives).max()
    if found.model.row_ties is not None:
        A = found.model.transitions_of(state.moments)
        np.testing.assert_allclose(A[0], A[1], rtol=1e-9)
        assert np.abs(A[0] - A[2]).max() > 1e-6


def test_a_planted_mixture_is_found_and_kept(tmp_path):
    generator = np.random.default_rng(0)
    states = [np.cumsum(generator.random(80) < 0.1) % 2 for _ in range(30)]
    X = [
        (np.where(z == 0, generator.choice([-4.0, 4.0], 80), 0.0) + 0.5 * generator.normal(size=80))[:, None]
        for z in states
    ]
    one = GaussianHMM(2, random_state=0, n_init=2).fit(X)
    model = GaussianHMM(2, n_mixtures=2, random_state=0, n_init=5).fit(X)
    assert model.means_.shape == (2, 2, 1) and model.weights_.shape == (2, 2)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    assert model.score(X) > one.score(X) + 100 and model.bic(X) < one.bic(X)
    path = np.concatenate(model.predict(X))
    agree = (path == np.concatenate(states)).mean()
    assert max(agree, 1 - agree) > 0.95
    suffice.save(model, tmp_path / "m.suffice")
    loaded = suffice.load(tmp_path / "m.suffice")
    np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))
    drawn, _ = loaded.sample(2000, random_state=0)
    assert abs(drawn.std() - np.concatenate(X).std()) < 0.4
    holes = [x.copy() for x in X]
    holes[0][5] = np.nan
    assert np.isfinite(model.impute(holes)[0]).all() and model.forecast(X, 2).shape == (30, 2, 1)


@pytest.mark.parametrize("kind", [GaussianHMM, CategoricalHMM, PoissonHMM, BernoulliHMM, MixedHMM])
def test_every_class_takes_mixtures_and_ties(kind):
    X = [np.random.default_rng(k).integers(0, 2, size=(30, 2)).astype(float) for k in range(4)]
    for algorithm in ("em", "accelerated", "online"):
        model = kind(3, n_mixtures=2, ties={"emissions": ["a", "b", "a"], "transitions": [0, 1, 1]}, max_iter=4, tol=1e-2,
                     algorithm=algorithm, random_state=0).fit(X)  # fmt: skip
        assert np.isfinite(model.score(X)) and np.isfinite(model.aic(X)) and model.moments_.is_finite()
        np.testing.assert_allclose(model.transmat_[1], model.transmat_[2], rtol=1e-9)
        assert model.moments_.emissions.mass.shape == (4,) and model.predict(X)[0].max() <= 2
        assert np.isfinite(model.partial_fit(X).score(X)) and model.sample(5, random_state=0)[0].shape == (5, 2)


@pytest.mark.parametrize(
    ("ties", "message"),
    [
        ({"rows": [0, 1]}, "the key 'rows'"),
        ({"emissions": [0]}, "each of the 2 states"),
        ({"transitions": [0, 0]}, "other places"),
    ],
)
def test_wrong_ties_are_told(ties, message):
    with pytest.raises(ValueError, match=message):
        GaussianHMM(2, ties=ties, topology="left-right").fit(np.zeros((5, 1)))
    with pytest.raises(ValueError, match="neither n_mixtures nor ties"):
        GaussianHMM(2, n_mixtures=2, algorithm="variational").fit(np.zeros((5, 1)))
