"""The margin of taggers: the best wrong path by enumeration, the gradient by finite differences, and the dual learner."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from tagger_cases import LENGTHS, cell_scores, joint, path_scores, rows_and_tags, some_weights

from suffice.engines.threads import Engine
from suffice.learners.driver import run
from suffice.learners.tag_data import TagData
from suffice.learners.tag_margin import MarginDual, MarginProblem
from suffice.learners.tag_problem import unflattened
from suffice.structures.tag_weights import Tagging

WEIGHTS = np.array([1.0, 2.0, 1.0, 0.5, 1.0])
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])


def problem_of(strength: float = 1.0, size: float = 0.0, seed: int = 0) -> MarginProblem:
    rows, tags = rows_and_tags(seed)
    tagging = Tagging.of(joint(), rows, np.ones(len(rows)))
    data = TagData(tagging, rows, OFFSETS, WEIGHTS, tags, Engine())
    return MarginProblem(data, some_weights(tagging, seed=7, size=size), strength)


def enumerated_losses(problem: MarginProblem, weights) -> np.ndarray:
    """max(0, 1 + best wrong path - right path) of every sequence."""
    data = problem.data
    scores, found = cell_scores(data.tagging, weights, data.rows), np.zeros(len(LENGTHS))
    for i, length in enumerate(LENGTHS):
        own = slice(OFFSETS[i], OFFSETS[i + 1])
        if length:
            paths, values = path_scores(weights, scores[own])
            is_right = (paths == data.labels[own]).all(axis=1)
            found[i] = max(0.0, 1.0 + values[~is_right].max() - values[is_right][0])
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_against_the_best_of_all_wrong_paths(seed):
    problem = problem_of(seed=seed)
    weights = some_weights(problem.data.tagging, seed=seed, size=1.0)
    expected = WEIGHTS @ enumerated_losses(problem, weights)
    assert problem.value_and_gradient(weights)[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(2))
def test_the_gradient_is_that_of_finite_differences(seed):
    problem = problem_of(seed=seed)
    weights = some_weights(problem.data.tagging, seed=seed)
    flat, gradient = weights.flat(), problem.value_and_gradient(weights)[1].flat()
    step = 1e-6
    for j in range(len(flat)):
        move = step * (np.arange(len(flat)) == j)
        up, down = (problem.value_and_gradient(unflattened(weights, flat + sign * move))[0] for sign in (1, -1))
        assert gradient[j] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)


def test_weights_go_to_the_kernels_and_back():
    problem = problem_of()
    weights = some_weights(problem.data.tagging, seed=2)
    for one, other in zip(weights.arrays(), problem.weights_of(problem.model_of(weights)).arrays(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("size", [0.0, 0.3])
def test_the_dual_learner_finds_the_minimum_and_its_gap_bounds_the_rest(size):
    """Against a general minimiser of F in the same units; the gap is a bound at every pass."""
    problem = problem_of(2.0, size)
    fit = run(MarginDual(), problem, problem.centre, np.random.default_rng(0), max_epochs=300, tol=1e-9)
    centre = np.concatenate([array.ravel() for array in problem.model_of(problem.centre)])
    template = problem.model_of(problem.centre)
    cuts = np.cumsum([array.size for array in template])[:-1]

    def objective(vector: np.ndarray) -> float:
        parts = [part.reshape(array.shape) for part, array in zip(np.split(vector, cuts), template, strict=True)]
        loss = problem.value_and_gradient(problem.weights_of(tuple(parts)))[0]
        return loss + problem.strength / 2 * float((vector - centre) @ (vector - centre))

    found = np.concatenate([array.ravel() for array in problem.model_of(fit.moments)])
    lowest = minimize(objective, found, method="Powell", options={"maxiter": 1, "ftol": 1e-10}).fun
    assert fit.converged
    assert objective(found) == pytest.approx(fit.measure.objective, rel=1e-10)
    assert fit.measure.objective <= lowest * (1 + 1e-6)
    objectives, gaps = np.array(fit.history["objective"]), np.array(fit.history["gap"])
    assert (objectives - fit.measure.objective <= gaps + 1e-9).all()
