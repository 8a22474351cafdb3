"""A family needs at most 90 lines, mathematics and kernels included: the exponential distribution, in a file of its own.

Checked against quadrature, scipy, enumeration and its readable twins; alone and side by side with other families.
"""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import exponential
import numpy as np
import pytest
import registry
import twins
from exponential import Exponential
from scipy import integrate, optimize, stats
from scipy.special import logsumexp

from suffice.choosing import priors
from suffice.families.categorical import Categorical
from suffice.families.gaussian_full import GaussianFull
from suffice.kernels.rows import ROWS
from suffice.learners.accelerated import AcceleratedEM
from suffice.learners.batch import Batch
from suffice.learners.driver import run
from suffice.learners.em import BatchEM, MixtureProblem
from suffice.learners.expectation import Rows
from suffice.learners.incremental import Incremental
from suffice.learners.paper import Paper
from suffice.learners.problem import Problem
from suffice.learners.quasi_newton import GroupProblem, QuasiNewton
from suffice.learners.stochastic import Stochastic
from suffice.learners.variational import VariationalEM, VariationalProblem
from suffice.losses import LOSSES, loss_named
from suffice.structures.base import Given
from suffice.structures.component_prior import ComponentPrior
from suffice.structures.joint import Joint
from suffice.structures.posterior import ConjugatePrior

K, N = 3, 90


def alone(missing: float = 0.0):
    generator = np.random.default_rng(0)
    y = np.concatenate([np.arange(K), generator.choice(K, N - K, p=[0.5, 0.3, 0.2])])
    X = generator.exponential(generator.uniform(0.3, 3.0, (K, 4))[y])
    X[generator.random(X.shape) < missing] = np.nan
    return Joint.of(Exponential(K, 4)), X, y, generator.uniform(0.5, 2.0, N)


