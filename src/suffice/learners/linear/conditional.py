r"""The conditional likelihood of dense tables, by a quasi-Newton method on products of matrices.

    F(c, T) = sum_i weight_i [-log softmax_{y_i}(c + scores)] + sum of the parts' penalties                      (`parts`)

Variables are scaled by roughly the second derivatives (`metrics`), F is convex where no cell is missing, and a certificate ends the
search: what a Newton step with that curvature would still gain, 1/2 |gradient|^2 in the scaled variables, in nats a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize

from ...kernels.loops.linear import add_cells, sum_cells, weigh_rows
from ..problem import Measure
from .design import Design
from .metrics import Diagonal, Products
from .parts import over_classes
from .sums import ClassSums

CACHE, MOST_ROWS = 100_000, 2048  # numbers, and rows, that stay in cache
WIDE = 40  # dense columns for each class (and one more) up to which sums of their products cost less than the steps that they save
MEMORY = 12  # pairs of L-BFGS
CERTIFIED = 1e-6  # nats a row that may be left to gain


@dataclass
class Conditional:
    design: Design
    sums: ClassSums
    parts: list
    is_tied: bool

    tol: ClassVar[float] = 1e-8  # relative gain of a step that ends a search, before its certificate is looked at
    steps: ClassVar[int] = 50  # for each pass that is allowed
    searches: ClassVar[int] = 5  # times a search is taken up again where its certificate does not hold yet

    @classmethod
    def of(
        cls, design: Design, sums: ClassSums, strength: float, share: float, is_tied: bool, given=None
    ) -> Conditional:
        """With a prior of the recipe for tables, or with a `given` record of pseudo-statistics."""
        parts = sums.parts(strength, share, is_tied) if given is None else sums.parts_of(given, is_tied)
        return cls(design, sums, parts, is_tied)

    def __post_init__(self) -> None:
        self.y, self.weights = self.sums.rows
        self.dense = self.design.columns(self.is_tied)
        K = self.sums.width
        sizes = [1, *(part.size for part in self.parts)]
        self.cuts, self.shape = np.cumsum(sizes)[:-1], (sum(sizes), K)
        self.places = [slice(end - size, end) for size, end in zip(sizes, np.cumsum(sizes).tolist(), strict=True)]
        self.metrics = self._metrics(np.split(np.arange(self.shape[0]), self.cuts))
        self.total = max(float(self.weights.sum()), 1e-300)

    def _metrics(self, rows: list[np.ndarray]) -> list[tuple[np.ndarray, Any]]:
        """Variables of the search: rows of the parameters, and their metric. Parameters of dense columns have one together."""
        spread = self.sums.shares * (1.0 - self.sums.shares) + 1e-3 / self.sums.n_classes
        coded = over_classes(self.sums.counts, self.sums.n_problems) * spread
        none = np.zeros((self.dense.shape[1], self.sums.width))
        parts = list(zip(rows[1:], self.parts, strict=True))
        alone = [(place, part.metric(none, coded)) for place, part in parts if not len(part.columns())]
        linear = [(place, part) for place, part in parts if len(part.columns())]
        columns = np.concatenate([[0], *(part.columns() for _, part in linear)]).astype(np.int64)
        if len(columns) <= WIDE * (1 + self.sums.n_classes):
            prior = np.concatenate([none[:1], *(part.curvature(none, coded) for _, part in linear)])
            products = self.sums.products(self.is_tied)[np.ix_(columns, columns)]
            together = np.concatenate([rows[0], *(place for place, _ in linear)])
            try:
                return [(together, Products(products, spread, prior)), *alone]
            except np.linalg.LinAlgError:  # numbers cannot hold them
                pass
        own = np.outer(self.sums.squares(self.is_tied), spread)
        return [(rows[0], Diagonal(own[:1])), *((place, part.metric(own, coded)) for place, part in linear), *alone]

    # -- value and gradient -------------------------------------------------------------------------------------------

    def coefficients(self, T: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, list]:
        """Dense ones, cells (with a row of zeros for a missing one), and what the parts remember."""
        K = self.sums.width
        dense, cells = np.zeros((self.dense.shape[1], K)), np.zeros((self.design.n_cells + 1, K))
        dense[0] = T[0][0]
        return dense, cells, [part.put(own, dense, cells) for part, own in zip(self.parts, T[1:], strict=True)]

    def loss(self, dense: np.ndarray, cells: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The sum of the losses, and its gradients in the coefficients."""
        return self.loss_of(self.dense, self.design, self.y, self.weights, dense, cells)

    @staticmethod
    def loss_of(columns: np.ndarray, design: Design, y, weights, dense: np.ndarray, cells: np.ndarray):
        """`loss` of the rows of a design, whose dense `columns` take part; a row has a label and a weight for every problem."""
        each = len(y) // max(len(columns), 1)
        chunk = int(np.clip(CACHE // columns.shape[1], 128, MOST_ROWS))
        scores, scratch = np.empty((chunk, dense.shape[1])), np.empty(chunk * dense.shape[1])
        total, g_dense, g_cells = 0.0, np.zeros_like(dense), np.zeros_like(cells)
        codes, has_cells = design.codes, design.n_cells > 0
        for first in range(0, len(columns), chunk):
            rows = slice(first, min(first + chunk, len(columns)))
            own = slice(each * first, each * rows.stop)
            phi, n = columns[rows], rows.stop - first
            out = np.matmul(phi, dense, out=scores[:n])
            if has_cells:
                add_cells(codes[rows], cells, out)
            total += weigh_rows(out.reshape(each * n, -1), y[own], weights[own], scratch[: out.size])
            g_dense += phi.T @ out
            if has_cells:
                sum_cells(codes[rows], out, g_cells)
        return total, g_dense, g_cells

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """F of a row, and its gradient in the scaled variables."""
        T = self.unpacked(x)
        dense, cells, memories = self.coefficients(T)
        value, g_dense, g_cells = self.loss(dense, cells)
        gradient = [g_dense[:1]]
        for part, own, memory in zip(self.parts, T[1:], memories, strict=True):
            more, slope = part.penalty(own, memory)
            value += more
            gradient.append(slope + part.pulled(own, g_dense, g_cells[:-1], memory))
        raw, scaled = np.concatenate(gradient), np.empty(self.shape)
        if not np.isfinite(raw).all():  # beyond all numbers: nothing to begin with, and no step to take
            return np.inf, np.full(scaled.size, np.nan)
        for rows, metric in self.metrics:
            scaled[rows] = metric.pulled(raw[rows])
        return value / self.total, scaled.ravel() / self.total

    def unpacked(self, x: np.ndarray) -> list[np.ndarray]:
        x, T = x.reshape(self.shape), np.empty(self.shape)
        for rows, metric in self.metrics:
            T[rows] = metric.parameters(x[rows])
        return [T[place] for place in self.places]

    # -- the search ---------------------------------------------------------------------------------------------------

    def start(self, T: list[np.ndarray] | None) -> np.ndarray:
        """The scaled variables of some parameters (of other variances too); those of class frequencies where there are none."""
        K = self.sums.width
        own = [np.log(self.sums.shares)[None], *(np.zeros((part.size, K)) for part in self.parts)]
        if T is not None:
            for mine, given in zip(own, T, strict=True):
                n = min(len(mine), len(given))
                mine[:n] = given[:n]
        stacked, x = np.concatenate(own), np.empty(self.shape)
        for rows, metric in self.metrics:
            x[rows] = metric.variables(stacked[rows])
        return x.ravel()

    def solved(self, start: list[np.ndarray] | None, tol: float, most: int) -> list[np.ndarray]:
        """Parameters after L-BFGS until a step gains less than the share `tol`, or `most` steps: what a trial needs."""
        options = {"maxiter": most, "maxcor": MEMORY, "ftol": tol, "gtol": 1e-7, "maxls": 30}
        x = self.start(start)
        return self.unpacked(minimize(self._safe, x, jac=True, method="L-BFGS-B", options=options).x)

    def _safe(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = self.value_and_gradient(x)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return 1e30, np.zeros_like(x)
        return value, gradient

    def certificate(self, gradient: np.ndarray) -> float:
        """What a Newton step with the curvature of the metrics would still gain where F has that gradient, in nats a row."""
        with np.errstate(over="ignore", invalid="ignore"):  # then nothing is certain
            return 0.5 * self.total * float(gradient @ gradient)

    def scores(self, T: list[np.ndarray], design: Design) -> np.ndarray:
        """(n, K) array: scores of other rows of the same design."""
        dense, cells, _ = self.coefficients(T)
        scores = design.columns(self.is_tied) @ dense
        if design.n_cells:
            add_cells(design.codes, cells, scores)
        return scores


class Goal:
    """A conditional problem as the driver and `QuasiNewton` take it: its moments are the scaled variables themselves."""

    patience = 1

    def __init__(self, problem: Conditional) -> None:
        self.problem, self.total = problem, problem.total
        self.coordinates = self
        self._last: tuple[np.ndarray, float, np.ndarray] | None = None

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """F of a row and its gradient; those of the last vector are remembered."""
        if self._last is None or not np.array_equal(self._last[0], vector):
            self._last = vector.copy(), *self.problem.value_and_gradient(vector)
        return self._last[1:]

    def certificate(self, vector: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.problem.certificate(self.value_and_gradient(vector)[1])

    def vector(self, moments: np.ndarray) -> np.ndarray:
        return moments

    def moments(self, vector: np.ndarray) -> np.ndarray:
        return vector

    def scale(self, measure: Measure) -> float:
        return self.total

    def measure(self, moments: np.ndarray) -> Measure:
        return self.measure_of(self.value_and_gradient(moments)[0])

    def measure_of(self, value: float) -> Measure:
        return Measure(self.total * value, value, np.nan)

    def is_enough(self, gradient: np.ndarray) -> bool:
        """Whether a step may be the last. Not where the metric leaves out correlations: the certificate then says too little."""
        knows_products = any(metric.knows_products for _, metric in self.problem.metrics)
        return knows_products and self.problem.certificate(gradient) <= 0.1 * CERTIFIED

    def first(self, moments: np.ndarray) -> list[tuple[float, Any]]:
        """F and its gradient there."""
        return [self.value_and_gradient(moments)]


def straightened(goal: Conditional, T: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """For every column of bins in turn: the parameters with the line through its logits (least squares over the rows)."""
    place = next(number for number, layout in enumerate(goal.design.layouts) if layout.kind == "bins")
    part, layout, own = goal.parts[place], goal.design.layouts[place], T[place + 1]
    logits, count = part.logits(own), goal.sums.counts[layout.cells].sum(axis=1)
    for first, size in zip(layout.family.offset, layout.family.n_categories, strict=True):
        cells = slice(first, first + size)
        weight = count[cells] / max(float(count[cells].sum()), 1e-300)
        centre = part.centre[cells] - weight @ part.centre[cells]
        slope = (weight * centre) @ logits[cells] / max(float(weight @ centre**2), 1e-300)
        straight = own.copy()
        straight[cells] = np.outer(centre, slope) + weight @ logits[cells]
        yield [*T[: place + 1], straight, *T[place + 2 :]]
