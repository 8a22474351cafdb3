"""Stochastic EM: a step per mini-batch, nothing kept. Online EM and stochastic discriminative EM are this one class.

    mu <- mu + rate * [ weighted statistics of the batch + prior - what the model expects ]        (Masegosa 2014, eq. 15)

For streams and data whose weights do not fit in memory. Left alone it needs no step size: a round is one pass at a constant rate,
the natural parameters are averaged over its second half (F is convex in them and the average swings far less than the last
iterate), and the round is kept only if F fell; else the rate is quartered and the round taken back. So F falls monotonically whatever
the first rate was. Every step is shortened at the edge of the domain by the model (`move`). With a schedule (`step_sizes`) the rates
are the schedule's.

A family with a pass of its own (words) takes a step per row; there F costs as much as a pass, and a round is EVERY of them, or more
while the sum of the weights that rows have on their labels, which a pass knows anyway, falls from pass to pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.loops.weights import weigh_rows
from ..losses import Loss
from .problem import Measure, Problem
from .state import State
from .step_sizes import StepSize, is_schedule

MIN_RATE = 1e-8
MOST_STEPS = 250  # mini-batches of a pass: larger ones of more rows lower F as fast
EVERY, LONGEST = (
    4,
    16,
)  # passes of a round with a step per row, and while weights fall; first passes and trials of rates stand alone
FALLS = 0.99  # share of its labels' weights in the pass before below which a pass has made progress


@dataclass(frozen=True)
class Rate:
    """The memory of the learner: the rate of the next round; and of a round with a step per row where it is and where it began."""

    rate: float
    arrays: tuple | None = None
    began: Measure | None = None
    n_steps: int = 0  # before the round
    misfit: float = np.inf  # the labels' weights in the last pass


@dataclass(frozen=True)
class Stochastic:
    step_size: StepSize | float | None = None  # None, a factor on the default first rate, or a schedule
    batch_size: int | None = None
    average: bool = True

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        if self._steps_by_row(problem):
            factor = self.step_size if isinstance(self.step_size, float) else 1.0
            rate = problem.model.row_rate * factor
            measure = problem.measure(problem.prior)
            return State(problem.prior, generator, measure, Rate(rate, began=measure))
        candidates = [start]
        if problem.loss.is_discriminative:
            share = 1.0 / float(problem.prior.mass.sum())
            candidates += [problem.prior, start * (1.0 / float(start.mass.sum())) + problem.prior * share]
        start, measure = self._best(
            problem, [problem.model.moments_of(problem.model.natural_of(c)) for c in candidates]
        )
        n, K = len(problem.y), problem.model.n_outcomes
        factor = self.step_size if isinstance(self.step_size, float) else 1.0
        rate = min(1.0, 0.005 * self.size(n, K) / K * factor)
        return State(start, generator, measure, Rate(rate))

    def _best(self, problem: Problem, candidates: list) -> tuple[Any, Measure]:
        """Maximum likelihood can be a bad place to start (overconfident), the prior too: the better of them and their mean."""
        if not problem.loss.is_discriminative:
            return candidates[0], problem.measure(candidates[0])
        measures = [problem.measure(candidate) for candidate in candidates]
        chosen = int(np.argmin([measure.objective for measure in measures]))
        return candidates[chosen], measures[chosen]

    def size(self, n: int, n_outcomes: int) -> int:
        if self.batch_size is not None:
            return min(n, self.batch_size)
        return int(np.clip(n // 30, 1, max(200, 10 * n_outcomes, n // MOST_STEPS)))

    def _steps_by_row(self, problem: Problem) -> bool:
        """Whether the family has a pass of its own with one step per row."""
        return self.batch_size is None and problem.model.steps_by_row(problem.X, problem.y, problem.loss)

    def _row_step(self, problem: Problem, state: State) -> State:
        """A step per row at rates rate / (1 + t / n), then one towards the prior; the round is taken back if F rises."""
        model, n, memory = problem.model, len(problem.y), state.memory
        order = state.generator.permutation(n)
        times = np.arange(state.n_steps, state.n_steps + n)
        rates = (
            self.step_size.rates(state.n_steps, n) if is_schedule(self.step_size) else memory.rate / (1.0 + times / n)
        )
        arrays = memory.arrays or model.state_of(state.moments)
        n_shortened, misfit = model.stochastic_pass(
            problem.X, problem.y, problem.weights, order, rates, arrays, problem.loss
        )
        arrays = model.pulled(arrays, problem.prior, min(0.5, float(rates[-1])))
        is_due = state.n_passes % (LONGEST if misfit < FALLS * memory.misfit else EVERY) == 0 or state.is_searching
        memory = replace(memory, arrays=arrays, misfit=misfit)
        state = replace(
            state, measure=None, memory=memory, n_passes=state.n_passes + 1, n_steps=state.n_steps + n,
            n_shortened=n_shortened,
        )  # fmt: skip
        return self.measured(problem, state) if is_due else state

    def measured(self, problem: Problem, state: State) -> State:
        """The state at the end of a round of steps per row, with its moments and their measure."""
        memory = state.memory
        moments = problem.model.moments_of_state(memory.arrays)
        measure = problem.measure(moments, state=memory.arrays)
        if is_schedule(self.step_size) or measure.objective < memory.began.objective:
            memory = replace(memory, began=measure, n_steps=state.n_steps)
            return replace(state, moments=moments, measure=measure, memory=memory, is_searching=False)
        return self._slower(replace(state, measure=memory.began), memory.n_steps, state.n_shortened)

    def _slower(self, state: State, n_steps: int, n_shortened: int) -> State:
        """The state of before the round, with a quarter of its rate."""
        rate = state.memory.rate / 4
        return replace(
            state, memory=replace(state.memory, rate=rate, arrays=None), n_steps=n_steps, n_shortened=n_shortened,
            is_done=rate < MIN_RATE, is_searching=True,
        )  # fmt: skip

    @np.errstate(all="ignore")  # a pass is a trial: what is beyond all numbers is not lower than what there was
    def step(self, problem: Problem, state: State) -> State:
        if self._steps_by_row(problem):
            return self._row_step(problem, state)
        n = len(problem.y)
        order, size = state.generator.permutation(n), self.size(n, problem.model.n_outcomes)
        batches = [order[first : first + size] for first in range(0, n, size)]
        rates = (
            self.step_size.rates(state.n_steps, len(batches))
            if is_schedule(self.step_size)
            else np.full(len(batches), state.memory.rate)
        )
        moments, n_shortened, mean, n_averaged = state.moments, 0, None, 0
        for position, (batch, rate) in enumerate(zip(batches, rates, strict=True)):
            moments, shortened = batch_step(problem, moments, batch, float(rate))
            n_shortened += shortened
            if self.average and position >= len(batches) // 2:
                natural = problem.model.natural_of(moments)
                n_averaged += 1
                mean = natural if mean is None else mean + (1.0 / n_averaged) * (natural - mean)
        candidate = moments if mean is None else problem.model.moments_of(mean)
        measure = problem.measure(candidate)
        n_steps = state.n_steps + len(batches)
        if is_schedule(self.step_size):
            return replace(state, moments=candidate, measure=measure, n_steps=n_steps, n_shortened=n_shortened)
        if measure.objective < state.measure.objective:
            rate = min(1.0, 1.5 * state.memory.rate)
            return State(candidate, state.generator, measure, Rate(rate), n_steps=n_steps, n_shortened=n_shortened)
        return self._slower(state, n_steps, n_shortened)


def signed_weights(loss: Loss, scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, K) array: the rows' weights times those of the loss; compiled, but over groups of outcomes."""
    if loss.width > 1:
        return weights[:, None] * loss.weights(scores, y)
    result = np.empty_like(scores)
    weigh_rows.of(loss.kernels)(scores, y, weights, loss.settings, result)
    return result


