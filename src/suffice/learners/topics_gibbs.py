"""Online training of topic models with sampled topics: Algorithms 5 to 7 of Masegosa (2014), with the corrections of docs/topic.md.

Passes with the likelihood come first (they find the topics), then those with the loss. The moments that count are the mean over the
ends of the second half of the passes: single ones jump.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..losses import Loss
from .driver import Measure, Problem

DECAY = 1e-5  # the paper's lambda


@dataclass
class State:
    moments: Any
    generator: np.random.Generator
    arrays: tuple
    measure: Measure | None = None
    gamma: float = 0.0
    n_steps: int = 0
    n_passes: int = 0
    total: Any = None  # sum of moments over the passes that count
    multipliers: None = None
    n_shortened: int = 0
    is_done: bool = False
    is_searching: bool = True  # a fixed number of passes


@dataclass(frozen=True)
class OnlineGibbs:
    """`n_passes` passes after `nll_passes` with the likelihood; `scaled` takes the hinge's weights as the algorithms print them."""

    nll_passes: int = 1
    n_passes: int = 8
    average: bool = True
    scaled: bool = False
    watch: bool = True

    def init(self, problem: Problem, start, generator, multipliers=None) -> State:
        model: Any = problem.model
        state = State(start, generator, model.state_of(problem.prior))
        if problem.loss.is_discriminative:
            likelihood = replace(problem, loss=Loss("nll"))
            for _ in range(self.nll_passes):
                state = self._pass(likelihood, state, np.ones(len(problem.y)))
        return state

    def _pass(self, problem: Problem, state: State, rates: np.ndarray) -> State:
        from ..kernels.topics_gibbs import online_pass

        model: Any = problem.model
        rows, counts = model.sampling_rows(problem.X)
        order = state.generator.permutation(len(problem.y))
        seed = int(state.generator.integers(2**31))
        pseudo = float(problem.prior.count.mean()) if problem.loss.is_discriminative else 0.0
        gamma, fixed = online_pass(
            rows, counts, problem.y, problem.weights, order, rates, state.arrays, state.gamma, pseudo,
            float(model.concentration), model.sampled_code, bool(model.share), int(model.n_sweeps), problem.loss.code,
            self.scaled, seed,
        )  # fmt: skip
        return replace(state, gamma=gamma, n_shortened=fixed)

    def step(self, problem: Problem, state: State) -> State:
        n = len(problem.y)
        if problem.loss.is_discriminative:
            rates = 1.0 / (1.0 + DECAY * np.arange(state.n_steps, state.n_steps + n))
        else:  # online EM from scratch: each pass begins with what the last one found, and forgets it at the end
            rates = np.ones(n)
        before = state.arrays[2].copy(), state.arrays[0].copy()
        state = self._pass(problem, state, rates)
        if not problem.loss.is_discriminative and state.n_passes:
            state = self._forgotten(problem, state, *before)
        mass, _, count, _ = state.arrays
        moments = type(problem.prior)(mass + max(state.gamma, 1e-9), count + state.gamma)
        n_passes = state.n_passes + 1
        total = state.total
        if n_passes > self.n_passes // 2 and self.average:
            total = moments if total is None else total + moments
            moments = total * (1.0 / (n_passes - max(self.n_passes // 2, 0)))
        measure = problem.measure(moments) if self.watch else None
        is_done = n_passes >= self.n_passes
        return replace(
            state, moments=moments, measure=measure, total=total, n_passes=n_passes, n_steps=state.n_steps + n, is_done=is_done
        )  # fmt: skip

    def _forgotten(self, problem: Problem, state: State, count: np.ndarray, mass: np.ndarray) -> State:
        """Under the likelihood a pass replaces the statistics of the pass before."""
        prior = problem.prior
        fresh = state.arrays[2] - count + prior.count
        own = state.arrays[0] - mass + prior.mass
        return replace(state, arrays=(own, np.array([own.sum()]), fresh, fresh.sum(axis=0)))

    def finished(self, problem: Problem, state: State):
        return state.moments
