r"""Columns of 0 and 1: `categorical` with two categories, cells 2j (off) and 2j + 1 (on). Sparse rows are never made dense.

log p(x | k) = sum_j log q_kj(0) + sum_{j: x_j = 1} [log q_kj(1) - log q_kj(0)]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from .categorical import Categorical, Moments
from .forms import ValueForm, safe_log
from .points import without_gaps
from .rows import any_missing, dense, one_hot, without_missing


@dataclass(frozen=True, eq=False)
class Bernoulli(Categorical):
    n_statistics = 1  # of a cell: whether it is on

    @classmethod
    @override
    def for_data(cls, X, n_outcomes: int) -> Bernoulli:
        return cls(n_outcomes, X.shape[1], np.full(X.shape[1], 2, dtype=np.int64))

    @override
    def block_sums(self, cells: np.ndarray) -> np.ndarray:
        return cells[0::2] + cells[1::2]

    @override
    def statistics(self, X, shares) -> Moments:
        if isinstance(X, np.ndarray):
            return super().statistics(X, shares)
        seen, missing = without_missing(X) if any_missing(X) else (X, None)
        mass, on = shares.sum(axis=0), np.asarray(seen.T @ shares)
        off = mass - on if missing is None else mass - np.asarray(missing.T @ shares) - on
        return self.of_counts(np.stack([off, on], axis=1).reshape(2 * self.n_features, self.n_outcomes))

    @override
    def labelled_statistics(self, X, outcomes, weights) -> Moments:
        if isinstance(X, np.ndarray):
            return super().labelled_statistics(X, outcomes, weights)
        return self.statistics(X, one_hot(outcomes, weights, self.n_outcomes))

    def from_sums(self, seen: np.ndarray, on: np.ndarray) -> Moments:
        """Moments of (K, n_features) sums over observed cells: of ones, and of the cells."""
        off = seen - on
        off[np.abs(off) < 1e-12 * np.abs(seen)] = 0.0  # rounding
        return self.of_counts(np.stack([off, on], axis=2).reshape(len(seen), -1).T)

    @override
    def log_densities(self, moments: Moments, X) -> np.ndarray:
        if isinstance(X, np.ndarray):
            return super().log_densities(moments, X)
        q = self.probabilities(moments)
        never = ~(q > 0)
        result = self.sums_of_cells(np.log(np.where(never, 1.0, q)), X)
        if never.any():
            result[self.sums_of_cells(never.astype(float), X) > 0.5] = -np.inf
        return result

    @override
    def word_weights(self, moments: Moments) -> np.ndarray:
        logs = safe_log(self.probabilities(moments))
        return logs[1::2] - logs[0::2]

    def sums_of_cells(self, values: np.ndarray, X) -> np.ndarray:
        """(n, K) array: the sum of `values` (cells, K) over the observed cells of every sparse row."""
        off = values[0::2]
        if not any_missing(X):
            return off.sum(axis=0) + X @ (values[1::2] - off)
        seen, missing = without_missing(X)
        return off.sum(axis=0) - missing @ off + seen @ (values[1::2] - off)

    @override
    def points(self, X, weights):
        return without_gaps(dense(X), weights)

    @override
    def cells_of_logits(self, logits):
        return logits[::2].T, (logits[1::2] - logits[::2]).T

    @override
    def form_for(self, X):
        return ValueForm
