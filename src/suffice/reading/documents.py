"""Documents as rows of counts: checks, scaling, and one row for documents that are the same. Shared by the topic models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms
from typing_extensions import override

from .base import Reader
from .sparse import narrowed


@dataclass
class Documents(Reader):
    """Counts of words, scaled to one length where `norm` is given (topics are sampled from whole counts: then the model scales)."""

    owner: str = "LDAClassifier"  # whose name errors give
    norm: float | None = None

    stored_as: ClassVar[dict[str, str]] = {"norm": "none | number (0.."}

    takes_missing: ClassVar[bool] = False
    is_positive: ClassVar[bool] = True

    @override
    def read(self, X):
        return counts_of(X, self.owner)

    @override
    def scaled(self, rows):
        return rows if self.norm is None else scaled_to(rows, self.norm)


def counts_of(X, name: str) -> sparse.csr_matrix:
    """X as CSR counts (sorted, without stored zeros), or an error that says what is wrong with it."""
    X = sparse.csr_matrix(X, dtype=np.float64)
    if np.isnan(X.data).any():
        raise ValueError(
            f"X has missing counts (NaN), and {name} takes none: the length of a document with missing words is unknown. "
            "Write 0 for words that do not occur"
        )
    if (X.data < 0).any():
        raise ValueError(
            f"Negative values in data passed to {name}: the smallest of X is {X.data.min()}; it takes counts"
        )
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return narrowed(X)


def scaled_to(X: sparse.csr_matrix, length: float) -> sparse.csr_matrix:
    """Every row at the same Euclidean length; rows without a word stay as they are."""
    norms = row_norms(X)
    factors = np.where(norms > 0, length / np.where(norms > 0, norms, 1.0), 0.0)
    return sparse.csr_matrix((X.data * np.repeat(factors, np.diff(X.indptr)), X.indices, X.indptr), X.shape)


def merged(X: sparse.csr_matrix, codes: np.ndarray, weights: np.ndarray):
    """One row for documents that are the same and have the same label, their weights added, in an order that is their own.

    So a weight of 2 is the same as the document twice, to the last bit, and the order of the documents does not matter.
    """
    places, values = X.indices.astype(np.int64).tobytes(), X.data.tobytes()
    ends = (8 * X.indptr.astype(np.int64)).tolist()  # in bytes
    rows = zip(codes.tolist(), ends[:-1], ends[1:], strict=True)
    keys = [(code, places[start:end], values[start:end]) for code, start, end in rows]
    number = {key: group for group, key in enumerate(sorted(set(keys)))}
    groups = np.array([number[key] for key in keys], dtype=np.int64)
    total = np.bincount(groups, weights, minlength=len(number))
    first = np.unique(groups, return_index=True)[1]
    return X[first], codes[first], total


def telling_words(topics: np.ndarray, vocabulary, n_words: int) -> list[list]:
    """The words of each topic (rows of probabilities) with the largest p log(p / mean over topics)."""
    if vocabulary is not None and len(vocabulary) != topics.shape[1]:
        raise ValueError(f"the vocabulary has {len(vocabulary)} words, the model {topics.shape[1]} columns")
    weight = topics * (np.log(topics) - np.log(topics.mean(axis=0)))
    order = np.argsort(-weight, axis=1, kind="stable")[:, :n_words]
    return [[j if vocabulary is None else vocabulary[j] for j in row] for row in order.tolist()]
