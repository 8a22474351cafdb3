"""Online training of topic models with sampled topics: Algorithms 5 to 7 of Masegosa (2014), corrected as docs/notes/topic.md says.

A step is that of the paper's Table 2 with nu > 0, in counts (nu = 1; w the document's weight, W all of them, r the loss's signed
weights of the classes, s the sampled statistics):

    N <- N + rate w [ r s - (N - N0) / W ],        at rest  N = N0 + sum_i w_i r_i s_i

The algorithms print nu = 0, without the pull towards the prior N0: then the counts of the first passes are never forgotten and N grows
without end. Passes with the likelihood come first (they find the topics); a share of what they count is where the discriminative ones
begin. The moments that count are the mean over the ends of the second half of the passes: single ones jump.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...losses import loss_named
from ..problem import Problem
from ..state import State, Stop

LIKELIHOOD_COUNT = 0.1  # pseudo-count of a word in a class, in the first passes (the paper's)
POINTS = 8  # of a pass, at which the moments count


@dataclass(frozen=True)
class Counts:
    """The memory of the learner: the model is own + scale * arrays."""

    arrays: tuple
    own: tuple[float, float] = (0.0, 0.0)  # mass and count of the prior
    scale: float = 1.0
    total: Any = None  # sum of the moments that count, and how many they are
    n_added: int = 0


@dataclass(frozen=True)
class OnlineGibbs:
    """`n_passes` passes after `nll_passes` with the likelihood; `scaled` takes the hinge's weights as the algorithms print them.

    Without passes of the likelihood (a stream) the moments at the start are kept, and nothing pulls anywhere.
    """

    nll_passes: int = 5
    n_passes: int = 18
    average: bool = True
    scaled: bool = False
    rate: float = 1.5  # of a step, over 1 + passes so far / decay: large ones first, to forget the start
    decay: float = 1.5
    start: float = (
        0.03  # share of the likelihood's counts that is taken over: what is left of it at the end biases the classes
    )
    watch: bool = True
    ends = Stop.SCHEDULE  # after the last of its passes

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        model: Any = problem.model
        if not problem.loss.is_discriminative or not self.nll_passes:
            return self._begun(start, generator, model.state_of(problem.prior))
        prior = problem.prior
        few = type(prior)(np.ones_like(prior.mass), np.full_like(prior.count, LIKELIHOOD_COUNT / model.n_topics))
        likelihood = replace(problem, loss=loss_named("nll"), prior=few)
        state = self._begun(start, generator, model.state_of(few))
        for number in range(self.nll_passes):
            state = self._likelihood_pass(likelihood, replace(state, n_passes=number))
        mass, _, count, _ = state.memory.arrays
        moments = type(prior)(self.start * (mass - few.mass), self.start * (count - few.count))
        own = float(prior.mass.mean()), float(prior.count.mean())
        return replace(state, memory=Counts(model.state_of(moments), own, state.memory.scale), n_passes=0)

    def _begun(self, start, generator, arrays: tuple) -> State:
        return State(
            start, generator, memory=Counts(arrays), is_searching=True
        )  # a fixed number of passes: no gain is too small

    def _pass(self, problem: Problem, state: State, rate: float, order=None) -> State:
        from ...kernels.structures.topics_gibbs import online_pass

        model: Any = problem.model
        rows, counts = model.sampling_rows(problem.X)
        order = state.generator.permutation(len(problem.y)) if order is None else order
        seed = int(state.generator.integers(2**31))
        memory = state.memory
        pull = 1.0 if memory.own[1] > 0.0 else 0.0
        loss = problem.loss.as_printed() if self.scaled else problem.loss
        scale, n_shortened = online_pass.of(loss.kernels)(
            rows, counts, problem.y, problem.weights, order, np.full(len(order), rate), memory.arrays, memory.own,
            float(memory.scale), pull, float(model.concentration), model.sampled_code, bool(model.share),
            int(model.n_sweeps), not loss.is_discriminative, loss.settings, seed,
        )  # fmt: skip
        return replace(state, memory=replace(memory, scale=scale), n_shortened=n_shortened)

    def _discriminative_pass(self, problem: Problem, state: State) -> State:
        """In the second half of the passes the moments are added up at several points of each."""
        rate, n_shortened = self.rate / (1.0 + state.n_passes / self.decay), 0
        counts = self.average and state.n_passes >= self.n_passes // 2
        order = state.generator.permutation(len(problem.y))
        total, n_added = state.memory.total, state.memory.n_added
        for part in np.array_split(order, min(POINTS, len(order)) if counts else 1):
            state = self._pass(problem, state, rate, part)
            n_shortened += state.n_shortened
            if counts:
                moments = self._moments(problem, state)
                total, n_added = (moments if total is None else total + moments), n_added + 1
        return replace(state, n_shortened=n_shortened, memory=replace(state.memory, total=total, n_added=n_added))

    def _moments(self, problem: Problem, state: State):
        mass, _, count, _ = state.memory.arrays
        own, scale = state.memory.own, state.memory.scale
        return type(problem.prior)(own[0] + scale * mass, own[1] + scale * count)

    def _likelihood_pass(self, problem: Problem, state: State) -> State:
        """Online EM: a pass begins with what the last one found, and forgets it at the end."""
        before = state.memory.arrays[2].copy(), state.memory.arrays[0].copy()
        state = self._pass(problem, state, 1.0)
        if not state.n_passes:
            return state
        count = state.memory.arrays[2] - before[0] + problem.prior.count
        mass = state.memory.arrays[0] - before[1] + problem.prior.mass
        arrays = mass, np.array([mass.sum()]), count, count.sum(axis=0)
        return replace(state, memory=replace(state.memory, arrays=arrays))

    def step(self, problem: Problem, state: State) -> State:
        n_passes = state.n_passes + 1
        if problem.loss.is_discriminative:
            state = self._discriminative_pass(problem, state)
        else:
            state = self._likelihood_pass(problem, state)
            if n_passes > self.n_passes // 2 and self.average:
                moments = self._moments(problem, state)
                before = state.memory
                total = moments if before.total is None else before.total + moments
                state = replace(state, memory=replace(before, total=total, n_added=before.n_added + 1))
        memory = state.memory
        moments = memory.total * (1.0 / memory.n_added) if memory.n_added else self._moments(problem, state)
        measure = problem.measure(moments) if self.watch else None
        is_done = n_passes >= self.n_passes
        return replace(state, moments=moments, measure=measure, n_passes=n_passes, is_done=is_done)

    def last_moments(self, problem: Problem, state: State):
        return state.moments
