"""Variational Bayes for mixtures: EM whose M-step gives a posterior of the parameters in the place of a point.

    bound = sum_i log sum_k exp E_q[log p(x_i, k | theta)] - KL(q(theta) | p(theta))

q(z, theta) = q(z) q(theta) (mean field). The E-step takes scores in expectation under q(theta), the M-step adds expected statistics to
the prior's; the bound never falls. A component that the rows do not need goes back to its prior and its mass to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from typing_extensions import override

from .em import BatchEM, Expectations, MixtureProblem
from .expectation import Expected
from .problem import Measure
from .state import State


@dataclass(eq=False)
class VariationalProblem(MixtureProblem):
    """`prior` is a `structures.posterior.ConjugatePrior`; what moves are posteriors in the place of moments."""

    @override
    def scale(self, measure: Measure) -> float:
        """So that `tol` is the gain of the whole bound: components empty slowly, by little in the mean of a row."""
        return 10.0

    @override
    def coefficients(self, moments):
        return self.prior.coefficients(moments)

    @override
    def measured(self, moments, expected: Expected) -> Measure:
        objective = self.prior.divergence(moments) - expected.log_likelihood
        loss = objective / max(float(self.weights.sum()), 1e-300)
        return Measure(objective, loss, loss)


@dataclass(frozen=True)
class VariationalEM(BatchEM):
    @override
    def step(self, problem: VariationalProblem, state: State) -> State:  # type: ignore[override]
        posterior = problem.prior.posterior(state.memory.expected.statistics)
        expected = problem.expected(posterior)
        measure = problem.measured(posterior, expected)
        return replace(state, moments=posterior, measure=measure, memory=Expectations(expected))
