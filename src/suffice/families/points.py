"""Rows made comparable: points of a Euclidean space for k-means. A missing cell sits at its column's mean, so that it pulls nowhere."""

from __future__ import annotations

import numpy as np


def weighted_means(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of the observed cells of every column; 0 where there are none."""
    seen = ~np.isnan(X)
    return weights @ np.where(seen, X, 0.0) / np.maximum(weights @ seen, 1e-300)


def without_gaps(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """X with missing cells at the means of their columns."""
    missing = np.isnan(X)
    return np.where(missing, weighted_means(X, weights), X) if missing.any() else X


def standardised(z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Columns about their means, in units of their spread."""
    z = without_gaps(z, weights)
    z = z - weighted_means(z, weights)
    spread = np.sqrt(weighted_means(z**2, weights))
    return z / np.where(spread > 1e-12 * np.maximum(np.abs(z).max(axis=0, initial=0.0), 1e-300), spread, 1.0)
