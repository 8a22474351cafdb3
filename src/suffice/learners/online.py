"""Online EM: a step on a mini-batch at a time, for streams and for tables of many rows (Cappé and Moulines 2009; Liang and Klein 2009).

    s <- (1 - rate) s + rate * mean statistics of the batch (expected under the moments of s),     moments = M-step of `seen` times s

It starts from batch EM on the first rows. Rates fall as (t + t0)^-0.6, where t counts mini-batches and t0 what the start was worth;
what is shown is an average of s that forgets its beginning, which takes the noise out that so large rates leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ..engines.threads import shards
from .driver import run
from .em import BatchEM, MixtureProblem
from .expectation import Rows
from .problem import Measure
from .state import State

START_ROWS = 10_000  # rows that the start is found on
EXPONENT = 0.6
MEMORY = 4.0  # batch t enters the average with the weight MEMORY / (t + MEMORY)


@dataclass
class Stream:
    """Online EM between two batches."""

    prior: Any
    mean: Any  # statistics of a row
    average: Any
    seen: float  # weight of the rows so far
    steps: float  # mini-batches so far, a shorter one counting less
    log_likelihood: float = 0.0  # of the rows of the last call, each under the model before its batch
    weight: float = 0.0  # of those rows

    stored_as: ClassVar[dict[str, str]] = {"seen": "number 0..", "steps": "number 0..", "weight": "number 0.."}

    def shown(self):
        return self.prior.posterior(self.seen * self.average)

    @property
    def n_steps(self) -> int:
        return int(np.ceil(self.steps))

    @property
    def mean_log_likelihood(self) -> float:
        return self.log_likelihood / max(self.weight, 1e-300)


def begun(problem: MixtureProblem, start, size: int, generator, max_iter: int, tol: float = 1e-3) -> Stream:
    """Batch EM on the first rows, then steps on the others."""
    rows = problem.rows
    n = min(rows.n_rows, START_ROWS)
    some = replace(problem, rows=part_of(rows, slice(0, n)), _last=(None, None))
    fit = run(BatchEM(), some, start, generator, max_epochs=max_iter, tol=tol)
    expected = some.expected(fit.moments)
    seen = float(rows.weights[:n].sum())
    mean = (1.0 / seen) * expected.statistics
    state = Stream(problem.prior, mean, mean, seen, n / size, expected.log_likelihood, seen)
    return stream(problem, state, size, first=n) if n < rows.n_rows else state


def part_of(rows: Rows, part) -> Rows:
    """Some of the rows, as rows of their own."""
    return Rows(rows.form.some(part), rows.weights[part], rows.labels[part], rows.width, rows.engine)


def stream(problem: MixtureProblem, state: Stream, size: int, first: int = 0) -> Stream:
    """Steps over the rows in their order."""
    rows = problem.rows
    batches = [slice(first + part.start, first + part.stop) for part in shards(rows.n_rows - first, size)]
    state = replace(state, log_likelihood=0.0, weight=0.0)
    for part in batches:
        coefficients = problem.coefficients(moments_of(state))
        state = moved(
            state, rows.expected(coefficients, part), float(rows.weights[part].sum()), (part.stop - part.start) / size
        )
    return state


def moments_of(state: Stream):
    return state.prior.posterior(state.seen * state.mean)


def moved(state: Stream, expected, weight: float, length: float) -> Stream:
    """After a mini-batch of `length` (1: a whole one)."""
    if weight <= 0:
        return state
    steps = state.steps + length
    rate = min(1.0, length * (steps + 1.0) ** -EXPONENT)
    mean = state.mean + rate * ((1.0 / weight) * expected.statistics - state.mean)
    share = min(1.0, length * MEMORY / (steps + MEMORY))
    return Stream(
        state.prior, mean, state.average + share * (mean - state.average), state.seen + weight, steps,
        state.log_likelihood + expected.log_likelihood, state.weight + weight,
    )  # fmt: skip


@dataclass(eq=False)
class OnlineProblem(MixtureProblem):
    """Judged by rows as they come, each under the model before its batch: a pass costs one E-step."""

    @override
    def measure(self, moments) -> Measure:
        some = part_of(self.rows, slice(0, min(self.rows.n_rows, START_ROWS)))
        whole = float(self.weights.sum()) / max(float(some.weights.sum()), 1e-300)
        log_likelihood = whole * some.expected(self.coefficients(moments)).log_likelihood
        return self.judged(moments, log_likelihood)

    def judged(self, moments, log_likelihood: float) -> Measure:
        nll = -log_likelihood / max(float(self.weights.sum()), 1e-300)
        return Measure(-log_likelihood - self.prior.log_density(moments), nll, nll)


@dataclass(frozen=True)
class OnlineEM:
    """A step of the driver is a pass over the rows: in their order where they are on disk, else shuffled."""

    batch_size: int = 1000

    def init(self, problem: OnlineProblem, start, generator, warm=None) -> State:
        rows = problem.rows
        n = min(rows.n_rows, START_ROWS)
        some = slice(0, n) if is_on_disk(rows.form.X) else np.sort(generator.permutation(rows.n_rows)[:n])
        sub = MixtureProblem(part_of(rows, some), problem.prior, reseeds=True)
        found = begun(sub, start, self.batch_size, generator, 20)
        return State(found.shown(), generator, problem.judged(start, found.mean_log_likelihood), found)

    def step(self, problem: OnlineProblem, state: State) -> State:
        rows = problem.rows
        if is_on_disk(rows.form.X):
            found = stream(problem, state.memory, self.batch_size)
        else:
            found = replace(state.memory, log_likelihood=0.0, weight=0.0)
            order = state.generator.permutation(rows.n_rows)
            for part in shards(rows.n_rows, self.batch_size):
                some = part_of(rows, order[part])
                expected = some.expected(problem.coefficients(moments_of(found)))
                length = (part.stop - part.start) / self.batch_size
                found = moved(found, expected, float(some.weights.sum()), length)
        moments = found.shown()
        whole = found.mean_log_likelihood * float(rows.weights.sum())
        return replace(state, moments=moments, memory=found, measure=problem.judged(moments, whole))


def is_on_disk(X) -> bool:
    while X is not None and not isinstance(X, np.memmap):
        X = getattr(X, "base", None)
    return X is not None
