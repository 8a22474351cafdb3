"""Conditional likelihood, -log p(label | x): the loss of logistic regression."""

from __future__ import annotations

from scipy.special import logsumexp

from .base import LABEL, NOTHING, Loss, one_hot, own_scores, posteriors


class NCLL(Loss):
    name = "ncll"
    terms = ((LABEL, +1), (NOTHING, -1))
    kernels = "suffice.kernels.losses.ncll"
    has_dual = True
    calibrates_itself = True

    def labelled_values(self, scores, y):
        return logsumexp(scores, axis=1) - own_scores(scores, y)

    def labelled_weights(self, scores, y):
        return one_hot(scores, y) - posteriors(scores)
