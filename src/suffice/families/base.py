"""What every model of the library offers, and what follows from it.

A model is a joint distribution over an outcome k (a class) and a row x, an exponential family with two coordinate systems:

moments   mu = expected sufficient statistics: `mass[k]` (of the outcome) and the family's own, weighted by the outcome
natural   theta: log p(x, k) = constant[k] + <theta_k, s(x)> (+ a base measure that no outcome depends on)

Statistics of data, moments and conjugate pseudo-counts are records of one type, so `data + prior` is the posterior and
`natural_of(moments)` is the M-step. `mass` counts outcomes; `weight` counts what each block of parameters has seen: the same
number unless cells are missing or the pseudo-counts of a block differ from those of the outcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from ..engines.threads import shards
from .records import Record

KEEP = 0.5  # a step leaves every mass, variance and probability at least this share of itself
FEW_ROWS = 1000  # below this the general loop with its exact search is fast enough for words


@cache
def loops(family: str, layout: str) -> dict:
    """The compiled loops of a family over a layout of rows (imported, compiled or read from the cache on first use)."""
    incremental = import_module("suffice.kernels.loops.incremental")
    return incremental.bind(import_module(f"suffice.kernels.families.{family}"), layout)


@dataclass(frozen=True, eq=False)
class Model(ABC):
    n_outcomes: int
    n_features: int

    family = ""  # the module of suffice.kernels
    takes_sparse = False  # rows come as sparse counts only
    row_rate = 1.0  # the first rate of a stochastic pass with one step per row
    table_prior = True  # the prior is a blend of maximum-likelihood and pooled moments (recipe for tables)

    # -- data ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, X, y: np.ndarray, weights: np.ndarray) -> Any:
        """sum_i weights_i s(x_i, y_i): what maximum likelihood needs of labelled rows (rows with y < 0 are left out)."""

    def statistics_of_shards(self, X, y: np.ndarray, weights: np.ndarray, before=None) -> Any:
        """`before` plus `statistics`, shard by shard in their order: the same bits whether the rows come at once or in batches of
        whole shards (of `engines.SHARD` rows)."""
        if self.is_latent(X):
            found = self.statistics(X, y, weights)
            return found if before is None else before + found
        for rows in shards(len(y)):
            part = self.statistics(X[rows], y[rows], weights[rows])
            before = part if before is None else before + part
        return before

    @abstractmethod
    def expected_statistics(self, X, responsibilities: np.ndarray) -> Any:
        """sum_ik responsibilities_ik s(x_i, k), signed weights allowed; missing cells add to no block."""

    def is_latent(self, X) -> bool:
        """Whether X has missing cells whose statistics depend on the parameters (columns that are not independent)."""
        return False

    def completed_statistics(self, X, responsibilities: np.ndarray, moments) -> Any:
        """`expected_statistics` where the missing cells take their expectations under `moments`."""
        return self.expected_statistics(X, responsibilities)

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @abstractmethod
    def natural_of(self, moments) -> Any:
        """The M-step."""

    @abstractmethod
    def moments_of(self, natural, total: float = 1.0) -> Any:
        """The inverse map: expected statistics of `total` examples."""

    @abstractmethod
    def log_partitions(self, natural) -> np.ndarray:
        """log of the sum or integral over x of exp(<theta_k, s(x)>), for each k."""

    def log_partition(self, natural) -> float:
        return float(logsumexp(natural.constant + self.log_partitions(natural)))

    @abstractmethod
    def log_likelihood(self, statistics, moments) -> float:
        """<theta(moments), statistics> with a normalised theta: the log joint likelihood of data with these statistics."""

    def entropy(self, moments) -> float:
        """Of one example, relative to the base measure: A(theta) - <theta, mu>."""
        return -self.log_likelihood(moments, moments) / float(moments.mass.sum())

    @abstractmethod
    def log_joint(self, moments, X) -> np.ndarray:
        """log p(x_i, k), readable and slow: the twin of the compiled `scores`."""

    # -- domain and steps ---------------------------------------------------------------------------------------------

    @abstractmethod
    def in_domain(self, moments) -> bool: ...

    @abstractmethod
    def move(self, moments, direction, rate: float) -> tuple[Any, int]:
        """moments + rate * direction, each block shortened so that it keeps the share KEEP of itself; and how many were."""

    @abstractmethod
    def filled(self, moments, mass: np.ndarray, weight: np.ndarray) -> Any:
        """Expected statistics of the model's own conditionals at other masses and block weights."""

    def spread(self, mass: np.ndarray) -> np.ndarray:
        """Masses of the outcomes in the shape of the block weights (last axes of features repeated)."""
        return mass

    def direction(self, statistics, prior, moments, pull: float = 0.0):
        """Minus the gradient in theta: statistics + prior - what the model itself expects of as many examples.

        `pull` is the weight of examples whose joint likelihood is fitted. A missing cell is a latent variable: its statistic is
        its expectation, so the block's expected part shrinks by what was not seen.
        """
        mass = (prior.mass.sum() + pull) * moments.mass / moments.mass.sum()
        weight = self.spread(mass - prior.mass - statistics.mass) + prior.weight + statistics.weight
        return statistics + prior - self.filled(moments, mass, weight)

    # -- priors -------------------------------------------------------------------------------------------------------

    @property
    def default_pseudo_counts(self) -> float:
        """Pseudo-counts that make the maximum-likelihood estimate lie inside the domain."""
        return 1.0

    @abstractmethod
    def pseudo_counts(self, statistics, amount: float) -> Any:
        """A conjugate prior of the given strength (scikit-learn's smoothing where it has one); outcomes get none."""

    @abstractmethod
    def pooled(self, statistics) -> Any:
        """The same total, with every outcome looking alike."""

    # -- compiled code ------------------------------------------------------------------------------------------------

    @abstractmethod
    def state_of(self, moments) -> tuple:
        """Fresh arrays in the form the kernels update in place."""

    @abstractmethod
    def moments_of_state(self, state: tuple) -> Any: ...

    def empty_rows(self) -> Any:
        """No rows, of the kind the structure takes."""
        shape = (0, self.n_features)
        return sparse.csr_matrix(shape) if self.takes_sparse else np.zeros(shape)

    def rows_of(self, X) -> tuple[Any, str]:
        """X as the kernels read it, and the name of that layout."""
        if isinstance(X, np.ndarray):
            return X, "dense"
        return (X.indptr, X.indices, X.data, np.empty(X.shape[1])), "scatter"

    def scores(self, moments, X, state: tuple | None = None, which: np.ndarray | None = None) -> np.ndarray:
        """log p(x_i, k) for every row (or those in `which`), compiled. A `state` of the same moments saves making one."""
        X = X if which is None else X[which]
        rows, layout = self.rows_of(X)
        scores = np.empty((X.shape[0], self.n_outcomes))
        loops(self.family, layout)["score_rows"](rows, X.shape[0], state or self.state_of(moments), scores)
        return scores

    def joint_scores(self, moments, X) -> np.ndarray:
        """`scores` at any moments: -infinity where an outcome (or a category in it) never occurred and has no prior."""
        if self.in_domain(moments):
            return self.scores(moments, X)
        with np.errstate(divide="ignore", invalid="ignore"):
            joint = self.log_joint(moments, X)
        return np.where((moments.mass > 0) & ~np.isnan(joint), joint, -np.inf)

    def log_likelihood_of_state(self, statistics, state: tuple) -> float:
        """`log_likelihood` of statistics at the model that `state` is of."""
        return self.log_likelihood(statistics, self.moments_of_state(state))

    def incremental_pass(self, X, y, weights, order, multipliers, state: tuple, loss, tolerance: float, slack):
        """One pass of the incremental learner, in place: (rows moved, steps shortened, mean wanted change of a row's weights).

        A family may bring its own, which may also say in `slack` which rows can be left out of the next passes (above 0). This is
        the general one, which knows neither.
        """
        rows, layout = self.rows_of(X)
        if not loss.is_discriminative:  # weights of labelled rows are one-hot and stay
            order = order[y[order] < 0]
        epoch = loops(self.family, layout)["epoch"].of(loss.kernels)
        return *epoch(
            rows, y, weights, order, multipliers, state, loss.settings, float(loss.softness), tolerance
        ), np.inf

    def steps_by_row(self, X, y, loss) -> bool:
        """Whether the family has a stochastic pass of its own over such rows, with one step per row."""
        return False

    def stochastic_pass(self, X, y, weights, order, rates, state: tuple, loss) -> int:
        """One step per row, in place, returning how many steps were shortened; only where `steps_by_row`."""
        raise NotImplementedError

    def row_tolerance(self, loss, prior, tolerance: float) -> float:
        """The change of a row's weights that is too small to make, for an accuracy of `tolerance`."""
        return tolerance

    def leaves_room(self, moments, prior) -> bool:
        """Whether an incremental learner can go on from here (after a change of the prior)."""
        return self.in_domain(moments)

    @abstractmethod
    def log_base_measure(self, X) -> np.ndarray | float:
        """The part of log p(x, k) that no outcome depends on and `scores` leaves out."""

    @abstractmethod
    def sample(self, moments, outcomes: np.ndarray, generator: np.random.Generator) -> np.ndarray: ...

    # -- missing cells ------------------------------------------------------------------------------------------------

    def cell_moments(self, moments) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of every column given the outcome (independent columns of numbers)."""
        raise NotImplementedError

    def imputed(self, moments, X: np.ndarray, responsibilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X with missing cells at their expectation (categories: their mode), and the standard deviations of all cells."""
        mean, variance = self.cell_moments(moments)
        centre = responsibilities @ mean
        spread = responsibilities @ (variance + mean**2) - centre**2
        missing = np.isnan(X)
        return np.where(missing, centre, X), np.sqrt(np.where(missing, np.maximum(spread, 0.0), 0.0))

    def drawn(self, moments, X: np.ndarray, outcomes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """X with missing cells drawn given the outcomes and the observed cells."""
        return np.where(np.isnan(X), self.sample(moments, outcomes, generator), X)


def log_masses(moments: Record) -> np.ndarray:
    mass = moments.mass  # type: ignore[attr-defined]
    with np.errstate(divide="ignore"):
        return np.log(mass) - np.log(mass.sum())


def expected_log_mass(statistics, moments) -> float:
    """sum_k mass_k log pi_k, where an outcome that never occurs adds nothing."""
    seen = statistics.mass != 0
    return float(statistics.mass[seen] @ log_masses(moments)[seen])


def room_below(value: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The largest step that leaves `value` at least KEEP of itself."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(change < 0, (1 - KEEP) * value / -change, np.inf)


def moved_mass(mass: np.ndarray, change: np.ndarray, rate: float) -> tuple[np.ndarray, int]:
    """One step for all masses, so that their sum moves as it should; shortened where one would lose too much."""
    step = min(rate, float(room_below(mass, change).min()))
    return mass + step * change, int(step < rate)