def batch_step(problem: Problem, moments, batch: np.ndarray | slice, rate: float) -> tuple[Any, int]:
    """One step on the rows `batch`, as an estimate of the step on all rows."""
    model, X, y, weights = problem.model, problem.X[batch], problem.y[batch], problem.weights[batch]
    whole, part = float(problem.weights.sum()), float(weights.sum())
    if part <= 0:
        return moments, 0
    if problem.loss.is_discriminative or (y < 0).any():
        responsibilities = signed_weights(problem.loss, model.scores(moments, X), y, weights)
        statistics = model.completed_statistics(X, responsibilities, moments)
    elif model.is_latent(X):
        labels = np.zeros((len(y), model.n_outcomes))
        labels[np.arange(len(y)), y] = weights
        statistics = model.completed_statistics(X, labels, moments)
    else:
        statistics = model.statistics(X, y, weights)
    pull = problem.loss.pull(y, weights) * whole / part
    direction = model.direction((whole / part) * statistics, problem.prior, moments, pull)
    if not problem.loss.is_discriminative and rate <= 1.0:
        # a convex combination of moments: it cannot leave the domain, and with rates 1/t one pass is the closed form
        return moments + (rate / (pull + float(problem.prior.mass.sum()))) * direction, 0
    return model.move(moments, (1.0 / whole) * direction, rate)


MIN_STREAM, MAX_STREAM = 20, 4096  # rows of a mini-batch of a stream: a fiftieth of the rows seen so far, within these


def stream_size(n_seen: float, n_outcomes: int) -> int:
    """Rows of the next mini-batch of a stream."""
    return int(np.clip(n_seen / 50, max(MIN_STREAM, 2 * n_outcomes), max(MAX_STREAM, 20 * n_outcomes)))


def with_step(average, natural, n_steps: int, haste: float = 4.0):
    """The average of natural parameters, which forgets its beginning: step t enters with the weight haste / (t + haste)."""
    return natural if average is None else average + (haste / (n_steps + haste)) * (natural - average)


def stream_step(
    problem: Problem, moments, average, n_steps: int, step_size: StepSize | float | None, n_seen: float = 0.0
):
    """One pass over a batch of a stream: mini-batches that grow with the rows seen, falling rates, averaged natural parameters.

    Returns (moments, average, n_steps, n_shortened).
    """
    n, K = len(problem.y), problem.model.n_outcomes
    factor = step_size if isinstance(step_size, float) else 1.0
    n_shortened, first = 0, 0
    while first < n:
        size = min(n - first, stream_size(n_seen + first, K))
        if is_schedule(step_size):
            rate = float(step_size.rates(n_steps, 1)[0])
        else:
            rate = min(1.0, 0.02 * size / K * factor * (1.0 + n_steps / 100.0) ** -0.6)
        moved, shortened = batch_step(problem, moments, slice(first, first + size), rate)
        natural = problem.model.natural_of(moved)
        if problem.model.in_domain(moved) and natural.is_finite():
            moments = moved
        else:  # numbers so far from all before that rounding took over: no step
            natural, shortened = problem.model.natural_of(moments), shortened + 1
        n_shortened += shortened
        average = with_step(average, natural, n_steps)
        n_steps += 1
        first += size
    return moments, average, n_steps, n_shortened
