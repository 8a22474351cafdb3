"""Theorem 2 (Masegosa 2014): the update is the natural gradient.

For every family and loss, `direction` = -(inverse Fisher matrix in mu) (gradient of F in mu), both by differences
in minimal coordinates. The Fisher matrix in mu is d theta / d mu.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import registry
from charts import Chart, jacobian

from suffice.structures.words import Words

LOSSES = ("nll", "ncll", "hinge")
STEP = 1e-4  # of the entry; differences are of sixth order


def objective(problem, moments) -> float:
    values = problem.loss.values(problem.model.log_joint(moments, problem.X), problem.y)
    return float(problem.weights @ values) - problem.model.log_likelihood(problem.prior, moments)


def direction(problem, moments):
    weights = problem.weights[:, None] * problem.loss.weights(problem.model.log_joint(moments, problem.X), problem.y)
    statistics = problem.model.expected_statistics(problem.X, weights)
    return problem.model.direction(statistics, problem.prior, moments, problem.loss.pull(problem.y, problem.weights))


def natural_gradient(problem, moments) -> np.ndarray:
    chart = Chart(problem.model)
    point = chart.point(moments)
    fisher = jacobian(lambda p: chart.dual(chart.moments(p)), point, STEP)
    gradient = jacobian(lambda p: objective(problem, chart.moments(p)), point, STEP)[0]
    return np.linalg.solve(fisher, gradient)


def blockwise(model, moments, step):
    """A multinomial step in (mass, q): its blocks hold words and not examples, so the part along q is left out."""
    if not isinstance(model, Words):
        return Chart(model).point(step)
    count, change = model.counts_of(moments), model.counts_of(step)
    weight = count.sum(axis=0)
    change = (change - count / weight * change.sum(axis=0)) / weight
    return np.concatenate([step.mass[:-1], change.ravel()])


def away_from_kinks(problem, moments):
    """The hinge has no gradient where the margin is met exactly or two rivals are level: such rows are left out."""
    if problem.loss.name != "hinge":
        return problem
    scores = problem.model.log_joint(moments, problem.X)
    own = scores[np.arange(len(scores)), problem.y]
    rivals = scores.copy()
    rivals[np.arange(len(scores)), problem.y] = -np.inf
    rivals.sort(axis=1)
    smooth = (np.abs(problem.loss.margin - own + rivals[:, -1]) > 0.02) & (rivals[:, -1] - rivals[:, -2] > 0.02)
    smooth |= problem.y < 0
    assert smooth.mean() > 0.5
    return replace(problem, weights=problem.weights * smooth)


def check(problem, moments):
    problem = away_from_kinks(problem, moments)
    model = problem.model
    chart = Chart(model)
    expected = -natural_gradient(problem, moments)
    if isinstance(model, Words):  # the tangent vector of the chart as a record: linear, so differences are exact
        point = chart.point(moments)
        expected = blockwise(model, moments, chart.moments(point + expected) - chart.moments(point))
    found = blockwise(model, moments, direction(problem, moments))
    assert np.linalg.norm(found - expected) <= 1e-5 * np.linalg.norm(expected)


def test_chart_is_a_chart(case):
    chart = Chart(case.model)
    registry.assert_records_close(chart.moments(chart.point(case.moments)), case.moments)


def test_fisher_matrix_is_symmetric_and_positive(case):
    chart = Chart(case.model)
    fisher = jacobian(lambda p: chart.dual(chart.moments(p)), chart.point(case.moments), STEP)
    scale = np.sqrt(np.outer(np.diag(fisher), np.diag(fisher)))
    np.testing.assert_allclose(fisher / scale, fisher.T / scale, atol=1e-6)
    assert (np.linalg.eigvalsh((fisher + fisher.T) / scale) > 0).all()


def test_negative_entropy_has_the_natural_parameters_as_gradient(case):
    chart = Chart(case.model)
    gradient = jacobian(lambda p: -case.model.entropy(chart.moments(p)), chart.point(case.moments), STEP)[0]
    np.testing.assert_allclose(gradient, chart.dual(case.moments), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_update_is_the_natural_gradient(case, loss):
    check(case.problem(loss), case.moments)


@pytest.mark.parametrize("loss", LOSSES)
def test_update_is_the_natural_gradient_away_from_maximum_likelihood(case, loss):
    other = case.model.expected_statistics(
        case.X, np.random.default_rng(5).dirichlet(np.ones(registry.N_OUTCOMES), registry.N_ROWS)
    )
    mixed = other + case.prior
    mixed = mixed * (1.0 / mixed.mass.sum())
    check(case.problem(loss), mixed)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_without_a_label_take_the_marginal_likelihood(case, loss):
    y = np.where(np.arange(len(case.y)) % 4 == 0, -1, case.y)
    check(case.problem(loss, y=y), case.moments)


@pytest.mark.parametrize("loss", LOSSES)
def test_pseudo_counts_of_blocks_may_differ_from_the_masses(case, loss):
    """Scikit-learn's smoothing gives the blocks pseudo-counts and the outcomes none."""
    prior = case.prior + case.model.pseudo_counts(case.statistics, 2.5)
    check(case.problem(loss, prior=prior), case.moments)


@pytest.mark.parametrize("name", registry.WITH_MISSING)
@pytest.mark.parametrize("loss", LOSSES)
def test_missing_cells_are_latent(name, loss):
    case = registry.cases()[name]
    X = case.X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    problem = case.problem(loss)
    check(replace(problem, X=X), case.moments)