def together(missing: float = 0.0):
    """Beside correlated numbers and categories."""
    _, X, y, weights = alone(missing)
    generator = np.random.default_rng(1)
    numbers = generator.normal(size=(N, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + 0.7 * y[:, None]
    X = np.hstack([numbers, generator.integers(0, 3, (N, 1)), X])
    families = GaussianFull.for_data(numbers, K), Categorical(K, 1, np.array([3])), Exponential(K, 4)
    return Joint.of(*families), X, y, weights


TABLES = {"alone": alone, "together": together}


@pytest.fixture(params=TABLES)
def table(request):
    return TABLES[request.param]()


def problem_of(table, loss: str) -> tuple[Problem, object]:
    model, X, y, weights = table
    start = priors.interior(model, model.statistics(X, y, weights))
    return Problem(model, X, y, weights, loss_named(loss), 2.0 * start + 4.0 * model.pooled(start)), start


def test_it_takes_at_most_ninety_lines():
    assert len(inspect.getsource(exponential).splitlines()) <= 90


# -- an exponential family ---------------------------------------------------------------------------------------------


def test_the_density_is_scipys_and_integrates_to_one():
    model, X, y, weights = alone()
    moments = model.statistics(X, y, weights)
    mean = moments.columns[0].total / moments.columns[0].weight
    own = np.array([stats.expon(scale=m).logpdf(X).sum(axis=1) for m in mean]).T
    expected = own + np.log(moments.mass / moments.mass.sum())
    np.testing.assert_allclose(model.log_joint(moments, X), expected, rtol=1e-12)
    one = Exponential(K, 1)
    column = one.statistics(X[:, :1], np.eye(K)[y])
    for k in range(K):
        density = integrate.quad(lambda x, k=k: np.exp(one.log_densities(column, np.array([[x]]))[0, k]), 0, np.inf)
        assert density[0] == pytest.approx(1.0, abs=1e-8)


def test_maps_both_ways_and_the_gradient_of_the_log_partition(table):
    model, X, y, weights = table
    moments = priors.interior(model, model.statistics(X, y, weights))
    natural = model.natural_of(moments)
    registry.assert_records_close(model.moments_of(natural), moments)
    registry.assert_records_close(
        model.natural_of(model.moments_of(natural, total=3.0)), natural, rtol=1e-8, atol=1e-10
    )
    assert model.log_partition(natural) == pytest.approx(0.0, abs=1e-9)
    family, own = model.families[-1], natural.columns[-1]
    slope = optimize.approx_fprime(own.coefficient.ravel(), lambda c: float(family.log_norm(c).sum()), 1e-7)
    means = moments.columns[-1].total / moments.columns[-1].weight
    np.testing.assert_allclose(slope.reshape(K, 4), means, rtol=1e-5)


def test_log_likelihood_of_statistics_is_the_sum_of_log_joints(table):
    model, X, y, weights = table
    moments = priors.interior(model, model.statistics(X, y, weights))
    expected = weights @ model.log_joint(moments, X)[np.arange(N), y]
    assert model.log_likelihood(model.statistics(X, y, weights), moments) == pytest.approx(expected, rel=1e-10)


def test_expectations_given_label_nothing_and_rival_equal_enumeration(table):
    model, X, y, weights = table
    moments = priors.interior(model, model.statistics(X, y, weights))
    joint = model.log_joint(moments, X)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    rival = np.array([max((k for k in range(K) if k != y[i]), key=lambda k, i=i: joint[i, k]) for i in range(N)])
    shares = {Given.LABEL: np.eye(K)[y], Given.NOTHING: posterior, Given.RIVAL: np.eye(K)[rival]}
    logs = {Given.LABEL: joint[np.arange(N), y], Given.NOTHING: logsumexp(joint, axis=1)}
    logs[Given.RIVAL] = joint[np.arange(N), rival]
    for given in Given:
        found = model.expect(moments, X, y, weights, given)
        expected = model.expected_statistics(X, weights[:, None] * shares[given])
        registry.assert_records_close(found.statistics, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.log_probability, logs[given], rtol=1e-9)
    with pytest.raises(ValueError, match="no label"):
        model.expect(moments, X, np.where(np.arange(N) == 4, -1, y), weights, Given.LABEL)


def test_samples_imputations_and_draws():
    model, X, y, weights = alone()
    moments = model.statistics(X, y, weights)
    mean = moments.columns[0].total / moments.columns[0].weight
    drawn = model.sample(moments, np.repeat(1, 20_000), np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), mean[1], rtol=5 / np.sqrt(20_000))
    holes = np.where(np.arange(4) == 2, np.nan, X[:5])
    filled, spread = model.imputed(moments, holes, np.eye(K)[[0, 1, 2, 0, 1]])
    np.testing.assert_allclose(filled[:, 2], mean[[0, 1, 2, 0, 1], 2])
    np.testing.assert_allclose(spread[:, 2], mean[[0, 1, 2, 0, 1], 2])
    assert (model.drawn(moments, holes, np.zeros(5, dtype=int), np.random.default_rng(0))[:, 2] > 0).all()


# -- kernels against twins ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_kernels_do_what_the_readable_family_says(missing):
    """Alone: correlated columns beside it would have their missing cells completed."""
    model, X, y, weights = alone(missing)
    start = priors.interior(model, model.statistics(X, y, weights))
    prior = 2.0 * start + 4.0 * model.pooled(start)
    np.testing.assert_allclose(model.scores(prior, X), model.log_joint(prior, X), rtol=1e-12)
    rows, layout = model.rows_of(X)
    kernels, generator = twins.RowKernels(model), np.random.default_rng(0)
    for i in range(30):
        state, scores, moved = model.state_of(prior), np.empty(K), np.empty(K)
        row, scratch = ROWS[layout](rows, i), kernels.scratch_for(state)
        step = generator.normal(size=K)
        step -= step.mean()
        kernels.score(state, row, scores, scratch)
        reach = kernels.reach(state, row, step, scratch)
        assert model.in_domain(prior + model.expected_statistics(X[[i]], 0.99 * reach * step[None]))
        assert not model.in_domain(prior + model.expected_statistics(X[[i]], 1.01 * reach * step[None]))
        rate, ahead, behind = 0.3 * min(1.0, reach), np.empty(K), np.empty(K)
        after = prior + model.expected_statistics(X[[i]], rate * step[None])
        kernels.curve(state, row, scores, step, rate, moved, scratch)
        np.testing.assert_allclose(moved, model.log_joint(after, X[[i]])[0], rtol=1e-10)
        only = np.eye(K)[i % K]
        kernels.curve(state, row, scores, only, 1e-5, ahead, scratch)
        kernels.curve(state, row, scores, only, -1e-5, behind, scratch)
        slope = (ahead - behind)[i % K] / 2e-5
        assert kernels.slope(state, row, i % K, scratch) == pytest.approx(slope, rel=1e-6)
        kernels.move(state, row, rate * step, scratch)
        registry.assert_records_close(model.moments_of_state(state), after, rtol=1e-10, atol=1e-10)


def test_compiled_epochs_end_where_the_readable_twin_ends(table):
    problem, start = problem_of(table, "ncll")
    problem = replace(problem, X=problem.X[:24], y=problem.y[:24], weights=problem.weights[:24])
    learner, orders = Incremental(1e-9), np.random.default_rng(0)
    state = learner.init(problem, start, np.random.default_rng(0))
    multipliers, moments = state.memory.multipliers.copy(), state.moments
    for _ in range(30):
        state = learner.step(problem, state)
        moments = twins.epoch(problem, multipliers, moments, orders.permutation(24))
    twin = problem.measure(moments, multipliers)
    assert learner.measured(problem, state).measure.objective == pytest.approx(twin.objective, rel=1e-5)
    np.testing.assert_allclose(state.memory.multipliers, multipliers, atol=2e-2)


# -- learners ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "learner", [Incremental(1e-6), Stochastic(), Batch(), Paper()], ids=lambda one: type(one).__name__
)
def test_every_learner_takes_every_loss(table, learner, loss):
    problem, start = problem_of(table, loss)
    found = run(learner, problem, start, np.random.default_rng(0), max_epochs=40, tol=1e-6)
    assert problem.model.in_domain(found.moments)
    assert found.measure.objective <= problem.measure(start).objective * (1 + 1e-12)
    if loss == "nll":
        optimum = problem.prior + problem.model.statistics(problem.X, problem.y, problem.weights)
    else:
        optimum = run(Incremental(1e-8), problem, start, np.random.default_rng(1), max_epochs=400, tol=1e-7).moments
    best = problem.measure(optimum).objective
    room = 0.05 if isinstance(learner, Paper) else 0.02  # the paper's steps are not those of a minimiser
    assert best - 1e-6 * abs(best) <= found.measure.objective <= best + room * abs(best)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gradient_in_the_chart_is_that_of_finite_differences(table, loss):
    """And the minimiser in these coordinates comes where the incremental learner comes."""
    problem, start = problem_of(table, loss)
    chart = problem.model.chart(start)
    rows = Rows(problem.model.form(problem.X), problem.weights, problem.y)
    groups = GroupProblem(rows, problem.loss, problem.prior, chart)
    vector = chart.vector(start)
    registry.assert_records_close(chart.moments(vector), start)
    value, gradient = groups.value_and_gradient(vector)
    assert value * groups.total == pytest.approx(problem.measure(start).objective, rel=1e-10)
    for direction in np.random.default_rng(0).normal(size=(3, len(vector))):
        ends = [groups.value_and_gradient(vector + sign * 1e-5 * direction)[0] for sign in (1, -1)]
        assert gradient @ direction == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-7)
    if loss == "ncll":
        found = run(QuasiNewton(1e-12), groups, start, np.random.default_rng(0), max_epochs=500)
        exact = run(Incremental(1e-8), problem, start, np.random.default_rng(0), max_epochs=400, tol=1e-7)
        assert found.measure.objective == pytest.approx(exact.measure.objective, rel=1e-4)


