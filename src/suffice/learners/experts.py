"""Gates and experts fitted to rows: a start, then rounds of L-BFGS in whitened coordinates (`suffice.structures.expert_chart`).

A start shares the rows out by k-means on (x, target) and makes some EM passes. Every round measures the Hessian anew where the
round before ended. All rounds are runs of the one driver.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from ..structures.expert_chart import ExpertChart, GatePoint, Whitened
from ..structures.expert_prior import ExpertPrior
from ..structures.experts import ExpertMoments, ExpertRows, Experts
from .driver import Fit, run
from .problem import Measure
from .quasi_newton import QuasiNewton
from .starts import k_means, plus_plus
from .watch import SILENT, Watch

ROUND = 50  # steps of L-BFGS between two measurements of the Hessian
EM_PASSES = 15
MOST_POINTS = 3000  # rows that take part in k-means


@dataclass(frozen=True)
class ExpertSetting:
    """How one mixture of experts is fitted."""

    is_line: ClassVar[bool] = False
    n_components: int
    slope_rows: float = 0.1  # pseudo-rows on the common line
    gate_rows: float = 1.0  # pseudo-rows of every gate
    pull: float = 0.7  # how much the target counts in the start, against sqrt(columns)
    by_rank: bool = False  # the start looks at the target's normal score
    em: bool = True  # EM passes at the start
    steps: int = 100
    row_share: float = 0.0  # weight of -log p(x) beside -log p(y | x)


@dataclass(eq=False)
class ExpertProblem:
    """-log p(y | x) (or -log p(x, y)) of rows, and the prior."""

    structure: Experts
    rows: ExpertRows
    prior: ExpertPrior
    conditional: float  # 1: -log p(y | x), 0: -log p(x, y), between them -log p(y | x) - (1 - conditional) log p(x)
    coordinates: Any = None
    _first: tuple = (None,)

    patience = 1

    @property
    def total(self) -> float:
        return max(float(self.rows.weights.sum()), 1e-300)

    def scale(self, measure: Measure) -> float:
        return self.total

    def objective(self, vector: np.ndarray, chart: ExpertChart) -> tuple[float, np.ndarray]:
        """F and its gradient in plain coordinates."""
        structure, rows = self.structure, self.rows
        gate_vector, linear, logs = chart.split(vector)
        gates = GatePoint(chart.gates, gate_vector, rows.form)
        spread, d_log = chart.spreads(logs)
        own = gates.moments() if rows.missing is not None else self.prior.gates  # only missing cells look at them
        moments = ExpertMoments(own, linear[:, 0], linear[:, 1:], spread)
        scores = structure.gate_scores(rows, gates.coefficients), *structure.linear(moments, rows)
        loss, d_gates, d_eta, d_variance, d_spread = structure.weigh(*scores, spread, rows, self.conditional)
        statistics = structure.signed(rows, gates.coefficients[1], d_gates) + self.prior.gates
        d_slope = d_eta.T @ rows.vectors
        if rows.missing is not None:
            pulls = d_eta.T @ rows.missing, d_variance.T @ rows.missing
            more, extra = structure.design.pulled(structure.gates.families, own, moments.slope, *pulls)
            d_slope, statistics = d_slope + more, statistics + extra
        value, d_linear, d_prior = self.prior.value(moments)
        d_linear[:, 0] += d_eta.sum(axis=0)
        d_linear[:, 1:] += d_slope
        d_logs = (d_spread + d_prior) * d_log
        total = loss + value - gates.log_likelihood(self.prior.gates)
        d_gate = [-np.ravel(slope) for slope in gates.gradient(statistics)]
        return total, np.concatenate([*d_gate, d_linear.ravel(), d_logs])

    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient in the coordinates of the minimiser, of a row."""
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far: the search shortens it
            value, gradient = self.objective(self.coordinates.unwhitened(point), self.coordinates.chart)
        return value / self.total, self.coordinates.gradient(gradient) / self.total

    def measure(self, moments: ExpertMoments) -> Measure:
        value, gradient = self.value_and_gradient(self.coordinates.vector(moments))
        self._first = moments, value, gradient
        return self.measure_of(value)

    def measure_of(self, value: float) -> Measure:
        return Measure(self.total * value, value, np.nan)

    def first(self, moments: ExpertMoments) -> list[tuple[float, np.ndarray]]:
        return [self._first[1:]] if self._first[0] is moments else []

    def around(self, moments: ExpertMoments, setting: ExpertSetting) -> ExpertProblem:
        """The same problem in coordinates whitened at these moments."""
        chart = ExpertChart(self.structure, moments)
        coordinates = Whitened(chart, moments, self.rows, setting.slope_rows, setting.gate_rows)
        return replace(self, coordinates=coordinates, _first=(None,))


