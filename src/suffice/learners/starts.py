"""Where EM starts: k-means on rows made comparable, k-means++ seeds, random rows or random shares.

Rows take part as points (`Family.points`): numbers in units of their column's spread, categories as one-hot, counts by their square
roots, words by the square roots of their frequencies. A start sees distinct rows with their total weights,
in an order of their own, so that a row of weight 2 is the same as the row twice to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..families.rows import dense
from ..kernels.rows import dense_keys, sparse_keys

STARTS = ("kmeans", "k-means++", "random", "random_from_data")
MAX_ROWS = 10_000  # rows that take part in a start
LLOYD = 20  # rounds of k-means
SHARED, LEAST_ROWS, MOST_LABELS = 0.5, 20, 16  # see `copies_to_deal`


def sampled(X, weights: np.ndarray, generator, labels: np.ndarray | None = None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Distinct rows (with their labels) in an order of their own, their total weights, and the places of one of each.

    Of more than MAX_ROWS distinct rows as many are drawn by weight, and how often each was drawn is its weight.
    """
    labels = np.zeros(X.shape[0]) if labels is None else labels
    chosen = np.arange(X.shape[0])
    if len(chosen) > MAX_ROWS:
        order, firsts = runs_of_equal_rows(X, labels)
        chosen, weights = order[firsts], np.add.reduceat(weights[order], firsts)
        if len(chosen) > MAX_ROWS:
            steps = np.cumsum(weights)
            draws = np.searchsorted(steps, generator.random(MAX_ROWS) * steps[-1], side="right")
            counts = np.bincount(np.minimum(draws, len(chosen) - 1), minlength=len(chosen))
            chosen, weights = chosen[counts > 0], counts[counts > 0].astype(float)
        X, labels = X[chosen], labels[chosen]
    if not len(chosen):
        return X, weights, chosen
    cells = np.column_stack([np.nan_to_num(dense(X), nan=np.inf), labels])
    order = np.lexsort(cells.T[::-1])
    cells = cells[order]
    firsts = np.flatnonzero(np.concatenate([[True], (cells[1:] != cells[:-1]).any(axis=1)]))
    places = order[firsts]
    return X[places], np.add.reduceat(weights[order], firsts), chosen[places]


def distinct(X, labels: np.ndarray, weights: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Few distinct rows: each once, with its total weight, in an order of their own. Rows that are so anyway stay in theirs."""
    some = slice(0, 2 * MAX_ROWS)
    if len(labels) > some.stop and len(runs_of_equal_rows(X[some], labels[some])[1]) > MAX_ROWS:
        return X, labels, weights  # too many already
    order, firsts = runs_of_equal_rows(X, labels)
    if len(firsts) > MAX_ROWS or (len(firsts) == len(labels) and (weights == 1.0).all()):
        return X, labels, weights
    places = order[firsts]
    return X[places], labels[places], np.add.reduceat(weights[order], firsts)


def copies_to_deal(X, weights: np.ndarray, most: int, *, has_labels: bool = True) -> np.ndarray:
    """(n,) whole numbers: how many rows, at most `most` in all, each of some merged rows (of equal cells and label) is dealt out as.

    Mostly one, so that what is held out was never seen. Where columns have few values (class, age and survival of passengers)
    equal rows are no copies but draws, and what comes later will have been seen: there a row is dealt out as often as it weighs.
    That is so where rows that occur with several labels have the share SHARED of the weight, or where they are fewer than LEAST_ROWS.
    Without labels some columns take their place in turn, and their shares are averaged.
    """
    n, single = len(weights), np.ones(len(weights), dtype=np.int64)
    if weights.max(initial=0.0) < 2.0 or not (has_labels or isinstance(X, np.ndarray)):
        return single
    given = [X]
    if not has_labels:
        places = np.unique(np.linspace(0, X.shape[1] - 1, MOST_LABELS).astype(int))
        given = [np.delete(X, place, axis=1) for place in places]
    if n >= LEAST_ROWS and np.mean([share_with_several_labels(part, weights) for part in given]) < SHARED:
        return single
    return np.clip(weights, 1, max(1, most // n)).astype(np.int64)


def share_with_several_labels(X, weights: np.ndarray) -> float:
    """The share in the weight of rows that are there more than once, though rows of equal label were merged."""
    _, row, n_labels = np.unique(row_keys(X, np.zeros(len(weights))), return_inverse=True, return_counts=True)
    return float(weights @ (n_labels[row] > 1) / weights.sum())


def runs_of_equal_rows(X, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order in which equal rows of equal label stand together, and where each run of them begins."""
    keys = row_keys(X, labels)
    order = np.argsort(keys, kind="stable")
    return order, np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))


