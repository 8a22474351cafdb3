"""Are the probabilities right? Expected calibration error."""

from __future__ import annotations

from typing import Any

import numpy as np


def calibration_error(y: Any, probabilities: np.ndarray, classes: Any, n_bins: int = 15) -> float:
    """Mean distance between confidence and accuracy over `n_bins` equal bins of the confidence (Guo et al. 2017).

    Examples
    --------
    >>> calibration_error([0, 1, 1, 1], [[0.8, 0.2], [0.2, 0.8], [0.2, 0.8], [0.8, 0.2]], [0, 1])
    0.05...
    """
    probabilities, classes = np.asarray(probabilities), np.asarray(classes)
    best = probabilities.argmax(axis=1)
    confidence = probabilities[np.arange(len(best)), best]
    correct = classes[best] == np.asarray(y)
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    sums = np.bincount(bins, confidence - correct, minlength=n_bins)
    return float(np.abs(sums).sum() / len(best))
