"""The paper's algorithm (Masegosa 2014, Algorithm 1 with Tables 1 and 2), for reproduction.

It starts at the prior, takes one step per row at the rate 1 / (1 + lambda t), mends what leaves the domain (the check step) and returns
the last iterate. Its result depends on lambda; the other learners minimise the same kind of objective and do not. Gaussian naive
Bayes and multinomial naive Bayes follow the printed pseudo-code to the letter; other families take the same update and mend it
by shortening.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..families.rows import dense
from ..kernels.loops.paper import gaussian_pass, words_pass
from .driver import Measure, Problem
from .step_sizes import InverseTime, StepSize, is_schedule
from .stochastic import batch_step


@dataclass
class State:
    moments: Any
    generator: np.random.Generator
    raw: Any = None  # what the compiled pass updates
    gamma: float = 0.0
    alpha: float = 1.0
    measure: Measure | None = None
    n_steps: int = 0
    n_shortened: int = 0
    is_done: bool = False
    is_searching: bool = True


@dataclass(frozen=True)
class Paper:
    step_size: StepSize | float | None = None
    scaled: bool = False  # the hinge of Algorithms 4 and 7
    schedule: StepSize = field(default=InverseTime(0.1))

    def init(self, problem: Problem, start, generator, multipliers=None) -> State:
        family = problem.model.family
        if family == "gaussian_diagonal":
            shape = (problem.model.n_outcomes, problem.model.n_features)
            return State(start, generator, (np.ones(shape[0]), np.zeros(shape), np.ones(shape)))
        if family == "multinomial":
            alpha = float(problem.prior.count.flat[0])
            count = np.full_like(problem.prior.count, alpha)
            return State(start, generator, (np.ones(len(start.mass)), count, count.sum(axis=0)), alpha=alpha)
        return State(start, generator)

    def step(self, problem: Problem, state: State) -> State:
        n = len(problem.y)
        order = state.generator.permutation(n)
        schedule = self.step_size if is_schedule(self.step_size) else self.schedule
        rates = schedule.rates(state.n_steps, n)
        if isinstance(self.step_size, float):
            rates = np.minimum(1.0, self.step_size * rates)
        fixed, gamma = 0, state.gamma
        before = None if state.raw is None else tuple(array.copy() for array in state.raw)
        if problem.model.family == "gaussian_diagonal":
            fixed = gaussian_pass(dense(problem.X), problem.y, order, rates, *state.raw, problem.loss.code, self.scaled)
            mass, first, second = (array.copy() for array in state.raw)
            moments = type(state.moments)(mass, problem.model.spread(mass), first, second)
        elif problem.model.family == "multinomial":
            gamma, fixed = words_pass(
                problem.model.rows_of(problem.X)[0],
                problem.y,
                order,
                rates,
                *state.raw,
                gamma,
                state.alpha,
                problem.loss.code,
                self.scaled,
            )
            moments = type(state.moments)(state.raw[0] + gamma, state.raw[1] + gamma)
        else:
            moments = state.moments * (1.0 / float(state.moments.mass.sum()))
            for i, rate in zip(order, rates, strict=True):
                moments, shortened = batch_step(problem, moments, np.array([i]), float(rate))
                fixed += shortened
        if not problem.model.in_domain(moments):  # numbers too far from the prior's: the pass is taken back
            measure = state.measure or problem.measure(state.moments)
            return replace(state, raw=before, measure=measure, n_shortened=int(fixed) + 1, is_done=True)
        measure = problem.measure(moments)
        return replace(
            state, moments=moments, gamma=gamma, measure=measure, n_steps=state.n_steps + n, n_shortened=int(fixed)
        )
