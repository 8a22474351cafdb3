r"""Categorical columns, independent given the outcome. Bernoulli columns are the case of two categories.

    log p(x, k) = log pi_k + sum_j log q_kj(x_j)

    statistics   1,  one-hot of every column's category (the cells of all columns lie side by side: offset[j] + code)
    moments      mass[k],  count[cell, k],  weight[j, k] = sum of column j's cells
    natural      constant[k],  logit[cell, k] = log q
    A_k          sum_j log sum_v exp logit

Rows hold category codes 0, 1, ... as floats; NaN is a missing cell and adds to no cell of its column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import sparse

from .base import FEW_ROWS, KEEP, Model, expected_log_mass, log_masses, moved_mass
from .completion import any_missing
from .records import Record
from .rows import dense, label_masses, without_missing
from .words import word_rows


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    count: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    logit: np.ndarray


@dataclass(frozen=True, eq=False)
class Categorical(Model):
    n_categories: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    family = "categorical"

    @cached_property
    def offset(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.n_categories)])[:-1].astype(np.int64)

    @cached_property
    def column_of(self) -> np.ndarray:
        return np.repeat(np.arange(self.n_features), self.n_categories)

    def block_sums(self, cells: np.ndarray) -> np.ndarray:
        """Sums over the categories of each column."""
        return np.add.reduceat(cells, self.offset, axis=0)

    def probabilities(self, moments: Moments) -> np.ndarray:
        return moments.count / self.block_sums(moments.count)[self.column_of]

    def one_hot(self, X) -> sparse.csr_matrix:
        X = dense(X)
        seen = ~np.isnan(X)
        cells = (self.offset + np.where(seen, X, 0)).astype(np.int64)[seen]
        indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        return sparse.csr_matrix((np.ones(len(cells)), cells, indptr), shape=(len(X), int(self.n_categories.sum())))

    def statistics(self, X, y, weights) -> Moments:
        labelled = np.flatnonzero(y >= 0)
        shape = (len(y), self.n_outcomes)
        labels = sparse.csr_matrix((weights[labelled], (labelled, y[labelled])), shape=shape)
        count = np.asarray((self.one_hot(X).T @ labels).todense())
        return Moments(label_masses(y, weights, self.n_outcomes), count, self.block_sums(count))

    def expected_statistics(self, X, responsibilities) -> Moments:
        count = self.one_hot(X).T @ responsibilities
        return Moments(responsibilities.sum(axis=0), count, self.block_sums(count))

    def natural_of(self, moments: Moments) -> Natural:
        return Natural(log_masses(moments), np.log(self.probabilities(moments)))

    def log_norms(self, natural: Natural) -> np.ndarray:
        top = np.maximum.reduceat(natural.logit, self.offset, axis=0)
        return top + np.log(self.block_sums(np.exp(natural.logit - top[self.column_of])))

    def log_partitions(self, natural: Natural) -> np.ndarray:
        return self.log_norms(natural).sum(axis=0)

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        mass = total * np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        count = mass * np.exp(natural.logit - self.log_norms(natural)[self.column_of])
        return Moments(mass, count, self.block_sums(count))

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        seen = statistics.count != 0
        logs = np.log(self.probabilities(moments)[seen])
        return expected_log_mass(statistics, moments) + float(statistics.count[seen] @ logs)

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        return log_masses(moments) + self.one_hot(X) @ np.log(self.probabilities(moments))

    def log_base_measure(self, X) -> float:
        return 0.0

    def in_domain(self, moments: Moments) -> bool:
        return moments.is_finite() and bool((moments.mass > 0).all() and (moments.count > 0).all())

    def filled(self, moments: Moments, mass, weight) -> Moments:
        return Moments(mass, weight[self.column_of] * self.probabilities(moments), weight)

    def spread(self, mass) -> np.ndarray:
        return np.repeat(mass[None], self.n_features, axis=0)

    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        count = moments.count + rate * direction.count
        least = KEEP * moments.count
        n_shortened = int((count < least).sum())
        mass, shortened = moved_mass(moments.mass, direction.mass, rate)
        count = np.maximum(count, least)
        count *= mass / self.block_sums(count)[self.column_of]
        weight = self.spread(mass)
        return Moments(mass, count, weight), shortened + n_shortened

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` in every cell."""
        count = np.full_like(statistics.count, float(amount))
        return Moments(np.zeros(self.n_outcomes), count, self.block_sums(count))

    def pooled(self, statistics: Moments) -> Moments:
        share = statistics.mass / statistics.mass.sum()
        count = statistics.count.sum(axis=1, keepdims=True) * share
        return Moments(statistics.mass, count, self.block_sums(count))

    def state_of(self, moments: Moments) -> tuple:
        weight = self.block_sums(moments.count)
        total = np.array([moments.mass.sum()])
        count = np.ascontiguousarray(moments.count.copy())
        return (
            moments.mass.copy(), total, count, weight, np.log(count), np.log(weight), np.log(moments.mass), self.offset,
        )  # fmt: skip

    def moments_of_state(self, state: tuple) -> Moments:
        return Moments(state[0].copy(), state[2].copy(), state[3].copy())

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

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        probabilities = self.probabilities(moments)
        X = np.empty((len(outcomes), self.n_features))
        for j, (start, size) in enumerate(zip(self.offset, self.n_categories, strict=True)):
            steps = np.cumsum(probabilities[start : start + size], axis=0).T[outcomes]
            X[:, j] = np.minimum((generator.random((len(outcomes), 1)) > steps).sum(axis=1), size - 1)
        return X


