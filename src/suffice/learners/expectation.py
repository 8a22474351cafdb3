"""The E-step over all rows: expected statistics of the outcomes and the log-likelihood, in shards, by several threads.

Rows by outcomes is never held, only a cache-full of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..engines.threads import Engine, shards
from ..families.rows import as_read
from ..kernels.compile import ForLoss
from ..kernels.structures.mixture import group_scores, posteriors, weigh_groups
from ..kernels.structures.mixture_sums import bind
from ..losses import Loss

PART = 8192  # rows a thread takes at a time: one call of compiled code


@dataclass
class Sums:
    """What a shard adds."""

    total: float  # log-likelihood, or loss
    mass: np.ndarray
    out: np.ndarray
    worst: float = np.inf  # the lowest log-likelihood of a row, and whose it is
    worst_row: int = -1

    def __add__(self, other: Sums) -> Sums:
        lower = self if self.worst <= other.worst else other
        return Sums(
            self.total + other.total, self.mass + other.mass, self.out + other.out, lower.worst, lower.worst_row
        )


class Kernel(NamedTuple):
    posterior_sums: Callable
    loss_sums: ForLoss
    rows: tuple  # arguments before the shard
    others: tuple  # and after it


@dataclass
class Expected:
    """Expected statistics under the moments they were taken at."""

    statistics: Any
    log_likelihood: float  # weighted sum over rows, without the base measure
    worst_row: int
    row: Any = None  # the worst row itself, where rows are in blocks


@dataclass
class Rows:
    """Rows of a mixture: a form, weights, labels (-1: none) of groups of `width` outcomes, and the engine."""

    form: Any
    weights: np.ndarray
    labels: np.ndarray
    width: int = 1
    engine: Engine = field(default_factory=Engine)

    @property
    def n_rows(self) -> int:
        return len(self.weights)

    def expected(self, coefficients, part: slice | None = None) -> Expected:
        """The E-step on all rows, or on those in `part`."""
        return self.expected_and_worst(coefficients, part)[0]

    def expected_and_worst(self, coefficients, part: slice | None = None) -> tuple[Expected, float]:
        """The E-step, and the log-likelihood of the worst row."""
        rows = shards(self.n_rows, PART) if part is None else [part]
        kernel = self._kernel(coefficients)
        sums = self.engine.sum(lambda shard: self._posterior_sums(shard, coefficients, kernel), rows)
        return Expected(self.form.record(sums.mass, sums.out), sums.total, sums.worst_row), sums.worst

    def _posterior_sums(self, shard: slice, coefficients, kernel: Kernel | None) -> Sums:
        (constant, theta), form, K = coefficients, self.form, self.form.model.n_outcomes
        out, mass, total, worst, worst_row = form.zeros(), np.zeros(K), 0.0, np.inf, -1
        if kernel is not None:
            total, worst, worst_row = kernel.posterior_sums(
                *kernel.rows, shard.start, shard.stop, *kernel.others, out, mass
            )
            return Sums(total, mass, out, worst, worst_row)
        buffers, norms, scratch = form.buffers(), np.empty(form.chunk), np.empty(form.chunk * K)
        for first in range(shard.start, shard.stop, form.chunk):
            last = min(first + form.chunk, shard.stop)
            n = last - first
            phi = form.read(first, n, buffers)
            shares = form.scores(phi, theta)
            labels, weights = self.labels[first:last], self.weights[first:last]
            total += posteriors(shares, constant, labels, self.width, weights, norms[:n], scratch[: n * K], mass)
            form.add(phi, shares, theta, out)
            lowest = int(norms[:n].argmin())
            if norms[lowest] < worst:
                worst, worst_row = float(norms[lowest]), first + lowest
        return Sums(total, mass, out, worst, worst_row)

    def _kernel(self, coefficients) -> Kernel | None:
        """One compiled call for a whole shard, where the form has one; the loops here are its readable twins."""
        found, form = self.form.kernel(), self.form
        if found is None:
            return None
        kind, rows, extra = found
        rows = as_read(rows) if isinstance(rows, np.ndarray) else rows
        others = (form.chunk, form.size, *coefficients, self.labels, self.width, self.weights)
        return Kernel(*bind(kind), (rows, as_read(extra)), others)

    def loss(self, coefficients, loss: Loss) -> tuple[float, Any]:
        """The sum of a loss over groups, and its signed statistics: minus its gradient in the natural parameters."""
        kernel = self._kernel(coefficients)
        rows = shards(self.n_rows, PART)
        sums = self.engine.sum(lambda shard: self._loss_sums(shard, coefficients, loss, kernel), rows)
        return sums.total, self.form.record(sums.mass, sums.out)

    def _loss_sums(self, shard: slice, coefficients, loss: Loss, kernel: Kernel | None) -> Sums:
        (constant, theta), form, J = coefficients, self.form, self.form.model.n_outcomes
        out, mass, total = form.zeros(), np.zeros(J), 0.0
        if kernel is not None:
            loop = kernel.loss_sums.of(loss.kernels)
            more = (loss.settings, out, mass)
            return Sums(loop(*kernel.rows, shard.start, shard.stop, *kernel.others, *more), mass, out)
        buffers, weigh = form.buffers(), weigh_groups.of(loss.kernels)
        for first in range(shard.start, shard.stop, form.chunk):
            last = min(first + form.chunk, shard.stop)
            phi = form.read(first, last - first, buffers)
            scores = form.scores(phi, theta)
            groups, scratch = np.empty((len(scores), J // self.width)), np.empty(scores.size)
            y, weights = self.labels[first:last], self.weights[first:last]
            total += weigh(scores, constant, y, weights, self.width, loss.settings, groups, scratch)
            mass += scores.sum(axis=0)
            form.add(phi, scores, theta, out)
        return Sums(total, mass, out)

    def scores(self, coefficients) -> np.ndarray:
        """log p(x, k) of every row: rows by outcomes, for those who ask for it."""
        return np.concatenate(self.engine.all(lambda part: self.form.all_scores(coefficients, part), self._parts()))

    def group_scores(self, coefficients) -> np.ndarray:
        """log p(x, group) of every row."""

        def of_part(part: slice) -> np.ndarray:
            scores = self.form.all_scores(coefficients, part)
            result = np.empty((len(scores), scores.shape[1] // self.width))
            group_scores(scores, self.width, result)
            return result

        return np.concatenate(self.engine.all(of_part, self._parts()))

    def mean_base_measure(self) -> float:
        """The mean of what `scores` leave out, because no outcome depends on it."""
        base = self.form.model.log_base_measure(self.form.X)
        if isinstance(base, float):
            return base
        return float(self.weights @ base) / max(float(self.weights.sum()), 1e-300)

    def _parts(self) -> list[slice]:
        return shards(self.n_rows, PART) or [slice(0, 0)]
