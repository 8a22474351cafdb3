"""Hinge, max(0, margin - (score of the label - score of the best rival)): the loss of support vector machines.

`softness` g rounds its corner, for learners that keep multipliers (r_label = sum_k b_k, r_k = -b_k; others ignore it):

    loss = max over b >= 0, sum b <= 1 of  sum_k b_k (margin - score_label + score_k) - g/2 |r|^2

It is the hinge of a model in which every row has a feature of its own that scores g r_k: one row cannot bend the model as far, and
scores close to the margin still say how close.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from .base import LABEL, RIVAL, Loss, best_rivals, own_scores, posteriors


class Hinge(Loss):
    name = "hinge"
    terms = ((LABEL, +1), (RIVAL, -1))
    kernels = "suffice.kernels.losses.hinge"
    has_dual = True
    has_corner = True

    @override
    def labelled_values(self, scores: np.ndarray, y: Any) -> np.ndarray:
        return np.maximum(0.0, self.margin - own_scores(scores, y) + best_rivals(scores, y)[1])

    @override
    def labelled_weights(self, scores: np.ndarray, y: Any) -> np.ndarray:
        rows, (rivals, best) = np.arange(len(y)), best_rivals(scores, y)
        active = own_scores(scores, y) - best < self.margin
        weights = np.zeros_like(scores)
        weights[rows, y] = active
        weights[rows, rivals] = -1.0 * active
        return weights

    @override
    def as_printed(self) -> Any:
        return ScaledHinge(self.margin, self.softness, self.width)


class ScaledHinge(Hinge):
    """The hinge as Algorithms 4 and 7 of Masegosa (2014) print it: weights times 1 - p(label) and p(rival). No gradient of a loss."""

    kernels = "suffice.kernels.losses.hinge_scaled"
    has_dual = False

    @override
    def labelled_weights(self, scores: np.ndarray, y: Any) -> np.ndarray:
        weights, posterior = super().labelled_weights(scores, y), posteriors(scores)
        return np.where(weights > 0, 1.0 - posterior, np.where(weights < 0, -posterior, 0.0))
