r"""Joints of one family of words, whose rows are many, long and sparse: passes that cost the words of a row.

The compiled passes of `suffice.kernels.words` update one table of words by outcomes and the masses together:

    (mass[K], total, count[W, K], weight[K], log_count[W, K], log_weight[K], log_mass[K])

which are the arrays of the joint's state (`Joint.state_of`) in another order, so a pass of either kind can follow the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from typing_extensions import override

from ..families import multinomial
from ..families.lone_words import Join, JoinedRows
from ..families.rows import any_missing
from ..families.words import weighted_sums, word_rows
from .base import Moments
from .joint import Joint

FEW_ROWS = 100  # below this the general loop with its exact search is fast enough
FEW_BITS = 1000  # the same of Bernoulli columns
LEAST = 1e-5  # weights of outcomes that a stochastic pass leaves out: far below the noise of its steps


@dataclass(frozen=True, eq=False)
class Words(Joint):
    """Counts of words (`families.multinomial`): multinomial naive Bayes."""

    keeps_logs = True

    @property
    def length(self) -> float:
        return self.family.length

    @property
    def unit(self) -> float:
        return self.family.unit

    @property
    def squared_row(self) -> float:
        return self.family.squared_row

    def counts_of(self, moments: Moments) -> np.ndarray:
        """(W, K) array: the table of words by outcomes."""
        return moments.columns[0].count

    def of_counts(self, mass: np.ndarray, count: np.ndarray) -> Moments:
        return Moments(mass, (multinomial.Moments(count),))

    def words_of_outcomes(self, statistics: Moments) -> np.ndarray:
        """(W, K) array: how often each word was seen with each outcome."""
        return self.family.words_of_outcomes(statistics.columns[0])

    @override
    def squared_statistics(self, X, weights):
        return self.of_counts(weights.sum(axis=0), weighted_sums(X.tocsr().power(2), weights))

    @property
    def n_words(self) -> float:
        return self.n_features if self.family.alike is None else float(self.family.alike.sum())

    def joined(self, join: Join) -> Self:
        """The structure of rows whose lone words were joined."""
        return replace(self, families=(replace(self.family, n_features=len(join.alike), alike=join.alike),))

    @staticmethod
    def flat(state: tuple) -> tuple:
        """The state as the passes over words take it."""
        (mass, total, log_mass), (count, weight, log_count, log_weight) = state
        return mass, total, count, weight, log_count, log_weight, log_mass

    @override
    def scores(self, moments, X, state=None, which=None) -> np.ndarray:
        from ..kernels.words.tables import score_rows

        which = np.arange(X.shape[0]) if which is None else which
        scores = np.empty((len(which), self.n_outcomes))
        score_rows(self.rows_of(X)[0], which, self.flat(state or self.state_of(moments)), scores)
        if isinstance(X, JoinedRows):
            scores -= X.constants[which, None]
        return scores

    @override
    def log_likelihood_of_state(self, statistics: Moments, state: tuple) -> float:
        from ..kernels.words.tables import weighed_logs

        (_, total, log_mass), (_, _, log_count, log_weight) = state
        count, alike = self.counts_of(statistics), self.family.alike
        words = weighed_logs(count, log_count, log_weight)
        if alike is not None:  # logarithms of columns; those of their words are smaller
            words -= float(count.sum(axis=1) @ np.log(alike))
        return words + float(statistics.mass @ log_mass) - float(statistics.mass.sum() * np.log(total[0]))

    def has_passes(self, y, loss) -> bool:
        """Whether the passes made for words take such rows: every one has a label, and the loss is discriminative."""
        return loss.is_discriminative and not (y < 0).any()

    @override
    def incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        """The passes made for words where speed matters.

        Their line search is on a quadratic model; with few rows and a weak prior it circles where the exact one settles.
        """
        if not self.has_passes(y, loss) or len(y) < FEW_ROWS:
            return super().incremental_pass(X, y, weights, order, multipliers, state, loss, tolerance, slack)
        return self._word_pass(X, y, weights, order, multipliers, self.flat(state), loss, tolerance, slack)

    def _word_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        one_pass, (rows, _) = self._pass_for(loss), self.rows_of(X)
        return one_pass.of(loss.kernels)(rows, y, weights, order, multipliers, state, loss.settings, tolerance, slack)

    def _pass_for(self, loss):
        from ..kernels.compile import has_kernel
        from ..kernels.words import binary, few, passes

        if self.n_outcomes == 2 and has_kernel(loss.kernels, "binary_step"):
            return binary.binary_pass
        return few.dual_pass if self.n_outcomes <= few.MOST else passes.dual_pass

    @override
    def steps_by_row(self, X, y, loss) -> bool:
        return self.n_outcomes > 1 and self.has_passes(y, loss)

    @override
    def stochastic_pass(self, X, y, weights, order, rates, state, loss):
        one_pass, (rows, _) = self._stochastic_kernel().of(loss.kernels), self.rows_of(X)
        told = one_pass(rows, y, weights, order, rates, self.flat(state), loss.settings, LEAST)
        totals = state[0][1]
        totals[1] = np.log(totals[0])
        return told

    def _stochastic_kernel(self):
        from ..kernels.words.stochastic import stochastic_pass

        return stochastic_pass

    @override
    def pulled(self, state, prior, share):
        from ..kernels.words.tables import pull_counts

        (mass, total, log_mass), (count, weight, log_count, log_weight) = state
        mass += share * (prior.mass - mass)
        pull_counts(count, self.counts_of(prior), share, log_count, weight)
        total[0] = self.total_of(mass)
        total[1] = np.log(total[0])
        log_mass[:], log_weight[:] = np.log(mass), np.log(weight)
        return state

    @override
    def row_tolerance(self, loss, prior, tolerance):
        """Multipliers of a loss with a corner are of the size of the prior's pseudo-counts in units of a squared row (at most one)."""
        if not loss.has_corner:
            return tolerance
        mean = float(self.counts_of(prior).sum()) / self.n_words / self.n_outcomes
        return 2.0 * tolerance * min(1.0, mean / self.squared_row)

    @override
    def leaves_room(self, moments: Moments, prior: Moments) -> bool:
        from ..kernels.words.tables import keeps_share

        is_open = bool(np.isfinite(moments.mass).all() and (moments.mass > 0).all())
        return is_open and keeps_share(self.counts_of(moments), self.counts_of(prior), 0.02)


