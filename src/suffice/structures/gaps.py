r"""Classes of rows with missing cells, of columns that tell of each other: p(y | x) averaged over what the missing cells may be.

Naive Bayes integrates a missing cell out as if no other column knew of it. Trained by p(y | x), columns that say the same have small
weights together, and a row that has only some of them is hardly told apart. Here the rows have a density of their own, in the place
of the product over the columns:

    a_jk(x_j)     what column j adds to the score of class k, log p(x_j | k) less its mean over the classes
    t_j           its principal coordinates over the training rows: a_j = centre_j + t_j loading_j
    t             Gaussian with covariance T: the correlations of the rows, shrunk towards none as their errors ask for (`shrunk`)
    p(y | x_obs)  = E softmax(c + sum_j a_j)   over t_mis | t_obs

log p(x_obs) stays that of naive Bayes, and so do rows without a missing cell. Gaps are answered as they were trained: columns with gaps
that training integrated out, or heard, take no part; those whose gaps were filled in for training are filled in here too, by the
expectation of t_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, logsumexp, ndtri
from typing_extensions import override

from ..families import completion
from ..families.correlations import covariance_of
from ..saving.schema import require
from .groups import Groups

MOST_ROWS, PART = 2000, 1024  # rows that the correlations are of, and that are answered at a time
MOST = 200  # coordinates of all columns
TRIFLE = 1e-4  # share of a column's squares that a coordinate may lack
LEAST, LEAST_LOG, LEAST_SCORE = 1e-12, -1e3, -1e100
DRAWS = 32  # and as many opposite to them


@dataclass(frozen=True, eq=False)
class CorrelatedGaps(Groups):
    centre: Any = None  # (columns, K)
    loading: Any = None  # (coordinates, K)
    column: Any = None  # (coordinates,): the column of each
    covariance: Any = None  # (coordinates, coordinates)
    filled: Any = None  # columns with gaps that training filled in

    stored_as: ClassVar[dict[str, str]] = {
        **Groups.stored_as, "centre": "float[*, *]", "loading": "float[*, *]", "column": "int[*] 0..",
        "covariance": "float[*, *]", "filled": "int[*] 0..",
    }  # fmt: skip

    def check_stored(self) -> None:
        """What a file must hold: coordinates of the structure's columns and classes (`saving.schema`)."""
        d, K, n = self.structure.n_features, self.structure.n_outcomes, len(self.column)
        require(self.width == 1 and self.centre.shape == (d, K), f"centre must be of {d} columns and {K} classes")
        require(self.loading.shape == (n, K) and self.covariance.shape == (n, n), f"there are {n} coordinates")
        require(bool((self.column < d).all()), "column names one that there is not")

    @classmethod
    def of(cls, structure: Any, moments: Any, X: np.ndarray, trained: np.ndarray) -> Groups:
        """Of rows X as they were given, and as training saw them: some of their gaps may have been filled in."""
        is_heard = np.isnan(trained).any(axis=0)
        filled = np.flatnonzero(np.isnan(X).any(axis=0) & ~is_heard)
        X = X[np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).astype(int)]
        gone, added = np.isnan(X), contributions(structure, moments, X)
        weight = np.maximum((~gone).sum(axis=0), 1)[:, None]
        centre = added.sum(axis=0) / weight
        loadings, columns, squares = [], [], []
        for j in np.flatnonzero(~is_heard):
            own = added[~gone[:, j], j] - centre[j]
            size, axes = np.linalg.eigh(own.T @ own / weight[j])
            keep = size > max(TRIFLE * size[-1], LEAST)
            loadings.append(np.sqrt(size[keep, None]) * axes[:, keep].T)
            columns.append(np.full(int(keep.sum()), j))
            squares.append(size[keep])
        if not sum(map(len, columns)):
            return Groups(structure)
        loading, column = np.concatenate(loadings), np.concatenate(columns)
        most = np.sort(np.argsort(-np.concatenate(squares), kind="stable")[:MOST])
        loading, column = loading[most], column[most]
        covariance = covariance_of(coordinates(added, gone, centre, loading, column), column)
        return cls(structure, 1, centre, loading, column, covariance, filled)

    @override
    def outcome_scores(self, moments, X, n_threads=1):
        scores = super().outcome_scores(moments, X, n_threads)
        rows = np.flatnonzero(np.isnan(X[:, np.unique(self.column)]).any(axis=1))
        for first in range(0, len(rows), PART):
            part = rows[first : first + PART]
            logs = self._averaged(scores[part], moments, X[part])
            scores[part] = logsumexp(scores[part], axis=1, keepdims=True) + logs
        return scores

    def _averaged(self, scores: np.ndarray, moments, X: np.ndarray) -> np.ndarray:
        """(n, K) array: log p(y | observed cells)."""
        gone, added = np.isnan(X), contributions(self.structure, moments, X)
        t = coordinates(added, gone, self.centre, self.loading, self.column)
        is_free = gone & np.isin(np.arange(X.shape[1]), self.column)
        base = np.maximum(scores, LEAST_SCORE) + is_free @ self.centre
        result = np.empty_like(scores)
        points = normal_points(self.loading.shape[1])
        is_open = ~np.isin(self.column, self.filled)
        nothing, covariance = np.zeros((1, len(self.column))), self.covariance[None]
        for rows, seen in completion.patterns(t):
            means, spread = completion.conditionals(t[rows], seen, nothing, covariance)
            loading = self.loading[~seen]
            open_loading = loading * is_open[~seen, None]
            size, axes = np.linalg.eigh(open_loading.T @ spread[0] @ open_loading)
            moved = points @ (np.sqrt(np.maximum(size, 0.0)) * axes).T
            each = log_softmax((base[rows] + means[0] @ loading)[:, None, :] + moved, axis=2)
            result[rows] = logsumexp(each, axis=1) - np.log(len(points))
        return result


def contributions(structure: Any, moments: Any, X: np.ndarray) -> np.ndarray:
    """(n, columns, K) array: what every cell adds to the scores of the classes, less its mean over them; 0 where missing."""
    parts = zip(structure.families, moments.columns, structure.split(X), strict=True)
    found = np.concatenate([family.cell_log_densities(own, part) for family, own, part in parts], axis=2)
    found = np.maximum(found.transpose(0, 2, 1), LEAST_LOG)
    return found - found.mean(axis=2, keepdims=True)


def coordinates(added, gone, centre, loading, column) -> np.ndarray:
    """(n, coordinates) array: NaN of missing cells."""
    own = np.einsum("nck,ck->nc", added[:, column] - centre[column], loading) / (loading**2).sum(axis=1)
    return np.where(gone[:, column], np.nan, own)


def normal_points(d: int) -> np.ndarray:
    """(2 DRAWS, d) array: points that are spread as a standard normal distribution, with mean 0 and variance 1."""
    root = 2.0
    for _ in range(50):  # of root^(d + 1) = root + 1: an additive recurrence of low discrepancy in d dimensions
        root = (1.0 + root) ** (1.0 / (d + 1.0))
    steps = root ** -(1.0 + np.arange(d)[::-1])  # the last axes are the longest
    half = ndtri((0.5 + np.outer(1.0 + np.arange(DRAWS), steps)) % 1.0)
    both = np.concatenate([half, -half])
    return both / both.std(axis=0)
