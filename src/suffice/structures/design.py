r"""What linear experts see of a row: a vector u(x), and what they expect of it where cells are missing.

    eta = a + b'u(x)       a number is itself, a count (x - centre) / scale, a category an indicator of each of its values

Given a component z the columns are independent, so a row whose cells in the columns J are missing has

    E[eta | x, z] = a + b'u(observed) + sum_J C_zj        C_zj = E[b'u_j | z]
    Var[eta | x, z] =                   sum_J V_zj        V_zj = Var[b'u_j | z]

(exact for numbers: eta is Gaussian then; of categories and counts the two moments are exact). Derivatives in C and V (K, columns),
summed over rows, go on to b and, as signed statistics of the gates, to the gates: d C / d theta = Cov(s, b'u), so a missing number adds
Cov((z, z^2), b'u). With the derivatives of a loss these are minus what E[s | x, y] has beyond E[s | x] (`structures.experts`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ..families.base import Family
from ..families.gaussian_diagonal import Moments as GaussianMoments
from ..families.gaussian_diagonal import mean_and_variance
from ..families.rows import dense
from .base import Moments


@dataclass(frozen=True, eq=False)
class Cells:
    """Columns of one family: their part of u is `size` numbers."""

    n_columns: int

    @property
    def size(self) -> int:
        return self.n_columns

    def vectors(self, X: np.ndarray) -> np.ndarray:
        """(n, size) array: u, 0 where a cell is missing."""
        return np.where(np.isnan(X), 0.0, X)

    def expected(self, family: Any, moments: Any, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C and V (K, columns) of the slopes (K, size)."""
        raise NotImplementedError

    def pulled(self, family, moments, slope, d_mean: np.ndarray, d_variance: np.ndarray) -> tuple[np.ndarray, Any]:
        """Derivatives in the slopes, and statistics (minus derivatives in theta), of those in C and V."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class NumberCells(Cells):
    """Gaussian columns: u = z, measured from the family's location."""

    @override
    def expected(self, family, moments, slope):
        mean, variance = mean_and_variance(moments)
        return slope * mean, slope**2 * variance

    @override
    def pulled(self, family, moments, slope, d_mean, d_variance):
        mean, variance = mean_and_variance(moments)
        first = -variance * d_mean * slope
        second = 2 * mean * first - 2 * variance**2 * d_variance * slope**2
        statistics = GaussianMoments(np.zeros_like(first), first, second)
        return d_mean * mean + 2 * d_variance * slope * variance, statistics


@dataclass(frozen=True, eq=False)
class CountCells(Cells):
    """Poisson columns: u = (x - centre) / scale."""

    centre: np.ndarray = field(default_factory=lambda: np.zeros(0))
    scale: np.ndarray = field(default_factory=lambda: np.ones(0))

    @override
    def vectors(self, X):
        return np.where(np.isnan(X), 0.0, (X - self.centre) / self.scale)

    @override
    def expected(self, family, moments, slope):
        rate = family.rates(moments)
        return slope * (rate - self.centre) / self.scale, slope**2 * rate / self.scale**2

    @override
    def pulled(self, family, moments, slope, d_mean, d_variance):
        rate = family.rates(moments)
        own = (rate - self.centre) / self.scale
        total = -rate * (d_mean * slope / self.scale + d_variance * slope**2 / self.scale**2)
        statistics = type(moments)(np.zeros_like(total), total)
        return d_mean * own + 2 * d_variance * slope * rate / self.scale**2, statistics


@dataclass(frozen=True, eq=False)
class CategoryCells(Cells):
    """Columns of codes: u holds an indicator of every category."""

    n_categories: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    stored_as: ClassVar[dict[str, str]] = {"n_categories": "int[n_columns] 1.."}

    @property
    @override
    def size(self) -> int:
        return int(self.n_categories.sum())

    @override
    def vectors(self, X):
        offset = np.concatenate([[0], np.cumsum(self.n_categories)])[:-1].astype(np.int64)
        hot, (rows, columns) = np.zeros((len(X), self.size)), np.nonzero(~np.isnan(X))
        hot[rows, offset[columns] + X[rows, columns].astype(np.int64)] = 1.0
        return hot

    @override
    def expected(self, family, moments, slope):
        share = family.probabilities(moments)  # (size, K)
        mean = family.block_sums(share * slope.T)
        return mean.T, family.block_sums(share * (slope.T - mean[family.column_of]) ** 2).T

    @override
    def pulled(self, family, moments, slope, d_mean, d_variance):
        share = family.probabilities(moments)
        mean = family.block_sums(share * slope.T)[family.column_of]
        of_mean, of_variance = d_mean.T[family.column_of], d_variance.T[family.column_of]
        d_slope = share * (of_mean + 2 * of_variance * (slope.T - mean))
        of_share = of_mean * slope.T + of_variance * slope.T * (slope.T - 2 * mean)
        count = -share * (of_share - family.column_sums(share * of_share))
        return d_slope.T, family.of_counts(count)


@dataclass(frozen=True, eq=False)
class Design:
    """The vectors of rows whose columns are those of a joint's families, side by side."""

    parts: tuple[Cells, ...]

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def vectors(self, pieces: list) -> np.ndarray:
        """(n, size) array of the families' columns."""
        return np.ascontiguousarray(np.hstack([part.vectors(X) for part, X in zip(self.parts, pieces, strict=True)]))

    def _split(self, slope: np.ndarray) -> list[np.ndarray]:
        return np.split(slope, np.cumsum([part.size for part in self.parts])[:-1], axis=1)

    def expected(self, families: tuple[Family, ...], gates: Moments, slope: np.ndarray):
        """C and V: (K, columns) arrays."""
        each = zip(self.parts, families, gates.columns, self._split(slope), strict=True)
        found = [part.expected(family, own, b) for part, family, own, b in each]
        return np.hstack([mean for mean, _ in found]), np.hstack([variance for _, variance in found])

    def pulled(self, families, gates: Moments, slope: np.ndarray, d_mean: np.ndarray, d_variance: np.ndarray):
        """Derivatives in the slopes, and the statistics of the gates."""
        cuts = np.cumsum([part.n_columns for part in self.parts])[:-1]
        pieces = np.split(d_mean, cuts, axis=1), np.split(d_variance, cuts, axis=1)
        each = zip(self.parts, families, gates.columns, self._split(slope), *pieces, strict=True)
        found = [part.pulled(family, own, b, first, second) for part, family, own, b, first, second in each]
        statistics = Moments(np.zeros_like(gates.mass), tuple(own for _, own in found))
        return np.hstack([own for own, _ in found]), statistics


def design_of(families: tuple[Family, ...], pieces: list) -> Design:
    """The design of rows with these columns."""
    parts: list[Cells] = []
    for family, X in zip(families, pieces, strict=True):
        if hasattr(family, "location"):
            parts.append(NumberCells(family.n_features))
        elif hasattr(family, "n_categories"):
            parts.append(CategoryCells(family.n_features, family.n_categories))
        else:
            X = dense(X)
            seen = ~np.isnan(X)
            n = np.maximum(seen.sum(axis=0), 1)
            centre = np.where(seen, X, 0.0).sum(axis=0) / n
            spread = np.sqrt((np.where(seen, X - centre, 0.0) ** 2).sum(axis=0) / n)
            parts.append(CountCells(family.n_features, centre, np.where(spread > 0, spread, 1.0)))
    return Design(tuple(parts))
