"""The paper's algorithm (Masegosa 2014, Algorithm 1 with Tables 1 and 2), for reproduction.

It starts at the prior, takes one step per row at the rate 1 / (1 + lambda t), mends what leaves the domain (the check step) and returns
the last iterate. Its result depends on lambda; the other learners minimise the same kind of objective and do not. Gaussian naive
Bayes and multinomial naive Bayes follow the printed pseudo-code to the letter; other families take the same update and mend it
by shortening.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from ..families.rows import dense
from ..kernels.loops.paper import gaussian_pass, words_pass
from .problem import Problem
from .state import State
from .step_sizes import InverseTime, StepSize, is_schedule
from .stochastic import batch_step


@dataclass(frozen=True)
class Raw:
    """The memory of the learner: what the compiled pass updates, and the prior's part of it."""

    arrays: tuple | None = None
    gamma: float = 0.0
    alpha: float = 1.0


@dataclass(frozen=True)
class Paper:
    step_size: StepSize | float | None = None
    scaled: bool = False  # the hinge of Algorithms 4 and 7
    schedule: StepSize = field(default=InverseTime(0.1))

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        model: Any = problem.model
        if model.printed == "gaussian":
            shape = (model.n_outcomes, model.n_features)
            return self._begun(start, generator, Raw((np.ones(shape[0]), np.zeros(shape), np.ones(shape))))
        if model.printed == "words":
            given = model.counts_of(problem.prior)
            alpha = float(given.flat[0])
            count = np.full_like(given, alpha)
            return self._begun(start, generator, Raw((np.ones(len(start.mass)), count, count.sum(axis=0)), alpha=alpha))
        return self._begun(start, generator, Raw())

    def _begun(self, start, generator, raw: Raw) -> State:
        return State(
            start, generator, memory=raw, is_searching=True
        )  # passes until there are no more: no gain is too small

    def step(self, problem: Problem, state: State) -> State:
        n, model = len(problem.y), cast(Any, problem.model)
        order = state.generator.permutation(n)
        schedule = self.step_size if is_schedule(self.step_size) else self.schedule
        rates = schedule.rates(state.n_steps, n)
        if isinstance(self.step_size, float):
            rates = np.minimum(1.0, self.step_size * rates)
        raw = state.memory
        fixed, gamma = 0, raw.gamma
        before = None if raw.arrays is None else tuple(array.copy() for array in raw.arrays)
        loss = problem.loss.as_printed() if self.scaled else problem.loss
        if model.printed == "gaussian":
            pull = 0.0 if loss.is_discriminative else 1.0
            one_pass = gaussian_pass.of(loss.kernels)
            fixed = one_pass(dense(problem.X), problem.y, order, rates, *raw.arrays, pull, loss.settings)
            mass, first, second = (array.copy() for array in raw.arrays)
            own = model.family.record(model.family.weight_of(mass), first, second)
            moments = replace(state.moments, mass=mass, columns=(own,))
        elif model.printed == "words":
            rows, _ = model.rows_of(problem.X)
            gamma, fixed = words_pass.of(loss.kernels)(
                rows, problem.y, order, rates, *raw.arrays, gamma, raw.alpha, loss.settings
            )
            moments = model.of_counts(raw.arrays[0] + gamma, raw.arrays[1] + gamma)
        else:
            moments = state.moments * (1.0 / float(state.moments.mass.sum()))
            for i, rate in zip(order, rates, strict=True):
                moments, shortened = batch_step(problem, moments, np.array([i]), float(rate))
                fixed += shortened
        if not problem.model.in_domain(moments):  # numbers too far from the prior's: the pass is taken back
            measure = state.measure or problem.measure(state.moments)
            return replace(
                state, memory=replace(raw, arrays=before), measure=measure, n_shortened=int(fixed) + 1, is_done=True
            )
        measure = problem.measure(moments)
        return replace(
            state, moments=moments, memory=replace(raw, gamma=gamma), measure=measure, n_steps=state.n_steps + n, n_shortened=int(fixed)
        )  # fmt: skip
