r"""A target beside the rows: gates p(z) p(x | z) of any families, and in every component z a linear expert of the target.

    p(x, y) = sum_z p(z) p(x | z) p(y | eta_z(x), V_z(x), spread_z)       eta_z = a_z + b_z'u(x)      (`design`, `targets`)

    q = p(z | x, y),  p = p(z | x):        nll = -log p(x, y)        ncll = -log p(y | x)
    d ncll / d log p(x, z) = p - q,   d nll / d log p(x, z) = -q,   d / d eta = -q d log p(y | z) / d eta,   the same for V, spread

This is Table 2 of Masegosa (2014) with a continuous label: gates are moved by what the statistics are expected to be given (x, y)
less what they are given x, and experts by the first. Missing cells are latent: given (x, y, z) a missing number has the mean
m + b v r / S and the second moment that belongs to it (r = y - eta, S = spread + V), and given (x, z) m and v + m^2; their difference
is what `design.pulled` gives. A row without a target adds -log p(x).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from typing_extensions import override

from ..families.records import Record
from ..families.rows import any_missing
from ..kernels.structures.experts import conditional_log_density, two_moments, weigh_gaussian
from .base import Expectation, Given, Moments, Structure
from .design import Design, NumberCells, design_of
from .hinges import with_hinges
from .joint import Joint
from .pooling import pooled_members
from .targets import Target

IMPOSSIBLE = 1e300  # of a log-density


@dataclass(frozen=True, eq=False)
class ExpertMoments(Record):
    gates: Moments
    intercept: np.ndarray  # (K,)
    slope: np.ndarray  # (K, size of u)
    spread: np.ndarray  # (K,)


@dataclass(eq=False)
class ExpertRows:
    """Rows as the products of matrices want them: made once, read at every step."""

    form: Any
    phi: list  # of every part of the rows
    vectors: np.ndarray  # u
    missing: np.ndarray | None  # (n, columns) indicators, where a cell is missing
    y: np.ndarray
    weights: np.ndarray

    @property
    def parts(self) -> list[slice]:
        return [slice(a, min(a + self.form.chunk, len(self.y))) for a in range(0, len(self.y), self.form.chunk)]


@dataclass(frozen=True, eq=False)
class Experts(Structure):
    gates: Joint
    design: Design
    target: Target

    @classmethod
    def of(cls, gates: Joint, X: np.ndarray, target: Target, weights: np.ndarray | None = None) -> Self:
        """Experts that are lines; with the rows' weights, lines with bends in columns of numbers (`hinges`)."""
        pieces = gates.split(X)
        design = design_of(gates.families, pieces)
        if weights is not None:
            each = zip(design.parts, pieces, strict=True)
            bent = (with_hinges(own, x, weights) if isinstance(own, NumberCells) else own for own, x in each)
            design = Design(tuple(bent))
        return cls(gates, design, target)

    @property
    @override
    def n_outcomes(self) -> int:  # type: ignore[override]
        return self.gates.n_outcomes

    @property
    @override
    def n_features(self) -> int:  # type: ignore[override]
        return self.gates.n_features

    def with_outcomes(self, n_outcomes: int) -> Self:
        return replace(self, gates=self.gates.with_outcomes(n_outcomes))

    def rows(self, X: np.ndarray, y: np.ndarray | None = None, weights: np.ndarray | None = None) -> ExpertRows:
        form, n = self.gates.form(X), len(X)
        y = np.full(n, np.nan) if y is None else y
        weights = np.ones(n) if weights is None else weights
        has_gaps = any_missing(X)
        found = ExpertRows(form, [], self.design.vectors(self.gates.split(X)), None, y, weights)
        found.missing = np.isnan(X).astype(float) if has_gaps else None
        found.phi = [form.read(part.start, part.stop - part.start, form.buffers()) for part in found.parts]
        return found

    def own(self, rows: ExpertRows) -> ExpertRows:
        """Rows that a structure with another number of components has made."""
        return replace(rows, form=self.gates.form(rows.form.X))

    # -- scores -------------------------------------------------------------------------------------------------------

    def gate_scores(self, rows: ExpertRows, coefficients: tuple) -> np.ndarray:
        """(n, K) array: log p(x, z)."""
        constant, theta = coefficients
        parts = [rows.form.scores(phi, theta) for phi in rows.phi]
        scores = parts[0] if len(parts) == 1 else np.concatenate([np.empty((0, len(constant))), *parts])
        scores = np.ascontiguousarray(scores + constant)
        if scores.size and not np.isfinite(
            scores.min()
        ):  # rows that are impossible under every component belong to none more
            np.nan_to_num(scores, copy=False, nan=-IMPOSSIBLE, neginf=-IMPOSSIBLE, posinf=IMPOSSIBLE)
        return scores

    def linear(self, moments: ExpertMoments, rows: ExpertRows) -> tuple[np.ndarray, np.ndarray]:
        """eta (n, K), and V (n, K), or (1, K) zeros where no cell is missing."""
        eta = rows.vectors @ moments.slope.T
        eta += moments.intercept
        if rows.missing is None:
            return eta, np.zeros((1, len(moments.intercept)))
        mean, variance = self.design.expected(self.gates.families, moments.gates, moments.slope)
        return eta + rows.missing @ mean.T, rows.missing @ variance.T

    def scores(self, moments: ExpertMoments, rows: ExpertRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """log p(x, z), eta and V."""
        return self.gate_scores(rows, rows.form.coefficients(moments.gates)), *self.linear(moments, rows)

    def components(self, moments: ExpertMoments, rows: ExpertRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """p(z | x), and mean and variance of the target in every component: (n, K) arrays."""
        gates, eta, variance = self.scores(moments, rows)
        mean, variance = self.target.moments(eta, variance, moments.spread)
        return softmax(gates), mean, np.broadcast_to(variance, mean.shape)

    def log_density(self, moments: ExpertMoments, rows: ExpertRows) -> np.ndarray:
        """(n,) array: log p(y | x)."""
        gates, eta, variance = self.scores(moments, rows)
        if self.target.is_compiled:
            return log_density_of(gates, eta, variance + moments.spread, rows.y)
        value = self.target.terms(rows.y[:, None], eta, variance, moments.spread)[0]
        return logsumexp(gates + value, axis=1) - logsumexp(gates, axis=1)

    def two_moments(
        self, moments: ExpertMoments, rows: ExpertRows, ends: Any = None, weights: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n,) arrays: E[y | x] and E[y^2 | x]; of several members' components (`pooled_experts`) with the members' weights."""
        gates, eta, variance = self.scores(moments, rows)
        mean, variance = self.target.moments(eta, variance, moments.spread)
        return two_moments_of(gates, mean, np.atleast_2d(variance), ends, weights)

    def log_rows(self, moments: ExpertMoments, rows: ExpertRows) -> np.ndarray:
        """(n,) array: log p(x), base measure included."""
        scores = self.gate_scores(rows, rows.form.coefficients(moments.gates))
        return logsumexp(scores, axis=1) + self.gates.log_base_measure(rows.form.X)

    def shares(self, moments: ExpertMoments, rows: ExpertRows) -> np.ndarray:
        """(n, K) array: p(z | x, y); p(z | x) of rows without a target."""
        gates, eta, variance = self.scores(moments, rows)
        seen = ~np.isnan(rows.y)
        value = self.target.terms(np.where(seen, rows.y, 0.0)[:, None], eta, variance, moments.spread)[0]
        return softmax(gates + np.where(seen[:, None], value, 0.0))

    # -- what a loss asks ---------------------------------------------------------------------------------------------

    def weigh(self, gates, eta, variance, spread, rows: ExpertRows, conditional: float):
        """The loss  conditional log p(x) - log p(x, y)  (1: ncll, 0: nll), and its derivatives in log p(x, z), eta, V and the spread
        (arrays of the size of eta, the last one (K,))."""
        if self.target.is_compiled:
            slopes = np.empty_like(gates)
            loss = weigh_gaussian(gates, eta, variance + spread, rows.y, rows.weights, float(conditional), slopes)
            return loss, gates, eta, slopes, slopes.sum(axis=0)
        return self.weigh_plainly(gates, eta, variance, spread, rows, conditional)

    def weigh_plainly(self, gates, eta, variance, spread, rows: ExpertRows, conditional: float):
        """`weigh` of every target, readable: the twin of the compiled one of a Gaussian target."""
        seen = ~np.isnan(rows.y)
        y = np.where(seen, rows.y, 0.0)[:, None]
        value, d_eta, d_variance, d_spread = self.target.terms(y, eta, variance, spread)
        joint = gates + np.where(seen[:, None], value, 0.0)
        log_gates, log_joint = logsumexp(gates, axis=1), logsumexp(joint, axis=1)
        free = rows.weights * seen * conditional
        loss = float(free @ log_gates - rows.weights @ log_joint)
        share = rows.weights[:, None] * np.exp(joint - log_joint[:, None])
        d_gates = free[:, None] * np.exp(gates - log_gates[:, None]) - share
        share = share * seen[:, None]
        return loss, d_gates, -share * d_eta, -share * d_variance, -(share * d_spread).sum(axis=0)

    def signed(self, rows: ExpertRows, theta: Any, d_gates: np.ndarray) -> Moments:
        """Statistics of the gates: minus the derivatives in theta, given those in log p(x, z)."""
        out = rows.form.zeros()
        for part, phi in zip(rows.parts, rows.phi, strict=True):
            rows.form.add(phi, d_gates[part], theta, out)
        return -1.0 * rows.form.record(d_gates.sum(axis=0), out)

    @override
    def expect(self, moments: ExpertMoments, X, y, weights, given: Given) -> Expectation:
        """Statistics of the gates, missing cells completed, given the target (LABEL) or without it (NOTHING)."""
        rows = self.rows(X, y if given is Given.LABEL else None, weights)
        if given is Given.RIVAL:
            raise ValueError("a target that is not a label has no rival: use loss='ncll' or 'nll'")
        gates, eta, variance = self.scores(moments, rows)
        seen = ~np.isnan(rows.y)
        terms = self.target.terms(np.where(seen, rows.y, 0.0)[:, None], eta, variance, moments.spread)
        joint = gates + np.where(seen[:, None], terms[0], 0.0)
        shares = weights[:, None] * softmax(joint)
        theta = rows.form.coefficients(moments.gates)[1]
        statistics = self.signed(rows, theta, -shares)
        if rows.missing is not None:  # the cells that are missing: given z alone, and what the target adds to that
            unseen = rows.missing.T @ shares
            parts = zip(self.gates.families, moments.gates.columns, self._by_family(unseen), strict=True)
            own = Moments(np.zeros_like(moments.gates.mass), tuple(_unseen(*part) for part in parts))
            pulls = [-shares * seen[:, None] * slope for slope in terms[1:3]]
            more = self.design.pulled(
                self.gates.families, moments.gates, moments.slope, *(pull.T @ rows.missing for pull in pulls)
            )[1]
            statistics = statistics + own + more
        return Expectation(statistics, logsumexp(joint, axis=1))

    def _by_family(self, cells: np.ndarray) -> list[np.ndarray]:
        """(columns of the family, K) arrays of a (columns, K) one."""
        return np.split(cells, self.gates.cuts) if len(self.gates.families) > 1 else [cells]


def _unseen(family, moments, weight: np.ndarray):
    """Statistics of missing cells given the component alone; `weight` (columns, K) is how many."""
    return family.at_weight(moments, weight if family.outcome_axis else weight.T)


def log_density_of(gates: np.ndarray, mean: np.ndarray, variance: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,) array: log p(y | x) of Gaussian components; `variance` is (n, K) or (1, K)."""
    result = np.empty(len(gates))
    conditional_log_density(gates, mean, variance, y, result)
    return result


def two_moments_of(
    gates: np.ndarray, mean: np.ndarray, variance: np.ndarray, ends: Any = None, weights: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) arrays: E[y | x] and E[y^2 | x]; `gates` are overwritten. Members have components ends[m] .. ends[m + 1] - 1."""
    first, second = np.empty(len(gates)), np.empty(len(gates))
    ends = np.array([0, gates.shape[1]]) if ends is None else ends
    two_moments(gates, mean, variance, ends, np.ones(1) if weights is None else weights, first, second)
    return first, second


def pooled_experts(structure: Experts, members: list[ExpertMoments]) -> tuple[Experts, ExpertMoments]:
    """The structure and the moments of all components of the members, side by side: one product scores all of them."""
    gates, moments = pooled_members(structure.gates, [member.gates for member in members])
    others = (np.concatenate(part) for part in zip(*((m.intercept, m.slope, m.spread) for m in members), strict=True))
    return replace(structure, gates=gates), ExpertMoments(moments, *others)


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
