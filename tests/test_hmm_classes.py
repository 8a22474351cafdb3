"""Chains of classes: scores by enumeration, gradients by finite differences, EM that never gets worse, steps that stay inside."""

from __future__ import annotations

import numpy as np
import pytest
from chain_class_cases import KINDS, SHAPES, case, fitted
from chain_oracle import enumerated
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.choosing.folds import deal_whole
from suffice.learners.chain_classes import ClassProblem
from suffice.learners.chain_stream import at_masses, moved_rows, step_of
from suffice.learners.driver import run
from suffice.learners.em import BatchEM
from suffice.learners.quasi_newton import GroupProblem
from suffice.losses import loss_named
from suffice.structures.chain import shares, topology_cells

LOSSES = ("nll", "ncll", "hinge")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_all_paths(kind, shape):
    rows = case(kind, shape)
    moments, _, _ = fitted(rows)
    parameters = rows.model.parameters(rows.form, moments)
    scores = rows.scores(parameters)
    for c, own in enumerate(parameters.chains):
        for i in range(len(rows.X)):
            part = slice(int(rows.X.offsets[i]), int(rows.X.offsets[i + 1]))
            logs = rows.form.all_scores(own.coefficients, part)
            exact = enumerated(logs, own.start, own.A, own.end)[0] + parameters.log_shares[c]
            assert scores[i, c] == pytest.approx(exact, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_finite_differences(kind, loss):
    """Of the loss and the prior, in the coordinates that are minimised in; with missing cells and sequences without a label."""
    for number, shape in enumerate(SHAPES):
        rows = case(kind, shape, seed=number, n_classes=3)
        moments, statistics, _ = fitted(rows)
        goal = GroupProblem(
            rows, loss_named(loss), rows.model.pooled_prior(statistics, 0.7, 0.1), rows.model.chart(moments)
        )
        generator = np.random.default_rng(number)
        vector = goal.coordinates.vector(moments)
        vector = vector + 0.1 * generator.normal(size=vector.shape)
        _, gradient = goal.value_and_gradient(vector)
        for _ in range(3):
            way = generator.normal(size=vector.shape)
            step = 1e-5
            up, down = goal.value_and_gradient(vector + step * way)[0], goal.value_and_gradient(vector - step * way)[0]
            assert (up - down) / (2 * step) == pytest.approx(gradient @ way, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_em_over_all_classes_never_gets_worse(kind, shape):
    rows = case(kind, shape, n=14)
    moments, _, prior = fitted(rows, passes=1)
    fit = run(BatchEM(), ClassProblem(rows, prior), moments, np.random.default_rng(0), max_epochs=12, tol=0.0)
    path = [fit.first.objective, *fit.history["objective"]]
    assert np.diff(path).max() <= 1e-9 * abs(path[0])


def test_signed_statistics_are_the_difference_of_expectations():
    rows = case("diag", SHAPES[0], missing=0.0)
    moments, _, _ = fitted(rows)
    own = rows.model.parameters(rows.form, moments).chains[0]
    weights = np.random.default_rng(0).normal(size=len(rows.X))
    whole = rows.signed(own, weights)
    parts = [rows.some(np.array([i]), np.ones(1)).expected(own).statistics for i in range(len(rows.X))]
    exact = sum((float(w) * part for w, part in zip(weights[1:], parts[1:], strict=True)), float(weights[0]) * parts[0])
    for found, wanted in zip(whole.arrays(), exact.arrays(), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("loss", ("ncll", "hinge"))
@pytest.mark.parametrize("kind", KINDS)
def test_small_steps_of_sdem_lower_the_loss_and_large_ones_stay_inside(kind, loss):
    rows = case(kind, SHAPES[2], n=30, seed=3)
    moments, statistics, _ = fitted(rows)
    mean = (1.0 / float(rows.weights.sum())) * statistics
    prior = 0.0 * rows.model.pooled_prior(statistics, 0.0, 0.0)
    start = at_masses(rows.model, moments, mean)
    form, own_loss = rows.form, loss_named(loss)
    first, _ = rows.loss(rows.model.parameters(form, start), own_loss)
    small, _ = step_of(rows.model, rows, own_loss, start, prior, mean, 1e-3)
    assert rows.loss(rows.model.parameters(form, small), own_loss)[0] < first
    large = start
    for _ in range(5):
        large, _ = step_of(rows.model, rows, own_loss, large, prior, mean, 1e3)
        assert rows.model.in_domain(large) and large.is_finite()


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.sampled_from(["ergodic", "left-right", "cyclic"]), st.integers(0, 2**32 - 1))
def test_moved_rows_stay_probabilities(n_states, topology, seed):
    """Rows add up to one, forbidden cells stay so, and nothing loses more than half."""
    generator = np.random.default_rng(seed)
    _, cells = topology_cells(topology, n_states)
    counts = generator.gamma(0.5, size=cells.shape) + 1e-12
    before = shares(counts, cells)
    towards = generator.normal(size=cells.shape) * 10.0 ** generator.integers(-3, 4)
    after, _ = moved_rows(counts, cells, towards, generator.gamma(1.0, size=n_states), 1.0)
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    assert (after >= 0.5 * before - 1e-15).all() and (after[cells == 0] == 0).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.integers(1, 4))
def test_whole_groups_are_dealt(seed, n_groups, n_classes):
    generator = np.random.default_rng(seed)
    groups = generator.integers(n_groups, size=200)
    y, rows = generator.integers(n_classes, size=200), generator.permutation(200)[:150]
    dealt = deal_whole(y, rows, groups, generator, 4)
    assert sorted(dealt.rows) == sorted(rows)
    for group in np.unique(groups[rows]):
        assert len(np.unique(dealt.part[groups[dealt.rows] == group])) == 1
    present = len(np.unique(groups[rows]))
    assert len(np.unique(dealt.part)) == min(4, present)
