r"""Accelerated EM: every other step leaps along the path that EM takes (SQUAREM; Varadhan and Roland 2008), and F still never rises.

    v0 -> v1 -> v2 two EM steps in unconstrained coordinates,  r = v1 - v0,  u = v2 - v1 - r,  a = |r| / |u|
    v  =  v0 + 2 a r + a^2 u                  (a = 1 is v2 itself; EM that creeps has r and u small against each other, so a is large)

One pass over the rows gives both F and the statistics of the next M-step, so a leap costs what an EM step costs. It is kept if F is not
above that of v1; else v2 is taken, at the price of another pass, and the next leaps may not go as far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .em import BatchEM, Expectations, MixtureProblem
from .state import State

FARTHEST = 4.0  # the least bound on `a`; it is multiplied where a leap reaches it and halved where one fails
GROWTH = 4.0


@dataclass(frozen=True)
class Leaps(Expectations):
    """The memory of the learner, beside that of EM."""

    origin: Any = None  # moments that set the units of the coordinates
    before: Any = None  # moments before the last EM step; None: the next step is an EM step
    farthest: float = FARTHEST


@dataclass(frozen=True)
class AcceleratedEM:
    """Leaps in the coordinates of `model.chart(moments)`."""

    def init(self, problem: MixtureProblem, start, generator, warm=None) -> State:
        state = BatchEM().init(problem, start, generator)
        return replace(state, memory=Leaps(state.memory.expected, origin=start))

    def step(self, problem: MixtureProblem, state: State) -> State:
        memory = state.memory
        leap = None if memory.before is None else self._leap(problem, state)
        if leap is not None:
            return leap
        farthest = memory.farthest if memory.before is None else max(memory.farthest / 2, FARTHEST)
        stepped = BatchEM().step(problem, state)
        begins = memory.before is None and not stepped.is_searching
        before = state.moments if begins else None
        return replace(stepped, memory=replace(stepped.memory, before=before, farthest=farthest))

    def _leap(self, problem: MixtureProblem, state: State) -> State | None:
        """The state after a leap; None if it leads outside the domain or uphill."""
        memory = state.memory
        coordinates = problem.model.chart(memory.origin)
        following = problem.prior.posterior(memory.expected.statistics)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first, second, third = (coordinates.vector(m) for m in (memory.before, state.moments, following))
            step = second - first
            bend = third - second - step
            length = float(np.clip(np.sqrt(step @ step / max(bend @ bend, 1e-300)), 1.0, memory.farthest))
            vector = first + 2 * length * step + length**2 * bend
            if not np.isfinite(vector).all():
                return None
            moments = coordinates.moments(vector)
        moments = (float(following.mass.sum()) / float(moments.mass.sum())) * moments
        try:
            if not problem.model.in_domain(moments):
                return None
            expected = problem.expected(moments)
        except np.linalg.LinAlgError:
            return None
        measure = problem.measured(moments, expected)
        if not measure.objective <= state.measure.objective:
            return None
        farthest = memory.farthest * (GROWTH if length == memory.farthest else 1.0)
        memory = replace(memory, expected=expected, before=None, farthest=farthest)
        return replace(state, moments=moments, measure=measure, memory=memory, n_shortened=0, is_searching=False)