@dataclass(frozen=True, eq=False)
class Bernoulli(Categorical):
    """Columns of 0 and 1; sparse rows are never made dense.

    Where no cell is missing and every row has a label, passes over sparse rows cost their ones (`kernels.words.bernoulli`).
    """

    row_rate = 0.1  # a step moves every column, through its off-count

    @classmethod
    def for_data(cls, X, n_outcomes: int) -> Bernoulli:
        return cls(n_outcomes, X.shape[1], np.full(X.shape[1], 2, dtype=np.int64))

    def block_sums(self, cells: np.ndarray) -> np.ndarray:
        return cells[0::2] + cells[1::2]

    def expected_statistics(self, X, responsibilities) -> Moments:
        if isinstance(X, np.ndarray):
            return super().expected_statistics(X, responsibilities)
        mass = responsibilities.sum(axis=0)
        seen, missing = without_missing(X) if any_missing(X) else (X, None)
        on = np.asarray(seen.T @ responsibilities)
        off = mass - on if missing is None else mass - np.asarray(missing.T @ responsibilities) - on
        count = np.stack([off, on], axis=1).reshape(2 * self.n_features, self.n_outcomes)
        return Moments(mass, count, self.block_sums(count))

    def statistics(self, X, y, weights) -> Moments:
        if isinstance(X, np.ndarray):
            return super().statistics(X, y, weights)
        labels = np.zeros((len(y), self.n_outcomes))
        labelled = np.flatnonzero(y >= 0)
        labels[labelled, y[labelled]] = weights[labelled]
        return self.expected_statistics(X, labels)

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        """Of sparse rows: all columns off, and what those that are on (or missing) change."""
        if isinstance(X, np.ndarray):
            return super().log_joint(moments, X)
        q = self.probabilities(moments)
        never = ~(q > 0)
        logs = np.log(np.where(never, 1.0, q))
        result = log_masses(moments) + self._from_logs(logs, X)
        if never.any():
            result[self._from_logs(never.astype(float), X) > 0.5] = -np.inf
        return result

    def _from_logs(self, logs: np.ndarray, X) -> np.ndarray:
        """The sum over each sparse row's observed cells of its category's entry in `logs`."""
        off = logs[0::2]
        if not any_missing(X):
            return off.sum(axis=0) + X @ (logs[1::2] - off)
        seen, missing = without_missing(X)
        return off.sum(axis=0) - missing @ off + seen @ (logs[1::2] - off)

    def scores(self, moments, X, state=None, which=None) -> np.ndarray:
        if isinstance(X, np.ndarray):
            return super().scores(moments, X, state, which)
        _, total, _, _, log_count, log_weight, log_mass, _ = state or self.state_of(moments)
        rows = X if which is None else X[which]
        if any_missing(rows):
            return log_mass - np.log(total) + self._from_logs(log_count - log_weight[self.column_of], rows)
        constant = (log_count[0::2] - log_weight).sum(axis=0) + log_mass - np.log(total)
        return constant + rows @ (log_count[1::2] - log_count[0::2])

    def log_likelihood_of_state(self, statistics: Moments, state: tuple) -> float:
        total, log_count, log_weight, log_mass = state[1], state[4], state[5], state[6]
        cells = float(np.vdot(statistics.count, log_count) - np.vdot(self.block_sums(statistics.count), log_weight))
        return cells + float(statistics.mass @ log_mass) - float(statistics.mass.sum() * np.log(total[0]))

    def steps_by_row(self, X, y, loss) -> bool:
        """Whether the passes made for words take these rows."""
        if isinstance(X, np.ndarray) or not loss.is_discriminative or self.n_outcomes < 2 or len(y) < FEW_ROWS:
            return False
        return not any_missing(X) and not (y < 0).any()

    def incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        from ..kernels.words.bernoulli import dual_pass
        from ..kernels.words.bernoulli_work import finish, same_in_all, work_of

        if not self.steps_by_row(X, y, loss) or not same_in_all(state[3]):
            return super().incremental_pass(X, y, weights, order, multipliers, state, loss, tolerance, slack)
        rows, work, unit = word_rows(X), work_of(state), 1.0
        if (
            loss.has_corner
        ):  # multipliers are of the size of 1 / sum_w 1 / a, on average M / W, and often ten times larger
            unit = min(1.0, 20.0 * float(work.weight.mean()) / self.n_features)
        n_moved, n_shortened, change = dual_pass.of(loss.kernels)(
            rows, y, weights, order, multipliers, work, loss.settings, unit * tolerance, slack
        )
        finish(work, state[3], state[5])
        return n_moved, n_shortened, change / unit

    def stochastic_pass(self, X, y, weights, order, rates, state, loss):
        from ..kernels.words.bernoulli import stochastic_pass
        from ..kernels.words.bernoulli_work import finish, work_of

        rows, work = word_rows(X), work_of(state)
        n_kept = stochastic_pass.of(loss.kernels)(rows, y, weights, order, rates, work, loss.settings, 1e-6)
        finish(work, state[3], state[5])
        return n_kept
