r"""Counts of words, drawn independently given the outcome (sparse rows).

    log p(x | k) = sum_w x_w log q_kw  (+ the multinomial coefficient)

    statistics   x
    moments      count[w, k]
    natural      logit[w, k] = log q

Given its length a row is `length` draws, so a block's own weight is the sum of its counts and not the mass of its outcome. The
normaliser of q takes part once for every word: scores are sum_w x_w log count_wk - |x| log sum_w count_wk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln, logsumexp
from typing_extensions import override

from .base import KEEP, Change, Family
from .charts import LogitChart
from .conjugates import Dirichlets
from .forms import TINY, WordForm, safe_log
from .records import Record
from .rows import MOST_COUNTED, dense
from .words import row_sizes, weighted_sums, word_rows


@dataclass(frozen=True, eq=False)
class Moments(Record):
    count: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        return self.count.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Natural(Record):
    logit: np.ndarray


@dataclass(frozen=True, eq=False)
class Multinomial(Family):
    length: float = 1.0  # mean length of a row: what one example adds to a block's weight
    unit: float = 1.0  # the smallest count: pseudo-counts are measured in it, so that the units of X do not matter
    squared_row: float = 1.0  # mean squared Euclidean norm of a row
    alike: np.ndarray | None = None  # how many words every column stands for (`lone_words`); None: one

    stored_as: ClassVar[dict[str, str]] = {
        **{name: "number (0.." for name in ("length", "unit", "squared_row")},
        "alike": "none",
    }

    kernels = "suffice.kernels.families.multinomial"
    table_prior = False
    takes_sparse = True
    outcome_axis = -1
    is_normalised = True
    printed = "words"

    @classmethod
    @override
    def for_data(cls, X, n_outcomes: int, weights: np.ndarray | None = None) -> Self:
        weights = np.ones(X.shape[0]) if weights is None else weights
        total = max(float(weights.sum()), 1e-300)
        lengths, squares, least = row_sizes(X)
        return cls(
            n_outcomes,
            X.shape[1],
            length=max(float(weights @ lengths) / total, 1e-300),
            unit=least if least < np.inf else 1.0,
            squared_row=max(float(weights @ squares) / total, 1e-300),
        )

    @override
    def rows_of(self, X):
        return word_rows(X), "pairs"

    # -- data ---------------------------------------------------------------------------------------------------------

    @override
    def statistics(self, X, shares) -> Moments:
        return Moments(weighted_sums(X, shares))

    @override
    def labelled_statistics(self, X, outcomes, weights) -> Moments:
        from ..kernels.words.tables import add_labelled

        count = np.zeros((self.n_features, self.n_outcomes))
        add_labelled(self.rows_of(X)[0], outcomes, weights, count)
        return Moments(count)

    def words_of_outcomes(self, statistics: Moments) -> np.ndarray:
        """(n_features, K) array: how often each word was seen with each outcome."""
        return statistics.count

    # -- the two coordinate systems -----------------------------------------------------------------------------------

    @override
    def natural_of(self, moments: Moments) -> Natural:
        return Natural(np.log(moments.count) - np.log(moments.weight))

    @override
    def log_partitions(self, natural: Natural) -> np.ndarray:
        return self.length * logsumexp(natural.logit, axis=0)

    @override
    def moments_of(self, natural: Natural, mass) -> Moments:
        return self.from_shares(np.exp(natural.logit - logsumexp(natural.logit, axis=0)), mass)

    def from_shares(self, shares: np.ndarray, mass: np.ndarray) -> Moments:
        """Moments of these probabilities of the words, of mass[k] rows."""
        return Moments(mass * self.length * shares)

    @override
    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        seen = statistics.count != 0
        return float(statistics.count[seen] @ self.natural_of(moments).logit[seen])

    @override
    def log_densities(self, moments: Moments, X) -> np.ndarray:
        return X @ self.natural_of(moments).logit

    @override
    def word_weights(self, moments: Moments) -> np.ndarray:
        return self.natural_of(moments).logit

    @override
    def log_base_measure(self, X) -> np.ndarray:
        terms = X.tocsr().copy()
        terms.data = gammaln(terms.data + 1)
        return gammaln(row_sizes(X)[0] + 1) - np.asarray(terms.sum(axis=1)).ravel()

    # -- domain and steps ---------------------------------------------------------------------------------------------

    @override
    def in_domain(self, moments: Moments) -> bool:
        from ..kernels.words.tables import all_positive

        return bool(all_positive(moments.count))

    @override
    def weight_of(self, mass):
        return mass * self.length

    @override
    def at_weight(self, moments: Moments, weight) -> Moments:
        return Moments(weight * (moments.count / np.maximum(moments.weight, 1e-300)))

    @override
    def direction(self, statistics: Moments, prior: Moments, moments: Moments, unseen, scale: float) -> Moments:
        """A block counts words and not examples: masses say nothing about its weight. Where a likelihood is fitted the expected part is
        the moments' own, so that a step is a mixture of moments (any multiple of q may be taken off a block: q changes alike)."""
        if scale:
            return statistics + prior - scale * moments
        return statistics + prior - self.at_weight(moments, prior.weight + statistics.weight)

    @override
    def move(self, moments: Moments, direction: Moments, rate: float, change: Change) -> tuple[Moments, int]:
        count = moments.count + rate * direction.count
        least = KEEP * moments.count
        n_shortened = int((count < least).sum())
        count = np.maximum(count, least)
        return Moments(count * (change.after * self.length / count.sum(axis=0))), n_shortened

    # -- priors -------------------------------------------------------------------------------------------------------

    @property
    @override
    def default_pseudo_counts(self) -> float:
        return self.unit

    @override
    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` of every word."""
        return self.of_words(Moments(np.full_like(statistics.count, float(amount))))

    def of_words(self, each: Moments) -> Moments:
        """Columns in which every one of their words has these counts."""
        return each if self.alike is None else Moments(each.count * self.alike[:, None])

    def of_each_word(self, count: np.ndarray) -> np.ndarray:
        """Counts of columns as those of every one of their words."""
        return count if self.alike is None else count / self.alike[:, None]

    @override
    def smoothed(self, statistics: Moments, mass, total: float) -> Moments:
        smooth = statistics + self.pseudo_counts(statistics, self.default_pseudo_counts)
        return smooth * (1.0 / total)

    @override
    def typical(self, statistics: Moments) -> np.ndarray:
        """(n_features,) array: counts of a typical row, with a trace of every word."""
        count = statistics.count.sum(axis=1)
        count = count + max(float(count.sum()), 1.0) * 1e-3 / len(count)
        return self.length * count / count.sum()

    @override
    def pseudo_rows(self, statistics: Moments, amount: float, typical) -> Moments:
        return Moments(np.repeat(amount * typical[:, None], self.n_outcomes, axis=1))

    @override
    def conjugate(self, statistics: Moments) -> Dirichlets:
        return Dirichlets(self, (self.typical(statistics),))

    # -- one column of many categories: what `charts`, `conjugates` and `forms` ask ---------------------------------------

    def column_sums(self, cells: np.ndarray) -> np.ndarray:
        return np.broadcast_to(cells.sum(axis=0), cells.shape)

    def column_maxima(self, cells: np.ndarray) -> np.ndarray:
        return np.broadcast_to(cells.max(axis=0), cells.shape)

    def columns_of(self, cells: np.ndarray) -> list[np.ndarray]:
        return [cells]

    def cells(self, moments: Moments):
        return (safe_log(moments.count / np.maximum(moments.weight, TINY)),)

    def cells_of_logits(self, logits: np.ndarray) -> tuple[np.ndarray, ...]:
        return (logits,)

    def from_sums(self, count: np.ndarray) -> Moments:
        return Moments(count)

    @override
    def form_for(self, X):
        return WordForm

    @override
    def chart_for(self, moments):
        return LogitChart

    @override
    def points(self, X, weights):
        X = np.sqrt(np.maximum(dense(X), 0.0))
        return X / np.maximum(np.sqrt((X**2).sum(axis=1, keepdims=True)), 1e-300)

    # -- compiled code and new rows -----------------------------------------------------------------------------------

    @override
    def state_of(self, moments: Moments) -> tuple:
        from ..kernels.words.tables import fill_state

        given = np.ascontiguousarray(moments.count)
        count, log_count, weight = np.empty_like(given), np.empty_like(given), np.empty(self.n_outcomes)
        fill_state(given, count, weight, log_count)
        return count, weight, log_count, np.log(weight)

    @override
    def moments_of_state(self, state: tuple) -> Moments:
        return Moments(state[0].copy())

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        """Rows of Poisson length around the training rows' mean."""
        q = (moments.count / moments.weight).T
        lengths = generator.poisson(min(self.length, MOST_COUNTED), len(outcomes))
        return np.array([generator.multinomial(n, q[k]) for n, k in zip(lengths, outcomes, strict=True)], dtype=float)
