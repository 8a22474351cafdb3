"""Walking over a matrix of rows in pieces that stay in cache, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..engines.threads import SHARD

CHUNK = 4096  # rows that stay in cache
MOST_TOKENS = 1e6  # of a document whose occurrences are sampled one by one
MOST_COUNTED = 1e15  # of one whose occurrences are counted


def chunks(X) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, X.shape[0])) for start in range(0, X.shape[0], CHUNK))


def dense(X) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()


def as_read(array: np.ndarray) -> np.ndarray:
    """The array in C order and read-only: one type for the compiler, whoever holds the numbers and however they lie."""
    found = np.ascontiguousarray(array).view()
    found.flags.writeable = False
    return found


def any_missing(X) -> bool:
    """Whether a dense or sparse X has a cell that is NaN."""
    values = X if isinstance(X, np.ndarray) else X.data
    return bool(np.isnan(plain_sum(values)) and np.isnan(values).any())


def plain_sum(values: np.ndarray) -> float:
    """The sum of all numbers, good enough to see a NaN in it: six tenths of the time of NumPy's own where they lie side by side."""
    return np.einsum("i->", values.ravel(order="K")) if values.flags.forc else values.sum()


def without_missing(X):
    """A sparse X with its stored NaN taken out, and a sparse matrix of ones where they were."""
    missing = X.copy()
    missing.data = np.isnan(X.data).astype(float)
    seen = X.copy()
    seen.data = np.where(np.isnan(X.data), 0.0, X.data)
    missing.eliminate_zeros()
    return seen, missing


def empty_rows(X) -> np.ndarray:
    """Which rows have no observed cell."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.isnan(X).all(axis=1))
    return np.asarray(without_missing(X)[1].sum(axis=1)).ravel() == X.shape[1]


def location_of(X) -> np.ndarray:
    """Means of the columns in the first shard: a place near the data, the same whatever comes after."""
    return column_means(X[:SHARD])


def column_means(X) -> np.ndarray:
    """Means of the observed cells; 0 in a column that has none."""
    totals, counts = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in chunks(X):
        part = dense(X[rows])
        sums = part.sum(axis=0)
        if np.isnan(sums).any():
            seen = ~np.isnan(part)
            counts += seen.sum(axis=0)
            totals += part.sum(axis=0, where=seen)
        else:
            counts += len(part)
            totals += sums
    return totals / np.maximum(counts, 1)


def label_masses(y: np.ndarray, weights: np.ndarray, n_outcomes: int) -> np.ndarray:
    labelled = y >= 0
    return np.bincount(y[labelled], weights[labelled], minlength=n_outcomes).astype(float)


def one_hot(outcomes: np.ndarray, weights: np.ndarray, n_outcomes: int) -> np.ndarray:
    """(n, n_outcomes) array: a row's weight in the place of its outcome; nothing where that is below 0."""
    shares = np.zeros((len(outcomes), n_outcomes))
    labelled = np.flatnonzero(outcomes >= 0)
    shares[labelled, outcomes[labelled]] = weights[labelled]
    return shares


def whole_counts(X, *, together: bool) -> np.ndarray:
    """The non-zeros of sparse rows as whole numbers (at least 1), where every occurrence is drawn by itself or all `together`."""
    lengths, most = np.asarray(X.sum(axis=1)).ravel(), MOST_COUNTED if together else MOST_TOKENS
    if lengths.max(initial=0.0) > most:
        i = int(lengths.argmax())
        raise ValueError(
            f"X has {lengths[i]:.3g} words in row {i}, and {most:.0e} are the most that topics are sampled for: count in larger units, "
            "or take inference='map'"
        )
    return np.maximum(np.rint(X.data), 1.0).astype(np.int64)
