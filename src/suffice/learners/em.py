"""EM for mixtures: what is minimised, batch EM, and what happens to a component that dies.

    F = - sum_i weight_i log p(x_i) - log prior

The E-step at some moments gives both F there and the statistics of the next M-step, so a pass over the rows is one E-step: the state
carries the statistics that were expected under its moments. F never rises (the bound is tight after the E-step, the M-step raises
it); a component that was left with less than half a row starts anew at the row that the mixture explains worst, and the driver keeps
the best state should that not pay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .expectation import Expected, Rows
from .problem import Measure
from .state import State

STARVED = 0.5  # rows: a component with less is dying
MAX_RESEEDED = 3  # for each component


@dataclass(eq=False)
class MixtureProblem:
    """What is minimised. `prior` is a `structures.component_prior.ComponentPrior` or anything with `posterior` and `log_density`."""

    rows: Rows
    prior: Any

    reseeds: bool = True
    _last: tuple = (None, None)  # moments and what was expected under them

    patience = 1

    @property
    def weights(self) -> np.ndarray:
        return self.rows.weights

    @property
    def model(self):
        return self.rows.form.model

    def scale(self, measure: Measure) -> float:
        """So that `tol` is the gain of a row's mean log-likelihood, as in scikit-learn."""
        return 10.0 * float(self.weights.sum())

    def expected(self, moments) -> Expected:
        if self._last[0] is not moments:
            self._last = moments, self.rows.expected(self.coefficients(moments))
        return self._last[1]

    def coefficients(self, moments):
        return self.rows.form.coefficients(moments if self.is_safe else checked(self, moments))

    @property
    def is_safe(self) -> bool:
        """Whether the prior keeps every component inside the domain."""
        return getattr(self.prior, "amount", 0.0) > 0

    def measured(self, moments, expected: Expected) -> Measure:
        log_likelihood = expected.log_likelihood
        nll = -log_likelihood / max(float(self.weights.sum()), 1e-300)
        return Measure(-log_likelihood - self.prior.log_density(moments), nll, nll)

    def measure(self, moments) -> Measure:
        return self.measured(moments, self.expected(moments))

    def reseeded(self, state: State) -> tuple[Any, tuple[int, ...]]:
        return reseeded(self, state)


@dataclass(frozen=True)
class Expectations:
    """The memory of the learner: what was expected under the moments, and the components that began anew."""

    expected: Expected
    reseeded: tuple[int, ...] = ()


@dataclass(frozen=True)
class BatchEM:
    """All rows, then the M-step."""

    def init(self, problem: MixtureProblem, start, generator, warm=None) -> State:
        expected = problem.expected(start)
        return State(start, generator, problem.measured(start, expected), Expectations(expected))

    def step(self, problem: MixtureProblem, state: State) -> State:
        memory = state.memory
        statistics, fresh = problem.reseeded(state) if problem.reseeds else (memory.expected.statistics, ())
        moments = problem.prior.posterior(statistics)
        expected = problem.expected(moments)
        return replace(
            state,
            moments=moments,
            measure=problem.measured(moments, expected),
            memory=replace(memory, expected=expected, reseeded=memory.reseeded + fresh),
            n_shortened=len(fresh),
            is_searching=bool(fresh),
        )


def checked(problem: MixtureProblem, moments):
    """Moments inside the domain, or an error that says what to do."""
    if problem.model.in_domain(moments):
        return moments
    mass = np.asarray(moments.mass)
    raise ValueError(
        f"a component left the domain: its variance or probabilities are zero (masses {np.array2string(mass, precision=3)}). "
        "Fit with prior='auto', a larger reg_covar, or fewer components"
    )


def reseeded(problem: MixtureProblem, state: State) -> tuple[Any, tuple[int, ...]]:
    """Expected statistics in which a dying component begins anew, each at most MAX_RESEEDED times; and which it is.

    It gets a tenth of a fair share: half of it the row that is explained worst, half what all rows look like together.
    """
    expected, model, rows = state.memory.expected, problem.model, problem.rows
    statistics, K = expected.statistics, model.n_outcomes
    total = float(statistics.mass.sum())
    limit = min(STARVED, 0.1 * total / K)
    times = state.memory.reseeded
    dying = [int(k) for k in np.flatnonzero(statistics.mass < limit) if times.count(int(k)) < MAX_RESEEDED]
    if not dying or expected.worst_row < 0 or K == 1:
        return statistics, ()
    k = dying[0]  # one at a time: two at the same row would stay together
    mass = np.where(np.arange(K) == k, 0.05 * total / K, 0.0)
    worst = rows.form.X[[expected.worst_row]] if expected.row is None else expected.row
    row = model.completed_statistics(worst, mass[None], state.moments)
    even = model.pooled(replace(statistics, mass=np.ones(K)))
    return statistics + row + model.at_masses(even, mass), (k,)
