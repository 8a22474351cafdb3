"""Calibration: a nested logit that contains the softmax, and the search for its three numbers."""

import numpy as np
import pytest
from scipy.special import softmax

from suffice.choosing.calibration import best_rivalry, best_temperature, log_probabilities, shares
from suffice.kernels.loops.measure import tempered_loss, told_apart


def scores_of(n=400, n_classes=6, seed=0):
    return np.random.default_rng(seed).normal(scale=3.0, size=(n, n_classes))


def nested(row, rivalry):
    """The definition, class by class."""
    best = int(np.argmax(row))
    rivals = [np.exp(rivalry * (score - row[best])) for k, score in enumerate(row) if k != best]
    odds = sum(rivals) ** (1 / rivalry)
    rest = [odds / (1 + odds) * rival / sum(rivals) for rival in rivals]
    return np.array([*rest[:best], 1 / (1 + odds), *rest[best:]])


@pytest.mark.parametrize("rivalry", [1.0, 1.7, 20.0])
def test_probabilities_follow_the_definition(rivalry):
    scores = scores_of()
    ours = np.exp(log_probabilities(scores, rivalry))
    np.testing.assert_allclose(ours, [nested(row, rivalry) for row in scores], rtol=1e-10)
    np.testing.assert_allclose(ours.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(ours.argmax(axis=1), scores.argmax(axis=1))
    if rivalry == 1.0:
        np.testing.assert_allclose(ours, softmax(scores, axis=1), rtol=1e-12)


def test_two_classes_know_no_rivalry():
    scores = scores_of(n_classes=2)
    np.testing.assert_allclose(np.exp(log_probabilities(scores, 5.0)), softmax(scores, axis=1), rtol=1e-12)


def test_extreme_scores_stay_finite_or_impossible():
    scores = np.array([[0.0, -1e6, -2e6], [-np.inf, 3.0, -np.inf], [5.0, 5.0, 5.0]])
    logs = log_probabilities(scores, 3.0)
    assert not np.isnan(logs).any()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)


@pytest.mark.parametrize("rivalry", [1.0, 2.5])
def test_the_compiled_loss_is_that_of_the_probabilities(rivalry):
    scores, generator = scores_of(), np.random.default_rng(1)
    y, weights = generator.integers(6, size=len(scores)), generator.random(len(scores))
    frequency = shares(np.bincount(y, minlength=6))
    mixed = 0.9 * np.exp(log_probabilities(0.7 * scores, rivalry)) + 0.1 * frequency
    expected = -weights @ np.log(mixed[np.arange(len(y)), y])
    assert tempered_loss(told_apart(scores, y), weights, 0.7, rivalry, 0.1, frequency[y]) == pytest.approx(
        expected, rel=1e-10
    )


@pytest.mark.parametrize("y", [0, 1])
def test_the_compiled_loss_of_a_row_that_only_one_class_explains(y):
    """Other classes have the share of the background, and nothing is undefined."""
    scores, frequency = np.array([[3.0, -np.inf, -np.inf]]), np.full(3, 1 / 3)
    share = 0.9 * (y == 0) + 0.1 / 3
    found = tempered_loss(told_apart(scores, np.array([y])), np.ones(1), 0.7, 2.0, 0.1, frequency[[y]])
    assert found == pytest.approx(-np.log(share))


@pytest.mark.parametrize("rivalry", [1.0, 3.0])
def test_the_search_finds_what_labels_were_drawn_from(rivalry):
    scores, generator = scores_of(20_000), np.random.default_rng(2)
    steps = np.exp(log_probabilities(0.5 * scores, rivalry)).cumsum(axis=1)
    y = (generator.random((len(steps), 1)) > steps).sum(axis=1)
    weights = np.full(len(y), 1 / len(y))
    frequency = shares(np.bincount(y, minlength=6))
    start = best_temperature(scores, y, weights)
    temperature, found, background = best_rivalry(scores, y, weights, start, 0.0, frequency)
    assert temperature == pytest.approx(0.5, rel=0.06)
    assert found == pytest.approx(rivalry, rel=0.15)
    assert background < 0.02
