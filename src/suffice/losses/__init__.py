"""Losses as signed weights over outcomes: the one table that makes EM, online EM and discriminative EM the same update.

    d loss / d theta = pull * mu - sum_k w_k s(x, k)

| loss                                  | weights w                                                   | pull |
|---------------------------------------|-------------------------------------------------------------|------|
| nll, labelled (joint likelihood)      | one-hot of the label                                        | 1    |
| nll, unlabelled (marginal likelihood) | posterior                                                   | 1    |
| ncll (conditional likelihood)         | one-hot minus posterior                                     | 0    |
| hinge (margin 1 in log-odds)          | one-hot of the label minus one-hot of the best rival, or 0  | 0    |

`softness` g rounds the corner of the hinge, for learners that keep multipliers (r_y = sum_k b_k, r_k = -b_k; others ignore it):

    loss = max over b >= 0, sum b <= 1 of  sum_k b_k (margin - score_y + score_k) - g/2 |r|^2

It is the hinge of a model in which every row has a feature of its own that scores g r_k: one row cannot bend the model as far, and
scores close to the margin still say how close.

Rows without a label (y = -1) always take the unlabelled likelihood. (Masegosa 2014, Tables 1 and 2; `scaled` is the variant of
its Algorithms 4 and 7, whose hinge weights are multiplied by 1 - p(y) and p(rival).)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

LOSSES = ("nll", "ncll", "hinge")


@dataclass(frozen=True)
class Loss:
    name: str = "ncll"
    margin: float = 1.0
    scaled: bool = False
    softness: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in LOSSES:
            raise ValueError(f"loss={self.name!r} is not one of {', '.join(map(repr, LOSSES))}")

    @property
    def code(self) -> int:
        """The number the kernels know it by."""
        return LOSSES.index(self.name)

    @property
    def is_discriminative(self) -> bool:
        return self.name != "nll"

    def pull(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Total weight of the rows whose likelihood (joint or marginal) is fitted."""
        return float(weights[y < 0].sum()) if self.is_discriminative else float(weights.sum())

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The loss of every row."""
        values = -logsumexp(scores, axis=1)
        labelled = np.flatnonzero(y >= 0)
        own = scores[labelled, y[labelled]]
        if self.name == "nll":
            values[labelled] = -own
        elif self.name == "ncll":
            values[labelled] = -values[labelled] - own
        else:
            values[labelled] = np.maximum(0.0, self.margin - own + best_rivals(scores[labelled], y[labelled])[1])
        return values

    def weights(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The signed weights w_ik."""
        posterior = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
        labelled = np.flatnonzero(y >= 0)
        labels = y[labelled]
        weights = posterior.copy()
        if self.name == "nll":
            weights[labelled] = 0.0
            weights[labelled, labels] = 1.0
        elif self.name == "ncll":
            weights[labelled] *= -1.0
            weights[labelled, labels] += 1.0
        else:
            rivals, rival_scores = best_rivals(scores[labelled], labels)
            active = scores[labelled, labels] - rival_scores < self.margin
            up = 1 - posterior[labelled, labels] if self.scaled else np.ones(len(labels))
            down = posterior[labelled, rivals] if self.scaled else np.ones(len(labels))
            weights[labelled] = 0.0
            weights[labelled, labels] = active * up
            weights[labelled, rivals] = -1.0 * active * down
        return weights


def best_rivals(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The best wrong outcome of every row, and its score."""
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    rivals = others.argmax(axis=1)
    return rivals, others[np.arange(len(y)), rivals]
