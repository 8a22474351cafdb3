r"""Categorical columns, independent given the outcome. Bernoulli columns are the case of two categories.

    log p(x | k) = sum_j log q_kj(x_j)

    statistics   one-hot of every column's category (the cells of all columns lie side by side: offset[j] + code)
    moments      count[cell, k],  weight[j, k] = sum of column j's cells
    natural      logit[cell, k] = log q
    A_k          sum_j log sum_v exp logit

Rows hold category codes 0, 1, ... as floats; NaN is a missing cell and adds to no cell of its column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse
from typing_extensions import override

from .base import KEEP, Change, Family
from .charts import LogitChart
from .conjugates import Dirichlets
from .forms import CategoryForm, safe_log
from .points import without_gaps
from .records import Record
from .rows import dense


@dataclass(frozen=True, eq=False)
class Moments(Record):
    count: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    logit: np.ndarray


@dataclass(frozen=True, eq=False)
class Categorical(Family):
    has_independent_columns = True
    n_categories: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    stored_as: ClassVar[dict[str, str]] = {"n_categories": "int[n_features] 1.."}

    kernels = "suffice.kernels.families.categorical"
    conditional = "categories"
    takes_codes = True
    outcome_axis = -1
    is_normalised = True

    # -- cells and columns --------------------------------------------------------------------------------------------

    @cached_property
    def offset(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.n_categories)])[:-1].astype(np.int64)

    @cached_property
    def column_of(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_features), self.n_categories)

    def block_sums(self, cells: np.ndarray) -> np.ndarray:
        """(n_features, K) array: sums over the categories of each column."""
        return np.add.reduceat(cells, self.offset, axis=0)

    def column_sums(self, cells: np.ndarray) -> np.ndarray:
        """The same in the place of every category."""
        return self.block_sums(cells)[self.column_of]

    def column_maxima(self, cells: np.ndarray) -> np.ndarray:
        return np.maximum.reduceat(cells, self.offset, axis=0)[self.column_of]

    def columns_of(self, cells: np.ndarray) -> list[np.ndarray]:
        """The categories of each column."""
        return np.split(cells, self.offset[1:]) if len(cells) else []

    def probabilities(self, moments: Moments) -> np.ndarray:
        return moments.count / self.column_sums(moments.count)

    def of_counts(self, count: np.ndarray) -> Moments:
        return Moments(count, self.block_sums(count))

    def from_shares(self, shares: np.ndarray, mass: np.ndarray) -> Moments:
        """Moments of these probabilities of the cells, of mass[k] examples."""
        return Moments(mass * shares, self.weight_of(mass))

    # -- data ---------------------------------------------------------------------------------------------------------

    def one_hot(self, X) -> sparse.csr_matrix:
        X = dense(X)
        seen = ~np.isnan(X)
        cells = (self.offset + np.where(seen, X, 0)).astype(np.int64)[seen]
        indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        return sparse.csr_matrix((np.ones(len(cells)), cells, indptr), shape=(len(X), int(self.n_categories.sum())))

    @override
    def statistics(self, X, shares) -> Moments:
        return self.of_counts(self.one_hot(X).T @ shares)

    @override
    def labelled_statistics(self, X, outcomes, weights) -> Moments:
        labelled, shape = np.flatnonzero(outcomes >= 0), (len(outcomes), self.n_outcomes)
        shares = sparse.csr_matrix((weights[labelled], (labelled, outcomes[labelled])), shape=shape)
        return self.of_counts(np.asarray((self.one_hot(X).T @ shares).todense()))

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @override
    def natural_of(self, moments: Moments) -> Natural:
        return Natural(np.log(self.probabilities(moments)))

    def log_norms(self, natural: Natural) -> np.ndarray:
        """(n_features, K) array: log sum_v exp logit of every column."""
        top = np.maximum.reduceat(natural.logit, self.offset, axis=0)
        return top + np.log(self.block_sums(np.exp(natural.logit - top[self.column_of])))

    @override
    def log_partitions(self, natural: Natural) -> np.ndarray:
        return self.log_norms(natural).sum(axis=0)

    @override
    def moments_of(self, natural: Natural, mass) -> Moments:
        return self.of_counts(mass * np.exp(natural.logit - self.log_norms(natural)[self.column_of]))

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        seen = statistics.count != 0
        return float(statistics.count[seen] @ np.log(self.probabilities(moments)[seen]))

    @override
    def log_densities(self, moments: Moments, X) -> np.ndarray:
        return self.one_hot(X) @ np.log(self.probabilities(moments))

    @override
    def cell_log_densities(self, moments: Moments, X) -> np.ndarray:
        seen, logs = ~np.isnan(X), safe_log(self.probabilities(moments))
        cells = (self.offset + np.where(seen, X, 0)).astype(np.int64)
        return np.where(seen[:, None, :], logs.T[:, cells].transpose(1, 0, 2), 0.0)

    # -- domain, steps, priors ----------------------------------------------------------------------------------------

    @override
    def in_domain(self, moments: Moments) -> bool:
        return moments.is_finite() and bool((moments.count > 0).all())

    @override
    def weight_of(self, mass):
        return np.repeat(mass[None], self.n_features, axis=0)

    @override
    def at_weight(self, moments: Moments, weight) -> Moments:
        return Moments(weight[self.column_of] * self.probabilities(moments), weight)

    @override
    def move(self, moments: Moments, direction: Moments, rate: float, change: Change) -> tuple[Moments, int]:
        count = moments.count + rate * direction.count
        least = KEEP * moments.count
        n_shortened = int((count < least).sum())
        count = np.maximum(count, least)
        count *= change.after / self.column_sums(count)
        return Moments(count, self.weight_of(change.after)), n_shortened

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` in every cell."""
        return self.of_counts(np.full_like(statistics.count, float(amount)))

    @override
    def typical(self, statistics: Moments) -> np.ndarray:
        """(cells,) array: frequencies, with a trace of every category."""
        count = statistics.count.sum(axis=1) + 1.0 / self.n_categories[self.column_of]
        return count / self.column_sums(count)

    @override
    def pseudo_rows(self, statistics: Moments, amount: float, typical) -> Moments:
        return self.of_counts(np.repeat(amount * typical[:, None], self.n_outcomes, axis=1))

    @override
    def conjugate(self, statistics: Moments) -> Dirichlets:
        return Dirichlets(self, (self.typical(statistics),))

    @override
    def points(self, X, weights):
        hot = self.one_hot(X).toarray()
        hot[np.isnan(dense(X))[:, self.column_of]] = np.nan
        return without_gaps(hot, weights) * np.sqrt(0.5)

    def cells(self, moments: Moments):
        return self.cells_of_logits(safe_log(self.probabilities(moments)))

    def cells_of_logits(self, logits: np.ndarray) -> tuple[np.ndarray, ...]:
        """Log probabilities of the cells in the shape the form takes."""
        return (logits,)

    @override
    def form_for(self, X):
        return CategoryForm

    @override
    def chart_for(self, moments):
        return LogitChart

    # -- compiled code and new rows -----------------------------------------------------------------------------------

    @override
    def state_of(self, moments: Moments) -> tuple:
        count = np.array(moments.count, order="C")
        weight = np.ascontiguousarray(self.block_sums(count))
        return count, weight, np.log(count), np.log(weight), self.offset.copy()

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        return Moments(state[0].copy(), state[1].copy())

    @override
    def cell_shares(self, moments: Moments, j) -> np.ndarray | None:
        start = int(self.offset[j])
        return self.probabilities(moments)[start : start + int(self.n_categories[j])].T

    @override
    def imputed(self, moments: Moments, X, responsibilities):
        """Modes; their standard deviation is that of the event that the cell is its mode, sqrt(p (1 - p))."""
        probabilities = self.probabilities(moments)
        filled, spread = X.copy(), np.zeros(X.shape)
        for j, (start, size) in enumerate(zip(self.offset, self.n_categories, strict=True)):
            rows = np.flatnonzero(np.isnan(X[:, j]))
            shares = responsibilities[rows] @ probabilities[start : start + size].T
            filled[rows, j] = shares.argmax(axis=1)
            top = shares.max(axis=1)
            spread[rows, j] = np.sqrt(np.maximum(top * (1 - top), 0.0))
        return filled, spread

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        probabilities = self.probabilities(moments)
        X = np.empty((len(outcomes), self.n_features))
        for j, (start, size) in enumerate(zip(self.offset, self.n_categories, strict=True)):
            steps = np.cumsum(probabilities[start : start + size], axis=0).T[outcomes]
            X[:, j] = np.minimum((generator.random((len(outcomes), 1)) > steps).sum(axis=1), size - 1)
        return X
