r"""A joint distribution of an outcome and a row: how frequent the outcomes are, and families of columns side by side.

    log p(x, k) = log pi_k + sum_f log p_f(x_f | k)              x_f: the columns of family f, in the order of the families

    moments   mass[k] = total pi_k,  and the moments of every family
    natural   constant[k] = log pi_k - sum_f A_f(theta_k),  and the natural parameters of every family

Naive Bayes, discriminants and tables with columns of several kinds are joints; a component of a mixture is an outcome.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from typing import Any, Self

import numpy as np
from scipy import sparse
from typing_extensions import override

from ..families.base import Change, Family, room_below
from ..families.rows import label_masses
from ..saving.schema import require
from .base import Enumerable, Moments, Natural, expected_logs, log_shares, side_by_side
from .charts import JointChart
from .forms import JointForm


@cache
def kernels_of(modules: tuple[str, ...]):
    """The compiled kernels of families side by side whose own are in these modules."""
    return import_module("suffice.kernels.structures.joint").families(modules)


@cache
def loops(modules: tuple[str, ...], layout: str) -> dict:
    """The compiled loops over a layout of rows (imported, compiled or read from the cache on first use)."""
    return import_module("suffice.kernels.loops.incremental").bind(kernels_of(modules), layout)


@dataclass(frozen=True, eq=False)
class Joint(Enumerable):
    families: tuple[Family, ...]

    def check_stored(self) -> None:
        """What a file must hold: families of as many outcomes (`saving.schema`)."""
        require(
            self.families and all(isinstance(family, Family) for family in self.families), "families must be of columns"
        )
        counts = {family.n_outcomes for family in self.families}
        require(len(counts) == 1, f"families side by side have {sorted(counts)} outcomes: they must have the same")

    @classmethod
    def of(cls, *families: Family) -> Self:
        return cls(families)

    # -- its families -------------------------------------------------------------------------------------------------

    @cached_property
    @override
    def n_outcomes(self) -> int:  # type: ignore[override]
        return self.families[0].n_outcomes

    @cached_property
    @override
    def n_features(self) -> int:  # type: ignore[override]
        return sum(family.n_features for family in self.families)

    @property
    @override
    def takes_sparse(self) -> bool:  # type: ignore[override]
        return any(family.takes_sparse for family in self.families)

    @property
    @override
    def table_prior(self) -> bool:  # type: ignore[override]
        return all(family.table_prior for family in self.families)

    @property
    @override
    def printed(self) -> str:  # type: ignore[override]
        return self.families[0].printed if len(self.families) == 1 else ""

    @property
    def family(self) -> Any:
        """The only family."""
        (family,) = self.families
        return family

    @cached_property
    def cuts(self) -> tuple[int, ...]:
        """Where the columns of the second family and of those after it begin."""
        return tuple(int(cut) for cut in np.cumsum([family.n_features for family in self.families])[:-1])

    def split(self, X) -> list:
        """The columns of every family."""
        return side_by_side(self.families, X)

    def with_outcomes(self, n_outcomes: int) -> Self:
        """The same families of another number of outcomes."""
        return replace(self, families=tuple(replace(family, n_outcomes=n_outcomes) for family in self.families))

    def centred(self, X, weights: np.ndarray) -> Self:
        """With numbers measured from their weighted means (`Family.centred`)."""
        return replace(
            self, families=tuple(self._each(lambda family, own: family.centred(own, weights), self.split(X)))
        )

    def _each(self, function: Callable, *parts) -> list:
        """function(family, its part of every argument) for every family."""
        return [function(*own) for own in zip(self.families, *parts, strict=True)]

    def _moments(self, mass: np.ndarray, function: Callable, *parts) -> Moments:
        return Moments(mass, tuple(self._each(function, *parts)))

    def total_of(self, mass: np.ndarray) -> float:
        """What shares of the outcomes are shares of."""
        return mass.sum()

    def log_masses(self, moments: Moments) -> np.ndarray:
        """(K,) array: log pi."""
        return log_shares(moments.mass, self.total_of(moments.mass))

    # -- data ---------------------------------------------------------------------------------------------------------

    @override
    def statistics(self, X, y, weights) -> Moments:
        mass = label_masses(y, weights, self.n_outcomes)
        return self._moments(mass, lambda family, own: family.labelled_statistics(own, y, weights), self.split(X))

    @override
    def expected_statistics(self, X, responsibilities) -> Moments:
        mass = responsibilities.sum(axis=0)
        return self._moments(mass, lambda family, own: family.statistics(own, responsibilities), self.split(X))

    @override
    def is_latent(self, X) -> bool:
        return any(self._each(lambda family, own: family.is_latent(own), self.split(X)))

    @override
    def completed_statistics(self, X, responsibilities, moments) -> Moments:
        return self._moments(
            responsibilities.sum(axis=0),
            lambda family, own, part: family.completed_statistics(part, responsibilities, own),
            moments.columns,
            self.split(X),
        )

    @override
    def no_statistics(self) -> Moments:
        X = sparse.csr_matrix((0, self.n_features)) if self.takes_sparse else np.zeros((0, self.n_features))
        return self.statistics(X, np.zeros(0, dtype=np.int64), np.zeros(0))

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @override
    def natural_of(self, moments: Moments) -> Natural:
        columns = tuple(self._each(lambda family, own: family.natural_of(own), moments.columns))
        constant = self.log_masses(moments)
        for family, own in zip(self.families, columns, strict=True):
            if not family.is_normalised:
                constant = constant - family.log_partitions(own)
        return Natural(constant, columns)

    @override
    def log_partitions(self, natural: Natural) -> np.ndarray:
        return sum(self._each(lambda family, own: family.log_partitions(own), natural.columns))

    @override
    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        mass = total * np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        return self._moments(mass, lambda family, own: family.moments_of(own, mass), natural.columns)

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        own = self._each(lambda family, s, m: family.log_likelihood(s, m), statistics.columns, moments.columns)
        return expected_logs(statistics.mass, self.log_masses(moments)) + sum(own)

    @override
    def log_joint(self, moments: Moments, X) -> np.ndarray:
        own = self._each(lambda family, m, part: family.log_densities(m, part), moments.columns, self.split(X))
        return self.log_masses(moments) + sum(own)

    @override
    def log_base_measure(self, X):
        return sum(self._each(lambda family, own: family.log_base_measure(own), self.split(X)))

    # -- domain and steps ---------------------------------------------------------------------------------------------

    @override
    def in_domain(self, moments: Moments) -> bool:
        is_open = bool(np.isfinite(moments.mass).all() and (moments.mass > 0).all())
        return is_open and all(self._each(lambda family, own: family.in_domain(own), moments.columns))

    @override
    def at_masses(self, moments: Moments, mass) -> Moments:
        return self._moments(mass, lambda family, own: family.at_weight(own, family.weight_of(mass)), moments.columns)

    @override
    def direction(self, statistics: Moments, prior: Moments, moments: Moments, pull: float = 0.0) -> Moments:
        whole, own = prior.mass.sum() + pull, moments.mass.sum()
        mass = whole * moments.mass / own
        unseen, scale = mass - prior.mass - statistics.mass, float(whole) / float(own) if pull else 0.0
        return self._moments(
            statistics.mass + prior.mass - mass,
            lambda family, s, p, m: family.direction(s, p, m, unseen, scale),
            statistics.columns,
            prior.columns,
            moments.columns,
        )

    @override
    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        """One step for all masses, so that their sum moves as it should, and one for every block of a family."""
        mass, gain = moments.mass, direction.mass
        parts = moments.columns, direction.columns
        limits = self._each(lambda family, own, step: family.common_reach(own, step, (mass, gain)), *parts)
        step = min(rate, float(room_below(mass, gain).min()), *limits)
        change = Change(mass, gain, step, mass + step * gain)
        moved = self._each(lambda family, own, towards: family.move(own, towards, rate, change), *parts)
        return Moments(change.after, tuple(own for own, _ in moved)), int(step < rate) + sum(n for _, n in moved)

    # -- priors -------------------------------------------------------------------------------------------------------

    @property
    @override
    def default_pseudo_counts(self) -> float:
        return self.families[0].default_pseudo_counts if len(self.families) == 1 else 1.0

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """Of several families: `amount` times each one's own default."""
        nothing = np.zeros(self.n_outcomes)
        if len(self.families) == 1:
            return self._moments(nothing, lambda family, own: family.pseudo_counts(own, amount), statistics.columns)
        return self._moments(
            nothing,
            lambda family, own: family.pseudo_counts(own, amount * family.default_pseudo_counts),
            statistics.columns,
        )

    @override
    def pooled(self, statistics: Moments) -> Moments:
        share = statistics.mass / statistics.mass.sum()
        return self._moments(statistics.mass, lambda family, own: family.pooled(own, share), statistics.columns)

    @override
    def smoothed_maximum_likelihood(self, statistics: Moments) -> Moments:
        mass, total = self.smoothed_masses(statistics.mass), statistics.mass.sum()
        return self._moments(mass, lambda family, own: family.smoothed(own, mass, total), statistics.columns)

    # -- compiled code ------------------------------------------------------------------------------------------------

    @property
    def modules(self) -> tuple[str, ...]:
        """Where the families have their kernels."""
        return tuple(family.kernels for family in self.families)

    @override
    def rows_of(self, X) -> tuple[Any, str]:
        return self.families[0].rows_of(X) if len(self.families) == 1 else Family.rows_of(self.families[0], X)

    @override
    def state_of(self, moments: Moments) -> tuple:
        """((masses, their total and its logarithm, their logarithms), the families' states nested with the cuts of the columns)."""
        mass, total = moments.mass.copy(), self.total_of(moments.mass)
        *states, own = self._each(lambda family, part: family.state_of(part), moments.columns)
        for family, state in zip(self.families[-2::-1], states[::-1], strict=True):
            own = (family.n_features, state, own)
        return (mass, np.array([total, np.log(total)]), np.log(mass)), own

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        states, own = [], state[1]
        for _ in self.families[1:]:
            states.append(own[1])
            own = own[2]
        return self._moments(state[0][0].copy(), lambda family, part: family.moments_of_state(part), [*states, own])

    @override
    def scores(self, moments: Moments, X, state=None, which=None) -> np.ndarray:
        X = X if which is None else X[which]
        if self.is_latent(X):
            return self.log_joint(moments, X)
        rows, layout = self.rows_of(X)
        scores = np.empty((X.shape[0], self.n_outcomes))
        loops(self.modules, layout)["score_rows"](rows, X.shape[0], state or self.state_of(moments), scores)
        return scores

    @override
    def incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        rows, layout = self.rows_of(X)
        if not loss.is_discriminative:  # weights of labelled rows are one-hot and stay
            order = order[y[order] < 0]
        epoch = loops(self.modules, layout)["epoch"].of(loss.kernels)
        return *epoch(
            rows, y, weights, order, multipliers, state, loss.settings, float(loss.softness), tolerance
        ), np.inf

    # -- mixtures: components are outcomes ----------------------------------------------------------------------------

    def form(self, X) -> JointForm:
        """What sums over many rows X want."""
        return JointForm(self, X)

    def chart(self, moments: Moments) -> JointChart:
        """Unconstrained coordinates around some moments."""
        return JointChart(self, moments)

    def projected(self, moments: Moments) -> Moments:
        """The nearest moments of families with fewer parameters than their records have room for."""
        return self._moments(moments.mass, lambda family, own: family.projected(own), moments.columns)

    def points(self, X, weights: np.ndarray) -> np.ndarray:
        """(n, p) array: rows as points of a Euclidean space that k-means can compare."""
        return np.hstack(self._each(lambda family, own: family.points(own, weights), self.split(X)))

    # -- new rows and missing cells -----------------------------------------------------------------------------------

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        return np.hstack(self._each(lambda family, own: family.sample(own, outcomes, generator), moments.columns))

    @override
    def imputed(self, moments: Moments, X, responsibilities):
        parts = moments.columns, self.split(X)
        found = self._each(lambda family, own, part: family.imputed(own, part, responsibilities), *parts)
        filled, spread = zip(*found, strict=True)
        return np.hstack(filled), np.hstack(spread)

    @override
    def drawn(self, moments: Moments, X, outcomes, generator) -> np.ndarray:
        parts = moments.columns, self.split(X)
        return np.hstack(self._each(lambda family, own, part: family.drawn(own, part, outcomes, generator), *parts))
