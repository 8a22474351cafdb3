"""Learners one step at a time: what a property that holds at every step is tested with. The driver's history is not enough: it could
hold anything."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from suffice.learners.driver import SelfDriven, State, run
from suffice.learners.watch import Watch


def states(learner, problem, start, n_steps: int, seed: int = 0) -> list[State]:
    """The learner's states, the first of them before any step; a learner that drives itself is watched after each of its steps."""
    generator = np.random.default_rng(seed)
    state = learner.init(problem, start, generator)
    if hasattr(learner, "drive"):
        seen: list[State] = [replace(state, measure=problem.measure(start))]
        run(Spying(learner, seen), problem, start, generator, max_epochs=n_steps, tol=0.0, watch=Watch())
        return seen
    found = [state]
    for _ in range(n_steps):
        state = learner.step(problem, state)
        if state.measure is None:
            state = learner.measured(problem, state)
        found.append(state)
        if state.is_done:
            break
    return found


def objectives(learner, problem, start, n_steps: int = 25) -> np.ndarray:
    """F of the model after every step, measured by the problem and not by the learner where it can be."""
    return np.array([state.measure.objective for state in states(learner, problem, start, n_steps) if state.measure])


def assert_falls(path: np.ndarray, rel: float = 1e-10) -> None:
    """No step raises the objective."""
    assert len(path) > 1
    assert (np.diff(path) <= rel * np.abs(path[:-1])).all(), path


def lower_bounds(learner, problem, start, n_steps: int = 25) -> np.ndarray:
    """F - gap after every step: the dual objective, which dual learners raise."""
    measures = [state.measure for state in states(learner, problem, start, n_steps) if state.measure]
    return np.array([measure.objective - measure.gap for measure in measures])


@dataclass(frozen=True)
class Uphill:
    """A learner that only ever makes things worse: what the tests of monotone learners must catch."""

    def init(self, problem, start, generator, warm=None) -> State:
        return State(start, generator, problem.measure(start))

    def step(self, problem, state: State) -> State:
        pooled = problem.model.pooled(state.moments)
        moments = state.moments + 0.3 * (pooled - state.moments) if state.n_steps else state.moments
        measure = problem.measure(moments)
        worse = measure._replace(objective=max(measure.objective, state.measure.objective + 1.0))
        return replace(state, moments=moments, measure=worse, n_steps=state.n_steps + 1)


@dataclass(frozen=True)
class Spying(SelfDriven):
    """A learner that drives itself, with a list of the states it has shown."""

    learner: object
    seen: list

    def init(self, *arguments):
        return self.learner.init(*arguments)  # type: ignore[attr-defined]

    def drive(self, problem, state, record) -> None:
        class Spy:
            def __getattr__(spy, name):
                return getattr(record, name)

            def __call__(spy, state):
                self.seen.append(state)
                return record(state)

        self.learner.drive(problem, state, Spy())  # type: ignore[attr-defined]
