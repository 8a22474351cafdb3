"""L-BFGS in unconstrained coordinates: the finisher for losses over groups of latent outcomes on tables that fit in memory.

    F = sum_i weight_i loss_i - log-likelihood of the prior's pseudo-statistics

Rounds of steps in the moments stop far from the optimum where components are latent; a quasi-Newton method on (logit pi, m, log v) does
not. Its line search only accepts steps that lower F.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..losses import Loss
from .driver import Fit, Measure
from .expectation import Rows


@dataclass(eq=False)
class GroupProblem:
    """What is minimised: a loss over groups of outcomes (`rows.labels` names the groups) and a prior record."""

    rows: Rows
    loss: Loss
    prior: Any
    coordinates: Any

    @property
    def total(self) -> float:
        return max(float(self.rows.weights.sum()), 1e-300)

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient, of a row."""
        coefficients = self.coordinates.coefficients(vector, self.rows.form)
        loss, statistics = self.rows.loss(coefficients, self.loss)
        prior = self.coordinates.log_likelihood(vector, self.prior)
        gradient = -self.coordinates.gradient(vector, statistics + self.prior)
        return (loss - prior) / self.total, gradient / self.total


@dataclass(frozen=True)
class QuasiNewton:
    max_iter: int = 150
    tol: float = 1e-6  # relative decrease of F that ends it

    def solve(self, problem: GroupProblem, start, report: Callable[[int, dict], None] | None = None) -> Fit:
        began = time.perf_counter()
        history: dict[str, list] = {"objective": [], "seconds": []}

        def objective(vector: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                value, gradient = problem.value_and_gradient(vector)
            except np.linalg.LinAlgError:  # a step to the edge of the domain
                return 1e30, np.zeros_like(vector)
            if not np.isfinite(value) or not np.isfinite(gradient).all():
                return 1e30, np.zeros_like(vector)
            return value, gradient

        def watch(intermediate_result) -> None:
            history["objective"].append(problem.total * float(intermediate_result.fun))
            history["seconds"].append(time.perf_counter() - began)
            if report is not None:
                report(len(history["objective"]), {name: values[-1] for name, values in history.items()})

        vector = problem.coordinates.vector(start)
        found = minimize(
            objective, vector, jac=True, method="L-BFGS-B", callback=watch,
            options={"maxiter": self.max_iter, "maxcor": 20, "ftol": self.tol, "gtol": 1e-8, "maxls": 30},
        )  # fmt: skip
        moments = problem.coordinates.moments(found.x)
        measure = Measure(problem.total * float(found.fun), float(found.fun), np.nan, np.nan, np.nan, np.nan, np.inf)
        converged = bool(found.success) or found.nit < self.max_iter
        stopped = f"L-BFGS made {found.nit} steps"
        stopped += f" and lowers the objective by less than {self.tol:g}" if converged else ""
        if not history["objective"]:
            history = {"objective": [measure.objective], "seconds": [time.perf_counter() - began]}
        return Fit(moments, measure, history, int(found.nit), converged, stopped)
