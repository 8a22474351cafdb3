r"""Families under the conditional likelihood: what multiplies the rows' statistics, and what the prior's pseudo-rows lose.

Scores are linear in the statistics, score_k(x) = c_k + <theta_k, phi(x)>, and the class constants c_k are free. A part holds the
parameters of one family's columns, `rows by K` arrays T; a_k = strength / K are the pseudo-rows of class k, and `share` (rho) adds
that share of the data's own joint likelihood.

    Numbers      phi = z, -z^2/2 (standard units).  w = m/v, u = 1/v, log-likelihood of pseudo-rows of mean 0 and variance 1:
                     w0/2 w^2/u - wl/2 log u + u f2/2 - w f1
                 tied: one u_j for all classes, which no posterior sees; eliminated,
                     u = (A + sqrt(A^2 + 4 F2 B)) / (2 F2),  A = sum_k wl,  B = sum_k w0 w^2,  F2 = sum_k f2
                 per class: T holds log u_kj, and OWN more rows have the pooled within-class variance about the own mean
    Categories   phi = one-hot.  alpha_. lse(theta) - <alpha, theta>,  alpha = a_k / 2 in every cell
    Bins         neighbouring cells alike: theta = slope * centre + a sum of increments, a_k/2 slope^2 + a_k E/(2 WALK^2) increment^2
                 (E: edges of the column), so a curve may wander WALK prior deviations of a slope from end to end
    Counts       phi = x.  a_k mean (exp(t) - t),  t = log rate - log mean

Where a cell is missing its statistics are zero and so is its normaliser: columns with missing cells get  -A_kj(theta)  as the
coefficient of "was seen", unless another column tells of the gap (then that one's free parameter takes its place).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from typing_extensions import override

from .metrics import Diagonal

OWN = 3.0  # pseudo-rows of the pooled variance, where classes have variances of their own
LEAST_WITHIN = 1e-3  # of a column's variance
LIMIT = 12.0  # of log u in standard units
LIMIT_RATE = 30.0


def nothing() -> slice:
    return slice(0, 0)


@dataclass
class PseudoRows:
    """a (K,): pseudo-rows of every class. share: of the data's own joint likelihood. n (K,): rows of every class.

    Several problems of the same classes may stand side by side (`n_problems`): K then counts the classes of all of them.
    """

    a: np.ndarray
    share: float
    n: np.ndarray
    n_problems: int = 1

    def over_classes(self, values: np.ndarray) -> np.ndarray:
        """(d, K) array: sums of (d, K) values over the classes of each problem, in the place of every class."""
        return over_classes(values, self.n_problems)


def over_classes(values: np.ndarray, n_problems: int) -> np.ndarray:
    """(d, K) array: sums of (d, K) values over the classes of each problem, in the place of every class."""
    if n_problems == 1:
        return np.broadcast_to(values.sum(axis=1, keepdims=True), values.shape)
    return np.repeat(problem_sums(values, n_problems), values.shape[1] // n_problems, axis=1)


def problem_sums(values: np.ndarray, n_problems: int) -> np.ndarray:
    """(d, problems) array: sums of (d, K) values over the classes of each problem."""
    return values.reshape(len(values), n_problems, values.shape[1] // n_problems).sum(axis=2)


class LinearPart:
    """`size` rows of T. `dense` and `cells` are the places of its statistics; `seen` those of its columns that have missing cells."""

    size: int
    dense: slice
    cells: slice
    seen: slice

    def put(self, T: np.ndarray, dense: np.ndarray, cells: np.ndarray) -> Any:
        """Write the coefficients of the statistics; what `penalty` and `pulled` need to know of them."""
        raise NotImplementedError

    def penalty(self, T: np.ndarray, memory: Any) -> tuple[float, np.ndarray]:
        """What the pseudo-rows lose, and its gradient."""
        raise NotImplementedError

    def pulled(self, T: np.ndarray, dense: np.ndarray, cells: np.ndarray, memory: Any) -> np.ndarray:
        """The gradient in T, of gradients in the coefficients."""
        raise NotImplementedError

    def curvature(self, squares: np.ndarray, cell_squares: np.ndarray) -> np.ndarray:
        """(size, K) array: roughly the second derivatives, given those of the loss in the coefficients."""
        raise NotImplementedError

    def metric(self, squares: np.ndarray, cell_squares: np.ndarray) -> Any:
        """The variables of the search."""
        return Diagonal(self.curvature(squares, cell_squares))

    def columns(self) -> np.ndarray:
        """Dense columns that the rows of T multiply (to first order), one each; of cells there are none."""
        return np.zeros(0, dtype=np.int64)


@dataclass
class NumbersPart(LinearPart):
    is_tied: bool
    gaps: np.ndarray  # places of the columns with missing cells that nothing tells of
    w0: np.ndarray
    wl: np.ndarray
    f1: np.ndarray
    f2: np.ndarray
    dense: slice
    squares: slice
    seen: slice
    cells: slice = field(default_factory=nothing)
    n_problems: int = 1

    @classmethod
    def of(cls, layout, prior: PseudoRows, count, first, second, is_tied: bool) -> NumbersPart:
        """From the sums (d, K) of ones, z and z^2 over observed cells."""
        counts, n_classes = prior.over_classes(count), len(prior.a) // prior.n_problems
        observed = counts / np.maximum(prior.over_classes(prior.n[None]), 1e-300)
        with np.errstate(over="ignore", invalid="ignore"):  # sums beyond all numbers: the fit is refused by name
            scatter = prior.over_classes(second - first**2 / np.maximum(count, 1e-9))
        within = np.maximum(scatter / np.maximum(counts - n_classes, 1.0), LEAST_WITHIN)
        own = (0.0 if is_tied else OWN) + 3.0 * prior.share
        pseudo = np.maximum(observed, 1e-3) * prior.a
        w0 = pseudo + prior.share * count
        f2 = pseudo + prior.share * second + own * within
        places = layout.dense, layout.squares, layout.seen
        return cls(is_tied, layout.gaps, w0, w0 + own, prior.share * first, f2, *places, n_problems=prior.n_problems)

    @property
    @override
    def size(self) -> int:  # type: ignore[override]
        return len(self.w0) * (1 if self.is_tied else 2)

    def precisions(self, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(w, u): (d, K) arrays."""
        d = len(self.w0)
        w = T[:d]
        if not self.is_tied:
            return w, np.exp(np.clip(T[d:], -LIMIT, LIMIT))
        return w, self._each_class(self._tied(w)[0])

    @cached_property
    def _totals(self) -> tuple[np.ndarray, np.ndarray]:
        """A and F2, (d, problems) arrays."""
        return problem_sums(self.wl, self.n_problems), problem_sums(self.f2, self.n_problems)

    def _each_class(self, values: np.ndarray) -> np.ndarray:
        """(d, K) array: values of (d, problems) in the place of every class."""
        return np.repeat(values, self.w0.shape[1] // self.n_problems, axis=1)

    def _tied(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        (A, F2), B = self._totals, problem_sums(self.w0 * w * w, self.n_problems)
        root = np.sqrt(A * A + 4.0 * F2 * B)
        return (A + root) / (2.0 * F2), root, A, B

    @override
    def penalty(self, T, memory):
        d = len(self.w0)
        if self.is_tied:
            u, _, A, B = self._tied(T)
            value = 0.5 * float((B / u - A * np.log(u) + u * self._totals[1]).sum()) - float((self.f1 * T).sum())
            return value, self.w0 * T / self._each_class(u) - self.f1
        w, log_u = T[:d], np.clip(T[d:], -LIMIT, LIMIT)
        u = np.exp(log_u)
        mean = w / u
        value = 0.5 * float((self.w0 * w * mean - self.wl * log_u + u * self.f2).sum()) - float((self.f1 * w).sum())
        slope = 0.5 * (u * self.f2 - self.w0 * mean * w - self.wl)
        return value, np.concatenate([self.w0 * mean - self.f1, slope])

    @override
    def put(self, T, dense, cells):
        if self.is_tied and not len(self.gaps):
            dense[self.dense] = T
            return T, T  # no precision is asked for
        w, u = self.precisions(T)
        dense[self.dense] = w
        if not self.is_tied:
            dense[self.squares] = u
        if len(self.gaps):
            own, spread = w[self.gaps], u[self.gaps]
            dense[self.seen] = -0.5 * (own**2 / spread - np.log(spread))
        return w, u

    @override
    def pulled(self, T, dense, cells, memory):
        (w, u), gaps = memory, self.gaps
        g = dense[self.dense].copy()
        g_log_u = None if self.is_tied else dense[self.squares] * u
        if len(gaps):
            h, mean = dense[self.seen], w[gaps] / u[gaps]
            g[gaps] -= h * mean
            slope = 0.5 * h * (mean * w[gaps] + 1.0)  # of log u
            if g_log_u is not None:
                g_log_u[gaps] += slope
            else:
                root = self._each_class(self._tied(w)[1])[gaps]
                g[gaps] += over_classes(slope, self.n_problems) / (u[gaps] * root) * 2.0 * self.w0[gaps] * w[gaps]
        return g if g_log_u is None else np.concatenate([g, g_log_u])

    @override
    def columns(self):
        both = np.r_[self.dense, self.squares] if not self.is_tied else np.r_[self.dense]
        return both.astype(np.int64)

    @override
    def curvature(self, squares, cell_squares):
        own = squares[self.dense] + self.w0
        return own if self.is_tied else np.concatenate([own, squares[self.squares] + 0.5 * self.wl])


@dataclass
class CountsPart(LinearPart):
    weight: np.ndarray  # (columns, K): pseudo-rows times the mean
    total: np.ndarray  # pseudo-counts
    log_mean: np.ndarray  # (columns, K): of all classes together
    gaps: np.ndarray
    dense: slice
    seen: slice
    cells: slice = field(default_factory=nothing)

    @classmethod
    def of(cls, layout, prior: PseudoRows, count, first) -> CountsPart:
        mean = np.maximum(prior.over_classes(first), 1e-3) / np.maximum(prior.over_classes(count), 1.0)
        weight = mean * prior.a + prior.share * (count + 1.0) * mean
        total = mean * prior.a + prior.share * (first + mean)
        return cls(weight, total, np.log(mean), layout.gaps, layout.dense, layout.seen)

    @property
    @override
    def size(self) -> int:  # type: ignore[override]
        return len(self.weight)

    @override
    def penalty(self, T, memory):
        inside = np.clip(T, -LIMIT_RATE, LIMIT_RATE)
        grown = np.exp(inside)
        return float((self.weight * grown - self.total * inside).sum()), self.weight * grown - self.total

    @override
    def put(self, T, dense, cells):
        dense[self.dense] = T
        rates = np.exp(np.clip(T[self.gaps], -LIMIT_RATE, LIMIT_RATE) + self.log_mean[self.gaps])
        dense[self.seen] = -rates
        return rates

    @override
    def pulled(self, T, dense, cells, memory):
        g = dense[self.dense].copy()
        g[self.gaps] -= dense[self.seen] * memory
        return g

    @override
    def columns(self):
        return np.r_[self.dense].astype(np.int64)

    @override
    def curvature(self, squares, cell_squares):
        return squares[self.dense] + self.weight
