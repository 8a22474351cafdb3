r"""Counts of words, drawn independently given the outcome (sparse rows).

    log p(x, k) = log pi_k + sum_w x_w log q_kw  (+ the multinomial coefficient)

    statistics   1,  x
    moments      mass[k],  count[w, k]
    natural      constant[k],  logit[w, k] = log q

Given its length a row is `length` draws, so a block's own weight is the sum of its counts and not the mass of its outcome. The
normaliser of q takes part once for every word: scores are log pi_k + sum_w x_w log count_wk - |x| log sum_w count_wk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from .base import FEW_ROWS, KEEP, Model, expected_log_mass, log_masses, moved_mass
from .records import Record
from .rows import label_masses
from .words import row_sizes, weighted_sums, word_rows


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray
    count: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        return self.count.sum(axis=0)


@dataclass(frozen=True, eq=False)
class Natural(Record):
    constant: np.ndarray
    logit: np.ndarray


@dataclass(frozen=True, eq=False)
class Multinomial(Model):
    length: float = 1.0  # mean length of a row: what one example adds to a block's weight
    unit: float = 1.0  # the smallest count: pseudo-counts are measured in it, so that the units of X do not matter
    squared_row: float = 1.0  # mean squared Euclidean norm of a row

    family = "multinomial"
    table_prior = False
    takes_sparse = True

    @classmethod
    def for_data(cls, X, n_outcomes: int, weights: np.ndarray | None = None) -> Multinomial:
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

    @property
    def default_pseudo_counts(self) -> float:
        return self.unit

    def scores(self, moments, X, state=None, which=None) -> np.ndarray:
        from ..kernels.words.tables import score_rows

        which = np.arange(X.shape[0]) if which is None else which
        scores = np.empty((len(which), self.n_outcomes))
        score_rows(self.rows_of(X)[0], which, state or self.state_of(moments), scores)
        return scores

    def rows_of(self, X):
        return word_rows(X), "pairs"

    def statistics(self, X, y, weights) -> Moments:
        from ..kernels.words.tables import add_labelled

        count = np.zeros((self.n_features, self.n_outcomes))
        add_labelled(self.rows_of(X)[0], y, weights, count)
        return Moments(label_masses(y, weights, self.n_outcomes), count)

    def expected_statistics(self, X, responsibilities) -> Moments:
        return Moments(responsibilities.sum(axis=0), weighted_sums(X, responsibilities))

    def words_of_outcomes(self, statistics: Moments) -> np.ndarray:
        """How often each word was seen with each outcome."""
        return statistics.count

    def natural_of(self, moments: Moments) -> Natural:
        return Natural(log_masses(moments), np.log(moments.count) - np.log(moments.weight))

    def log_partitions(self, natural: Natural) -> np.ndarray:
        return self.length * logsumexp(natural.logit, axis=0)

    def moments_of(self, natural: Natural, total: float = 1.0) -> Moments:
        mass = total * np.exp(natural.constant + self.log_partitions(natural) - self.log_partition(natural))
        return Moments(mass, mass * self.length * np.exp(natural.logit - logsumexp(natural.logit, axis=0)))

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        seen = statistics.count != 0
        logs = (np.log(moments.count) - np.log(moments.weight))[seen]
        return expected_log_mass(statistics, moments) + float(statistics.count[seen] @ logs)

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        return log_masses(moments) + X @ (np.log(moments.count) - np.log(moments.weight))

    def log_base_measure(self, X) -> np.ndarray:
        terms = X.tocsr().copy()
        terms.data = gammaln(terms.data + 1)
        return gammaln(row_sizes(X)[0] + 1) - np.asarray(terms.sum(axis=1)).ravel()

    def in_domain(self, moments: Moments) -> bool:
        from ..kernels.words.tables import all_positive

        return bool(np.isfinite(moments.mass).all() and (moments.mass > 0).all()) and all_positive(moments.count)

    def filled(self, moments: Moments, mass, weight) -> Moments:
        return Moments(mass, weight * (moments.count / moments.weight))

    def spread(self, mass) -> np.ndarray:
        """A block counts words and not examples: the masses of the outcomes say nothing about its weight."""
        return np.zeros(self.n_outcomes)

    def direction(self, statistics: Moments, prior: Moments, moments: Moments, pull: float = 0.0) -> Moments:
        """Where a likelihood is fitted the expected part is the moments' own, so that a step is a mixture of moments.

        (Any multiple of q may be taken off a block: the change of q is the same.)
        """
        if pull == 0.0:
            return super().direction(statistics, prior, moments, pull)
        return statistics + prior - ((float(prior.mass.sum()) + pull) / float(moments.mass.sum())) * moments

    def move(self, moments: Moments, direction: Moments, rate: float) -> tuple[Moments, int]:
        count = moments.count + rate * direction.count
        least = KEEP * moments.count
        n_shortened = int((count < least).sum())
        mass, shortened = moved_mass(moments.mass, direction.mass, rate)
        count = np.maximum(count, least)
        return Moments(mass, count * (mass * self.length / count.sum(axis=0))), shortened + n_shortened

    def pseudo_counts(self, statistics: Moments, amount: float) -> Moments:
        """`amount` of every word."""
        return Moments(np.zeros(self.n_outcomes), np.full_like(statistics.count, float(amount)))

    def pooled(self, statistics: Moments) -> Moments:
        share = statistics.mass / statistics.mass.sum()
        return Moments(statistics.mass, statistics.count.sum(axis=1, keepdims=True) * share)

    def state_of(self, moments: Moments) -> tuple:
        weight, total = moments.weight, np.array([moments.mass.sum()])
        from ..kernels.words.tables import fill_logs

        count = np.array(moments.count, order="C")
        log_count = np.empty_like(count)
        fill_logs(count, log_count)
        return moments.mass.copy(), total, count, weight, log_count, np.log(weight), np.log(moments.mass)

    def moments_of_state(self, state: tuple) -> Moments:
        return Moments(state[0].copy(), state[2].copy())

    def log_likelihood_of_state(self, statistics: Moments, state: tuple) -> float:
        from ..kernels.words.tables import weighed_logs

        total, log_count, log_weight, log_mass = state[1], state[4], state[5], state[6]
        words = weighed_logs(statistics.count, log_count, log_weight)
        return words + float(statistics.mass @ log_mass) - float(statistics.mass.sum() * np.log(total[0]))

    def incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        """The passes made for words, where every row has a label, the loss is discriminative and speed matters.

        Their line search is on a quadratic model; with few rows and a weak prior it circles where the exact one settles.
        """
        if not loss.is_discriminative or (y < 0).any() or len(y) < FEW_ROWS:
            return super().incremental_pass(X, y, weights, order, multipliers, state, loss, tolerance, slack)
        from ..kernels.compile import has_kernel
        from ..kernels.words import binary, few, passes

        rows, _ = self.rows_of(X)
        if self.n_outcomes == 2 and has_kernel(loss.kernels, "binary_step"):
            one_pass = binary.binary_pass
        else:
            one_pass = few.dual_pass if self.n_outcomes <= few.MOST else passes.dual_pass
        return one_pass.of(loss.kernels)(rows, y, weights, order, multipliers, state, loss.settings, tolerance, slack)

    def steps_by_row(self, X, y, loss) -> bool:
        return loss.is_discriminative and self.n_outcomes > 1 and not (y < 0).any()

    def stochastic_pass(self, X, y, weights, order, rates, state, loss):
        from ..kernels.words.stochastic import stochastic_pass

        rows, _ = self.rows_of(X)
        return stochastic_pass.of(loss.kernels)(rows, y, weights, order, rates, state, loss.settings, 1e-9)

    def row_tolerance(self, loss, prior, tolerance):
        """Multipliers of a loss with a corner are of the size of the prior's pseudo-counts in units of a squared row (at most one)."""
        if not loss.has_corner:
            return tolerance
        return 2.0 * tolerance * min(1.0, float(prior.count.mean()) / self.squared_row)

    def leaves_room(self, moments: Moments, prior: Moments) -> bool:
        from ..kernels.words.tables import keeps_share

        is_open = bool(np.isfinite(moments.mass).all() and (moments.mass > 0).all())
        return is_open and keeps_share(moments.count, prior.count, 0.02)

    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        """Rows of Poisson length around the training rows' mean."""
        q = (moments.count / moments.weight).T
        lengths = generator.poisson(self.length, len(outcomes))
        return np.array([generator.multinomial(n, q[k]) for n, k in zip(lengths, outcomes, strict=True)], dtype=float)
