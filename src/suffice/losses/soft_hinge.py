r"""The hinge with a rounded corner as a function of the scores: what `suffice.losses.hinge` says of multipliers, solved for them.

    loss = max over b >= 0, sum b <= 1 of  sum_k b_k h_k - g/2 [sum_k b_k^2 + (sum_k b_k)^2],      h_k = margin - score_label + score_k

With the total B = sum b and t = g B (or more, where sum b <= 1 binds) the maximum is at b_k = max(0, h_k - t) / g: of the m
largest h, t = sum h / (m + 1), and where B would be above one t = (sum h - g) / m. It is smooth: minus its gradient in the
scores is B at the label and -b_k elsewhere. The hinge is at most g above it.
"""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from .base import own_scores
from .hinge import Hinge


class SoftHinge(Hinge):
    """For learners that see values and gradients only; `softness` must be positive."""

    name = "soft_hinge"

    def _best(self, scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, K) array b, zero at the label; (n, K) array h."""
        n, K = scores.shape
        rows, g = np.arange(n), self.softness
        h = self.margin - own_scores(scores, y)[:, None] + scores
        h[rows, y] = -np.inf
        if K < 2:
            return np.zeros_like(scores), h
        h_sorted = -np.sort(-h, axis=1)[:, : K - 1]
        sums, m = np.cumsum(h_sorted, axis=1), np.arange(1, K)
        last = rows, (h_sorted > sums / (m + 1)).sum(axis=1) - 1  # of those that stay positive
        t = np.maximum(sums[last] / (last[1] + 2), 0.0)
        is_bound = t > g  # B = t / g
        if is_bound.any():
            s, own = sums[is_bound], h_sorted[is_bound]
            place = (own > (s - g) / m).sum(axis=1) - 1
            t[is_bound] = (s[np.arange(len(s)), place] - g) / (place + 1)
        return np.maximum(h - t[:, None], 0.0) / g, h

    @override
    def labelled_values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        b, h = self._best(scores, y)
        B = b.sum(axis=1)
        gain = np.where(b > 0, b * np.where(b > 0, h, 0.0), 0.0).sum(axis=1)
        return gain - 0.5 * self.softness * ((b**2).sum(axis=1) + B**2)

    @override
    def labelled_weights(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        b, _ = self._best(scores, y)
        weights = -b
        weights[np.arange(len(y)), y] = b.sum(axis=1)
        return weights
