"""What every structure offers: who emits what, and what is expected of the statistics given something.

A structure is a joint distribution of rows x and what is not in them (a class, components, topics), an exponential family whose moments
are one record: the structure's own and those of its families. Every loss of the library is a signed sum of
expectations of the statistics given the label, given nothing, or given the best rival of the label (`suffice.losses`), so a
structure that can say these three can be trained with every loss.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from typing_extensions import override

from ..engines.threads import shards
from ..families.base import room_below
from ..families.records import Record
from ..families.rows import one_hot
from ..losses.base import posteriors


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    columns: tuple  # the moments of every family


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    columns: tuple  # the natural parameters of every family


class Given(Enum):
    """What is known beside a row's cells."""

    LABEL = "its label"
    NOTHING = "nothing"
    RIVAL = "the most probable wrong label"


class Expectation(NamedTuple):
    statistics: Any  # sum_i weights_i E[s | x_i, given], a record in the shape of the moments
    log_probability: np.ndarray  # (n,) array: log p(x_i, given); given nothing it is log p(x_i)


class Structure(ABC):
    """A frozen dataclass. `n_outcomes` counts the labels a row can have, `n_features` its columns."""

    n_outcomes: int
    n_features: int

    @abstractmethod
    def expect(self, moments, X, y: np.ndarray, weights: np.ndarray, given: Given) -> Expectation:
        """Expected statistics of the rows X and their log-probabilities under `moments`, given what is named.

        Given the label or its rival every y[i] must be one of 0 .. n_outcomes - 1; given nothing y is not looked at.
        """


