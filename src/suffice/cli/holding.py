"""Scores of a model on rows that it was not trained on: a part that is held out, or folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..reading.frames import taken
from .notices import UsageError

LEAST_ROWS = 20  # fewer are not split


def check(share: float, folds: int | None) -> None:
    if not 0 <= share < 1:
        raise UsageError(f"--holdout {share} is not a share from 0 (none) to below 1")
    if folds is not None and folds < 2:
        raise UsageError(f"--cv {folds} is not at least 2")


def held_out(estimator: Any, X: Any, y: np.ndarray, share: float, folds: int | None, update: Callable) -> str:
    """A line of scores; empty where nothing was held out."""
    from sklearn.base import clone

    counts = np.unique(y, return_counts=True)[1]
    if folds is None and (share == 0 or len(y) < LEAST_ROWS or len(counts) < 2):
        return ""
    if folds is not None and len(y) < folds:
        raise UsageError(f"--cv {folds} needs at least as many rows; there are {len(y)}")
    right, losses = [], []
    splits = list(_splits(y, share, folds))
    for number, (train, test) in enumerate(splits):
        update(number / len(splits), "held-out rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(estimator).fit(taken(X, train), y[train])
            logs = model.predict_log_proba(taken(X, test))
        own = np.searchsorted(model.classes_, y[test])
        right.append(logs.argmax(axis=1) == own)
        losses.append(-logs[np.arange(len(own)), own])
    correct, loss = np.concatenate(right), np.concatenate(losses)
    frequent = counts.max() / counts.sum()
    where = f"{len(correct):,} rows held out" if folds is None else f"cross-validation in {folds} folds"
    error = correct.std() / np.sqrt(len(correct))
    return (
        f"{where}: accuracy {correct.mean():.4f} +- {error:.4f} (the most frequent class alone {frequent:.4f}), "
        f"log-loss {loss.mean():.4f} +- {loss.std() / np.sqrt(len(loss)):.4f}"
    )


def _splits(y: np.ndarray, share: float, folds: int | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Train and test rows, classes in proportion; a class of one row is always trained on."""
    generator = np.random.default_rng(0)
    n_parts = folds or max(2, round(1 / share))
    part = np.empty(len(y), dtype=int)
    codes = np.unique(y, return_inverse=True)[1]
    offset = 0
    for code in range(codes.max() + 1):
        rows = generator.permutation(np.flatnonzero(codes == code))
        part[rows] = (offset + np.arange(len(rows))) % n_parts if len(rows) > 1 else -1
        offset += len(rows)
    for number in range(n_parts if folds else 1):
        test = part == number
        alone = np.setdiff1d(np.unique(codes[test]), np.unique(codes[~test]))  # classes that only the test part has
        test &= ~np.isin(codes, alone)
        if test.any():
            yield np.flatnonzero(~test), np.flatnonzero(test)
