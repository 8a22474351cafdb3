r"""Numbers that experts take by pieces of lines: a cell z gives u = (z, (z - q_1)+, (z - q_2)+, ...), with knots q at quantiles.

An expert is then  f_j(z) = b_0 z + sum_h b_h (z - q_h)+  in every column: between two knots the line  alpha_i + beta_i z.  Where the
cell is missing, z ~ N(m, v) given the component, and with the truncated moments P, M1, M2 of 1, z, z^2 on every piece

    C = E f = sum_i alpha_i P_i + beta_i M1_i           E f^2 = sum_i alpha_i^2 P_i + 2 alpha_i beta_i M1_i + beta_i^2 M2_i
    dC/db = E u         dV/db = 2 (E[u f] - E[u] C)     Cov(z, g) = v E g'     Cov(z^2, g) = 2 m v E g' + v^2 E g''

for g = f (f'' is b_h at the knots) and g = (f - C)^2. So both moments of eta are exact, and eta is taken to be Gaussian.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ..families.gaussian_diagonal import Moments as GaussianMoments
from ..families.gaussian_diagonal import mean_and_variance
from ..kernels.structures.hinges import bent_moments, bent_pulls
from ..saving.schema import require
from .design import NumberCells

KNOTS = 4  # of a column
FEWEST_VALUES = 5  # of a column that has knots
FEWEST_ROWS = 100  # of a table that has knots


@dataclass(frozen=True, eq=False)
class HingeCells(NumberCells):
    knots: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (columns, most knots): rising, then NaN

    stored_as: ClassVar[dict[str, str]] = {"knots": "float?[n_columns, *]"}

    def check_stored(self) -> None:
        filled = np.where(self.has_knot, self.knots, 1e300)
        require(
            not np.isinf(self.knots).any() and (np.diff(filled, axis=1) >= 0).all(), "knots must be finite and rise"
        )

    @property
    def has_knot(self) -> np.ndarray:
        return np.isfinite(self.knots)

    @property
    @override
    def size(self) -> int:
        return self.n_columns + int(self.has_knot.sum())

    @override
    def vectors(self, X):
        columns, places = np.nonzero(self.has_knot)
        bent = np.maximum(X[:, columns] - self.knots[columns, places], 0.0)
        found = np.hstack([X, bent])
        return np.where(np.isnan(found), 0.0, found)

    def _rising(self) -> tuple[np.ndarray, np.ndarray]:
        """Knots of all columns, one after the other, and where those of each column begin (and the last one's end)."""
        return self.knots[self.has_knot], np.concatenate([[0], np.cumsum(self.has_knot.sum(axis=1))])

    @override
    def expected(self, family, moments, slope):
        mean, variance = mean_and_variance(moments)
        centre, spread = np.empty_like(mean), np.empty_like(mean)
        bent_moments(*self._rising(), np.ascontiguousarray(slope), mean, variance, centre, spread)
        return centre, spread

    @override
    def pulled(self, family, moments, slope, d_mean, d_variance):
        mean, variance = mean_and_variance(moments)
        slope, d_mean, d_variance = (np.ascontiguousarray(each) for each in (slope, d_mean, d_variance))
        d_slope, first, second = np.empty_like(slope), np.empty_like(mean), np.empty_like(mean)
        bent_pulls(*self._rising(), slope, mean, variance, d_mean, d_variance, d_slope, first, second)
        return d_slope, GaussianMoments(np.zeros_like(first), first, second)


def knots_of(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(columns, KNOTS) array: inner quantiles of every column with enough values, then NaN."""
    found = np.full((X.shape[1], KNOTS), np.nan)
    for j, column in enumerate(X.T):
        seen = np.flatnonzero(~np.isnan(column))
        values, places = np.unique(column[seen], return_inverse=True)
        if len(X) < FEWEST_ROWS or len(values) < FEWEST_VALUES:
            continue
        steps = np.cumsum(np.bincount(places, weights=weights[seen]))
        levels = np.arange(1, KNOTS + 1) / (KNOTS + 1)
        cut = np.unique(values[np.searchsorted(steps, levels * steps[-1] * (1 - 1e-12))])
        cut = cut[(cut > values[0]) & (cut < values[-1])]
        found[j, : len(cut)] = cut
    return found


def with_hinges(part: Any, X: np.ndarray, weights: np.ndarray) -> Any:
    """Numbers with knots in the place of numbers without."""
    knots = knots_of(X, weights)
    return HingeCells(part.n_columns, knots) if np.isfinite(knots).any() else part
