r"""The joint density of conditionally trained parameters: the factor common to all classes, settled by moment matching.

p(y | x) does not change if exp <delta, phi(x)> multiplies the joint density of every class. delta minimises the joint negative
log-likelihood of the rows given p(y | x),

    log sum_k exp(c_k + A_k(theta_k + delta)) - <delta, mean phi>

which is convex and needs no rows but their mean: at its minimum the model's mean of every number, square, category and count is the
data's. Columns with gaps that enter the scores through A_kj(theta) have no such freedom and keep theirs.

Where a column t of two categories tells whether column j was seen, the trained logit of "seen" stands for log p(seen | k) - A_kj, so
A_kj(theta + delta) is added to it, and the pair's normaliser is log(exp(gap) + exp(seen + A_kj)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.special import logsumexp

from ...families import gaussian_diagonal, gaussian_tied
from ...structures.base import Moments
from .conditional import Conditional
from .design import ColumnLayout, ridged
from .parts import LIMIT_RATE

STEPS, TOL, ROUNDS = 300, 1e-10, 20
LEAST = 1e-300


class Numbers:
    """delta: of z, and the logarithm of what is added to u (so that it stays positive)."""

    def __init__(self, layout: ColumnLayout, part, T, sums, shares):
        self.layout, d = layout, layout.X.shape[1]
        total = max(float(sums.n.sum()), LEAST)
        if layout.kind == "correlated":
            self.basis, self.w, u = principal(layout, part.precisions(T)[0], sums, shares)
            self.first, self.second = np.zeros(d), np.ones(d)
        else:
            self.w, u = part.precisions(T)
            self.first = sums.firsts[layout.dense].sum(axis=1) / total
            square = sums.seconds[layout.dense].sum(axis=1)
            self.second = np.maximum(square, 1e-6 * sums.seen(layout).sum(axis=1)) / total
        self.counts = self.is_free = np.ones(d, dtype=bool)
        self.is_free[layout.gaps] = False
        least = u.min(axis=1, keepdims=True)
        self.base = np.where(self.is_free[:, None], u - least, u)  # of the precisions, beside what delta adds
        self.start = np.concatenate([np.zeros(d), np.log(least[:, 0])])

    def at(self, delta):
        d, free = len(self.first), self.is_free
        shift = np.where(free, delta[:d], 0.0)
        added = np.where(free, np.exp(np.clip(delta[d:], -20.0, 20.0)), 0.0)
        w, u = self.w + shift[:, None], self.base + added[:, None]
        m = w / u
        linear = shift @ self.first - 0.5 * added @ self.second

        def slope(weight):
            squares = ((m * m + 1.0 / u) * weight).sum(axis=1)
            first = free * ((m * weight).sum(axis=1) - self.first)
            return np.concatenate([first, 0.5 * added * (self.second - squares)])

        return 0.5 * (w * m - np.log(u)), linear, slope, (m, u)

    def record(self, found, mass):
        (m, u), family, own = found, self.layout.family, self.layout
        if own.kind != "correlated":
            mean, variance = own.mean + own.unit * m.T, own.unit**2 / u.T
            return gaussian_diagonal.from_parameters(family.weight_of(mass), mean - family.location, variance)
        covariance = (self.basis / u[:, 0]) @ self.basis.T
        mean = own.mean + m.T @ self.basis.T - family.location
        return gaussian_tied.from_parameters(mass.copy(), mean, 0.5 * (covariance + covariance.T))


def principal(
    layout: ColumnLayout, w: np.ndarray, sums, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A basis G, x = mean + G t, in which all rows have the covariance 1 and V is diagonal; w and u there.

    The covariance of all rows is V + V C V with C that of the classes' coefficients about their mean. Where all rows have
    covariance 1 and C (with the masses `shares`) has the eigenvalues e, V has (sqrt(1 + 4 e) - 1) / (2 e) along the same directions.
    """
    deviations = np.linalg.norm(layout.unit, axis=1)
    own, products = layout.unit / deviations[:, None], sums.products(is_tied=True)[layout.dense, layout.dense]
    covariance = ridged(own @ products @ own.T, float(sums.n.sum()))
    root = deviations[:, None] * np.linalg.cholesky(covariance)
    along = root.T @ solve_triangular(layout.unit, w, lower=True, trans="T")
    along -= (along @ shares)[:, None]
    e, turn = np.linalg.eigh((along * shares) @ along.T)
    u = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * np.maximum(e, 0.0)))
    return root @ turn, turn.T @ along, np.repeat(u[:, None], w.shape[1], axis=1)