@dataclass(frozen=True, eq=False)
class ComplementWords(Words):
    """`families.complement`: score_k(x) = bias_k - sum_w x_w log q_kw,  bias_k = log mass_k - log(mean mass).

    At maximum likelihood masses are equal: there is no bias.
    """

    @override
    def total_of(self, mass):
        return mass.mean()

    @override
    def statistics(self, X, y, weights) -> Moments:
        own = super().statistics(X, y, weights)
        return Moments(np.full(self.n_outcomes, own.mass.sum() / self.n_outcomes), own.columns)

    @override
    def scores(self, moments, X, state=None, which=None) -> np.ndarray:
        state = state or self.state_of(moments)
        _, total, log_mass = state[0]
        return 2.0 * (log_mass - np.log(total[0])) - super().scores(moments, X, state, which)

    @override
    def has_passes(self, y, loss) -> bool:
        return self.n_outcomes > 1 and super().has_passes(y, loss)

    @override
    def _pass_for(self, loss):
        from ..kernels.words.complement import dual_pass

        return dual_pass

    @override
    def _stochastic_kernel(self):
        from ..kernels.words.complement import stochastic_pass

        return stochastic_pass


@dataclass(frozen=True, eq=False)
class BernoulliWords(Joint):
    """Columns of 0 and 1 (`families.bernoulli`). Where no cell is missing and every row has a label, passes over sparse rows cost their
    ones (`kernels.words.bernoulli`)."""

    row_rate = 0.1  # a step moves every column, through its off-count
    keeps_logs = True

    @staticmethod
    def flat(state: tuple) -> tuple:
        """The state as `kernels.words.bernoulli` takes it."""
        (mass, total, log_mass), (count, weight, log_count, log_weight, offset) = state
        return mass, total, count, weight, log_count, log_weight, log_mass, offset

    @override
    def scores(self, moments, X, state=None, which=None) -> np.ndarray:
        if isinstance(X, np.ndarray):
            return super().scores(moments, X, state, which)
        (_, total, log_mass), (_, _, log_count, log_weight, _) = state or self.state_of(moments)
        rows = X if which is None else X[which]
        if any_missing(rows):
            logs = log_count - log_weight[self.family.column_of]
            return log_mass - np.log(total[0]) + self.family.sums_of_cells(logs, rows)
        constant = (log_count[0::2] - log_weight).sum(axis=0) + log_mass - np.log(total[0])
        return constant + rows @ (log_count[1::2] - log_count[0::2])

    @override
    def log_likelihood_of_state(self, statistics: Moments, state: tuple) -> float:
        (_, total, log_mass), (_, _, log_count, log_weight, _) = state
        count = statistics.columns[0].count
        cells = float(np.vdot(count, log_count) - np.vdot(self.family.block_sums(count), log_weight))
        return cells + float(statistics.mass @ log_mass) - float(statistics.mass.sum() * np.log(total[0]))

    @override
    def steps_by_row(self, X, y, loss) -> bool:
        """Whether the passes made for words take these rows."""
        if isinstance(X, np.ndarray) or not loss.is_discriminative or self.n_outcomes < 2 or len(y) < FEW_BITS:
            return False
        return not any_missing(X) and not (y < 0).any()

    @override
    def incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        from ..kernels.words.bernoulli import dual_pass
        from ..kernels.words.bernoulli_work import finish, same_in_all, work_of

        weight, log_weight = state[1][1], state[1][3]
        if not self.steps_by_row(X, y, loss) or not same_in_all(weight):
            return super().incremental_pass(X, y, weights, order, multipliers, state, loss, tolerance, slack)
        rows, work, unit = word_rows(X), work_of(self.flat(state)), 1.0
        if (
            loss.has_corner
        ):  # multipliers are of the size of 1 / sum_w 1 / a, on average M / W, and often ten times larger
            unit = min(1.0, 20.0 * float(work.weight.mean()) / self.n_features)
        n_moved, n_shortened, change = dual_pass.of(loss.kernels)(
            rows, y, weights, order, multipliers, work, loss.settings, unit * tolerance, slack
        )
        finish(work, weight, log_weight)
        return n_moved, n_shortened, change / unit

    @override
    def stochastic_pass(self, X, y, weights, order, rates, state, loss):
        from ..kernels.words.bernoulli import stochastic_pass
        from ..kernels.words.bernoulli_work import finish, work_of

        rows, work = word_rows(X), work_of(self.flat(state))
        told = stochastic_pass.of(loss.kernels)(rows, y, weights, order, rates, work, loss.settings, 1e-6)
        finish(work, state[1][1], state[1][3])
        totals = state[0][1]
        totals[1] = np.log(totals[0])
        return told
