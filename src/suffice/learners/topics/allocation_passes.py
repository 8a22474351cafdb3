"""Learners of plain latent Dirichlet allocation: batch EM, online EM, and Gibbs sweeps.

All three replace the expected counts of words in topics, an array [words, topics]; they differ in how many documents an M-step waits
for, and in whether the topics of tokens are expected or drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from ..driver import SelfDriven
from ..problem import Measure
from ..state import State, Stop
from .allocation import Allocation, Tokens


@dataclass(frozen=True, eq=False)
class AllocationProblem:
    """Documents, and how they are read. The bound of a model costs a pass, so there is none of the start."""

    model: Allocation
    X: Any

    patience = 1

    def at(self, count: np.ndarray) -> Allocation:
        return replace(self.model, count=count)

    @property
    def n_units(self) -> int:
        """What online EM deals out: documents."""
        return self.X.shape[0]

    def expect(self, count: np.ndarray, memory: Any, n_steps: int) -> tuple[np.ndarray, Any, float]:
        """(expected counts, what inference may begin with next time, bound of the documents)."""
        found, memory, bound = self.at(count).expect(self.X, memory, n_steps=n_steps)
        assert found is not None
        return found, memory, bound

    def expect_some(self, count: np.ndarray, units: np.ndarray) -> tuple[np.ndarray, float, float]:
        """(expected counts, bound, all documents for one of these) of some documents."""
        rows = self.X[units]
        found, _, bound = self.at(count).expect(rows)
        assert found is not None
        return found, bound, self.n_units / rows.shape[0]

    @cached_property
    def tokens(self) -> Tokens:
        return Tokens.of(self.X, self.model.n_topics)

    def measure(self, count: np.ndarray) -> Measure:
        return measured(-np.inf)

    def scale(self, measure: Measure) -> float:
        return 10.0 * abs(measure.objective)  # the driver asks for a tenth of `tol`


def measured(objective: float) -> Measure:
    """Of an objective that is to rise."""
    return Measure(-objective, -objective, np.nan)


@dataclass(frozen=True)
class Shapes:
    """The memory of batch EM: where inference of the documents ended."""

    shapes: Any = None  # an array, or an `engines.blocks.Kept` of arrays


@dataclass(frozen=True)
class BatchAllocation:
    """EM on all documents. The objective, that of the model before the M-step, never falls."""

    def init(self, problem: AllocationProblem, start, generator, warm=None) -> State:
        return State(start, generator, memory=Shapes())

    def step(self, problem: AllocationProblem, state: State) -> State:
        model, shapes = problem.at(state.moments), state.memory.shapes
        count, shapes, bound = problem.expect(state.moments, shapes, 20 if shapes is None else 5)
        measure = measured(model.objective(bound))
        return replace(state, moments=count, measure=measure, memory=Shapes(shapes), n_passes=state.n_passes + 1)


@dataclass
class Position:
    """The memory of online EM: steps made so far, and where it is within a pass."""

    n_steps: int = 0
    order: np.ndarray | None = None  # of the units in the pass under way
    n_read: int = 0
    bound: float = 0.0  # of those read


@dataclass(frozen=True)
class OnlineAllocation(SelfDriven):
    """Passes of mini-batches in random order, with rates (offset + t)^-decay (Hoffman et al. 2010)."""

    n_passes: int
    batch_size: int
    decay: float
    offset: float
    ends = Stop.SCHEDULE

    def init(self, problem: AllocationProblem, start, generator, warm=None) -> State:
        return State(start, generator, memory=Position(), is_searching=True)  # a fixed number of passes

    @override
    def drive(self, problem: AllocationProblem, state: State, record) -> None:
        """Checkpoints may fall between two mini-batches."""
        n, memory = problem.n_units, state.memory
        while not record.is_over:
            if memory.order is None:
                memory.order, memory.n_read, memory.bound = state.generator.permutation(n), 0, 0.0
            while memory.n_read < n:
                units = memory.order[memory.n_read : memory.n_read + self.batch_size]
                rate = (self.offset + memory.n_steps) ** -self.decay
                count, bound, scale = problem.expect_some(state.moments, units)
                state.moments = (1.0 - rate) * state.moments + rate * scale * count
                memory.bound += bound
                memory.n_steps, memory.n_read = memory.n_steps + 1, memory.n_read + len(units)
                if memory.n_read < n:
                    record.offer(state)
            memory.order = None
            state.measure = measured(problem.at(state.moments).objective(memory.bound))
            state.n_passes += 1
            state.is_done = state.n_passes == self.n_passes
            record(state)


@dataclass(frozen=True)
class Sweeps:
    """The memory of Gibbs sweeps: the chains, the counts last drawn, and the sum of those that are averaged."""

    topics: np.ndarray
    usage: np.ndarray
    seeds: np.ndarray
    count: np.ndarray
    kept: np.ndarray
    n_kept: int = 0


@dataclass(frozen=True)
class SampledAllocation:
    """Stochastic EM: every sweep draws all topics given the counts of the sweep before; the last third is averaged.

    Within a sweep the topics' words are fixed, so documents are independent and threads change nothing.
    """

    n_sweeps: int
    ends = Stop.SCHEDULE

    def init(self, problem: AllocationProblem, start, generator, warm=None) -> State:
        tokens, seeds = problem.tokens, generator.integers(2**31, size=self.n_sweeps + 1)
        topics, usage = np.zeros_like(tokens.topics), np.zeros_like(tokens.usage)
        memory = Sweeps(topics, usage, seeds, start, np.zeros_like(start))
        count = self._drawn(problem, memory, 0, is_start=True)
        return State(count, generator, memory=replace(memory, count=count), is_searching=True)

    def step(self, problem: AllocationProblem, state: State) -> State:
        memory, n_passes = state.memory, state.n_passes + 1
        count = self._drawn(problem, memory, n_passes)
        measure = measured(float((count * np.log(problem.at(count).beta)).sum()))
        memory, moments = replace(memory, count=count), count
        if state.n_passes >= 2 * self.n_sweeps // 3:
            memory = replace(memory, kept=memory.kept + count, n_kept=memory.n_kept + 1)
            moments = memory.kept / memory.n_kept
        is_done = n_passes == self.n_sweeps
        return replace(state, moments=moments, measure=measure, memory=memory, n_passes=n_passes, is_done=is_done)

    def _drawn(self, problem: AllocationProblem, memory: Sweeps, number: int, *, is_start=False) -> np.ndarray:
        """Counts of words in topics after a sweep of the chains."""
        model = problem.at(memory.count)
        tokens = replace(problem.tokens, topics=memory.topics, usage=memory.usage)
        return tokens.sweep(model.beta, model.concentration, int(memory.seeds[number]), model.n_jobs, is_start=is_start)
