"""The one dealer of folds: rows are dealt out class by class, so that every part has its share of every class."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Deal:
    """Rows sorted by class, and the part that each was dealt to."""

    rows: np.ndarray
    part: np.ndarray
    always: np.ndarray = field(
        default_factory=lambda: np.zeros(0, dtype=np.int64)
    )  # rows that all parts are trained with

    def held_out(self, number: int) -> np.ndarray:
        return np.sort(self.rows[self.part == number])

    def trained_on(self, number: int, more: np.ndarray | None = None) -> np.ndarray:
        """The rows of all other parts, and `more` rows that no part has."""
        others = self.rows[self.part != number]
        return np.sort(np.concatenate([others, self.always] if more is None else [others, self.always, more]))


def deal(
    y: np.ndarray, rows: np.ndarray, generator: np.random.Generator, n_parts: int, most: int | None = None
) -> Deal:
    """`n_parts` parts of the rows (of at most `most` of them, drawn at random), dealt out in turn within each class."""
    shuffled = generator.permutation(rows)[:most]
    dealt = shuffled[np.argsort(y[shuffled], kind="stable")]
    return Deal(dealt, np.arange(len(dealt)) % n_parts)


def deal_in_runs(y: np.ndarray, rows: np.ndarray, generator: np.random.Generator, n_parts: int, most: int) -> Deal:
    """Parts that are runs of each class, as they stand in the data, because neighbours (a thread, a day's news, reviews of one
    film) are more alike than new documents will be."""
    dealt = deal(y, rows, generator, n_parts, most).rows
    labels = y[dealt]
    first, last = np.searchsorted(labels, labels), np.searchsorted(labels, labels, side="right")
    rank = np.empty(len(dealt))
    rank[np.lexsort((dealt, labels))] = np.arange(len(dealt))
    part = (n_parts * (rank - first) // (last - first)).astype(np.int64)
    small = last - first < n_parts
    part[small] = generator.integers(n_parts, size=int(small.sum()))
    return Deal(dealt, generator.permutation(n_parts)[part])


def deal_whole(
    y: np.ndarray, rows: np.ndarray, groups: np.ndarray, generator: np.random.Generator, n_parts: int
) -> Deal:
    """Parts of whole groups (a speaker, a machine, a day), because what is new will be of others: from the largest group to the
    smallest, each to the part that is furthest behind in its classes."""
    labels = y[rows] - y[rows].min(initial=0)
    _, own = np.unique(groups[rows], return_inverse=True)
    counts = np.zeros((own.max(initial=-1) + 1, labels.max(initial=0) + 1))
    np.add.at(counts, (own, labels), 1.0)
    share = counts / np.maximum(counts.sum(axis=0), 1.0)
    filled, part = np.zeros((n_parts, counts.shape[1])), np.zeros(len(counts), dtype=np.int64)
    shuffled = generator.permutation(len(counts))
    for group in shuffled[np.argsort(-counts.sum(axis=1)[shuffled], kind="stable")]:
        after = ((filled + share[group]) ** 2 - filled**2).sum(axis=1)
        part[group] = int(np.argmin(after))
        filled[part[group]] += share[group]
    order = np.argsort(labels, kind="stable")
    return Deal(rows[order], part[own][order])
