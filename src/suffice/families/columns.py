r"""Columns of numbers that are independent given the outcome: a base class that derives nearly everything from a cell's mathematics.

    log p(x | k) = sum_j [ sum_m theta_m phi_m(x_j) - A(theta) ] + a base measure,        theta = theta_kj

    statistics   weight,  phi_1(x), phi_2(x), ...                       (a missing cell adds to none of them)
    moments      weight[k, j],  and for every statistic  weight * E phi_m
    natural      theta_m[k, j]

A subclass says what phi is (x itself unless it says so), and gives the maps of a cell, all elementwise over (K, n_features) arrays:

    coefficients(*means)          theta of the expectations of phi            (the M-step)
    means(*coefficients)          the expectations of phi: the gradient of A
    log_norm(*coefficients)       A

and `cell_moments` and `sample`. Statistics are taken to be positive; a subclass whose are not gives `room` and `is_inside`. With
`unconstrained`, `constrained` and `chained` (theta as coordinates without bounds, back, and gradients) it has a chart. The compiled
kernels are those of the module `kernels`; where x is the only statistic `kernels.families.cells` makes them of two functions of a cell.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from .base import Change, Family, room_below
from .charts import CellChart, clipped
from .forms import CellForm, ValueForm
from .records import Record
from .rows import any_missing, chunks, dense, without_missing


@dataclass(frozen=True, eq=False)
class Moments(Record):
    weight: np.ndarray
    total: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    coefficient: np.ndarray


@dataclass(frozen=True, eq=False)
class Columns(Family):
    has_independent_columns = True
    record: ClassVar[Any] = Moments  # weight, then the sums of the statistics
    natural: ClassVar[Any] = Natural  # the coefficients of the statistics
    n_statistics = 1

    # -- what a subclass gives ----------------------------------------------------------------------------------------

    def phi(self, X: np.ndarray) -> tuple[np.ndarray, ...]:
        """The statistics of every cell, each in the shape of X."""
        return (X,)

    @abstractmethod
    def coefficients(self, *means: np.ndarray) -> tuple[np.ndarray, ...]: ...

    @abstractmethod
    def means(self, *coefficients: np.ndarray) -> tuple[np.ndarray, ...]: ...

    @abstractmethod
    def log_norm(self, *coefficients: np.ndarray) -> np.ndarray: ...

    def is_inside(self, *means: np.ndarray) -> np.ndarray:
        """Whether a cell has a density with these expectations."""
        return np.logical_and.reduce([mean > 0 for mean in means])

    def room(self, means: tuple, changes: tuple, weight: np.ndarray, gain: np.ndarray) -> np.ndarray:
        """The largest step of every cell that keeps the share KEEP of it: from sums weight * means, along `changes` and `gain`."""
        limits = [room_below(weight * mean, change) for mean, change in zip(means, changes, strict=True)]
        return reduce(np.minimum, limits, room_below(weight, gain))

    def unconstrained(self, *coefficients: np.ndarray) -> tuple[np.ndarray, ...]:
        """Coordinates without bounds."""
        return coefficients

    def constrained(self, *coordinates: np.ndarray) -> tuple[np.ndarray, ...]:
        """The coefficients at some coordinates; numbers far out are clipped (`charts.clipped`)."""
        return tuple(clipped(values) for values in coordinates)

    def chained(self, coordinates: tuple, gradients: tuple) -> tuple[np.ndarray, ...]:
        """Gradients in the coordinates, of gradients in the coefficients."""
        return gradients

    # -- what follows -------------------------------------------------------------------------------------------------

    def means_of(self, moments) -> tuple[np.ndarray, ...]:
        """Expectations of the statistics; 0 in a block of no weight."""
        weight, *sums = moments.arrays()
        weight = np.where(weight > 0, weight, 1.0)
        return tuple(sum_ / weight for sum_ in sums)

    def from_means(self, weight: np.ndarray, *means: np.ndarray):
        return self.record(weight, *(weight * mean for mean in means))

    def from_sums(self, weight: np.ndarray, *sums: np.ndarray):
        return self.record(weight, *sums)

    @override
    def weight_of(self, mass):
        return np.repeat(mass[:, None], self.n_features, axis=1)

    @override
    def statistics(self, X, shares):
        if not isinstance(X, np.ndarray) and type(self).phi is Columns.phi:
            seen, missing = without_missing(X) if any_missing(X) else (X, None)
            weight = self.weight_of(shares.sum(axis=0))
            if missing is not None:
                weight = weight - np.asarray((missing.T @ shares).T)
            return self.record(weight, np.asarray((seen.T @ shares).T))
        weight = np.zeros((self.n_outcomes, self.n_features))
        sums = [np.zeros_like(weight) for _ in range(self.n_statistics)]
        for rows in chunks(X):
            part, r = dense(X[rows]), shares[rows].T
            seen = ~np.isnan(part)
            weight += r @ seen
            for sum_, values in zip(sums, self.phi(part), strict=True):
                sum_ += r @ np.where(seen, values, 0.0)
        return self.record(weight, *sums)

    @override
    def natural_of(self, moments):
        return self.natural(*self.coefficients(*self.means_of(moments)))

    @override
    def log_partitions(self, natural):
        return self.log_norm(*natural.arrays()).sum(axis=1)

    @override
    def moments_of(self, natural, mass):
        return self.from_means(self.weight_of(mass), *self.means(*natural.arrays()))

    def constant_and_coefficients(self, moments) -> tuple[np.ndarray, ...]:
        """(K, n_features) arrays: -A, and the coefficient of each statistic."""
        found = self.coefficients(*self.means_of(moments))
        return -self.log_norm(*found), *found

    def cells(self, moments) -> tuple[np.ndarray, ...]:
        """The same for `forms.CellForm`, where none may be infinite."""
        return self.constant_and_coefficients(moments)

    @override
    def log_likelihood(self, statistics, moments):
        with np.errstate(divide="ignore", invalid="ignore"):
            pairs = zip(statistics.arrays(), self.constant_and_coefficients(moments), strict=True)
            constants, *terms = (np.where(sums != 0, sums * found, 0.0) for sums, found in pairs)
        return float((sum(terms) + constants).sum())

    @override
    def log_densities(self, moments, X):
        X = dense(X)
        seen, (constant, *found) = ~np.isnan(X), self.constant_and_coefficients(moments)
        terms = (np.where(seen, values, 0.0) @ c.T for values, c in zip(self.phi(X), found, strict=True))
        return sum(terms) + seen @ constant.T

    @override
    def cell_log_densities(self, moments, X):
        seen, (constant, *found) = ~np.isnan(X), self.constant_and_coefficients(moments)
        cells = sum(values[:, None, :] * c for values, c in zip(self.phi(X), found, strict=True)) + constant
        return np.where(seen[:, None, :], cells, 0.0)

    @override
    def in_domain(self, moments):
        weight = moments.weight
        return moments.is_finite() and bool((weight > 0).all() and self.is_inside(*self.means_of(moments)).all())

    @override
    def at_weight(self, moments, weight):
        return self.from_means(weight, *self.means_of(moments))

    @override
    def move(self, moments, direction, rate: float, change: Change):
        means, (_, *changes) = self.means_of(moments), direction.arrays()
        old, gain = change.before[:, None], change.gain[:, None]
        step = np.minimum(rate, self.room(means, tuple(changes), old, gain))
        new = old + step * gain
        moved = [(old * mean + step * own) / new for mean, own in zip(means, changes, strict=True)]
        return self.from_means(self.weight_of(change.after), *moved), int((step < rate).sum())

    @override
    def typical(self, statistics):
        """Expectations over all outcomes; a column never seen gets the smallest positive one of the others."""
        weight, *sums = statistics.arrays()
        means = [sum_.sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300) for sum_ in sums]
        return [np.where(m > 0, m, m[m > 0].min() if (m > 0).any() else 1.0) for m in means]

    @override
    def pseudo_rows(self, statistics, amount, typical):
        return self.from_means(np.full((self.n_outcomes, self.n_features), float(amount)), *typical)

    @override
    def pseudo_counts(self, statistics, amount):
        """`amount` rows as all outcomes are together."""
        return self.pseudo_rows(statistics, amount, self.typical(statistics))

    @override
    def form_for(self, X):
        return ValueForm if type(self).phi is Columns.phi else CellForm

    @override
    def chart_for(self, moments):
        return CellChart

    @override
    def state_of(self, moments) -> tuple:
        """The moments themselves: what `kernels.families.cells` takes."""
        return moments.copy().arrays()

    @override
    def moments_of_state(self, state):
        return self.record(*(array.copy() for array in state[: self.n_statistics + 1]))
