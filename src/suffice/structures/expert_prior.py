r"""What is known of gates and experts before the rows: pseudo-rows.

    gates     `gate_rows` rows in every component as the data are on the whole
    slopes    `slope_rows` rows on the ridge line (a0, b0) of all rows:   slope_rows / 2 |(a, b) - (a0, b0)|^2 / s
    spread    `NOISE_ROWS` rows with the variance NOISE:            1/2 (NOISE_ROWS log s + NOISE_ROWS NOISE / s)

s is the spread of a Gaussian target (in units of its variance over all rows), and 1 for others; a dispersion is drawn to DISPERSION.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .base import Moments
from .expert_chart import second_moments
from .experts import ExpertMoments, ExpertRows, Experts

NOISE_ROWS, NOISE = 1.0, 0.003
DISPERSION = 0.1
RIDGES = np.logspace(0, 6, 25)  # pseudo-rows that draw the common line to a constant


@dataclass(frozen=True, eq=False)
class ExpertPrior:
    gates: Moments
    line: np.ndarray  # (1 + size,): a0 and b0
    slope_rows: float
    is_gaussian: bool
    has_spread: bool

    @classmethod
    def of(cls, structure: Experts, rows: ExpertRows, gate_rows: float, slope_rows: float) -> Self:
        gates = structure.gates
        even = np.full((len(rows.y), gates.n_outcomes), 1.0 / gates.n_outcomes) * rows.weights[:, None]
        pooled = structure.signed(rows, rows.form.coefficients(_flat(structure, rows, even))[1], -even)
        families = zip(gates.families, pooled.columns, strict=True)
        smooth = tuple(f.smoothed(own, pooled.mass, float(pooled.mass.sum())) for f, own in families)
        prior = gates.at_masses(Moments(pooled.mass, smooth), np.full(gates.n_outcomes, float(gate_rows)))
        return cls(
            prior, pooled_line(structure, rows), float(slope_rows), structure.target.name == "gaussian",
            structure.target.has_spread,
        )  # fmt: skip

    def value(self, moments: ExpertMoments) -> tuple[float, np.ndarray, np.ndarray]:
        """Minus the log prior of the experts, and its derivatives in (a, b) and in the spread."""
        away = np.column_stack([moments.intercept, moments.slope]) - self.line
        squares = self.slope_rows * (away**2).sum(axis=1)
        spread = moments.spread
        if self.is_gaussian:
            quadratic = squares + NOISE_ROWS * NOISE
            value = 0.5 * float((NOISE_ROWS * np.log(spread) + quadratic / spread).sum())
            d_spread = 0.5 * (NOISE_ROWS / spread - quadratic / spread**2)
            return value, self.slope_rows * away / spread[:, None], d_spread
        logs = np.log(spread / DISPERSION) if self.has_spread else np.zeros_like(spread)
        return 0.5 * float((squares + logs**2).sum()), self.slope_rows * away, logs / spread

    def experts_of(self, structure: Experts, rows: ExpertRows, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(a, b) and the spread of the best experts of rows with these (weighted) shares, by least squares."""
        seen = ~np.isnan(rows.y)
        y = structure.target.working(np.where(seen, rows.y, 0.0))
        shares = shares * seen[:, None]
        ones = np.column_stack([np.ones(len(y)), rows.vectors])
        ridge = max(self.slope_rows, 1e-3)
        squares = second_moments(ones, shares) + ridge * np.eye(ones.shape[1])
        linear = np.linalg.solve(squares, (shares.T @ (ones * y[:, None]) + ridge * self.line)[:, :, None])[:, :, 0]
        residual = (shares * (y[:, None] - ones @ linear.T) ** 2).sum(axis=0)
        residual = residual + ridge * ((linear - self.line) ** 2).sum(axis=1) + NOISE_ROWS * NOISE
        spread = residual / (shares.sum(axis=0) + NOISE_ROWS)
        if not self.is_gaussian:
            spread = np.full(len(spread), DISPERSION if self.has_spread else 1.0)
        return linear, np.maximum(spread, 2 * structure.target.floor)

    def moments(self, structure: Experts, rows: ExpertRows, shares: np.ndarray) -> ExpertMoments:
        """The M-step: gates and experts of rows with these (weighted) shares."""
        theta = rows.form.coefficients(self.gates)[1]
        gates: Any = structure.signed(rows, theta, -shares) + self.gates * _at_least(self.gates)
        linear, spread = self.experts_of(structure, rows, shares)
        return ExpertMoments(gates, linear[:, 0].copy(), linear[:, 1:].copy(), spread)


def _at_least(prior: Moments) -> float:
    """A factor that gives the start a tenth of a row in every component."""
    return max(1.0, 0.1 / float(prior.mass.min()))


def _flat(structure: Experts, rows: ExpertRows, shares: np.ndarray) -> Moments:
    """Some moments inside the domain: of the rows shared out evenly."""
    found = structure.gates.expected_statistics(rows.form.X, shares)
    return structure.gates.smoothed_maximum_likelihood(found)


def pooled_line(structure: Experts, rows: ExpertRows) -> np.ndarray:
    """(1 + size,) array: the ridge line of all rows with a target, as stiff as their evidence says.

    With noise s and slopes N(0, s / r) the log evidence, s at its best, is  -n/2 log(y'y - c'(G + r)^-1 c) - 1/2 log |1 + G / r|,
    G = Z'Z and c = Z'y of centred rows.
    """
    seen = ~np.isnan(rows.y)
    y, u, w = structure.target.working(rows.y[seen]), rows.vectors[seen], rows.weights[seen]
    total = w.sum()
    centre, mean = w @ u / total, float(w @ y) / total
    z = u - centre
    values, axes = np.linalg.eigh((z * w[:, None]).T @ z)
    values = np.maximum(values, 0.0)[:, None]
    pulls = axes.T @ ((z * w[:, None]).T @ (y - mean))
    left = float(w @ (y - mean) ** 2) - (pulls[:, None] ** 2 / (values + RIDGES)).sum(axis=0)
    least = np.finfo(float).eps * max(float(w @ y**2), 1e-300)
    evidence = -0.5 * total * np.log(np.maximum(left, least)) - 0.5 * np.log1p(values / RIDGES).sum(axis=0)
    slope = axes @ (pulls / (values[:, 0] + RIDGES[int(np.argmax(evidence))]))
    return np.concatenate([[mean - centre @ slope], slope])
