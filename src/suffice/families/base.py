"""What every family offers: columns of a row given an outcome k, an exponential family with two coordinate systems.

    log p(x | k) = <theta_k, s(x)> - A(theta_k) + a base measure that no outcome depends on

moments   mu = expected sufficient statistics, summed over examples: the family's own sums, and `weight`, how many examples each block
          of parameters has seen
natural   theta

Statistics of data, moments and conjugate pseudo-counts are records of one type, so `data + prior` is the posterior and
`natural_of(moments)` is the M-step. A family knows nothing of how frequent outcomes are, of labels or of losses: a structure
(`suffice.structures`) adds them. K is the number of outcomes, `mass` a (K,) array of numbers of examples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .points import standardised
from .records import Record, mapped
from .rows import dense, one_hot

KEEP = 0.5  # a step leaves every mass, variance and probability at least this share of itself


class Change(NamedTuple):
    """How a step changes the masses of the outcomes: each a (K,) array but `step`."""

    before: np.ndarray
    gain: np.ndarray  # for a step of one
    step: float  # that the masses take
    after: np.ndarray  # before + step * gain


@dataclass(frozen=True, eq=False)
class Family(ABC):
    n_outcomes: int
    n_features: int

    stored_as: ClassVar[dict[str, str]] = {"n_outcomes": "int 1..", "n_features": "int 0.."}  # see `saving.schema`

    kernels = ""  # module of the compiled kernels, as one imports it; outside of this package too
    takes_sparse = False  # rows come as sparse counts only
    table_prior = True  # priors are measured in rows; False: in words
    takes_codes = (
        False  # columns are codes of categories: natural parameters are one table of cells, outcomes side by side
    )
    is_normalised = False  # whether A(theta) is zero for what `natural_of` gives
    outcome_axis = 0  # of the arrays of a record
    conditional = ""  # how `learners.linear` takes its columns; "": not at all
    printed = ""  # which pass of Masegosa (2014) is printed for this family (`learners.paper`)

    # -- data ---------------------------------------------------------------------------------------------------------

    @classmethod
    def for_data(cls, X, n_outcomes: int) -> Self:
        """The family for these rows: override it where it has fields that are read off them."""
        return cls(n_outcomes, X.shape[1])

    @abstractmethod
    def statistics(self, X, shares: np.ndarray) -> Any:
        """Moments: sum_i shares_ik s(x_i), for signed shares (n, K); a missing cell adds to no block."""

    def labelled_statistics(self, X, outcomes: np.ndarray, weights: np.ndarray) -> Any:
        """Moments: the statistics of rows of one outcome each; those with outcomes[i] < 0 are left out."""
        return self.statistics(X, one_hot(outcomes, weights, self.n_outcomes))

    def is_latent(self, X) -> bool:
        """Whether X has missing cells whose statistics depend on the parameters (columns that are not independent)."""
        return False

    def completed_statistics(self, X, shares: np.ndarray, moments) -> Any:
        """Moments: `statistics` in which missing cells take their expectations under `moments`."""
        return self.statistics(X, shares)

    def centred(self, X, weights: np.ndarray) -> Self:
        """The family with numbers measured from their weighted means, so that a row of weight 2 is the row twice to the last bit."""
        return self

    def rows_of(self, X) -> tuple[Any, str]:
        """X as the kernels read it, and the name of that layout (`suffice.kernels.rows`)."""
        if isinstance(X, np.ndarray):
            return np.ascontiguousarray(X), "dense"
        return (X.indptr, X.indices, X.data, np.empty(X.shape[1])), "scatter"

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @abstractmethod
    def natural_of(self, moments) -> Any:
        """Natural: the M-step."""

    @abstractmethod
    def moments_of(self, natural, mass: np.ndarray) -> Any:
        """Moments: the inverse map, expected statistics of mass[k] examples of every outcome."""

    @abstractmethod
    def log_partitions(self, natural) -> np.ndarray:
        """(K,) array A(theta_k): log of the sum or integral over x of exp <theta_k, s(x)>."""

    @abstractmethod
    def log_likelihood(self, statistics, moments) -> float:
        """<theta(moments), statistics> - A: the log-likelihood of data with these statistics."""

    @abstractmethod
    def log_densities(self, moments, X) -> np.ndarray:
        """(n, K) array log p(x_i | k) without the base measure, readable and slow: the twin of the kernels' `score`."""

    has_independent_columns = False  # given the outcome

    def cell_log_densities(self, moments, X: np.ndarray) -> np.ndarray:
        """(n, K, n_features) array: log p(x_ij | the other cells, k), 0 where the cell is missing."""
        whole = self.log_densities(moments, X)
        found = np.zeros((len(X), self.n_outcomes, self.n_features))
        for j in range(self.n_features):
            without = X.copy()
            without[:, j] = np.nan
            found[:, :, j] = whole - self.log_densities(moments, without)
        return found

    def word_weights(self, moments) -> np.ndarray | None:
        """(n_features, K) array: what one unit of a column adds to log p(x | k), beside what a row of zeros has; None: it is not so."""
        return None

    def log_base_measure(self, X) -> np.ndarray | float:
        """(n,) array, or 0: the part of log p(x | k) that no outcome depends on."""
        return 0.0

    # -- domain and steps ---------------------------------------------------------------------------------------------

    @abstractmethod
    def in_domain(self, moments) -> bool:
        """Whether all numbers are finite and every block has a density."""

    @abstractmethod
    def at_weight(self, moments, weight: np.ndarray) -> Any:
        """Moments of the same densities, for blocks that have seen `weight`."""

    def weight_of(self, mass: np.ndarray) -> np.ndarray:
        """What every block has seen after mass[k] rows without a missing cell: in the shape of the records' `weight`."""
        return mass.copy()

    def common_reach(self, moments, direction, change: tuple[np.ndarray, np.ndarray]) -> float:
        """The longest step of outcomes that can only step together; `change` is their masses and the gain of these."""
        return np.inf

    @abstractmethod
    def move(self, moments, direction, rate: float, change: Change) -> tuple[Any, int]:
        """Moments + rate * direction, each block shortened so that it keeps the share KEEP of itself, at the masses change.after;
        and how many blocks were shortened."""

    def direction(self, statistics, prior, moments, unseen: np.ndarray, scale: float):
        """Moments: statistics + prior - what the model expects of as much. A missing cell is a latent variable: its statistic is its
        expectation, so the expected part shrinks by what was not seen.

        `unseen` (K,) are the masses the model expects beyond those of statistics and prior. `scale`, above 0 where a likelihood is
        fitted, is the factor on the moments that has the model's own masses.
        """
        weight = self.weight_of(unseen) + prior.weight + statistics.weight
        return statistics + prior - self.at_weight(moments, weight)

    # -- priors -------------------------------------------------------------------------------------------------------

    @property
    def default_pseudo_counts(self) -> float:
        """Pseudo-counts that make the maximum-likelihood estimate lie inside the domain."""
        return 1.0

    @abstractmethod
    def pseudo_counts(self, statistics, amount: float) -> Any:
        """Moments: a conjugate prior of the given strength (scikit-learn's smoothing where it has one)."""

    def smoothed(self, statistics, mass: np.ndarray, total: float):
        """Moments: maximum likelihood with just enough pseudo-counts to lie inside the domain, for these masses; `total` is the mass of
        the statistics."""
        smooth = statistics + self.pseudo_counts(statistics, self.default_pseudo_counts)
        return self.at_weight(smooth, self.weight_of(mass))

    def pooled(self, statistics, share: np.ndarray):
        """Moments: the same total with every outcome looking alike; `share` (K,) is how much of it each gets."""

        def even(array: np.ndarray) -> np.ndarray:
            if self.outcome_axis == 0:
                return share.reshape(-1, *(1,) * (array.ndim - 1)) * array.sum(axis=0)
            return array.sum(axis=-1, keepdims=True) * share

        return mapped(even, statistics)

    # -- components of mixtures ---------------------------------------------------------------------------------------

    @property
    def default_rows(self) -> float:
        """Pseudo-rows that keep a component of few rows away from the edge of the domain."""
        return 1.0

    def typical(self, statistics) -> Any:
        """What rows are like on the whole, from the statistics of some first partition of them: what `pseudo_rows` needs to know."""
        return self.pooled(statistics, np.full(self.n_outcomes, 1.0 / self.n_outcomes))

    def pseudo_rows(self, statistics, amount: float, typical):
        """Moments: `amount` typical rows for every component."""
        return self.at_weight(typical, self.weight_of(np.full(self.n_outcomes, float(amount))))

    def resolved(self, moments, typical):
        """The moments, with variances large enough for second moments less squared means not to be lost in rounding."""
        return moments

    def projected(self, moments):
        """The nearest moments of a family with fewer parameters than its records have room for: its M-step."""
        return moments

    def ridged(self, moments, ridge: float):
        """The moments with `ridge` added to every variance."""
        return moments

    def points(self, X, weights: np.ndarray) -> np.ndarray:
        """(n, p) array: rows as points of a Euclidean space that k-means can compare."""
        return standardised(dense(X), weights)

    @abstractmethod
    def form_for(self, X) -> type:
        """Which `forms.Form` the rows X take: log p(x | k) = constant_k + <theta_k, phi(x)>, as sums over many rows want it."""

    def chart_for(self, moments) -> type:
        """Which `charts.Chart` some moments take: unconstrained coordinates, for minimisers that know nothing of domains."""
        raise NotImplementedError(f"{type(self).__name__} has no unconstrained coordinates: use algorithm='em'")

    def conjugate(self, statistics) -> Any:
        """`conjugates.Conjugate`: a weak prior from the statistics of some first partition, for variational Bayes."""
        raise NotImplementedError(f"{type(self).__name__} has no conjugate prior: use algorithm='em'")

    # -- compiled code ------------------------------------------------------------------------------------------------

    @abstractmethod
    def state_of(self, moments) -> tuple:
        """Fresh arrays in the form the kernels update in place."""

    @abstractmethod
    def moments_of_state(self, state: tuple) -> Any:
        """Moments: those the kernels have arrived at, in arrays of their own."""

    # -- new rows and missing cells -----------------------------------------------------------------------------------

    @abstractmethod
    def sample(self, moments, outcomes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """(n, n_features) array: a row of every outcome in `outcomes` (n,)."""

    def cell_moments(self, moments) -> tuple[np.ndarray, np.ndarray]:
        """(K, n_features) arrays: mean and variance of every column given the outcome (independent columns of numbers)."""
        raise NotImplementedError(f"{type(self).__name__} does not fill missing cells")

    def cell_shares(self, moments, j: int) -> np.ndarray | None:
        """(K, categories) array: probabilities of the categories of column j given the outcome; None of a column of numbers."""
        return None

    def cell_prediction(self, moments, X: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
        """(n or 1, K) arrays: mean and variance of column j of numbers given the other cells of its family and the outcome."""
        mean, variance = self.cell_moments(moments)
        return mean[None, :, j], variance[None, :, j]

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


def room_below(value: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The largest step that leaves `value` at least KEEP of itself."""
    with np.errstate(all="ignore"):
        return np.where(change < 0, (1 - KEEP) * value / -change, np.inf)


__all__ = ["KEEP", "Change", "Family", "Record", "room_below"]