class Enumerable(Structure):
    """A structure whose outcomes k fit in a vector: log p(x, k) for every k, and statistics that are weighted sums over k.

    moments   mu = expected sufficient statistics: `mass[k]` counts outcomes, the rest is weighted by the outcome
    natural   theta: log p(x, k) = constant[k] + <theta_k, s(x)> (+ a base measure that no outcome depends on)
    """

    takes_sparse = False  # rows come as sparse counts only
    table_prior = (
        True  # the prior is a blend of maximum-likelihood and pooled moments (recipe for tables); False: of words
    )
    keeps_logs = False  # a state has the logarithms that a measure needs too: it is made once for both
    row_rate = 1.0  # the first rate of a stochastic pass with one step per row
    printed = ""  # which pass of Masegosa (2014) is printed for it (`learners.paper`)

    @override
    def expect(self, moments, X, y, weights, given) -> Expectation:
        scores = self.scores(moments, X)
        if given is Given.NOTHING:
            norms = logsumexp(scores, axis=1)
            return Expectation(self._weighed(X, weights, posteriors(scores), moments), norms)
        if len(y) and not 0 <= y.min() <= y.max() < self.n_outcomes:
            raise ValueError(f"row {int(y.argmin())} has no label to be given: take the rows without one by themselves")
        places, chosen = np.arange(len(y)), y
        if given is Given.RIVAL:
            others = scores.copy()
            others[places, y] = -np.inf
            chosen = others.argmax(axis=1)
        shares = one_hot(chosen, np.ones(len(y)), self.n_outcomes)
        return Expectation(self._weighed(X, weights, shares, moments), scores[places, chosen])

    def _weighed(self, X, weights, shares, moments):
        return self.completed_statistics(X, weights[:, None] * shares, moments)

    # -- data ---------------------------------------------------------------------------------------------------------

    @abstractmethod
    def statistics(self, X, y: np.ndarray, weights: np.ndarray) -> Any:
        """Moments: sum_i weights_i s(x_i, y_i), what maximum likelihood needs of labelled rows (rows with y < 0 are left out)."""

    def squared_statistics(self, X, weights: np.ndarray) -> Any:
        """Moments: sum_i weights_ik x_i^2, what second derivatives of a loss in the natural parameters are made of; None where they
        would say too little, or are not known."""
        return None

    def statistics_of_shards(self, X, y: np.ndarray, weights: np.ndarray, before=None) -> Any:
        """Moments: `before` plus `statistics`, shard by shard in their order: the same bits whether the rows come at once or in batches
        of whole shards (of `engines.SHARD` rows)."""
        if self.is_latent(X):
            found = self.statistics(X, y, weights)
            return found if before is None else before + found
        for rows in shards(len(y)):
            part = self.statistics(X[rows], y[rows], weights[rows])
            before = part if before is None else before + part
        return before

    @abstractmethod
    def expected_statistics(self, X, responsibilities: np.ndarray) -> Any:
        """Moments: sum_ik responsibilities_ik s(x_i, k), signed weights allowed; missing cells add to no block."""

    def is_latent(self, X) -> bool:
        """Whether the statistics of X depend on the parameters (missing cells of columns that are not independent)."""
        return False

    def completed_statistics(self, X, responsibilities: np.ndarray, moments) -> Any:
        """Moments: `expected_statistics` where what is latent takes its expectations under `moments`."""
        return self.expected_statistics(X, responsibilities)

    @abstractmethod
    def no_statistics(self) -> Any:
        """Moments of no rows at all: zeros in their shapes."""

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @abstractmethod
    def natural_of(self, moments) -> Any:
        """Natural: the M-step."""

    @abstractmethod
    def moments_of(self, natural, total: float = 1.0) -> Any:
        """Moments: the inverse map, expected statistics of `total` examples."""

    @abstractmethod
    def log_partitions(self, natural) -> np.ndarray:
        """(K,) array: log of the sum or integral over x of exp(<theta_k, s(x)>)."""

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
        """(n, K) array log p(x_i, k), readable and slow: the twin of the compiled `scores`."""

    @abstractmethod
    def log_base_measure(self, X) -> np.ndarray | float:
        """(n,) array, or 0: the part of log p(x, k) that no outcome depends on and `scores` leaves out."""

    # -- domain and steps ---------------------------------------------------------------------------------------------

    @abstractmethod
    def in_domain(self, moments) -> bool:
        """Whether all numbers are finite, every mass is positive and every block has a density."""

    @abstractmethod
    def move(self, moments, direction, rate: float) -> tuple[Any, int]:
        """Moments + rate * direction, each block shortened so that it keeps the share KEEP of itself; and how many were."""

    @abstractmethod
    def at_masses(self, moments, mass: np.ndarray) -> Any:
        """Moments of the same conditionals at other masses (K,), every block having seen as much as its outcome."""

    @abstractmethod
    def direction(self, statistics, prior, moments, pull: float = 0.0) -> Any:
        """Minus the gradient in theta: statistics + prior - what the model itself expects of as many examples. `pull` is the weight of
        examples whose joint likelihood is fitted."""

    # -- priors -------------------------------------------------------------------------------------------------------

    @property
    def default_pseudo_counts(self) -> float:
        """Pseudo-counts that make the maximum-likelihood estimate lie inside the domain."""
        return 1.0

    @abstractmethod
    def pseudo_counts(self, statistics, amount: float) -> Any:
        """Moments: a conjugate prior of the given strength (scikit-learn's smoothing where it has one); outcomes get none."""

    @abstractmethod
    def pooled(self, statistics) -> Any:
        """Moments: the same total, with every outcome looking alike."""

    @abstractmethod
    def smoothed_maximum_likelihood(self, statistics) -> Any:
        """Moments: maximum likelihood with just enough pseudo-counts to lie inside the domain; masses add up to one."""

    def smoothed_masses(self, mass: np.ndarray) -> np.ndarray:
        """(K,) array: shares of the outcomes, after one more row that is of all of them alike."""
        return (mass + 1.0 / self.n_outcomes) / (mass.sum() + 1.0)

    def leaves_room(self, moments, prior) -> bool:
        """Whether an incremental learner can go on from here (after a change of the prior)."""
        return self.in_domain(moments)

    # -- compiled code ------------------------------------------------------------------------------------------------

    @abstractmethod
    def rows_of(self, X) -> tuple[Any, str]:
        """X as the kernels read it, and the name of that layout (`suffice.kernels.rows`)."""

    @abstractmethod
    def state_of(self, moments) -> tuple:
        """Fresh arrays in the form the kernels update in place."""

    @abstractmethod
    def moments_of_state(self, state: tuple) -> Any:
        """Moments: those the kernels have arrived at, in arrays of their own."""

    @abstractmethod
    def scores(self, moments, X, state: tuple | None = None, which: np.ndarray | None = None) -> np.ndarray:
        """(n, K) array log p(x_i, k), compiled, of every row (or those in `which`). A `state` of the same moments saves making one."""

    def joint_scores(self, moments, X) -> np.ndarray:
        """`scores` at any moments: -infinity where an outcome (or a category in it) never occurred and has no prior."""
        if self.in_domain(moments):
            return self.scores(moments, X)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # a row too far away is impossible
            joint = self.log_joint(moments, X)
        return np.where((moments.mass > 0) & ~np.isnan(joint), joint, -np.inf)

    def log_likelihood_of_state(self, statistics, state: tuple) -> float:
        """`log_likelihood` of statistics at the model that `state` is of."""
        return self.log_likelihood(statistics, self.moments_of_state(state))

    def incremental_pass(self, X, y, weights, order, multipliers, state: tuple, loss, tolerance: float, slack):
        """(rows moved, steps shortened, mean wanted change of a row's weights) of one pass of the incremental learner, in place.

        It may also say in `slack` which rows can be left out of the next passes (above 0).
        """
        raise NotImplementedError(f"{type(self).__name__} has no incremental pass")

    def pulled(self, state: tuple, prior, share: float) -> tuple:
        """The state a share of the way towards the prior; the given one may be changed."""
        moments = self.moments_of_state(state)
        return self.state_of(moments + share * (prior - moments))

    def steps_by_row(self, X, y, loss) -> bool:
        """Whether there is a stochastic pass over such rows with one step per row."""
        return False

    def stochastic_pass(self, X, y, weights, order, rates, state: tuple, loss) -> tuple[int, float]:
        """How many steps were shortened in a pass of one step per row, in place, and the sum of the labels' weights; only where
        `steps_by_row`."""
        raise NotImplementedError(f"{type(self).__name__} has no stochastic pass with one step per row")

    def row_tolerance(self, loss, prior, tolerance: float) -> float:
        """The change of a row's weights that is too small to make, for an accuracy of `tolerance`."""
        return tolerance

    # -- new rows and missing cells -----------------------------------------------------------------------------------

    @abstractmethod
    def sample(self, moments, outcomes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """(n, n_features) array: a row of every outcome in `outcomes` (n,)."""

    def imputed(self, moments, X: np.ndarray, responsibilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X with missing cells at their expectation (categories: their mode), and the standard deviations of all cells."""
        raise NotImplementedError(f"{type(self).__name__} does not fill missing cells")

    def drawn(self, moments, X: np.ndarray, outcomes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """X with missing cells drawn given the outcomes and the observed cells."""
        return np.where(np.isnan(X), self.sample(moments, outcomes, generator), X)


def side_by_side(families: tuple, X) -> list:
    """The columns of every family."""
    if len(families) == 1:
        return [X]
    ends = np.cumsum([0, *(family.n_features for family in families)]).tolist()
    return [X[:, first:last] for first, last in pairwise(ends)]


def log_shares(mass: np.ndarray, total: float) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(mass) - np.log(total if total > 0 else 1.0)  # of what never occurs, nothing has a share


def expected_logs(weights: np.ndarray, logs: np.ndarray) -> float:
    """sum_k weights_k logs_k, where an outcome that never occurs adds nothing."""
    seen = weights != 0
    return float(weights[seen] @ logs[seen])


def moved_mass(mass: np.ndarray, change: np.ndarray, rate: float) -> tuple[np.ndarray, int]:
    """One step for all masses, so that their sum moves as it should; shortened where one would lose too much."""
    step = min(rate, float(room_below(mass, change).min()))
    return mass + step * change, int(step < rate)
