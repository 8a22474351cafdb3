"""Correlations of coordinates some of whose cells are missing: estimated by EM, and shrunk towards none as their errors ask for."""

from __future__ import annotations

import numpy as np

from . import completion

RIDGE, LEAST = 1e-3, 1e-12
MOST_ROWS, MOST_EM, EM_TOL = 2000, 30, 1e-3  # of EM


def covariance_of(t: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The covariance of coordinates of mean 0 and variance 1, shrunk, with a ridge; where cells are missing by EM."""
    n, r = t.shape
    known, identity = np.where(np.isnan(t), 0.0, t), np.eye(r)
    found = known.T @ known / n
    if np.isnan(t).any():
        some = t[~np.isnan(t).all(axis=1)][:MOST_ROWS]
        found, shares = identity, np.ones((len(some), 1))
        for _ in range(MOST_EM):
            before = found
            _, _, second = completion.completed_sums(some, shares, np.zeros((1, r)), found[None])
            found = (second[0] + identity) / (len(some) + 1.0)
            if np.abs(found - before).max() < EM_TOL:
                break
        known, _ = completion.imputed(t, np.ones((n, 1)), np.zeros((1, r)), found[None])
    return shrunk(found, known, column) + RIDGE * identity


def shrunk(covariance: np.ndarray, t: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Correlations of different columns times 1 - (the sum of their errors' variances) / (the sum of their squares).

    Schafer and Strimmer (2005): the share with the least expected squared error.
    """
    n, apart = len(t), column[:, None] != column
    products = t.T @ t / n
    errors = ((t**2).T @ (t**2) / n - products**2) / max(n - 1, 1)
    share = errors[apart].sum() / max(float((products[apart] ** 2).sum()), LEAST)
    return np.where(apart, (1.0 - min(share, 1.0)) * covariance, covariance)
