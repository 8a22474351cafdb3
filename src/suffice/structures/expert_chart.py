r"""Unconstrained coordinates of gates and experts: those of the gates, then (a, b) and log(spread - floor) of every component.

`Whitened` is the same space in other units: vector = centre + W t, W W' an estimate of the inverse Hessian of the likelihood at the
centre, block by block (the Fisher metric: natural gradients). An expert of variance s has the Hessian (sum q u u' + kappa) / s,
so where s runs over decades the plain coordinates of L-BFGS are hopeless and these are not.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ..families.charts import LIMIT, clipped_exp
from .base import Moments
from .charts import JointChart, softmax
from .experts import ExpertMoments, ExpertRows, Experts

MORE = 0.5  # rows that every component counts as having beside its own


class ExpertChart:
    """Coordinates around some moments."""

    def __init__(self, structure: Experts, moments: ExpertMoments):
        self.structure, self.gates = structure, structure.gates.chart(moments.gates)
        self.floor = structure.target.floor
        n_gates = len(self.gates.vector(moments.gates))
        self.shape = moments.slope.shape
        self.cuts = [n_gates, n_gates + len(moments.slope) * (self.shape[1] + 1)]

    def split(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those of the gates, (a, b) as (K, 1 + size), and of the spread."""
        first, second = self.cuts
        return vector[:first], vector[first:second].reshape(self.shape[0], -1), vector[second:]

    def vector(self, moments: ExpertMoments) -> np.ndarray:
        linear = np.column_stack([moments.intercept, moments.slope])
        logs = np.log(np.maximum(moments.spread - self.floor, 1e-3 * self.floor + 1e-9))
        return np.concatenate([self.gates.vector(moments.gates), linear.ravel(), logs])

    def moments(self, vector: np.ndarray) -> ExpertMoments:
        gates, linear, logs = self.split(vector)
        return ExpertMoments(
            self.gates.moments(gates), linear[:, 0].copy(), linear[:, 1:].copy(), self.spreads(logs)[0]
        )

    def spreads(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Spreads, and their derivatives in the coordinates."""
        above = clipped_exp(logs)
        return above + self.floor, above * (np.abs(logs) < LIMIT)


class GatePoint:
    """The gates at some coordinates: what a step asks of them, with the coordinates cut up once."""

    def __init__(self, chart: JointChart, vector: np.ndarray, form):
        self.chart, start = chart, 0
        cut = []
        for shape in chart.shapes:
            size = math.prod(shape)
            cut.append(vector[start : start + size].reshape(shape))
            start += size
        self.blocks = [cut[1 + a : 1 + b] for a, b in pairwise(chart.ends)]
        self.mass = softmax(cut[0])
        self.log_mass = np.log(self.mass)
        parts = zip(chart.parts, self.blocks, form.parts, strict=True)
        found = [part.coefficients(own, self.mass, own_form) for part, own, own_form in parts]
        self.coefficients = form.with_masses(self.log_mass, found)

    def moments(self) -> Moments:
        parts = zip(self.chart.parts, self.blocks, strict=True)
        return Moments(self.mass, tuple(part.record(own, self.mass) for part, own in parts))

    def log_likelihood(self, statistics: Moments) -> float:
        parts = zip(self.chart.parts, self.blocks, statistics.columns, strict=True)
        return float(statistics.mass @ self.log_mass) + sum(
            part.log_likelihood(own, self.mass, s) for part, own, s in parts
        )

    def gradient(self, statistics: Moments) -> list[np.ndarray]:
        """That of `log_likelihood`, block by block."""
        slopes = [statistics.mass - self.mass * statistics.mass.sum()]
        for part, own, given in zip(self.chart.parts, self.blocks, statistics.columns, strict=True):
            slopes += part.slopes(own, given)
        return slopes


class Whitened:
    """t with vector = centre + W t."""

    def __init__(
        self, chart: ExpertChart, moments: ExpertMoments, rows: ExpertRows, slope_rows: float, gate_rows: float
    ):
        self.chart, self.centre = chart, chart.vector(moments)
        structure = chart.structure
        shares = structure.shares(moments, rows) * rows.weights[:, None]
        counts = shares.sum(axis=0) + gate_rows + MORE
        total = np.sqrt(float(rows.weights.sum()))
        self.widths = total * np.concatenate([1 / np.sqrt(counts), *self._gate_widths(counts)])
        eta, variance = structure.linear(moments, rows)
        shares = shares * structure.target.information(eta, variance, moments.spread)
        ones = np.column_stack([np.ones(len(rows.y)), rows.vectors])
        ridge = max(slope_rows, 0.1) * (
            1.0 / moments.spread if structure.target.name == "gaussian" else np.ones(len(counts))
        )
        squares = second_moments(ones, shares) + ridge[:, None, None] * np.eye(ones.shape[1])
        self.linear = total * np.linalg.inv(np.linalg.cholesky(squares)).transpose(0, 2, 1)
        self.logs = total * np.sqrt(2 / counts)

    def _gate_widths(self, counts: np.ndarray) -> list[np.ndarray]:
        """1 / sqrt(Fisher information) of the gates' coordinates, flat, family after family."""
        gates = self.chart.gates
        _, blocks = gates._split(self.chart.split(self.centre)[0])
        found = []
        for part, own in zip(gates.parts, blocks, strict=True):
            if hasattr(part, "unit"):  # numbers
                n = np.broadcast_to(np.sqrt(counts)[:, None], own[0].shape)
                found += [np.sqrt(part._variance(own[1])) / n, np.broadcast_to(np.sqrt(2) / n, own[1].shape)]
            else:
                axis = counts if part.family.outcome_axis else counts[:, None]
                found += [np.broadcast_to(1 / np.sqrt(axis), block.shape) for block in own]
        return [np.ravel(block) for block in found]

    def _mapped(self, vector: np.ndarray, linear: np.ndarray) -> np.ndarray:
        gates, own, logs = self.chart.split(vector)
        own = linear @ own[:, :, None]
        return np.concatenate([self.widths * gates, own.ravel(), self.logs * logs])

    def unwhitened(self, point: np.ndarray) -> np.ndarray:
        return self.centre + self._mapped(point, self.linear)

    def gradient(self, gradient: np.ndarray) -> np.ndarray:
        """W' times a gradient."""
        return self._mapped(gradient, self.linear.transpose(0, 2, 1))

    def vector(self, moments: ExpertMoments) -> np.ndarray:
        """t of the moments: zero for those at the centre, which is where minimisers begin."""
        gates, linear, logs = self.chart.split(self.chart.vector(moments) - self.centre)
        linear = np.linalg.solve(self.linear, linear[:, :, None])[:, :, 0]
        return np.concatenate([gates / self.widths, linear.ravel(), logs / self.logs])

    def moments(self, point: np.ndarray) -> ExpertMoments:
        return self.chart.moments(self.unwhitened(point))


def second_moments(vectors: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(K, p, p) array: sum_i shares_ik u_i u_i'."""
    n, p = vectors.shape
    if n * p * p <= 3e5:
        outer = (vectors[:, :, None] * vectors[:, None, :]).reshape(n, p * p)
        return (shares.T @ outer).reshape(-1, p, p)
    found = np.empty((shares.shape[1], p, p))
    for own, share in zip(found, np.sqrt(shares).T, strict=True):
        weighed = vectors * share[:, None]
        own[:] = weighed.T @ weighed  # NumPy makes half of a symmetric product
    return found