def start(problem: ExpertProblem, setting: ExpertSetting, generator) -> ExpertMoments:
    """Moments of rows shared out by k-means, after some EM passes."""
    structure, rows, K = problem.structure, problem.rows, problem.structure.n_outcomes
    seen = ~np.isnan(rows.y)
    y = structure.target.working(np.where(seen, rows.y, 0.0))
    y = (
        normal_scores(y, seen)
        if setting.by_rank
        else np.where(seen, (y - y[seen].mean()) / (y[seen].std() or 1.0), 0.0)
    )
    points = structure.gates.points(rows.form.X, rows.weights)
    pull = setting.pull if setting.by_rank else setting.pull * np.sqrt(points.shape[1])
    points = np.column_stack([points, pull * y])
    drawn = generator.permutation(len(points))[:MOST_POINTS]
    some, weights = points[drawn], rows.weights[drawn]
    centres = plus_plus(some, weights, K, generator)
    places = k_means(some, weights, centres)
    hot = np.eye(K)[places] * weights[:, None]
    mass = hot.sum(axis=0)
    centres = np.where(mass[:, None] > 0, hot.T @ some / np.maximum(mass, 1e-300)[:, None], centres)
    nearest = ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)
    shares = np.eye(K)[nearest] * 0.9 + 0.1 / K
    moments = problem.prior.moments(structure, rows, shares * rows.weights[:, None])
    for _ in range(EM_PASSES if setting.em and problem.prior.is_gaussian else 0):
        if not structure.gates.in_domain(moments.gates):
            break  # weights beside which the prior's are nothing: `fitted` says so
        moments = problem.prior.moments(structure, rows, structure.shares(moments, rows) * rows.weights[:, None])
    return moments


def normal_scores(y: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Targets by their ranks, as a standard normal has them; 0 where there is none."""
    result = np.zeros(len(y))
    _, places, counts = np.unique(y[seen], return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    result[seen] = ndtri((ends - 0.5 * counts) / ends[-1])[places]
    return result


def fitted(
    structure: Experts, rows: ExpertRows, setting: ExpertSetting, conditional: float, generator, watch: Watch = SILENT,
    tol: float = 1e-6,
) -> Fit:  # fmt: skip
    """The fit of one mixture of experts."""
    structure = structure.with_outcomes(setting.n_components)
    rows = structure.own(rows)
    prior = ExpertPrior.of(structure, rows, setting.gate_rows, setting.slope_rows)
    problem = ExpertProblem(structure, rows, prior, conditional - setting.row_share if conditional else 0.0)
    first = start(problem, setting, generator)
    check_domain(structure, first)
    return improved(problem, first, setting, generator, watch, tol)


def check_domain(structure: Experts, moments: ExpertMoments) -> None:
    """Refuse gates that numbers cannot hold: weights beside which the prior's are nothing, say."""
    if not structure.gates.in_domain(moments.gates):
        raise ValueError(
            "X has a column whose variance is too small beside its size: give columns in units in which they are neither huge nor tiny"
        )


def improved(
    problem: ExpertProblem, moments: ExpertMoments, setting: ExpertSetting, generator, watch: Watch, tol: float
) -> Fit:
    """Rounds of L-BFGS from these moments on."""
    fit, left = None, setting.steps
    while fit is None or left > 0:
        own = run(
            QuasiNewton(tol), problem.around(moments, setting), moments, generator, max_epochs=min(ROUND, left), tol=0.0, watch=watch
        )  # fmt: skip
        moments, left = own.moments, left - max(own.n_iter, 1)
        check_domain(problem.structure, moments)
        if fit is not None:
            own.history = {name: fit.history.get(name, []) + values for name, values in own.history.items()}
            own.first, own.n_iter = fit.first, own.n_iter + fit.n_iter
        fit = own
        if watch.is_interrupted or own.n_iter == 0 or (own.converged and len(own.history.get("objective", [])) < ROUND):
            break
    return fit
