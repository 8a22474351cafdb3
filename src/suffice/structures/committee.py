"""Several mixtures of experts, and a line, that answer together: p(y | x) = sum_m weight_m p_m(y | x), in the target's own units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..engines.threads import Engine, shards
from .experts import ExpertMoments, ExpertRows, Experts, log_density_of, pooled_experts, two_moments_of
from .line import Line
from .pooling import can_pool
from .predictive import WIDEST, Predictive
from .targets import Target

PART = 4096  # rows at a time
SCORES = 1 << 19  # rows times components of all members at a time
LEAST = 1e-12  # weight, so that it has a logarithm
FULL = 0.1  # weight from which all fits of a candidate answer; below it a share of them


@dataclass(frozen=True, eq=False)
class Member:
    """A mixture of experts; alone it answers as a `Line` does."""

    structure: Experts
    moments: ExpertMoments
    weight: float = 1.0

    def predictive(self, X: np.ndarray) -> Predictive:
        return Committee([self]).predictive(X)

    def log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.structure.log_density(self.moments, self.structure.rows(X, y))


@dataclass(frozen=True, eq=False)
class Committee:
    members: list[Member]
    location: float = 0.0  # y = location + scale * the target as it was fitted
    scale: float = 1.0
    width: float = 1.0  # of the distribution about its mean (`predictive`)
    line: Line | None = None  # of the target as it was fitted
    line_weight: float = 0.0

    @property
    def target(self) -> Target:
        return self.members[0].structure.target

    def _each(self, function: Any, X: np.ndarray, n_threads: int, part: int = PART) -> Iterator:
        parts = shards(len(X), part) or [slice(0, 0)]
        return Engine(n_threads).each(lambda part: function(X[part], part), parts)

    def _each_member(self, X: np.ndarray, y: np.ndarray | None = None) -> Iterator[tuple[Member, ExpertRows]]:
        """Every member with the rows, which are read once."""
        rows = self.members[0].structure.rows(X, y)
        return ((member, member.structure.own(rows)) for member in self.members)

    def _shares(self) -> np.ndarray:
        """Of the mixtures among themselves."""
        weights = np.array([member.weight for member in self.members])
        return weights if self.line is None else weights / weights.sum()

    def _groups(self) -> Iterator[tuple[Experts, ExpertMoments, np.ndarray, np.ndarray]]:
        """Members side by side (structure, moments, where their components end, weights): all at once, where components have
        parameters of their own."""
        together = can_pool(self.members[0].structure.gates)
        for members in [self.members] if together else [[member] for member in self.members]:
            structure, moments = pooled_experts(members[0].structure, [member.moments for member in members])
            ends = np.cumsum([0, *(member.structure.n_outcomes for member in members)])
            yield structure, moments, ends, np.array([member.weight for member in members])

    def predictive(self, X: np.ndarray) -> Predictive:
        """Of rows that fit in memory: every component of every member."""
        found = []
        for member, rows in self._each_member(X):
            gates, eta, variance = member.structure.scores(member.moments, rows)
            gates = np.exp(gates - logsumexp(gates, axis=1, keepdims=True))
            found.append((member.weight * gates, eta, np.broadcast_to(variance, eta.shape), member.moments.spread))
        if self.line is not None:
            said = self.line.predictive(X)
            found.append((self.line_weight * said.shares, said.eta, said.variance, said.spread))
        shares, eta, variance, spread = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        return Predictive(self.target, shares, eta, variance, spread, self.location, self.scale, self.width)

    def over_parts(self, function: Any, X: np.ndarray, *others: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """function(predictive, its part of the others) of parts of the rows, put together."""

        def of_part(rows, part):
            return function(self.predictive(rows), *(other[part] for other in others))

        return np.concatenate(list(self._each(of_part, X, n_threads)))

    def mean_and_variance(self, X: np.ndarray, n_threads: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """(n,) arrays: E[y | x] and Var[y | x]."""

        groups = list(self._groups())
        width = max(len(moments.intercept) for _, moments, _, _ in groups)

        def of_part(cells, part):
            first, second = np.zeros(len(cells)), np.zeros(len(cells))
            rows = groups[0][0].rows(cells)
            # far outside of the training rows: as wide as numbers can say
            with np.errstate(over="ignore", invalid="ignore"):
                for structure, moments, ends, weights in groups:
                    mean, square = structure.two_moments(moments, structure.own(rows), ends, weights)
                    first += mean
                    second += square
                if self.line is not None:
                    mean, variance = self.line.mean_and_variance(cells)
                    first += self.line_weight * mean
                    second += self.line_weight * (variance + mean**2)
                spread = np.nan_to_num(second - first**2, nan=WIDEST)
            return np.column_stack([first, np.maximum(spread, 0.0)])

        found = np.concatenate(list(self._each(of_part, X, n_threads, max(1, min(PART, SCORES // width)))))
        with np.errstate(over="ignore"):
            variance = np.square(self.width * self.scale) * found[:, 1]
            return self.location + self.scale * found[:, 0], np.minimum(variance, WIDEST)

    def log_density(self, X: np.ndarray, y: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """(n,) array: log p(y | x); where the target cannot be y, -infinity."""
        if self.target.is_whole:
            return self.over_parts(Predictive.log_density, X, y, n_threads=n_threads)
        scaled = (y - self.location) / self.scale
        parts = self._each(lambda rows, part: self._part_log_density(rows, scaled[part]), X, n_threads)
        return np.concatenate(list(parts)) - np.log(self.scale * self.width)

    def _part_log_density(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """In units of the fits, of a Gaussian target."""
        each = [(member, member.structure.scores(member.moments, rows)) for member, rows in self._each_member(X)]
        line = None if self.line is None else self.line.predictive(X)
        if self.width != 1.0:
            centre = np.zeros(len(y)) if line is None else self.line_weight * line.centre
            for member, (gates, eta, variance) in each:
                centre += member.weight * two_moments_of(gates.copy(), eta, variance + member.moments.spread)[0]
            y = centre + (y - centre) / self.width
        own = [np.log(m.weight) + log_density_of(gates, eta, v + m.moments.spread, y) for m, (gates, eta, v) in each]
        if line is not None:
            own.append(np.log(self.line_weight) + line.log_density(y))
        return logsumexp(own, axis=0)

    def log_rows(self, X: np.ndarray, n_threads: int = 1) -> np.ndarray:
        """(n,) array: log p(x) under the gates of the mixtures."""
        shares = self._shares()

        def of_part(cells, part):
            each = zip(shares, self._each_member(cells), strict=True)
            own = [np.log(share) + m.structure.log_rows(m.moments, rows) for share, (m, rows) in each]
            return logsumexp(own, axis=0)

        return np.concatenate(list(self._each(of_part, X, n_threads)))

    def imputed(self, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        """X with missing cells at their expectation (categories: the mode), over components given the row (and its target)."""
        scaled = None if y is None else (y - self.location) / self.scale
        filled = []
        for share, (member, rows) in zip(self._shares(), self._each_member(X, scaled), strict=True):
            structure = member.structure
            shares = structure.shares(member.moments, rows)
            filled.append((share, structure.gates.imputed(member.moments.gates, X, shares)[0]))
        total = sum(weight * own for weight, own in filled)
        codes = np.concatenate(
            [np.full(f.n_features, hasattr(f, "n_categories")) for f in self.members[0].structure.gates.families]
        )
        heaviest = max(filled, key=lambda each: each[0])[1]  # modes do not average
        return np.where(codes, heaviest, total)


def joined(stack: Any, line: Line | None = None) -> Committee:
    """The committee of a stack. Its fits are members, or lines of parts of the rows: for these answers `line`, that of all rows."""
    members, line_weight = [], 0.0
    for setting, weight, fits in zip(stack.candidates, np.maximum(stack.weights, LEAST), stack.fits, strict=True):
        if setting.is_line:
            line_weight = float(weight)
            continue
        answering = fits[: max(1, math.ceil(len(fits) * min(1.0, float(weight) / FULL)))]
        members += [replace(member, weight=float(weight) / len(answering)) for member in answering]
    return Committee(members, line=line if line_weight else None, line_weight=line_weight)
