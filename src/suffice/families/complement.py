r"""Complement-style multinomial: an outcome is described by the words of all others (Rennie and others 2003).

    score_k(x) = - sum_w x_w log q_kw,        q_kw = count_wk / sum_v count_vk

    statistics   minus x;  which is, up to what all outcomes share, the words of the other outcomes
    moments      count[w, k]: words seen outside of k
    natural      logit[w, k] = log q

Counts of all other outcomes are steadier than those of one, and an outcome with few rows is not judged by them. It is a classifier and
no density: q_k says what rows of other outcomes look like. Where the classes' weights of a row add up to zero (ncll, hinge) a row's
words come off the counts of the outcome it is pulled to, so that

    count = prior - sum_ik r_ik x_i,        minimises        sum_i loss_i - sum_wk prior_wk log q_kw

as in `suffice.families.multinomial` with the other sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from .multinomial import Moments, Multinomial
from .words import weighted_sums


@dataclass(frozen=True, eq=False)
class Complement(Multinomial):
    kernels = "suffice.kernels.families.complement"
    printed = ""

    @override
    def statistics(self, X, shares) -> Moments:
        own = super().statistics(X, shares).count
        return Moments(weighted_sums(X, shares.sum(axis=1))[:, None] - own)

    @override
    def labelled_statistics(self, X, outcomes, weights) -> Moments:
        own = super().labelled_statistics(X, outcomes, weights).count
        return Moments(np.maximum(own.sum(axis=1, keepdims=True) - own, 0.0))

    @override
    def words_of_outcomes(self, statistics: Moments) -> np.ndarray:
        total = statistics.count.sum(axis=1, keepdims=True) / max(self.n_outcomes - 1, 1)
        return np.maximum(total - statistics.count, 0.0)

    @override
    def log_densities(self, moments: Moments, X) -> np.ndarray:
        """The scores; no density. (`log_likelihood` of pseudo-counts is the regulariser, with the other sign.)"""
        return -super().log_densities(moments, X)

    @override
    def word_weights(self, moments: Moments) -> np.ndarray:
        return -super().word_weights(moments)