# -- mixtures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", TABLES)
def test_the_e_step_of_a_mixture_equals_enumeration(name, missing):
    model, X, y, weights = TABLES[name](missing)
    start = priors.interior(model, model.statistics(X, y, weights))
    form = model.form(X)
    found = Rows(form, weights, np.full(N, -1)).expected(form.coefficients(start))
    joint = model.log_joint(start, X)
    shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    assert found.log_likelihood == pytest.approx(weights @ logsumexp(joint, axis=1), rel=1e-12)
    registry.assert_records_close(
        found.statistics, model.completed_statistics(X, weights[:, None] * shares, start), rtol=1e-10, atol=1e-10
    )


def mixture_problem(name: str, missing: float):
    model, X, y, weights = TABLES[name](missing)
    statistics = model.statistics(X, y, weights)
    prior = ComponentPrior.of(model, statistics, 1.0, 1 / K)
    return MixtureProblem(Rows(model.form(X), weights, np.full(N, -1)), prior), prior.posterior(statistics), statistics


@pytest.mark.parametrize("learner", [BatchEM(), AcceleratedEM()], ids=["em", "accelerated"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", TABLES)
def test_em_never_raises_its_objective(name, missing, learner):
    problem, start, _ = mixture_problem(name, missing)
    state = learner.init(problem, start, None)
    for _ in range(30):
        before, state = state.measure.objective, learner.step(problem, state)
        assert state.measure.objective <= before + 1e-9 * abs(before)
        assert problem.model.in_domain(state.moments)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("name", TABLES)
def test_the_variational_bound_never_falls(name, missing):
    problem, _, statistics = mixture_problem(name, missing)
    prior = ConjugatePrior.of(problem.model, problem.rows.form, statistics, 1 / K)
    problem, learner = VariationalProblem(problem.rows, prior), VariationalEM()
    state = learner.init(problem, prior.posterior(statistics), None)
    for _ in range(30):
        before, state = state.measure.objective, learner.step(problem, state)
        assert state.measure.objective <= before + 1e-9 * abs(before)
    assert problem.model.in_domain(prior.mean_moments(state.moments))


def test_the_variational_bound_of_one_component_is_the_evidence():
    """log p(X) by chains of posterior predictive (Lomax) densities."""
    X = alone()[1][:12]
    model = Joint.of(Exponential(1, 4))
    statistics = model.statistics(X, np.zeros(12, dtype=np.int64), np.ones(12))
    form = model.form(X)
    prior = ConjugatePrior.of(model, form, statistics, 1.0)
    problem = VariationalProblem(Rows(form, np.ones(12), np.full(12, -1)), prior)
    state = VariationalEM().init(problem, prior.posterior(statistics), None)
    total = 0.0
    for i in range(12):
        seen = model.statistics(X[:i], np.zeros(i, dtype=np.int64), np.ones(i))
        shape, rate = (array[0] for array in prior.posterior(seen).columns[0])
        total += stats.lomax.logpdf(X[i], shape, scale=rate).sum()
    assert -state.measure.objective == pytest.approx(total, rel=1e-10)


# -- the cache ---------------------------------------------------------------------------------------------------------

SCRIPT = """
import numpy as np
from exponential import Exponential
from suffice.structures.joint import Joint, loops
X = np.arange(1.0, 13.0).reshape(4, 3)
model = Joint.of(Exponential(2, 3))
scores = model.scores(model.statistics(X, np.array([0, 1, 0, 1]), np.ones(4)), X)
print(repr(float(scores.sum())), sum(loops(model.modules, "dense")["score_rows"].stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_an_edit_of_the_file_outside_is_not_served_stale(tmp_path, monkeypatch):
    shutil.copy(Path(exponential.__file__), tmp_path)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(priors.__file__).parents[2]}")

    def scored() -> tuple[float, int]:
        value, hits = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout.split()
        return float(value), int(hits)

    first, hits = scored()
    assert hits == 0
    assert scored() == (first, 1)
    file = tmp_path / "exponential.py"
    file.write_text(
        file.read_text().replace("return -math.log(mean) - x / mean", "return 1.0 - math.log(mean) - x / mean")
    )
    edited, hits = scored()
    assert hits == 0
    assert edited == pytest.approx(first + 4 * 3 * 2)
