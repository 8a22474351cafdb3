"""Minimal coordinates of every family: moments of total mass 1 without a redundant entry, and their dual vector.

Dropped: the last mass (masses add up to one), the last cell of every categorical block and the last word
(cells add up to the mass), the lower triangle of symmetric matrices.
"""

from __future__ import annotations

import numpy as np

from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson


class Chart:
    """`point` and `moments` are inverse to each other; `dual` gives d(-entropy)/d(point)."""

    def __init__(self, model):
        self.model = model
        self.d, self.K = model.n_features, model.n_outcomes
        self.upper = np.triu_indices(self.d)
        if isinstance(model, Categorical):
            self.last = model.offset + model.n_categories - 1
            self.kept = np.setdiff1d(np.arange(model.n_categories.sum()), self.last)
        elif isinstance(model, Multinomial):
            self.kept = np.arange(self.d - 1)

    def point(self, record) -> np.ndarray:
        """Also of a direction: the chart is linear in the moments."""
        return np.concatenate([record.mass[:-1], *self._blocks(record)])

    def _blocks(self, record):
        if isinstance(self.model, GaussianDiagonal):
            return record.first.ravel(), record.second.ravel()
        if isinstance(self.model, GaussianFull):
            return record.first.ravel(), record.second[:, *self.upper].ravel()
        if isinstance(self.model, GaussianTied):
            return record.first.ravel(), record.second[self.upper]
        if isinstance(self.model, Poisson):
            return (record.count.ravel(),)
        return (record.count[self.kept].ravel(),)

    def moments(self, point: np.ndarray):
        model, d, K, kind = self.model, self.d, self.K, self._record()
        mass = np.append(point[: K - 1], 1.0 - point[: K - 1].sum())
        rest = point[K - 1 :]
        if isinstance(model, GaussianDiagonal):
            return kind(mass, model.spread(mass), rest[: K * d].reshape(K, d), rest[K * d :].reshape(K, d))
        if isinstance(model, (GaussianFull, GaussianTied)):
            shape = (K,) if isinstance(model, GaussianFull) else ()
            second = np.zeros((*shape, d, d))
            values = rest[K * d :].reshape(*shape, -1)
            second[..., *self.upper] = values
            second[..., *self.upper[::-1]] = values
            return kind(mass, mass.copy(), rest[: K * d].reshape(K, d), second)
        if isinstance(model, Poisson):
            return kind(mass, model.spread(mass), rest.reshape(K, d))
        if isinstance(model, Multinomial):
            kept = rest.reshape(d - 1, K)
            return kind(mass, np.vstack([kept, model.length * mass - kept.sum(axis=0)]))
        count = np.zeros((int(model.n_categories.sum()), K))
        count[self.kept] = rest.reshape(-1, K)
        count[self.last] = mass - model.block_sums(count)
        return kind(mass, count, model.spread(mass))

    def _record(self):
        from importlib import import_module

        return import_module(type(self.model).__module__).Moments

    def dual(self, moments) -> np.ndarray:
        """The natural parameters that go with the kept statistics."""
        natural = self.model.natural_of(moments)
        constant = natural.constant
        if isinstance(self.model, GaussianDiagonal):
            blocks = natural.linear.ravel(), natural.quadratic.ravel()
        elif isinstance(self.model, (GaussianFull, GaussianTied)):
            twice = natural.quadratic * (2.0 - np.eye(self.d))  # an entry above the diagonal stands for two
            blocks = natural.linear.ravel(), twice[..., *self.upper].ravel()
        elif isinstance(self.model, Poisson):
            blocks = (natural.log_rate.ravel(),)
        elif isinstance(self.model, Multinomial):
            constant = constant + self.model.length * natural.logit[-1]
            blocks = ((natural.logit[:-1] - natural.logit[-1]).ravel(),)
        else:
            base = natural.logit[self.last]
            constant = constant + base.sum(axis=0)
            blocks = ((natural.logit - base[self.model.column_of])[self.kept].ravel(),)
        return np.concatenate([constant[:-1] - constant[-1], *blocks])


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
