r"""Complement-style multinomial: an outcome is described by the words of all others (Rennie and others 2003).

    score_k(x) = bias_k - sum_w x_w log q_kw,        q_kw = count_wk / sum_v count_vk,        bias_k = log mass_k - log(mean mass)

    statistics   1,  minus x;  of labelled rows, where it is the same up to what all outcomes share: the words of the other outcomes
    moments      mass[k],  count[w, k]: words seen outside of k
    natural      constant[k] = bias,  logit[w, k] = log q

Counts of all other outcomes are steadier than those of one, and an outcome with few rows is not judged by them. It is a classifier and
no density: q_k says what rows of other outcomes look like. Where the classes' weights of a row add up to zero (ncll, hinge) a row's
words come off the counts of the outcome it is pulled to, so that

    count = prior - sum_ik r_ik x_i,        minimises        sum_i loss_i - sum_wk prior_wk log q_kw

as in `suffice.families.multinomial` with the other sign. At maximum likelihood masses are equal: there is no bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import FEW_ROWS, Model
from .multinomial import Moments, Multinomial, Natural
from .words import weighted_sums


def biases(moments: Moments) -> np.ndarray:
    return np.log(moments.mass) - np.log(moments.mass.mean())


@dataclass(frozen=True, eq=False)
class Complement(Multinomial):
    family = "complement"

    def statistics(self, X, y, weights) -> Moments:
        own = super().statistics(X, y, weights)
        share = np.full(self.n_outcomes, own.mass.sum() / self.n_outcomes)
        return Moments(share, np.maximum(own.count.sum(axis=1, keepdims=True) - own.count, 0.0))

    def expected_statistics(self, X, responsibilities) -> Moments:
        own = super().expected_statistics(X, responsibilities)
        return Moments(own.mass, weighted_sums(X, responsibilities.sum(axis=1))[:, None] - own.count)

    def words_of_outcomes(self, statistics: Moments) -> np.ndarray:
        total = statistics.count.sum(axis=1, keepdims=True) / max(self.n_outcomes - 1, 1)
        return np.maximum(total - statistics.count, 0.0)

    def natural_of(self, moments: Moments) -> Natural:
        return Natural(biases(moments), np.log(moments.count) - np.log(moments.weight))

    def log_likelihood(self, statistics: Moments, moments: Moments) -> float:
        """What the prior's pseudo-counts are worth: the regulariser, with the other sign."""
        seen = statistics.count != 0
        logs = (np.log(moments.count) - np.log(moments.weight))[seen]
        return float(statistics.mass @ biases(moments)) + float(statistics.count[seen] @ logs)

    def log_joint(self, moments: Moments, X) -> np.ndarray:
        """The scores; no density."""
        return biases(moments) - X @ (np.log(moments.count) - np.log(moments.weight))

    def scores(self, moments, X, state=None, which=None) -> np.ndarray:
        state = state or self.state_of(moments)
        bias = state[6] - np.log(state[1])
        return 2.0 * bias - super().scores(moments, X, state, which)

    def state_of(self, moments: Moments) -> tuple:
        mass, _, *others = super().state_of(moments)
        return mass, np.array([mass.mean()]), *others

    def incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack):
        if len(y) < FEW_ROWS or not self.steps_by_row(X, y, loss):
            return Model.incremental_pass(self, X, y, weights, order, multipliers, state, loss, tolerance, slack)
        from ..kernels.words.complement import dual_pass

        rows, _ = self.rows_of(X)
        return dual_pass.of(loss.kernels)(rows, y, weights, order, multipliers, state, loss.settings, tolerance, slack)

    def stochastic_pass(self, X, y, weights, order, rates, state, loss):
        from ..kernels.words.complement import stochastic_pass

        rows, _ = self.rows_of(X)
        return stochastic_pass.of(loss.kernels)(rows, y, weights, order, rates, state, loss.settings, 1e-9)
