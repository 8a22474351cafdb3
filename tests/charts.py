"""Minimal coordinates of a joint of any families: moments of total mass 1 without a redundant entry, and their dual vector.

Dropped: the last mass (masses add up to one), the last cell of every categorical block and the last word
(cells add up to the mass), the lower triangle of symmetric matrices.
"""

from __future__ import annotations

import numpy as np

from suffice.families.categorical import Categorical
from suffice.families.gaussian_correlated import GaussianCorrelated
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson
from suffice.structures.base import Moments


class Columns:
    """The coordinates of one family."""

    def __init__(self, family):
        self.family = family
        self.d, self.K = family.n_features, family.n_outcomes
        self.upper = np.triu_indices(self.d)
        if isinstance(family, Categorical):
            self.last = family.offset + family.n_categories - 1
            self.kept = np.setdiff1d(np.arange(family.n_categories.sum()), self.last)
        elif isinstance(family, Multinomial):
            self.kept = np.arange(self.d - 1)

    def point(self, record) -> np.ndarray:
        family = self.family
        if isinstance(family, GaussianDiagonal):
            blocks = record.first, record.second
        elif isinstance(family, GaussianCorrelated):
            blocks = record.first, record.second[..., *self.upper]
        elif isinstance(family, Poisson):
            blocks = (record.count,)
        else:
            blocks = (record.count[self.kept],)
        return np.concatenate([np.ravel(block) for block in blocks])

    def moments(self, rest: np.ndarray, mass: np.ndarray):
        family, d, K = self.family, self.d, self.K
        if isinstance(family, GaussianDiagonal):
            return family.record(family.weight_of(mass), rest[: K * d].reshape(K, d), rest[K * d :].reshape(K, d))
        if isinstance(family, GaussianCorrelated):
            shape = () if family.is_tied else (K,)
            second = np.zeros((*shape, d, d))
            values = rest[K * d :].reshape(*shape, -1)
            second[..., *self.upper] = values
            second[..., *self.upper[::-1]] = values
            return family.record(mass.copy(), rest[: K * d].reshape(K, d), second)
        if isinstance(family, Poisson):
            return family.record(family.weight_of(mass), rest.reshape(K, d))
        if isinstance(family, Multinomial):
            kept = rest.reshape(d - 1, K)
            return family.from_sums(np.vstack([kept, family.length * mass - kept.sum(axis=0)]))
        count = np.zeros((int(family.n_categories.sum()), K))
        count[self.kept] = rest.reshape(-1, K)
        count[self.last] = mass - family.block_sums(count)
        return family.of_counts(count)

    def dual(self, natural) -> tuple[np.ndarray, np.ndarray]:
        """What goes with the masses, and with the kept statistics."""
        family, nothing = self.family, np.zeros(self.K)
        if isinstance(family, GaussianDiagonal):
            return nothing, np.concatenate([natural.linear.ravel(), natural.quadratic.ravel()])
        if isinstance(family, GaussianCorrelated):
            twice = natural.quadratic * (2.0 - np.eye(self.d))  # an entry above the diagonal stands for two
            return nothing, np.concatenate([natural.linear.ravel(), twice[..., *self.upper].ravel()])
        if isinstance(family, Poisson):
            return nothing, natural.log_rate.ravel()
        if isinstance(family, Multinomial):
            return family.length * natural.logit[-1], (natural.logit[:-1] - natural.logit[-1]).ravel()
        base = natural.logit[self.last]
        return base.sum(axis=0), (natural.logit - base[family.column_of])[self.kept].ravel()


class Chart:
    """`point` and `moments` are inverse to each other; `dual` gives d(-entropy)/d(point)."""

    def __init__(self, model):
        self.model, self.K = model, model.n_outcomes
        self.parts = [Columns(family) for family in model.families]

    def point(self, record) -> np.ndarray:
        """Also of a direction: the chart is linear in the moments."""
        blocks = (part.point(own) for part, own in zip(self.parts, record.columns, strict=True))
        return np.concatenate([record.mass[:-1], *blocks])

    def moments(self, point: np.ndarray) -> Moments:
        mass = np.append(point[: self.K - 1], 1.0 - point[: self.K - 1].sum())
        sizes = [len(part.point(own)) for part, own in zip(self.parts, self.model.no_statistics().columns, strict=True)]
        blocks = np.split(point[self.K - 1 :], np.cumsum(sizes)[:-1])
        return Moments(mass, tuple(part.moments(block, mass) for part, block in zip(self.parts, blocks, strict=True)))

    def dual(self, moments) -> np.ndarray:
        """The natural parameters that go with the kept statistics."""
        natural = self.model.natural_of(moments)
        parts = [part.dual(own) for part, own in zip(self.parts, natural.columns, strict=True)]
        constant = natural.constant + sum(base for base, _ in parts)
        return np.concatenate([constant[:-1] - constant[-1], *(block for _, block in parts)])


def jacobian(function, point: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Central differences of sixth order, with steps relative to the entries; rows are the outputs."""
    columns = []
    for index in range(len(point)):
        h = np.zeros_like(point)
        h[index] = step * max(abs(point[index]), 1e-2)
        total = sum(
            weight * (np.atleast_1d(function(point + n * h)) - np.atleast_1d(function(point - n * h)))
            for n, weight in ((1, 45.0), (2, -9.0), (3, 1.0))
        )
        columns.append(total / (60.0 * h[index]))
    return np.array(columns).T
