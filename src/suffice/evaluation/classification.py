"""Accuracy, losses and calibration of a classifier, added up over chunks.

With joint log densities J[i, k] = log p(x_i, k) of rows i and classes k:

    nll   = -J[i, y]                                  (joint likelihood)
    ncll  = logsumexp_k J[i, k] - J[i, y]             (conditional likelihood)
    hinge = max(0, 1 + max_{k != y} J[i, k] - J[i, y])
    ECE   = sum_b n_b / n |accuracy_b - confidence_b|  over 15 equal bins b of the confidence max_k p(k | x_i)

The log-loss and the calibration error are those of the probabilities that the classifier gives out, which may be
tempered; without them, those of J, and then the log-loss is ncll.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp


class Scores:
    """Add chunks by `update`; `summary` gives means per row."""

    def __init__(self, n_classes: int, n_bins: int = 15) -> None:
        self.confusion: np.ndarray = np.zeros(
            (n_classes, n_classes), dtype=np.int64
        )  # rows: the label; columns: the prediction
        self.losses: dict[str, float] = {"log_loss": 0.0, "nll": 0.0, "ncll": 0.0, "hinge": 0.0}
        self.n_bins = n_bins
        self._bins = np.zeros((3, n_bins))  # rows, correct ones, sum of confidence

    def update(self, joint: np.ndarray, y: np.ndarray, log_proba: np.ndarray | None = None) -> None:
        """Joint log densities and log probabilities (rows x classes), and labels as positions of classes."""
        rows = np.arange(len(y))
        of_label = joint[rows, y]
        rivals = joint.copy()
        rivals[rows, y] = -np.inf
        total = logsumexp(joint, axis=1)
        log_proba = joint - total[:, None] if log_proba is None else log_proba
        self.losses["log_loss"] -= log_proba[rows, y].sum()
        self.losses["nll"] -= of_label.sum()
        self.losses["ncll"] += (total - of_label).sum()
        self.losses["hinge"] += np.maximum(0.0, 1.0 + rivals.max(axis=1) - of_label).sum()
        predicted = log_proba.argmax(axis=1)
        np.add.at(self.confusion, (y, predicted), 1)
        confidence = np.exp(log_proba.max(axis=1))
        bins = np.clip(np.ceil(confidence * self.n_bins).astype(int) - 1, 0, self.n_bins - 1)
        for i, weights in enumerate((None, (predicted == y).astype(float), confidence)):
            self._bins[i] += np.bincount(bins, weights, self.n_bins)

    @property
    def n_rows(self) -> int:
        return int(self.confusion.sum())

    def summary(self) -> dict[str, Any]:
        """Means per row: accuracy, log_loss, calibration_error, nll, ncll, hinge."""
        n = max(1, self.n_rows)
        _, correct, confidence = self._bins
        return {
            "rows": self.n_rows,
            "accuracy": float(np.trace(self.confusion) / n),
            **{name: float(value / n) for name, value in self.losses.items()},
            "calibration_error": float(np.abs(correct - confidence).sum() / n),
        }