class Cells:
    """delta: of every cell."""

    def __init__(self, layout: ColumnLayout, part, T, sums, shares):
        self.layout, self.family = layout, layout.family
        column, sizes = self.family.column_of, self.family.n_categories
        self.counts = ~part.is_normalised
        self.is_free = self.counts[column]
        total = max(float(sums.n.sum()), LEAST)
        count = sums.counts[layout.cells].sum(axis=1)
        smooth = np.where(count > 0, count, 0.5 / sizes[column])  # what never occurs has a trace of a chance
        whole = self.family.column_sums(np.stack([count, smooth], axis=1))
        self.share = smooth / whole[:, 1] * np.maximum(whole[:, 0], LEAST) / total
        self.logits = part.logits(T)
        centre = np.log(self.share) - self.logits.mean(axis=1)
        self.start = np.where(self.is_free, centre, 0.0)

    def at(self, delta):
        family, delta = self.family, np.where(self.is_free, delta, 0.0)
        self.moved = self.logits + delta[:, None]
        top = np.maximum.reduceat(self.moved, family.offset, axis=0)
        shares = np.exp(self.moved - top[family.column_of])
        whole = np.add.reduceat(shares, family.offset, axis=0)
        shares /= whole[family.column_of]

        def slope(weight):
            return self.is_free * ((shares * weight[family.column_of]).sum(axis=1) - self.share)

        return top + np.log(whole), float(delta @ self.share), slope, shares

    def record(self, shares, mass):
        return self.family.from_shares(np.maximum(shares, LEAST), mass)


class Counts:
    """delta: of the logarithm of every rate."""

    def __init__(self, layout: ColumnLayout, part, T, sums, shares):
        self.layout = layout
        self.log_rate = np.clip(T, -LIMIT_RATE, LIMIT_RATE) + part.log_mean
        self.counts = self.is_free = np.ones(len(T), dtype=bool)
        self.is_free[layout.gaps] = False
        self.start = np.zeros(len(T))
        self.mean = np.maximum(sums.firsts[layout.dense].sum(axis=1) / max(float(sums.n.sum()), LEAST), 1e-9)

    def at(self, delta):
        delta = np.where(self.is_free, np.clip(delta, -LIMIT_RATE, LIMIT_RATE), 0.0)
        rate = np.exp(self.log_rate + delta[:, None])

        def slope(weight):
            return self.is_free * ((rate * weight).sum(axis=1) - self.mean)

        return rate, float(delta @ self.mean), slope, rate

    def record(self, rate, mass):
        return self.layout.family.from_means(self.layout.family.weight_of(mass), rate.T)


# every block has `counts`: which of its columns' normalisers the class constants hold
KINDS: dict[str, Any] = {
    "numbers": Numbers, "correlated": Numbers, "categories": Cells, "bins": Cells, "counts": Counts,
}  # fmt: skip


@dataclass(frozen=True)
class Tellers:
    """Columns (places among all features), and the columns of two categories (0: gap, 1: seen) that tell of their gaps."""

    told: np.ndarray
    by: np.ndarray


