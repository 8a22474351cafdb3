"""The E-step of a chain equals enumeration for every family; EM never lowers its objective at any step."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from chain_oracle import enumerated

from suffice.engines.threads import Engine
from suffice.families.bernoulli import Bernoulli
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_spherical import GaussianSpherical
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.poisson import Poisson
from suffice.learners.accelerated import AcceleratedEM
from suffice.learners.chain_em import ChainProblem, start_statistics
from suffice.learners.chain_steps import ChainSteps
from suffice.learners.em import BatchEM
from suffice.structures.chain import Chain, ChainPrior, topology_cells
from suffice.structures.joint import Joint

S = 3


def numbers(generator, n):
    return generator.normal(size=(n, 2)) + 3 * generator.integers(0, 3, size=(n, 1))


def rows_of(kind, generator, n, missing=False):
    """(joint, rows)."""
    gaussians = {"diag": GaussianDiagonal, "full": GaussianFull, "tied": GaussianTied, "spherical": GaussianSpherical}
    if kind in gaussians:
        X = numbers(generator, n)
    elif kind == "categorical":
        X = generator.integers(0, [4, 3], size=(n, 2)).astype(float)
    elif kind == "bernoulli":
        X = generator.integers(0, 2, size=(n, 2)).astype(float)
    elif kind == "poisson":
        X = generator.poisson(3, size=(n, 2)).astype(float)
    else:
        X = np.hstack([numbers(generator, n)[:, :1], generator.integers(0, 3, (n, 1)), generator.poisson(2, (n, 1))])
    if missing:
        X[generator.random(X.shape) < 0.2] = np.nan
        X[n // 2] = np.nan
    if kind in gaussians:
        return Joint.of(gaussians[kind].for_data(X, S)), X
    if kind == "categorical":
        return Joint.of(Categorical(S, 2, np.array([4, 3]))), X
    if kind == "bernoulli":
        return Joint.of(Bernoulli.for_data(X, S)), X
    if kind == "poisson":
        return Joint.of(Poisson.for_data(X, S)), X
    one = GaussianDiagonal.for_data(X[:, :1], S), Categorical(S, 1, np.array([3])), Poisson(S, 1)
    return Joint.of(*one), X


KINDS = ("diag", "full", "tied", "spherical", "categorical", "bernoulli", "poisson", "mixed")
TOPOLOGIES = ("ergodic", "left-right", ("left-right", 1), "cyclic")


def problem_of(
    kind, topology="ergodic", lengths=(5, 4, 0, 6, 1, 5), missing=False, seed=0, has_end=False, amount=1.0, n_jobs=1
):
    generator = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    joint, X = rows_of(kind, generator, offsets[-1], missing)
    chain = Chain(joint, *topology_cells(topology, S), has_end)
    weights = generator.integers(1, 3, size=len(lengths)).astype(float)
    rows = ChainSteps(chain, joint.form(X), offsets, weights, engine=Engine(n_jobs))
    how = "parts" if "left" in str(topology) else "random"
    statistics = start_statistics(rows, how, generator)
    prior = ChainPrior.of(chain, statistics, amount * (3.0 if kind == "full" else 1.0))
    return ChainProblem(rows, prior), prior.posterior(statistics)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_expectations_equal_enumeration(kind, topology, missing):
    problem, moments = problem_of(kind, topology, missing=missing, has_end=topology == "cyclic")
    rows, chain = problem.rows, problem.model
    found = problem.expected(moments)
    start, A, end = chain.start_of(moments), chain.transitions_of(moments), chain.end_of(moments)
    emissions = chain.emissions
    scores = emissions.log_joint(moments.emissions, rows.form.X) - emissions.log_masses(moments.emissions)
    total, shares = 0.0, np.zeros(scores.shape)
    begun, pairs = np.zeros(S), np.zeros((S, S))
    for k, weight in enumerate(rows.weights):
        own = slice(rows.offsets[k], rows.offsets[k + 1])
        loglik, gamma, xi, _, _, _ = enumerated(scores[own], start, A, end)
        total, pairs = total + weight * loglik, pairs + weight * xi
        shares[own] = weight * gamma
        begun += weight * gamma[0] if len(gamma) else 0.0
    np.testing.assert_allclose(found.log_likelihood, total, rtol=1e-10)
    np.testing.assert_allclose(found.statistics.start, begun, atol=1e-10)
    np.testing.assert_allclose(found.statistics.transitions, pairs, atol=1e-10)
    wanted = emissions.completed_statistics(rows.form.X, shares, moments.emissions)
    for one, other in zip(found.statistics.emissions.arrays(), wanted.arrays(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8, rtol=1e-10)


@pytest.mark.parametrize("learner", [BatchEM(), AcceleratedEM()], ids=["em", "accelerated"])
@pytest.mark.parametrize("topology", TOPOLOGIES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_no_step_of_em_raises_the_objective(kind, topology, learner):
    lengths = (30, 10, 0, 45, 1, 20)
    for missing in (False, True):
        problem, start = problem_of(kind, topology, lengths, missing, seed=1, has_end=topology == "left-right")
        problem.reseeds = False
        state = learner.init(problem, start, np.random.default_rng(0))
        objectives = [state.measure.objective]
        for _ in range(25):
            state = learner.step(problem, state)
            objectives.append(problem.measure(state.moments).objective)
        assert np.isfinite(objectives).all()
        assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1]) + 1e-9).all(), np.diff(objectives).max()


def test_threads_do_not_change_a_bit():
    lengths = np.random.default_rng(0).integers(0, 900, size=300)
    found = []
    for n_jobs in (1, 2, 3):
        problem, start = problem_of("diag", lengths=lengths, n_jobs=n_jobs)
        assert len(problem.rows.plan()) > 2
        expected = problem.expected(start)
        found.append((expected.log_likelihood, expected.statistics.flat()))
    for other in found[1:]:
        assert other[0] == found[0][0]
        np.testing.assert_array_equal(other[1], found[0][1])


def test_fixed_cells_stay_and_free_ones_share_the_rest():
    problem, start = problem_of("diag", lengths=(40, 40))
    cells = np.array([[0.5, 0.0, np.nan], [np.nan, np.nan, np.nan], [0.25, np.nan, np.nan]])
    chain = Chain(problem.model.emissions, np.array([1.0, 0.0, 0.0]), cells)
    rows = ChainSteps(chain, problem.rows.form, problem.rows.offsets, problem.rows.weights)
    fixed = ChainProblem(rows, ChainPrior.of(chain, start, 1.0), reseeds=False)
    state = BatchEM().init(fixed, start, None)
    objectives = [state.measure.objective]
    for _ in range(10):
        state = BatchEM().step(fixed, state)
        objectives.append(state.measure.objective)
    A = chain.transitions_of(state.moments)
    assert (A[[0, 0, 2], [0, 1, 0]] == [0.5, 0.0, 0.25]).all()
    np.testing.assert_allclose(A.sum(axis=1), 1.0)
    np.testing.assert_array_equal(chain.start_of(state.moments), [1, 0, 0])
    assert (np.diff(objectives) <= 1e-9).all()


def test_a_state_that_nobody_visits_begins_anew():
    problem, start = problem_of("diag", lengths=(200,))
    statistics = start
    emptied = statistics.emissions.columns[0]
    far = type(emptied)(*(array.copy() for array in emptied.arrays()))
    far.first[0] += 1e4 * far.weight[0]
    far.second[0] += 1e8 * far.weight[0] + 2e4 * emptied.first[0]
    moments = type(start)(
        start.start, start.transitions, start.end, type(start.emissions)(start.emissions.mass, (far,))
    )
    state = BatchEM().init(problem, moments, None)
    assert state.memory.expected.statistics.mass[0] < 0.5
    state = BatchEM().step(problem, state)
    assert state.memory.reseeded == (0,) and state.memory.expected.statistics.mass[0] > 0.5


def test_a_chain_that_does_not_forget_is_run_uncut():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem, start = problem_of("categorical", lengths=(40_000,))
        A = np.roll(np.eye(S), 1, axis=1)
        chain = Chain(problem.model.emissions, np.full(S, np.nan), A)
        rows = ChainSteps(chain, problem.rows.form, problem.rows.offsets, problem.rows.weights)
        found = rows.expected(chain.parameters(rows.form, start))
    assert len(rows.plan()[0].base) == 1 and np.isfinite(found.log_likelihood)
    scores = rows.scores(chain.parameters(rows.form, start), slice(0, 40_000))
    paths = [scores[np.arange(40_000), (np.arange(40_000) + first) % S].sum() for first in range(S)]
    wanted = np.logaddexp.reduce(np.array(paths) + np.log(chain.start_of(start)))
    np.testing.assert_allclose(found.log_likelihood, rows.weights[0] * wanted, rtol=1e-10)


def test_a_random_start_of_many_steps_is_not_one_where_all_states_are_alike():
    problem, _ = problem_of("categorical", lengths=(2000,) * 10)
    statistics = start_statistics(problem.rows, "random", np.random.default_rng(0))
    counts = statistics.emissions.columns[0].count[:4]
    assert np.abs(counts / counts.sum(axis=0) - 0.25).max() > 0.05
