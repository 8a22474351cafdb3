"""Batch EM: all rows, then theta(mu). For likelihood losses; closed form where nothing is latent.

The bound never falls: the E-step makes it tight, the M-step maximises it. For the discriminative losses a batch step is a
stochastic step on all rows (mirror descent), taken back when F rises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .problem import Problem
from .state import State
from .stochastic import Stochastic


@dataclass(frozen=True)
class Batch:
    step_size: float | None = None

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        if problem.loss.is_discriminative:
            return self._descent(problem).init(problem, start, generator)
        return State(start, generator, problem.measure(start))

    def step(self, problem: Problem, state: State) -> State:
        if problem.loss.is_discriminative:
            return self._descent(problem).step(problem, state)
        responsibilities = problem.weights[:, None] * problem.loss.weights(problem.scores(state.moments), problem.y)
        completed = problem.model.completed_statistics(problem.X, responsibilities, state.moments)
        moments = problem.prior + completed
        is_done = bool((problem.y >= 0).all()) and not problem.model.is_latent(problem.X)
        return State(moments, state.generator, problem.measure(moments), is_done=is_done)

    def _descent(self, problem: Problem) -> Stochastic:
        return Stochastic(self.step_size, batch_size=max(1, len(np.atleast_1d(problem.y))), average=False)