@dataclass
class Settling:
    """The convex problem in delta."""

    blocks: list
    constant: np.ndarray
    told: np.ndarray  # places among the columns of all blocks
    by: np.ndarray
    teller_cells: list  # (block, cell of "gap", column within the block) of every teller

    def at(self, x: np.ndarray):
        """What the blocks found, log-masses of the classes, and (columns, K) probabilities of being seen."""
        cuts = np.cumsum([len(block.start) for block in self.blocks])[:-1]
        found = [block.at(own) for block, own in zip(self.blocks, np.split(x, cuts), strict=True)]
        norms = np.concatenate([part[0] for part in found])
        seen = np.ones_like(norms)
        for column, by, (block, cell, _) in zip(self.told, self.by, self.teller_cells, strict=True):
            gap, there = block.moved[cell], block.moved[cell + 1] + norms[column]
            norms[by] = np.logaddexp(gap, there)
            seen[column], seen[by] = np.exp(there - norms[by]), np.exp(gap - norms[by])  # that of a gap, for `shares`
        counts = np.concatenate([block.counts for block in self.blocks])
        counts[self.told] = False
        return found, self.constant + norms[counts].sum(axis=0), seen

    def shares(self, found: list, seen: np.ndarray) -> list:
        """What the blocks found, with the tellers' probabilities in their cells."""
        for column, by, (block, cell, _) in zip(self.told, self.by, self.teller_cells, strict=True):
            own = found[self.blocks.index(block)][3]
            own[cell], own[cell + 1] = seen[by], seen[column]
            seen[by] = 1.0
        return found

    def value_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        found, logs, seen = self.at(x)
        total = float(logsumexp(logs))
        mass = np.exp(logs - total)
        value = total - sum(part[1] for part in found)
        self.shares(found, seen)
        weights = np.split(seen * mass, np.cumsum([len(part[0]) for part in found])[:-1])
        return value, np.concatenate([part[2](own) for part, own in zip(found, weights, strict=True)])


def settled(model, problem: Conditional, T: list[np.ndarray], tellers: Tellers) -> Moments:
    """Moments of total mass one with the posteriors of the trained scores."""
    mass = problem.sums.shares
    for _ in range(ROUNDS if any(layout.kind == "correlated" for layout in problem.design.layouts) else 1):
        before = mass
        blocks, found, mass = _settled(problem, T, tellers, mass)
        if np.abs(mass - before).max() < 1e-6:  # the basis of correlated columns depends on the masses
            break
    columns = list(model.no_statistics().columns)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond all numbers: `keeps_posteriors` says so
        for block, part in zip(blocks, found, strict=True):
            columns[block.layout.place] = block.record(part[3], mass)
    return Moments(mass, tuple(columns))


def _settled(
    problem: Conditional, T: list[np.ndarray], tellers: Tellers, shares: np.ndarray
) -> tuple[list, list, np.ndarray]:
    """The blocks, what they found, and the masses of the classes."""
    blocks = [
        KINDS[layout.kind](layout, part, own, problem.sums, shares)
        for layout, part, own in zip(problem.design.layouts, problem.parts, T[1:], strict=True)
    ]
    starts = np.concatenate([[0], np.cumsum([block.layout.X.shape[1] for block in blocks])]).astype(int)
    cells = []
    for by in tellers.by:
        number = int(np.searchsorted(starts, by, side="right")) - 1
        block, column = blocks[number], int(by - starts[number])
        cells.append((block, int(block.family.offset[column]), column))
    goal = Settling(blocks, T[0][0], tellers.told, tellers.by, cells)
    start = np.concatenate([block.start for block in blocks])
    options = {"maxiter": STEPS, "ftol": TOL, "gtol": 1e-9}
    with np.errstate(over="ignore", invalid="ignore"):
        x = minimize(goal.value_and_gradient, start, jac=True, method="L-BFGS-B", options=options).x
    x = x if np.isfinite(x).all() else start  # moments of 1e160 in units of a column: the slope's square is no number
    found, logs, seen = goal.at(x)
    goal.shares(found, seen)
    return blocks, found, np.maximum(np.exp(logs - logsumexp(logs)), LEAST)
