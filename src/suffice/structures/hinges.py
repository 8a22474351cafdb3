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
from scipy.special import ndtr
from typing_extensions import override

from ..families.gaussian_diagonal import Moments as GaussianMoments
from ..families.gaussian_diagonal import mean_and_variance
from ..saving.schema import require
from .design import NumberCells

KNOTS = 4  # of a column
FEWEST_VALUES = 5  # of a column that has knots
FEWEST_ROWS = 100  # of a table that has knots
DENSITY = 1.0 / np.sqrt(2.0 * np.pi)


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
        return np.nan_to_num(np.hstack([X, bent]), nan=0.0)

    def _bends(self, slope: np.ndarray) -> np.ndarray:
        """(K, columns, knots) array: b_h, 0 where there is no knot."""
        found = np.zeros((len(slope), *self.knots.shape))
        found[:, self.has_knot] = slope[:, self.n_columns :]
        return found

    def _pieces(self, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """alpha and beta: (K, columns, pieces) arrays."""
        bends, knots = self._bends(slope), np.where(self.has_knot, self.knots, 0.0)
        nothing = np.zeros((len(slope), self.n_columns, 1))
        beta = slope[:, : self.n_columns, None] + np.concatenate([nothing, np.cumsum(bends, axis=2)], axis=2)
        return np.concatenate([nothing, -np.cumsum(bends * knots, axis=2)], axis=2), beta

    def _truncated(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, ...]:
        """P, M1, M2 of every piece, and the density at every knot."""
        s = np.sqrt(variance)[:, :, None]
        knots = np.where(self.has_knot, self.knots, 0.0)
        t = np.where(self.has_knot, (knots - mean[:, :, None]) / s, np.inf)
        height = np.where(self.has_knot, np.exp(-0.5 * np.minimum(np.abs(t), 1e2) ** 2) * DENSITY, 0.0)
        zero = np.zeros((*mean.shape, 1))
        below = np.concatenate([zero, ndtr(t), zero + 1.0], axis=2)
        edge = np.concatenate([zero, height, zero], axis=2)
        pull = np.concatenate([zero, np.where(self.has_knot, t, 0.0) * height, zero], axis=2)
        share, first, second = np.diff(below, axis=2), -np.diff(edge, axis=2), -np.diff(pull, axis=2)
        m = mean[:, :, None]
        own = share + second  # E[t^2; piece]
        return share, m * share + s * first, m**2 * share + 2 * m * s * first + s**2 * own, height / s

    @override
    def expected(self, family, moments, slope):
        alpha, beta = self._pieces(slope)
        share, first, second, _ = self._truncated(*mean_and_variance(moments))
        centre = (alpha * share + beta * first).sum(axis=2)
        square = (alpha**2 * share + 2 * alpha * beta * first + beta**2 * second).sum(axis=2)
        return centre, np.maximum(square - centre**2, 0.0)

    @override
    def pulled(self, family, moments, slope, d_mean, d_variance):
        mean, variance = mean_and_variance(moments)
        alpha, beta = self._pieces(slope)
        share, first, second, height = self._truncated(mean, variance)
        bends, knots = self._bends(slope), np.where(self.has_knot, self.knots, 0.0)
        centre = (alpha * share + beta * first).sum(axis=2)
        times = alpha * share + beta * first  # E[f; piece]
        moved = alpha * first + beta * second  # E[z f; piece]

        def above(values: np.ndarray) -> np.ndarray:
            """Sums over the pieces above each knot."""
            return np.cumsum(values[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]

        straight = d_mean * mean + 2 * d_variance * (moved.sum(axis=2) - mean * centre)
        lift = above(first) - knots * above(share)  # E (z - q)+
        bent = above(moved) - knots * above(times)  # E[(z - q)+ f]
        bent = d_mean[:, :, None] * lift + 2 * d_variance[:, :, None] * (bent - lift * centre[:, :, None])
        at_knots = alpha[:, :, 1:] + beta[:, :, 1:] * knots - centre[:, :, None]  # f(q) - C
        slope_1 = (beta * share).sum(axis=2)  # E f'
        bend_1 = (bends * height).sum(axis=2)  # E f''
        slope_2 = 2 * ((beta * times).sum(axis=2) - centre * slope_1)
        bend_2 = 2 * ((beta**2 * share).sum(axis=2) + (bends * at_knots * height).sum(axis=2))
        own = -variance * (d_mean * slope_1 + d_variance * slope_2)
        curved = -(variance**2) * (d_mean * bend_1 + d_variance * bend_2)
        statistics = GaussianMoments(np.zeros_like(own), own, 2 * mean * own + curved)
        return np.hstack([straight, bent[:, self.has_knot]]), statistics


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
