r"""How many components a mixture has: as many as say most of cells that were held out.

A tenth of the observed cells is hidden. Mixtures of 1, 2, 4, ... components are fitted to what is left and judged by

    sum_i weight_i log p(hidden cells of row i | its other cells) = sum_i weight_i [ log p(row i) - log p(row i without them) ]

per hidden cell, until two in a row say no more than the best before them. Rows of words, and rows whose columns are correlated
(where every pattern of missing cells costs a factor), are held out whole, a fifth of them, and judged by log p(row).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..learners.starts import copies_to_deal, distinct

HIDDEN = 0.1  # of the observed cells
HELD_OUT = 5  # one row of so many
ROWS_EACH = 5  # rows for every component
MOST = 256  # components,
WORK, ROWS_OF_MANY = 1 << 24, 32  # or more, while rows times components are no more than this and each has so many rows
PATIENCE = 2
MOST_COPIES = 10_000  # rows that equal ones are dealt out as


@dataclass(frozen=True)
class Candidate:
    n_components: int
    held_out: float  # mean log density of a held-out cell, or of a held-out row

    def shown(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows to fit, rows to judge, and the judged rows without what was hidden of them (None: all of them was)."""

    fitted: Any
    weights: np.ndarray
    judged: Any
    without: Any
    judged_weights: np.ndarray
    total: float  # weight of what is judged: cells, or rows


def chosen_components(
    X, weights: np.ndarray, by_rows: bool, generator: np.random.Generator,
    fit: Callable[[Any, np.ndarray, int, np.random.Generator], Any], log_rows: Callable[[Any, Any], np.ndarray],
) -> tuple[int, list[Candidate]]:  # fmt: skip
    """The number of components of each mixture, and all candidates with their held-out log density.

    `fit(rows, weights, n_components, generator)` fits what will answer; `log_rows(found, rows)` gives log p of rows. Rows that are the
    same are taken together first, so a row of weight 2 is the row twice.
    """
    X, weights = merged_rows(X, weights)
    n = X.shape[0]
    most = min(max(MOST, min(WORK // n, n // ROWS_OF_MANY)), max(1, n // ROWS_EACH))
    if most == 1:
        return 1, []
    part = whole_rows(X, weights, generator) if by_rows else some_cells(X, weights, generator)
    tried: list[Candidate] = []
    size, waited = 1, 0
    while size <= min(most, part.fitted.shape[0]) and waited < PATIENCE:
        found = fit(part.fitted, part.weights, size, generator.spawn(1)[0])
        value = log_rows(found, part.judged)
        if part.without is not None:
            value = value - log_rows(found, part.without)
        own = Candidate(size, float(part.judged_weights @ value) / part.total)
        waited = 0 if not tried or own.held_out > max(each.held_out for each in tried) else waited + 1
        tried.append(own)
        size *= 2
    return max(tried, key=lambda each: each.held_out).n_components, tried


def merged_rows(X, weights: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows, each once with its total weight; one by one where their columns have few values (`learners.starts.copies_to_deal`)."""
    X, _, weights = distinct(X, np.zeros(X.shape[0]), weights)
    copies = copies_to_deal(X, weights, MOST_COPIES, has_labels=False)
    rows = np.repeat(np.arange(len(copies)), copies)
    return X[rows], (weights / copies)[rows]


def some_cells(X: np.ndarray, weights: np.ndarray, generator) -> HeldOut:
    seen = ~np.isnan(X)
    hidden = seen & (generator.random(X.shape) < HIDDEN)
    if not hidden.any():
        hidden = seen & (np.arange(X.size).reshape(X.shape) == np.flatnonzero(seen)[:1])
    holed = np.where(hidden, np.nan, X)
    rows = np.flatnonzero(hidden.any(axis=1))
    total = float(weights @ hidden.sum(axis=1))
    return HeldOut(holed, weights, X[rows], holed[rows], weights[rows], max(total, 1e-300))


def whole_rows(X, weights: np.ndarray, generator) -> HeldOut:
    order = generator.permutation(X.shape[0])
    cut = max(1, X.shape[0] // HELD_OUT)
    held, rest = np.sort(order[:cut]), np.sort(order[cut:])
    return HeldOut(X[rest], weights[rest], X[held], None, weights[held], float(weights[held].sum()))
