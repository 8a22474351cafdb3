"""Incremental EM: keeps every row's weights r and replaces its contribution to the moments, one row at a time.

For finite data and every loss; the default. No step size: each row's step is an exact one-dimensional search, and the duality gap
says how far the optimum is. With posteriors as weights it is Neal and Hinton's incremental EM (1998); for the conditional
likelihood and the hinge it is dual coordinate ascent on the entropy of the moments. Memory: one number a row and outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .problem import Problem
from .state import State

FULL = 4  # every so many passes no row is left out


class Warm(NamedTuple):
    """Where a run begins: multipliers of an earlier one, and the statistics weighted by them if they are known."""

    multipliers: np.ndarray
    collected: Any = None


@dataclass
class Dual:
    """The memory of the learner: every row's weights."""

    multipliers: np.ndarray
    safe: np.ndarray  # the multipliers when they were last measured
    arrays: tuple | None = None  # the moments in the form the compiled pass updates
    slack: np.ndarray | None = None  # above zero for rows that were far from moving when they were last visited
    is_settled: bool = False  # the last pass changed next to nothing, but it may have left rows out
    tolerance: float = 0.0  # the change of a row's weights that is too small to make


@dataclass(frozen=True)
class Incremental:
    tolerance: float = (
        1e-3  # rows whose weights would change by less are passed over; done when the mean is below twice this
    )
    watch: bool = True  # measure the objective and the gap (of words, only after every fourth pass and the last one);
    # where that is off, a trial is made: two passes that change next to nothing end it, or one over all rows that changes half as much

    def init(self, problem: Problem, start, generator, warm: Warm | None = None) -> State:
        model, y = problem.model, problem.y
        multipliers, collected = (None, None) if warm is None else warm
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
        tolerance = model.row_tolerance(problem.loss, problem.prior, self.tolerance)
        return State(moments, generator, memory=Dual(multipliers.copy(), multipliers, tolerance=tolerance))

    def step(self, problem: Problem, state: State) -> State:
        model, memory = problem.model, state.memory
        arrays = memory.arrays or model.state_of(state.moments)
        slack = np.zeros(len(problem.y)) if memory.slack is None else memory.slack
        order = state.generator.permutation(len(problem.y))
        is_full = (self.watch and memory.is_settled) or state.n_passes % FULL == 0
        if not is_full:
            order = order[slack[order] <= 0.0]
        tolerance = memory.tolerance
        n_moved, n_shortened, change = model.incremental_pass(
            problem.X, problem.y, problem.weights, order, memory.multipliers, arrays, problem.loss, tolerance, slack
        )
        # words are many and their gap costs a pass to know; tables (whose passes know no change) go on until the gap says so
        is_settled = n_moved == 0 or change < 2.0 * tolerance
        if self.watch:
            is_sure = is_full or not (slack > 0.0).any()
        else:
            is_sure = state.n_passes > 0 or change < tolerance
        is_done = is_settled and is_sure
        memory = replace(memory, arrays=arrays, slack=slack, is_settled=is_settled)
        state = replace(
            state, measure=None, memory=memory, n_shortened=n_shortened, is_done=is_done, n_passes=state.n_passes + 1
        )
        is_table = model.table_prior and not np.isfinite(change)
        is_due = (is_full and state.n_passes > 1) or is_done or is_table or not problem.loss.is_discriminative
        return self.measured(problem, state) if self.watch and is_due else state

    def measured(self, problem: Problem, state: State) -> State:
        """The state with its moments and their measure. Where rounding left the domain, moments come from the multipliers again."""
        model, memory = problem.model, state.memory
        arrays = memory.arrays
        assert arrays is not None  # a pass was made
        moments = model.moments_of_state(arrays)
        if not model.in_domain(moments):
            moments = self._moments(problem, memory.multipliers)
            if not model.in_domain(moments):
                memory.multipliers[:] = memory.safe
                moments = self._moments(problem, memory.safe)
            arrays = model.state_of(moments)
        measure = problem.measure(moments, memory.multipliers, arrays)
        memory = replace(memory, arrays=arrays, safe=memory.multipliers.copy())
        return replace(state, moments=moments, measure=measure, memory=memory)

    def last_moments(self, problem: Problem, state: State):
        """The moments after passes that were not measured."""
        memory = state.memory
        moments = state.moments if memory.arrays is None else problem.model.moments_of_state(memory.arrays)
        if problem.model.in_domain(moments):
            return moments
        memory.arrays = None
        return self._moments(problem, memory.multipliers)

    def _moments(self, problem: Problem, multipliers: np.ndarray):
        if not multipliers.any():
            return problem.prior.copy()
        weighted = problem.weights[:, None] * multipliers
        return problem.prior + problem.model.expected_statistics(problem.X, weighted)


def _posterior(scores: np.ndarray) -> np.ndarray:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
