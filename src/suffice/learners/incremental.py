"""Incremental EM: keeps every row's weights r and replaces its contribution to the moments, one row at a time.

For finite data and every loss; the default. No step size: each row's step is an exact one-dimensional search, and the duality gap
says how far the optimum is. With posteriors as weights it is Neal and Hinton's incremental EM (1998); for the conditional
likelihood and the hinge it is dual coordinate ascent on the entropy of the moments. Memory: one number a row and outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .driver import Measure, Problem

FULL = 4  # every so many passes no row is left out


@dataclass
class State:
    moments: Any  # when they were last measured
    multipliers: np.ndarray
    generator: np.random.Generator
    measure: Measure | None = None  # of the moments; None after a pass that was not measured
    safe: Any = None  # the multipliers when they were last measured
    n_shortened: int = 0
    is_done: bool = False
    is_searching: bool = False
    is_settled: bool = False  # the last pass changed next to nothing, but it may have left rows out
    arrays: tuple | None = None  # the moments in the form the compiled pass updates
    slack: np.ndarray | None = None  # above zero for rows that were far from moving when they were last visited
    n_passes: int = 0


@dataclass(frozen=True)
class Incremental:
    tolerance: float = (
        1e-3  # rows whose weights would change by less are passed over; done when the mean is below twice this
    )
    watch: bool = True  # measure the objective and the gap (of words, only after every fourth pass and the last one)

    def init(self, problem: Problem, start, generator, multipliers=None, collected=None) -> State:
        model, y = problem.model, problem.y
        if multipliers is None:
            multipliers = np.zeros((len(y), model.n_outcomes))
            unlabelled = y < 0
            if unlabelled.any():
                multipliers[unlabelled] = _posterior(model.scores(start, problem.X[unlabelled]))
            if not problem.loss.is_discriminative:
                multipliers[~unlabelled, y[~unlabelled]] = 1.0
        moments = self._moments(problem, multipliers) if collected is None else problem.prior + collected
        while not model.leaves_room(moments, problem.prior):  # a warm start from another prior may ask for too much
            multipliers = np.where((y < 0)[:, None], multipliers, 0.8 * multipliers)
            if not np.abs(multipliers[y >= 0]).max(initial=0.0) >= 1e-6:
                multipliers[y >= 0] = 0.0
            moments = self._moments(problem, multipliers)
            if not multipliers[y >= 0].any() and not model.leaves_room(moments, problem.prior):
                raise ValueError(
                    "the prior lies outside the domain of the model: give every outcome and column a positive prior"
                )
        return State(moments, multipliers.copy(), generator, safe=multipliers)

    def step(self, problem: Problem, state: State) -> State:
        model = problem.model
        arrays = state.arrays or model.state_of(state.moments)
        slack = np.zeros(len(problem.y)) if state.slack is None else state.slack
        order = state.generator.permutation(len(problem.y))
        is_full = state.is_settled or state.n_passes % FULL == 0
        if not is_full:
            order = order[slack[order] <= 0.0]
        tolerance = model.row_tolerance(problem.loss, problem.prior, self.tolerance)
        n_moved, n_shortened, change = model.incremental_pass(
            problem.X, problem.y, problem.weights, order, state.multipliers, arrays, problem.loss, tolerance, slack
        )
        # words are many and their gap costs a pass to know; tables (whose passes know no change) go on until the gap says so
        is_settled = n_moved == 0 or change < 2.0 * tolerance
        is_done = is_settled and (is_full or not (slack > 0.0).any())
        state = replace(
            state, measure=None, n_shortened=n_shortened, is_done=is_done, is_settled=is_settled, arrays=arrays, slack=slack,
            n_passes=state.n_passes + 1,
        )  # fmt: skip
        is_table = model.table_prior and not np.isfinite(change)
        is_due = (is_full and state.n_passes > 1) or is_done or is_table or not problem.loss.is_discriminative
        return self.measured(problem, state) if self.watch and is_due else state

    def measured(self, problem: Problem, state: State) -> State:
        """The state with its moments and their measure. Where rounding left the domain, moments come from the multipliers again."""
        model, arrays = problem.model, state.arrays
        assert arrays is not None  # a pass was made
        moments = model.moments_of_state(arrays)
        if not model.in_domain(moments):
            moments = self._moments(problem, state.multipliers)
            if not model.in_domain(moments):
                state.multipliers[:] = state.safe
                moments = self._moments(problem, state.safe)
            arrays = model.state_of(moments)
        measure = problem.measure(moments, state.multipliers, arrays)
        return replace(state, moments=moments, arrays=arrays, measure=measure, safe=state.multipliers.copy())

    def finished(self, problem: Problem, state: State):
        """The moments after passes that nobody watched."""
        moments = state.moments if state.arrays is None else problem.model.moments_of_state(state.arrays)
        if problem.model.in_domain(moments):
            return moments
        state.arrays = None
        return self._moments(problem, state.multipliers)

    def _moments(self, problem: Problem, multipliers: np.ndarray):
        if not multipliers.any():
            return problem.prior.copy()
        weighted = problem.weights[:, None] * multipliers
        return problem.prior + problem.model.expected_statistics(problem.X, weighted)


def _posterior(scores: np.ndarray) -> np.ndarray:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
