"""Sums over a shard of rows in one compiled call, which holds Python's lock nowhere: what lets threads add up.

A shard is walked a cache-full of rows at a time: read phi, score the outcomes, turn scores into weights, add phi' weights. The
loops below leave three steps open, and `bind` fills them in for a kind of rows (the methods of `families.forms` are the readable
twins):

    read(rows, extra, first, n, phi)                    phi <- statistics of n rows (where they are made at all)
    score(rows, extra, first, n, phi, theta, scores)    scores <- <theta_k, phi>
    add(rows, extra, first, n, phi, weights, out)       out += phi' weights

`rows` is a dense array or (indptr, indices, data); `extra` the locations of the columns or the places of their categories.
"""

from functools import cache
from typing import Any

import numpy as np

from ..compile import ForLoss, bound, compiled
from .mixture import (
    category_scores,
    category_sums,
    posteriors,
    products,
    seen_squares,
    seen_values,
    sparse_scores,
    sparse_sums,
    squares,
    weigh_groups,
    whitened_scores,
)

read: Any = None  # filled in by `bind`
score: Any = None
add: Any = None


def posterior_sums(rows, extra, first, last, chunk, size, constant, theta, labels, width, weights, out, mass):
    """out, mass += posterior-weighted sums of the rows first .. last - 1; (log-likelihood, its lowest of a row, that row)."""
    K = len(constant)
    phi, shares = np.empty((chunk, size)), np.empty((chunk, K))
    norms, scratch = np.empty(chunk), np.empty(chunk * K)
    total, worst, worst_row = 0.0, np.inf, -1
    for start in range(first, last, chunk):
        n = min(chunk, last - start)
        read(rows, extra, start, n, phi)
        part = shares[:n]
        score(rows, extra, start, n, phi, theta, part)
        total += posteriors(
            part,
            constant,
            labels[start : start + n],
            width,
            weights[start : start + n],
            norms[:n],
            scratch[: n * K],
            mass,
        )
        add(rows, extra, start, n, phi, part, out)
        for i in range(n):
            if norms[i] < worst:
                worst, worst_row = norms[i], start + i
    return total, worst, worst_row


def loss_sums(rows, extra, first, last, chunk, size, constant, theta, labels, width, weights, settings, out, mass):
    """out, mass += signed sums of the rows under a loss over groups; the sum of the losses."""
    J = len(constant)
    phi, signed = np.empty((chunk, size)), np.empty((chunk, J))
    groups, scratch = np.empty((chunk, J // width)), np.empty(chunk * J)
    total = 0.0
    for start in range(first, last, chunk):
        n = min(chunk, last - start)
        read(rows, extra, start, n, phi)
        part = signed[:n]
        score(rows, extra, start, n, phi, theta, part)
        y, w = labels[start : start + n], weights[start : start + n]
        total += weigh_groups(part, constant, y, w, width, settings, groups[:n], scratch[: n * J])
        add(rows, extra, start, n, phi, part, out)
        for i in range(n):
            for j in range(J):
                mass[j] += part[i, j]
    return total


# -- the steps of each kind of rows ------------------------------------------------------------------------------------


@compiled
def read_nothing(rows, extra, first, n, phi):
    pass


@compiled
def read_squares(rows, extra, first, n, phi):
    squares(rows, first, n, extra, phi)


@compiled
def read_seen_squares(rows, extra, first, n, phi):
    seen_squares(rows, first, n, extra, phi)


@compiled
def read_seen_values(rows, extra, first, n, phi):
    seen_values(rows, first, n, phi)


@compiled
def read_products(rows, extra, first, n, phi):
    products(rows, first, n, extra, phi)


@compiled
def read_differences(rows, extra, first, n, phi):
    for i in range(n):
        for j in range(len(extra)):
            phi[i, j] = rows[first + i, j] - extra[j]


@compiled
def score_by_product(rows, extra, first, n, phi, theta, scores):
    np.dot(phi[:n], theta, scores)


@compiled
def add_by_product(rows, extra, first, n, phi, weights, out):
    out += np.dot(phi[:n].T, weights)


@compiled
def score_values(rows, extra, first, n, phi, theta, scores):
    np.dot(rows[first : first + n], theta, scores)


@compiled
def add_values(rows, extra, first, n, phi, weights, out):
    out += np.dot(rows[first : first + n].T, weights)


@compiled
def score_categories(rows, extra, first, n, phi, theta, scores):
    category_scores(rows, first, n, extra, theta, scores)


@compiled
def add_categories(rows, extra, first, n, phi, weights, out):
    category_sums(rows, first, n, extra, weights, out)


@compiled
def score_words(rows, extra, first, n, phi, theta, scores):
    sparse_scores(rows[0], rows[1], rows[2], first, n, theta, scores)


@compiled
def add_words(rows, extra, first, n, phi, weights, out):
    sparse_sums(rows[0], rows[1], rows[2], first, n, weights, out)


@compiled
def score_whitened(rows, extra, first, n, phi, theta, scores):
    """phi begins with the columns themselves; theta = (whitenings side by side, centres)."""
    d = len(extra)
    z = np.empty((n, d))
    for i in range(n):
        for j in range(d):
            z[i, j] = phi[i, j]
    whitened_scores(np.dot(z, theta[0]), theta[1], scores)


@compiled
def score_tied(rows, extra, first, n, phi, theta, scores):
    """theta = (one whitening, centres as columns)."""
    white = np.dot(phi[:n], theta[0])
    np.dot(white, theta[1], scores)
    for i in range(n):
        square = 0.0
        for j in range(white.shape[1]):
            square += white[i, j] * white[i, j]
        for k in range(scores.shape[1]):
            scores[i, k] -= 0.5 * square


@compiled
def add_tied(rows, extra, first, n, phi, weights, out):
    """out = (first moments of the outcomes, second moments of all together), side by side."""
    K, d = weights.shape[1], phi.shape[1]
    both = np.empty((n, K + d))
    for i in range(n):
        total = 0.0
        for k in range(K):
            both[i, k] = weights[i, k]
            total += weights[i, k]
        for j in range(d):
            both[i, K + j] = total * phi[i, j]
    out += np.dot(phi[:n].T, both)


KINDS = {
    "squares": (read_squares, score_by_product, add_by_product),
    "seen_squares": (read_seen_squares, score_by_product, add_by_product),
    "seen_values": (read_seen_values, score_by_product, add_by_product),
    "values": (read_nothing, score_values, add_values),
    "categories": (read_nothing, score_categories, add_categories),
    "words": (read_nothing, score_words, add_words),
    "products": (read_products, score_whitened, add_by_product),
    "differences": (read_differences, score_tied, add_tied),
}


@cache
def bind(kind: str) -> tuple[Any, ForLoss]:
    """(posterior_sums, loss_sums for every loss) of a kind of rows."""
    steps = dict(zip(("read", "score", "add"), KINDS[kind], strict=True))
    return bound(posterior_sums, kind, **steps), ForLoss(loss_sums, kind, weigh_groups=weigh_groups, **steps)
