"""Any structure with any loss: all that is asked of the structure is what it expects (`suffice.structures.base.Structure.expect`).

    direction = sum over g of sign_g sum_i w_ig E[s | x_i, g]  +  prior  -  (strength + pull) mu            (minus the gradient of F)
    mu <- mu + rate * direction,      the rate halved until mu stays inside the domain and F falls

Under the likelihood it is EM: mu = prior + expected statistics. For structures whose outcomes fit in a vector the other learners
are faster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..losses import LABEL, NOTHING, RIVAL, Loss
from ..structures.base import Given, Structure
from .problem import Measure
from .state import State

LEAST_RATE = 1e-10
GIVEN = {LABEL: Given.LABEL, NOTHING: Given.NOTHING, RIVAL: Given.RIVAL}


@dataclass(frozen=True, eq=False)
class StructuredProblem:
    """Rows with labels (-1: none) and weights, a structure with `in_domain` and `log_likelihood`, a loss and pseudo-statistics."""

    structure: Structure
    X: Any
    y: np.ndarray
    weights: np.ndarray
    loss: Loss
    prior: Any

    patience = 2

    def scale(self, measure: Measure) -> float:
        return float(self.weights.sum()) * max(0.1, abs(measure.loss))

    def measure(self, moments) -> Measure:
        return self.judged(moments)[0]

    def judged(self, moments) -> tuple[Measure, Any]:
        """F, and the signed expected statistics of the rows: minus the gradient of the losses in theta, but for the pull."""
        labelled, total, statistics = self.y >= 0, 0.0, 0.0 * self.prior
        if (~labelled).any():
            found = self._expected(moments, ~labelled, Given.NOTHING, self.weights[~labelled])
            total -= float(self.weights[~labelled] @ found.log_probability)
            statistics = statistics + found.statistics
        if labelled.any():
            own = self.weights[labelled]
            logs = {g: self._expected(moments, labelled, GIVEN[g], own).log_probability for g, _ in self.loss.terms}
            values, signed = along_terms(self.loss, logs)
            total += float(own @ values)
            for g, weights in signed.items():
                statistics = statistics + self._expected(moments, labelled, GIVEN[g], own * weights).statistics
        objective = total - self.structure.log_likelihood(self.prior, moments)  # type: ignore[attr-defined]
        mean = total / max(float(self.weights.sum()), 1e-300)
        return Measure(objective, mean, np.nan), statistics

    def _expected(self, moments, rows: np.ndarray, given: Given, weights: np.ndarray):
        return self.structure.expect(moments, self.X[rows], self.y[rows], weights, given)


def along_terms(loss: Loss, logs: dict[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Losses of labelled rows from log p(x, g) of the loss's terms g, and the weights of those terms: minus the derivatives."""
    own = logs[LABEL]
    if RIVAL in logs:
        scores, first = np.stack([own, logs[RIVAL]], axis=1), np.zeros(len(own), dtype=np.int64)
        weights = loss.labelled_weights(scores, first)
        return loss.labelled_values(scores, first), {LABEL: weights[:, 0], RIVAL: weights[:, 1]}
    one = np.ones(len(own))
    if NOTHING in logs:
        return logs[NOTHING] - own, {LABEL: one, NOTHING: -one}
    return -own, {LABEL: one}


@dataclass(frozen=True)
class Expected:
    """The memory of the learner: signed expected statistics under the moments, and the rate of the next step."""

    statistics: Any
    rate: float = 1.0


@dataclass(frozen=True)
class Structured:
    """EM under the likelihood, descent with a searched rate under the other losses: F falls at every step."""

    def init(self, problem: StructuredProblem, start, generator, warm=None) -> State:
        measure, statistics = problem.judged(start)
        return State(start, generator, measure, Expected(statistics))

    def step(self, problem: StructuredProblem, state: State) -> State:
        memory, moments = state.memory, state.moments
        if not problem.loss.is_discriminative:
            moved = memory.statistics + problem.prior
            measure, statistics = problem.judged(moved)
            return replace(state, moments=moved, measure=measure, memory=Expected(statistics))
        pull = problem.loss.pull(problem.y, problem.weights)
        strength = (float(problem.prior.mass.sum()) + pull) / float(moments.mass.sum())
        direction = memory.statistics + problem.prior - strength * moments
        rate, step = memory.rate, float(moments.mass.sum()) / max(float(problem.weights.sum()), 1e-300)
        while rate > LEAST_RATE:
            moved = moments + (rate * step) * direction
            if problem.structure.in_domain(moved):  # type: ignore[attr-defined]
                measure, statistics = problem.judged(moved)
                if measure.objective < state.measure.objective:
                    return replace(state, moments=moved, measure=measure, memory=Expected(statistics, 2.0 * rate))
            rate /= 2.0
        return replace(state, is_done=True, memory=replace(memory, rate=1.0))