def row_keys(X, labels: np.ndarray) -> np.ndarray:
    """Equal for equal rows of equal label, dense or sparse."""
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    dense_keys(np.ascontiguousarray(labels, dtype=float)[:, None], keys)
    keys *= np.uint64(3)  # a label is no cell
    if isinstance(X, np.ndarray):
        dense_keys(X, keys)
    else:
        sparse_keys(X.indptr, X.indices, X.data, keys)
    return keys


def drawn(shares: np.ndarray, generator) -> int:
    steps = np.cumsum(shares)
    return int(min(np.searchsorted(steps, generator.random() * steps[-1], side="right"), len(shares) - 1))


def distances(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    squares = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(squares, 0.0)


def plus_plus(points: np.ndarray, weights: np.ndarray, n_centres: int, generator) -> np.ndarray:
    """k-means++ seeds: each drawn by its squared distance from those before, the best of a few draws."""
    chosen = [drawn(weights, generator)]
    nearest = distances(points, points[chosen])[:, 0]
    n_tries = 2 + int(np.log(max(n_centres, 1)))
    for _ in range(1, n_centres):
        shares = weights * nearest
        if not shares.sum() > 0:  # fewer distinct rows than components
            chosen.append(drawn(weights, generator))
            continue
        tries = [drawn(shares, generator) for _ in range(n_tries)]
        closer = np.minimum(nearest[:, None], distances(points, points[tries]))
        best = int((weights @ closer).argmin())
        chosen.append(tries[best])
        nearest = closer[:, best]
    return points[chosen]


def k_means(points: np.ndarray, weights: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The places of the points after some rounds of Lloyd's algorithm."""
    places = distances(points, centres).argmin(axis=1)
    for _ in range(LLOYD):
        hot = sparse.csr_matrix((weights, places, np.arange(len(places) + 1)), shape=(len(places), len(centres)))
        mass = np.asarray(hot.sum(axis=0)).ravel()
        means = np.asarray(hot.T @ points) / np.maximum(mass, 1e-300)[:, None]
        centres = np.where((mass > 0)[:, None], means, centres)
        before, places = places, distances(points, centres).argmin(axis=1)
        if (places == before).all():
            break
    return places


def start_shares(model, X, weights, how: str, generator, labels=None) -> tuple[Any, np.ndarray, np.ndarray]:
    """Some rows and their shares of the components (rows by components, weighted): what the first M-step takes; and their places."""
    K = model.n_outcomes
    rows, row_weights, places = sampled(X, weights, generator, labels)
    n = rows.shape[0]
    shares = np.zeros((n, K))
    if how == "random":
        shares = generator.random((n, K))
        shares /= shares.sum(axis=1, keepdims=True)
    elif how == "random_from_data":
        for k in range(K):
            shares[drawn(row_weights * (shares.sum(axis=1) == 0) + 1e-12, generator), k] = 1.0
    elif K == 1:
        shares[:] = 1.0
    else:
        points = model.points(rows, row_weights)
        known = None if labels is None else labels[places]
        if known is None or (known < 0).all():
            centres = plus_plus(points, row_weights, K, generator)
        else:
            centres = labelled_centres(points, row_weights, known, K, generator)
        rounds = k_means(points, row_weights, centres) if how == "kmeans" else distances(points, centres).argmin(axis=1)
        shares[np.arange(n), rounds] = 1.0
    if labels is not None:
        known = labels[places]
        shares[known >= 0] = np.eye(K)[known[known >= 0]]
    return rows, row_weights[:, None] * shares, places


def labelled_centres(points, weights, labels, n_centres: int, generator) -> np.ndarray:
    """Components with labelled rows start at their means, the others at k-means++ seeds of the unlabelled rows."""
    centres = np.empty((n_centres, points.shape[1]))
    empty = []
    for k in range(n_centres):
        own = labels == k
        if own.any() and weights[own].sum() > 0:
            centres[k] = weights[own] @ points[own] / weights[own].sum()
        else:
            empty.append(k)
    if empty:
        free = np.flatnonzero(labels < 0) if (labels < 0).any() else np.arange(len(labels))
        centres[empty] = plus_plus(points[free], weights[free], len(empty), generator)
    return centres
