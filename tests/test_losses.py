"""Losses as signed weights: values by their formulas, weights as minus the gradient in the scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suffice.kernels.compile import has_kernel, loss_kernels
from suffice.kernels.loops.weights import weigh_rows
from suffice.learners.step_sizes import Constant, InverseTime, Power, step_size_of
from suffice.losses import LOSSES, best_rivals, loss_named

SCORES = arrays(float, (6, 4), elements=st.floats(-30, 30))
LABELS = arrays(np.int64, 6, elements=st.integers(-1, 3))


def formula(name: str, scores: np.ndarray, label: int, margin: float = 1.0) -> float:
    if label < 0:
        return -np.log(np.exp(scores).sum())
    rival = max(score for k, score in enumerate(scores) if k != label)
    return {
        "nll": -scores[label],
        "ncll": np.log(np.exp(scores).sum()) - scores[label],
        "hinge": max(0.0, margin - scores[label] + rival),
    }[name]


@pytest.mark.parametrize("name", LOSSES)
@given(scores=SCORES, y=LABELS)
def test_values_are_the_formulas(name, scores, y):
    expected = [formula(name, row, label) for row, label in zip(scores, y, strict=True)]
    np.testing.assert_allclose(loss_named(name).values(scores, y), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
@given(scores=SCORES, y=LABELS)
def test_weights_add_up_to_the_pull(name, scores, y):
    """sum_k w_k = pull of the row: 1 where a likelihood is fitted, 0 where classes are told apart."""
    weights = loss_named(name).weights(scores, y)
    expected = np.where((y < 0) | (name == "nll"), 1.0, 0.0)
    np.testing.assert_allclose(weights.sum(axis=1), expected, atol=1e-12)
    assert loss_named(name).pull(y, np.ones(6)) == expected.sum()


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("margin", [0.5, 1.0, 3.0])
def test_weights_are_minus_the_gradient_in_the_scores(name, margin):
    generator = np.random.default_rng(0)
    scores, y = generator.normal(0, 2, (50, 4)), generator.integers(-1, 4, 50)
    loss = loss_named(name, margin=margin)
    gradient = np.empty_like(scores)
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-6
        gradient[:, k] = (loss.values(scores + step, y) - loss.values(scores - step, y)) / 2e-6
    np.testing.assert_allclose(loss.weights(scores, y), -gradient, atol=1e-7)


def test_scaled_hinge_multiplies_by_the_probabilities():
    """Algorithms 4 and 7 of Masegosa (2014): (1 - p(y)) up, p(rival) down, where the margin is not met."""
    generator = np.random.default_rng(1)
    scores, y = generator.normal(0, 2, (40, 3)), generator.integers(0, 3, 40)
    plain, scaled = loss_named("hinge").weights(scores, y), loss_named("hinge").as_printed().weights(scores, y)
    posterior = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = np.where(plain > 0, 1 - posterior, np.where(plain < 0, -posterior, 0.0))
    np.testing.assert_allclose(scaled, expected, atol=1e-12)
    assert (plain != 0).any(axis=1).sum() > 5
    assert (plain == 0).all(axis=1).any()


KERNELS = [*map(loss_named, LOSSES), loss_named("hinge", margin=2.0), loss_named("hinge").as_printed()]


@pytest.mark.parametrize("loss", KERNELS, ids=str)
def test_every_kernel_of_weights_is_its_twin(loss):
    generator = np.random.default_rng(2)
    scores, y, rows = generator.normal(0, 2, (60, 4)), generator.integers(-1, 4, 60), generator.uniform(0.5, 2, 60)
    found = np.empty_like(scores)
    weigh_rows.of(loss.kernels)(scores, y, rows, loss.settings, found)
    np.testing.assert_allclose(found, rows[:, None] * loss.weights(scores, y), atol=1e-12)
    kernels, weights, scratch = loss_kernels(loss.kernels)[1], np.empty(4), np.empty(4)
    for row, label in zip(scores, y, strict=True):
        if label < 0:
            continue
        expected = loss.weights(row[None], np.array([label]))[0]
        value = loss.values(row[None], np.array([label]))[0]
        norm = np.log(np.exp(row).sum())
        assert kernels["weigh"](row, label, loss.settings, weights) == pytest.approx(value)
        assert kernels["value"](row, norm, label, loss.settings, scratch) == pytest.approx(value)
        factor = kernels["weigh_largest"](row, label, loss.settings, 1e-6, weights)
        kept = np.where(np.abs(expected) > 1e-6, expected, 0.0)
        if factor > 0:  # the label takes what the others have, those left out as well
            np.testing.assert_allclose(weights / factor, kept, atol=4e-6)
        else:
            assert np.abs(np.delete(expected, label)).sum() <= 1e-6


@pytest.mark.parametrize("loss", KERNELS, ids=str)
def test_a_loss_says_whether_its_kernels_have_a_dual(loss):
    assert loss.has_dual == has_kernel(loss.kernels, "select") == has_kernel(loss.kernels, "rise")


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_over_groups_is_that_of_their_sums(name):
    """Outcomes in pairs: values of the groups; weights are still minus the gradient."""
    generator = np.random.default_rng(3)
    scores, y = generator.normal(0, 2, (40, 6)), generator.integers(-1, 3, 40)
    grouped, gradient = loss_named(name, width=2), np.empty_like(scores)
    sums = np.log(np.exp(scores[:, 0::2]) + np.exp(scores[:, 1::2]))
    np.testing.assert_allclose(grouped.values(scores, y), loss_named(name).values(sums, y), rtol=1e-9)
    for k in range(6):
        step = 1e-6 * (np.arange(6) == k)
        gradient[:, k] = (grouped.values(scores + step, y) - grouped.values(scores - step, y)) / 2e-6
    np.testing.assert_allclose(grouped.weights(scores, y), -gradient, atol=1e-6)


@given(scores=SCORES, y=arrays(np.int64, 6, elements=st.integers(0, 3)))
def test_best_rivals_by_enumeration(scores, y):
    rivals, values = best_rivals(scores, y)
    for row, label, rival, value in zip(scores, y, rivals, values, strict=True):
        assert rival != label
        assert value == max(row[k] for k in range(4) if k != label) == row[rival]


def test_losses_do_not_change_their_input():
    scores, y = np.random.default_rng(0).normal(size=(5, 3)), np.array([0, 1, 2, -1, 0])
    kept = scores.copy()
    for name in LOSSES:
        loss_named(name).values(scores, y)
        loss_named(name).weights(scores, y)
    np.testing.assert_array_equal(scores, kept)


def test_large_scores_stay_finite():
    scores, y = np.array([[1e6, -1e6], [-1e6, 1e6]]), np.array([0, 0])
    for name in LOSSES:
        assert np.isfinite(loss_named(name).values(scores, y)).all()
        assert np.isfinite(loss_named(name).weights(scores, y)).all()


def test_an_unknown_loss_is_named():
    with pytest.raises(ValueError, match="loss='ncl' is not one of 'nll', 'ncll', 'hinge'"):
        loss_named("ncl")


@pytest.mark.parametrize("schedule", [InverseTime(), InverseTime(0.01), Power(), Power(1.0, 10.0), Constant()])
def test_step_sizes_come_in_pieces(schedule):
    np.testing.assert_array_equal(np.concatenate([schedule.rates(0, 5), schedule.rates(5, 7)]), schedule.rates(0, 12))
    assert (schedule.rates(0, 100) > 0).all()
    assert (schedule.rates(0, 100) <= 1).all()


def test_step_size_formulas():
    t = np.arange(10)
    np.testing.assert_allclose(InverseTime(0.5).rates(0, 10), 1 / (1 + 0.5 * t))
    np.testing.assert_allclose(Power(0.7, 3.0).rates(0, 10), (t + 3.0) ** -0.7)
    np.testing.assert_allclose(Constant(0.2).rates(0, 10), 0.2)


@pytest.mark.parametrize("value", ["fast", 0, -1.0, np.inf, np.nan, True, [0.1]])
def test_a_wrong_step_size_is_named(value):
    with pytest.raises(ValueError, match="step_size="):
        step_size_of(value)


@pytest.mark.parametrize("value", [None, 1, 0.1, np.float32(2.0), InverseTime()])
def test_step_sizes_that_are_taken(value):
    step_size_of(value)
