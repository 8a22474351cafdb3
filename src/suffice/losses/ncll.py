"""Conditional likelihood, -log p(label | x): the loss of logistic regression."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from typing_extensions import override

from .base import LABEL, NOTHING, Loss, one_hot, own_scores, posteriors


class NCLL(Loss):
    name = "ncll"
    terms = ((LABEL, +1), (NOTHING, -1))
    kernels = "suffice.kernels.losses.ncll"
    has_dual = True
    calibrates_itself = True

    @override
    def labelled_values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return logsumexp(scores, axis=1) - own_scores(scores, y)

    @override
    def labelled_weights(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return one_hot(scores, y) - posteriors(scores)

    @override
    def labelled_curvatures(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        p = posteriors(scores)
        return p * (1.0 - p)
