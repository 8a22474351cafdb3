"""Joint likelihood, -log p(x, label): maximum likelihood of labelled rows."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from .base import LABEL, Loss, one_hot, own_scores


class NLL(Loss):
    name = "nll"
    terms = ((LABEL, +1),)
    kernels = "suffice.kernels.losses.nll"
    has_dual = True  # multipliers of labelled rows are one-hot; those without a label move (Neal and Hinton 1998)
    calibrates_itself = True

    @override
    def labelled_values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return -own_scores(scores, y)

    @override
    def labelled_weights(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return one_hot(scores, y)
