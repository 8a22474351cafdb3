r"""Steps on all blocks by way of the sample: its objective, tilted so that its gradient is that of all rows, is minimised here.

    x' = argmin  f_s(x) + <g(x_t) - g_s(x_t), x> + m/2 |x - x_t|^2      f_s: the sample's rows, weighted up to all, and the same prior

A round over the blocks is F and its gradient at one point. The sample knows the curvature of the whole but for its noise, so a round
gains what tens of quasi-Newton steps gain (Shamir and others 2014; Jordan, Lee and Yang 2019). Where it does not (directions in
which the sample's rows are told apart and all rows are not), m grows until F falls as promised, and it shrinks again. Coordinates
are such that F has second derivatives of about one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from .problem import Measure
from .state import State, Stop

TRIES = 6  # of larger m, in a step
FIRST, GROWTH, SHRINKAGE = 0.1, 6.0, 4.0  # m, and what it is multiplied by and divided by
INNER = 200  # steps of L-BFGS on the sample
ENOUGH, GOOD = 0.1, 0.5  # of the promised decrease: a step is kept, and m shrinks


@dataclass(eq=False)
class Tilted:
    """`goal` is of all blocks and `local` of the sample: both with `value_and_gradient(vector)`, of a row, and the same coordinates."""

    goal: Any
    local: Any

    patience = 1

    def scale(self, measure: Measure) -> float:
        return self.goal.total

    def measure(self, vector: np.ndarray) -> Measure:
        self._last = vector, *self.goal.value_and_gradient(vector)
        return self.measure_of(self._last[1])

    def measure_of(self, value: float) -> Measure:
        return Measure(self.goal.total * value, value, np.nan)

    def told(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient there."""
        if getattr(self, "_last", (None,))[0] is not vector:
            self.measure(vector)
        return self._last[1:]

    def minimised(self, vector: np.ndarray, gradient: np.ndarray, near: float) -> tuple[np.ndarray, float]:
        """The minimum of the tilted sample, and the decrease of F that it promises."""
        begin, own_gradient = self.local.value_and_gradient(vector)
        tilt, near = gradient - own_gradient, near / self.goal.total

        def tilted(x: np.ndarray) -> tuple[float, np.ndarray]:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, own = self.local.value_and_gradient(x)
                away = x - vector
                value, own = value + float(tilt @ away) + 0.5 * near * float(away @ away), own + tilt + near * away
            if not (np.isfinite(value) and np.isfinite(own).all()):
                return 1e30, np.zeros_like(x)
            return value, own

        options = {"maxiter": INNER, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-9, "maxls": 30}
        found = minimize(tilted, vector, jac=True, method="L-BFGS-B", options=options)
        return found.x, begin - float(found.fun)


@dataclass(frozen=True)
class Told:
    """The memory of the learner: F and its gradient at the state's vector."""

    value: float
    gradient: np.ndarray
    near: float = FIRST


@dataclass(frozen=True)
class Surrogate:
    """Moments of its states are vectors of coordinates."""

    ends = Stop.NO_STEP

    def init(self, problem: Tilted, start, generator, warm=None) -> State:
        value, gradient = problem.told(start)
        return State(start, generator, problem.measure_of(value), Told(value, gradient))

    def step(self, problem: Tilted, state: State) -> State:
        memory, at = state.memory, state.moments
        near = memory.near
        for tried in range(TRIES):
            vector, promised = problem.minimised(at, memory.gradient, near)
            if not promised > 0:
                break
            value, gradient = problem.told(vector)
            share = (memory.value - value) / promised if np.isfinite(gradient).all() else -1.0
            if share >= ENOUGH:
                told = Told(value, gradient, near / SHRINKAGE if share >= GOOD else near)
                return replace(state, moments=vector, measure=problem.measure_of(value), memory=told, n_shortened=tried)
            near *= GROWTH
        return replace(state, is_done=True)
