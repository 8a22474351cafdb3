"""L-BFGS in unconstrained coordinates: the finisher for losses over groups of latent outcomes on tables that fit in memory.

    F = sum_i weight_i loss_i - log-likelihood of the prior's pseudo-statistics

Rounds of steps in the moments stop far from the optimum where components are latent; a quasi-Newton method on (logit pi, m, log v) does
not. Its line search only accepts steps that lower F.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from typing_extensions import override

from ..losses import Loss
from .driver import SelfDriven
from .expectation import Rows
from .problem import Measure
from .state import State, Stop

FLAT = 1e-8  # largest entry of a gradient, of a row, that counts as zero


@dataclass(eq=False)
class GroupProblem:
    """What is minimised: a loss over groups of outcomes (`rows.labels` names the groups) and a prior record."""

    rows: Rows
    loss: Loss
    prior: Any
    coordinates: Any
    least: float = 0.0  # what the prior loses at its own best, which shares of F are not of
    _first: tuple = (None,)  # moments, F and its gradient there

    patience = 1

    @property
    def total(self) -> float:
        return max(float(self.rows.weights.sum()), 1e-300)

    def scale(self, measure: Measure) -> float:
        return self.total

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient, of a row."""
        coefficients = self.coordinates.coefficients(vector, self.rows.form)
        return self.of_sums(vector, *self.rows.loss(coefficients, self.loss))

    def of_sums(self, vector: np.ndarray, loss: float, statistics: Any) -> tuple[float, np.ndarray]:
        """The same of the rows' loss and signed statistics."""
        prior = self.coordinates.log_likelihood(vector, self.prior)
        gradient = -self.coordinates.gradient(vector, statistics + self.prior)
        return (loss - prior - self.least) / self.total, gradient / self.total

    def measure(self, moments) -> Measure:
        if self._first[0] is not moments:
            self._first = moments, *self.value_and_gradient(self.coordinates.vector(moments))
        return self.measure_of(self._first[1])

    def summed(self, moments: Any, loss: float, statistics: Any) -> None:
        """Take sums over the rows at these moments that are known already."""
        self._first = moments, *self.of_sums(self.coordinates.vector(moments), loss, statistics)

    def measure_of(self, value: float) -> Measure:
        return Measure(self.total * value + self.least, value, np.nan)

    def first(self, moments) -> list[tuple[float, np.ndarray]]:
        """F and its gradient at these moments, if they were measured last."""
        return [self._first[1:]] if self._first[0] is moments else []


@dataclass(frozen=True)
class Evaluations:
    """The memory of the learner: where it began and what it was told since. Told it again, the minimiser is where it was."""

    start: np.ndarray
    told: list[tuple[float, np.ndarray]]


@dataclass(frozen=True)
class QuasiNewton(SelfDriven):
    tol: float = 1e-6  # relative decrease of F that ends it
    flat: float = FLAT  # and the largest entry of the gradient, of a row
    pairs: int = 20  # steps that it remembers

    def init(self, problem: GroupProblem, start, generator, warm=None) -> State:
        return State(start, generator, memory=Evaluations(problem.coordinates.vector(start), problem.first(start)))

    @override
    def drive(self, problem: GroupProblem, state: State, record) -> None:
        """scipy's L-BFGS-B; `record` sees every step. While it runs the state's moments are vectors of coordinates."""
        memory, replay = state.memory, iter(list(state.memory.told))
        n_known, keeps, last = record.fit.n_iter, record.watch.keeper is not None, [np.zeros(0)]
        is_enough = getattr(problem, "is_enough", None)  # of a gradient: whether the step to there may be the last

        def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
            told = next(replay, None)
            if told is None:
                told = self._evaluated(problem, vector)
                if keeps:
                    memory.told.append(told)
            last[0] = told[1]
            return told

        def watch(intermediate_result) -> None:
            nonlocal n_known
            n_known -= 1
            if n_known < 0:  # no step of before the interruption
                measure = problem.measure_of(float(intermediate_result.fun))
                moved = replace(state, moments=intermediate_result.x.copy(), measure=measure, is_searching=True)
                if record(moved):
                    raise StopIteration
            if is_enough is not None and is_enough(last[0]):
                record.end(Stop.CERTIFIED, gain=0.0)
                raise StopIteration

        found = minimize(
            objective, memory.start, jac=True, method="L-BFGS-B", callback=watch,
            options={"maxiter": record.max_epochs, "maxcor": self.pairs, "ftol": self.tol, "gtol": self.flat, "maxls": 30},
        )  # fmt: skip
        if not record.is_over:
            record.end(*self._reason(found))

    @override
    def moments_of(self, problem: GroupProblem, moments: Any) -> Any:
        return problem.coordinates.moments(moments) if isinstance(moments, np.ndarray) else moments

    def _evaluated(self, problem: GroupProblem, vector: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, gradient = problem.value_and_gradient(vector)
        except np.linalg.LinAlgError:  # a step to the edge of the domain
            return 1e30, np.zeros_like(vector)
        if not np.isfinite(value) or not np.isfinite(gradient).all():
            return 1e30, np.zeros_like(vector)
        return value, gradient

    def _reason(self, found) -> tuple[Stop, dict]:
        if not found.success:
            return Stop.LINE_SEARCH, {}
        if float(np.abs(found.jac).max(initial=0.0)) <= self.flat:
            return (Stop.FLAT, {}) if self.flat <= FLAT else (Stop.GRADIENT, {"tol": self.flat})
        return Stop.SMALL_GAIN, {"passes": "a step of L-BFGS", "tol": self.tol}
