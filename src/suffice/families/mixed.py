r"""A table with columns of several kinds, independent given the outcome: Gaussian, categorical (also Bernoulli) and Poisson.

    log p(x, k) = log pi_k + sum over the columns of their own log-density

Blocks of parameters sit side by side: statistics, moments and natural parameters are those of the three parts, with one mass
for each outcome. Columns come in the order numbers | categories | counts. What each part says includes log pi_k, so sums over the
parts take it back twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from . import categorical, gaussian_diagonal, poisson
from .base import Model, expected_log_mass, log_masses
from .records import Record


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    number_weight: np.ndarray
    first: np.ndarray
    second: np.ndarray
    category_count: np.ndarray
    category_weight: np.ndarray
    count_weight: np.ndarray
    count: np.ndarray

    @property
    def parts(self) -> tuple:
        return (
            gaussian_diagonal.Moments(self.mass, self.number_weight, self.first, self.second),
            categorical.Moments(self.mass, self.category_count, self.category_weight),
            poisson.Moments(self.mass, self.count_weight, self.count),
        )


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    linear: np.ndarray
    quadratic: np.ndarray
    logit: np.ndarray
    log_rate: np.ndarray

    def parts(self, constants=None) -> tuple:
        numbers, categories, counts = (self.constant,) * 3 if constants is None else constants
        return (
            gaussian_diagonal.Natural(numbers, self.linear, self.quadratic),
            categorical.Natural(categories, self.logit),
            poisson.Natural(counts, self.log_rate),
        )


def joined(numbers, categories, counts) -> Moments:
    return Moments(
        numbers.mass, numbers.weight, numbers.first, numbers.second,
        categories.count, categories.weight, counts.weight, counts.count,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Mixed(Model):
    location: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the numbers
    n_categories: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_counts: int = 0

    family = "mixed"

    @cached_property
    def models(self) -> tuple:
        K = self.n_outcomes
        return (
            gaussian_diagonal.GaussianDiagonal(K, len(self.location), self.location),
            categorical.Categorical(K, len(self.n_categories), self.n_categories),
            poisson.Poisson(K, self.n_counts),
        )

    @property
    def cuts(self) -> tuple[int, int]:
        return len(self.location), len(self.location) + len(self.n_categories)

    def split(self, X) -> list[np.ndarray]:
        return np.split(X, self.cuts, axis=1)

    def _each(self, function: Callable, *arguments) -> list:
        """function(model, *its part of every argument) for the three parts."""
        return [function(*own) for own in zip(self.models, *arguments, strict=True)]

    def statistics(self, X, y, weights) -> Moments:
        return joined(*self._each(lambda model, part: model.statistics(part, y, weights), self.split(X)))

    def expected_statistics(self, X, responsibilities) -> Moments:
        parts = self._each(lambda model, part: model.expected_statistics(part, responsibilities), self.split(X))
        return joined(*parts)

    def natural_of(self, moments: Moments) -> Natural:
        numbers, categories, counts = self._each(lambda model, part: model.natural_of(part), moments.parts)
        constant = numbers.constant + categories.constant + counts.constant - 2 * log_masses(moments)
        return Natural(constant, numbers.linear, numbers.quadratic, categories.logit, counts.log_rate)

    def log_partitions(self, natural: Natural) -> np.ndarray:
        return sum(self._each(lambda model, part: model.log_partitions(part), natural.parts()))

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        own = self._each(lambda model, part: model.log_partitions(part), natural.parts())
        log_share = natural.constant + sum(own) - self.log_partition(natural)
        parts = natural.parts([log_share - log_norm for log_norm in own])
        return joined(*self._each(lambda model, part: model.moments_of(part, total), parts))

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        parts = self._each(lambda model, a, b: model.log_likelihood(a, b), statistics.parts, moments.parts)
        return sum(parts) - 2 * expected_log_mass(statistics, moments)

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        parts = self._each(lambda model, own, part: model.log_joint(own, part), moments.parts, self.split(X))
        return sum(parts) - 2 * log_masses(moments)

    def log_base_measure(self, X) -> np.ndarray:
        return self.models[2].log_base_measure(self.split(X)[2])

    def in_domain(self, moments: Moments) -> bool:
        return all(self._each(lambda model, part: model.in_domain(part), moments.parts))

    def filled(self, moments: Moments, mass, weight) -> Moments:
        return joined(*self._each(lambda model, part, own: model.filled(part, mass, own), moments.parts, weight))

    def spread(self, mass) -> list:  # type: ignore[override]
        return self._each(lambda model: model.spread(mass))

    def direction(self, statistics: Moments, prior: Moments, moments: Moments, pull: float = 0.0) -> Moments:
        parts = statistics.parts, prior.parts, moments.parts
        return joined(*self._each(lambda model, s, p, m: model.direction(s, p, m, pull), *parts))

    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        parts = self._each(lambda model, own, step: model.move(own, step, rate), moments.parts, direction.parts)
        return joined(*(part for part, _ in parts)), sum(shortened for _, shortened in parts)

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` times each kind's own default."""
        parts = self._each(
            lambda model, part: model.pseudo_counts(part, amount * model.default_pseudo_counts), statistics.parts
        )
        return joined(*parts)

    def pooled(self, statistics: Moments) -> Moments:
        return joined(*self._each(lambda model, part: model.pooled(part), statistics.parts))

    def state_of(self, moments: Moments) -> tuple:
        states = self._each(lambda model, part: model.state_of(part), moments.parts)
        return (np.array(self.cuts, dtype=np.int64), *states)

    def moments_of_state(self, state: tuple) -> Moments:
        return joined(*self._each(lambda model, own: model.moments_of_state(own), state[1:]))

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        return np.hstack(self._each(lambda model, part: model.sample(part, outcomes, generator), moments.parts))

    def imputed(self, moments: Moments, X, responsibilities):
        parts = self._each(
            lambda model, own, part: model.imputed(own, part, responsibilities), moments.parts, self.split(X)
        )
        filled, spread = zip(*parts, strict=True)
        return np.hstack(filled), np.hstack(spread)
