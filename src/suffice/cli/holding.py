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
    """A line of a classifier's scores; empty where nothing was held out."""
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) < 2:
        return ""
    right, losses = [], []
    for model, test in _fits(estimator, X, y, y, share, folds, update):
        logs = model.predict_log_proba(taken(X, test))
        own = np.searchsorted(model.classes_, y[test])
        right.append(logs.argmax(axis=1) == own)
        losses.append(-logs[np.arange(len(own)), own])
    if not right:
        return ""
    correct, loss = np.concatenate(right), np.concatenate(losses)
    frequent = counts.max() / counts.sum()
    return (
        f"{_where(len(correct), folds)}: accuracy {_with_error(correct)} (the most frequent class alone {frequent:.4f}), "
        f"log-loss {_with_error(loss)}"
    )


def held_out_numbers(estimator: Any, X: Any, y: np.ndarray, share: float, folds: int | None, update: Callable) -> str:
    """A line of a regressor's scores; empty where nothing was held out. Rows without a target are trained on only."""
    from ..evaluation.regression import COVERAGE, RegressionScores

    scores, squares, seen = RegressionScores(), [], ~np.isnan(y)
    for model, test in _fits(estimator, X, y, np.where(seen, 0, 1), share, folds, update):
        test = test[seen[test]]
        scores.update(model, taken(X, test), y[test])
        squares.append((model.predict(taken(X, test)) - y[test]) ** 2)
    if scores.n_rows == 0:
        return ""
    found, own = scores.summary(), np.concatenate(squares)
    error = (
        own.std() / np.sqrt(len(own)) / (2 * found["rmse"]) if found["rmse"] > 0 else 0.0
    )  # of a root: the delta method
    return (
        f"{_where(scores.n_rows, folds)}: RMSE {found['rmse']:.4g} +- {error:.2g} (the mean alone {np.nanstd(y):.4g}), "
        f"negative log density {found['nll']:.4f}, {COVERAGE:.0%} intervals cover {found['coverage_90']:.4f}"
    )


def _where(n_rows: int, folds: int | None) -> str:
    return f"{n_rows:,} rows held out" if folds is None else f"cross-validation in {folds} folds"


def _with_error(values: np.ndarray) -> str:
    """The mean of some rows' values, with its standard error."""
    return f"{values.mean():.4f} +- {values.std() / np.sqrt(len(values)):.4f}"


def _fits(
    estimator: Any, X: Any, y: np.ndarray, strata: np.ndarray, share: float, folds: int | None, update: Callable
) -> Iterator[tuple[Any, np.ndarray]]:
    """(model, rows that it was not trained on), one for each split; none where nothing is to be held out."""
    from sklearn.base import clone

    if folds is None and (share == 0 or len(y) < LEAST_ROWS):
        return
    if folds is not None and len(y) < folds:
        raise UsageError(f"--cv {folds} needs at least as many rows; there are {len(y)}")
    splits = list(_splits(strata, share, folds))
    for number, (train, test) in enumerate(splits):
        update(number / len(splits), "held-out rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield clone(estimator).fit(taken(X, train), y[train]), test


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
