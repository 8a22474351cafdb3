"""Tables of one kind of columns: numbers, yes and no, categories, counts."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from typing_extensions import override

from ..families.gaussian_diagonal import GaussianDiagonal, mean_and_variance
from ..saving.schema import require
from .base import Reader

LEAST_COUNT = 1e-100


class Numbers(Reader):
    """Numeric columns."""


@dataclass
class Flags(Reader):
    """Columns of 0 and 1; values above `binarize` are 1 (None: there are no others)."""

    binarize: float | None = 0.0

    stored_as: ClassVar[dict[str, str]] = {"binarize": "none | number"}

    @override
    def values_of(self, column):
        return np.array([0.0, 1.0])

    @override
    def read(self, X):
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if is_sparse else X
        if self.binarize is None:
            wrong = ~((values == 0) | (values == 1) | np.isnan(values))
            if wrong.any():
                raise ValueError(
                    f"binarize=None but X has the value {values[wrong][0]}: give a threshold, or only 0 and 1"
                )
        elif is_sparse and self.binarize < 0:
            raise ValueError(f"binarize={self.binarize} is negative: on sparse X that would make every empty cell 1")
        else:
            values = np.where(np.isnan(values), np.nan, self.binarize < values)
        if not is_sparse:
            return values
        X.data = values
        X.eliminate_zeros()
        return X


@dataclass
class Codes(Reader):
    """Columns of categories, whatever numbers they are; rows hold their places among the sorted categories of training."""

    min_categories: Any = None
    categories: list[np.ndarray] = field(default_factory=list)

    stored_as: ClassVar[dict[str, str]] = {"categories": "list of float[*]"}

    def check_stored(self) -> None:
        """What a file must hold: categories in order (`saving.schema`)."""
        for j, values in enumerate(self.categories):
            require(len(values) and (np.diff(values) > 0).all(), f"categories of column {j} are not in order")

    has_categories: ClassVar[bool] = True

    @property
    def n_categories(self) -> np.ndarray:
        return np.array([len(values) for values in self.categories], dtype=np.int64)

    @override
    def learn(self, X, names=None):
        X = X.toarray() if sparse.issparse(X) else X
        self.categories = self._found(X)
        return self.read(X)

    @override
    def read(self, X):
        X = X.toarray() if sparse.issparse(X) else X
        codes = np.full(X.shape, np.nan)
        unseen = []
        for j, values in enumerate(self.categories):
            place = np.minimum(np.searchsorted(values, X[:, j]), len(values) - 1)
            known = values[place] == X[:, j]
            codes[known, j] = place[known]
            if not (known | np.isnan(X[:, j])).all():
                unseen.append(j)
        warn_of_unseen(unseen)
        return codes

    def _found(self, X) -> list[np.ndarray]:
        found = [np.unique(column[~np.isnan(column)]) for column in X.T]
        if self.min_categories is not None:
            sizes = np.broadcast_to(np.asarray(self.min_categories), (X.shape[1],))
            if not np.issubdtype(sizes.dtype, np.integer) or (sizes < 0).any():
                raise ValueError(
                    f"min_categories={self.min_categories!r} must be whole numbers >= 0, one or one for each column"
                )
            found = [
                np.union1d(values, np.arange(size, dtype=float)) for values, size in zip(found, sizes, strict=True)
            ]
        return [values if len(values) else np.zeros(1) for values in found]

    @override
    def values_of(self, column):
        return self.categories[column]

    @override
    def unread(self, rows):
        return np.stack([values[rows[:, j].astype(int)] for j, values in enumerate(self.categories)], axis=1)


def warn_of_unseen(columns: list) -> None:
    if columns:
        warnings.warn(
            f"columns {columns[:10]} hold categories that were not seen in training; they are treated as missing",
            stacklevel=6,
        )


@dataclass
class Counts(Reader):
    """Columns of counts, each in units of its own: a column is unit times a Poisson variable."""

    owner: str = "PoissonNB"  # whose name errors give
    given_unit: Any = "auto"
    unit: np.ndarray | None = None

    stored_as: ClassVar[dict[str, str]] = {"unit": "none | float[*] (0.."}

    is_positive: ClassVar[bool] = True

    @override
    def read(self, X):
        return counts(X, self.owner)

    @override
    def settle(self, rows, codes, weights, n_outcomes, *, is_plain):
        """Given, 1 for the likelihood, or the pooled ratio of variance to mean within outcomes."""
        d, unit = rows.shape[1], self.given_unit
        if not isinstance(unit, str):
            self.unit = np.broadcast_to(np.asarray(unit, dtype=float), (d,)).copy()
            if not ((self.unit > 0) & np.isfinite(self.unit)).all():
                raise ValueError(f"unit={unit!r} must be positive: one number, or one for each column")
        elif unit != "auto":
            raise ValueError(f"unit={unit!r} is neither a positive number, an array of them nor 'auto'")
        elif is_plain:
            self.unit = np.ones(d)
        else:
            spread = GaussianDiagonal(n_outcomes, d, np.zeros(d)).labelled_statistics(rows, codes, weights)
            _, variance = mean_and_variance(spread)
            total = spread.first.sum(axis=0)
            ratio = (spread.weight * variance).sum(axis=0) / np.where(total > 0, total, 1.0)
            typical = np.median(ratio[ratio > 0]) if (ratio > 0).any() else 1.0
            self.unit = np.where(ratio > 1e-3 * typical, ratio, typical)

    @override
    def scaled(self, rows):
        if self.unit is None:
            return rows
        if not sparse.issparse(rows):
            return rows / self.unit
        rows = sparse.csr_matrix(rows)  # divided as dense rows are, to the last bit
        return sparse.csr_matrix((rows.data / self.unit[rows.indices], rows.indices, rows.indptr), shape=rows.shape)

    @override
    def unread(self, rows):
        return rows if self.unit is None else rows * self.unit

    unread_std = unread


def counts(X, owner: str):
    """X without negative values; values that are zero up to rounding become zero."""
    values = X.data if sparse.issparse(X) else X
    if values.size and values.min() >= LEAST_COUNT:
        return X
    if (values < 0).any():
        raise ValueError(
            f"Negative values in data passed to {owner} as X: the smallest is {np.nanmin(values)}; "
            "it takes counts. Use GaussianNB for numbers of any sign"
        )
    if ((values > 0) & (values < LEAST_COUNT)).any():
        X = X.copy()
        tiny = X.data if sparse.issparse(X) else X
        tiny[tiny < LEAST_COUNT] = 0.0
    return X
