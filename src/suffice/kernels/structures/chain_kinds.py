"""Emissions of hidden Markov chains in lanes: scores of a block of steps, and sums of statistics, for every kind of rows.

Cells of a block lie as (columns, steps, lanes), so scores are products of matrices and statistics too, as in `mixture_sums`, turned
over: scores (states, steps * lanes) = theta phi, statistics = phi shares'. A source is the tuple

    (kind, rows, extra, theta, centres, constant, evidence, has_holes)

`rows` (n, D) are the steps, or their scores (SCORES); `extra` (D,) locations of the columns or places of their categories; theta
(S, F), of categories (cells, S), whitenings one below the other; evidence (n, S) is added to the scores (no rows: nothing is). The
methods of `families.forms` are the readable twins.
"""

import numpy as np

from ..compile import compiled
from .chain_lanes import exponentiate, pad

SCORES, VALUES, SEEN_VALUES, SQUARES, SEEN_SQUARES, CATEGORIES, PRODUCTS, DIFFERENCES = range(8)
KINDS = {
    "values": VALUES, "seen_values": SEEN_VALUES, "squares": SQUARES, "seen_squares": SEEN_SQUARES, "categories": CATEGORIES,
    "products": PRODUCTS, "differences": DIFFERENCES,
}  # fmt: skip


@compiled
def n_phi(kind, D):
    """Columns of phi beside the cells themselves."""
    if kind == SEEN_VALUES or kind == SQUARES:
        return 2 * D
    if kind == SEEN_SQUARES:
        return 3 * D
    if kind == PRODUCTS:
        return D + D * (D + 1) // 2
    return 0


@compiled
def load(rows, location, base, length, t0, z):
    """z[d, i, w] = cell d of step t0 + i of lane w, less the location; 0 after a lane's end."""
    D, h, W = z.shape
    for i in range(h):
        for w in range(W):
            if t0 + i < length[w]:
                row = base[w] + t0 + i
                for d in range(D):
                    z[d, i, w] = rows[row, d] - location[d]
            else:
                for d in range(D):
                    z[d, i, w] = 0.0


@compiled
def make_phi(kind, z, phi):
    """phi of the cells z (D, n): (z, z^2), (seen, z), (seen, z, z^2) or (z, the upper triangle of z z')."""
    D, n = z.shape
    if kind == SQUARES:
        for d in range(D):
            for k in range(n):
                x = z[d, k]
                phi[d, k] = x
                phi[D + d, k] = x * x
    elif kind == SEEN_VALUES or kind == SEEN_SQUARES:
        for d in range(D):
            for k in range(n):
                x = z[d, k]
                phi[d, k] = 1.0 if x == x else 0.0
                phi[D + d, k] = x if x == x else 0.0
        if kind == SEEN_SQUARES:
            for d in range(D):
                for k in range(n):
                    phi[2 * D + d, k] = phi[D + d, k] * phi[D + d, k]
    elif kind == PRODUCTS:
        place = D
        for a in range(D):
            for k in range(n):
                phi[a, k] = z[a, k]
            for c in range(a, D):
                for k in range(n):
                    phi[place, k] = z[a, k] * z[c, k]
                place += 1


@compiled
def score(kind, z, phi, extra, theta, centres, b):
    """b (S, n) = log p(x | state) without the constant."""
    D, n = z.shape
    S = b.shape[0]
    if kind == VALUES:
        np.dot(theta, z, b)
    elif kind == CATEGORIES:
        b[:] = 0.0
        for d in range(D):
            at = np.int64(extra[d])
            for k in range(n):
                if z[d, k] == z[d, k]:
                    cell = at + np.int64(z[d, k])
                    for j in range(S):
                        b[j, k] += theta[cell, j]
    elif kind == PRODUCTS:
        for j in range(S):
            white = np.dot(theta[j * D : (j + 1) * D], z)
            for k in range(n):
                b[j, k] = 0.0
            for d in range(D):
                centre = centres[j, d]
                for k in range(n):
                    away = white[d, k] - centre
                    b[j, k] -= 0.5 * away * away
    elif kind == DIFFERENCES:
        white = np.dot(theta, z)
        np.dot(centres, white, b)
        half = np.zeros(n)
        for d in range(D):
            for k in range(n):
                half[k] += 0.5 * white[d, k] * white[d, k]
        for j in range(S):
            for k in range(n):
                b[j, k] -= half[k]
    else:
        np.dot(theta, phi, b)


@compiled
def symbol_table(source):
    """(b, top) of every symbol where steps have one column of them: no exponential a step. Empty where that is not so."""
    kind, rows, extra, theta, centres, constant, evidence, has_holes = source
    S = len(constant)
    if kind != CATEGORIES or rows.shape[1] != 1 or evidence.shape[0] > 0:
        return np.empty((0, S)), np.empty(0)
    n = theta.shape[0]
    b, top = np.empty((S, n, 1)), np.empty((n, 1))
    for c in range(n):
        for j in range(S):
            b[j, c, 0] = theta[c, j]
    exponentiate(b, constant, True, top)
    return b.reshape(S, n).T.copy(), top.reshape(n)


@compiled
def look_up(z, at, table, tops, b, top):
    """b and top of steps with one symbol; a missing one says nothing."""
    S, h, W = b.shape
    for i in range(h):
        for w in range(W):
            x = z[0, i, w]
            if x == x:
                cell = at + np.int64(x)
                top[i, w] = tops[cell]
                for j in range(S):
                    b[j, i, w] = table[cell, j]
            else:
                top[i, w] = 0.0
                for j in range(S):
                    b[j, i, w] = 1.0


@compiled
def log_scores(source, base, length, t0, is_loaded, z, phi, b):
    """b[j, i, w] = log p(x | state) and what is known of the state, without the constant."""
    kind, rows, extra, theta, centres, constant, evidence, has_holes = source
    S, h, W = b.shape
    if kind == SCORES:
        load(rows, extra, base, length, t0, b)
    else:
        if not is_loaded:
            load(rows, extra if kind != CATEGORIES else np.zeros(rows.shape[1]), base, length, t0, z)
        cells = z.reshape(z.shape[0], h * W)
        make_phi(kind, cells, phi)
        score(kind, cells, phi, extra, theta, centres, b.reshape(S, h * W))
    if evidence.shape[0] > 0:
        for i in range(h):
            for w in range(W):
                if t0 + i < length[w]:
                    for j in range(S):
                        b[j, i, w] += evidence[base[w] + t0 + i, j]


@compiled
def fill(source, table, tops, base, length, t0, is_loaded, z, phi, b, top):
    """b = p(x | state) up to exp(top) of a block's steps; 1 and 0 after a lane's end."""
    kind, rows, extra, theta, centres, constant, evidence, has_holes = source
    if len(tops) > 0:
        if not is_loaded:
            load(rows, np.zeros(1), base, length, t0, z)
        look_up(z, np.int64(extra[0]), table, tops, b, top)
    else:
        log_scores(source, base, length, t0, is_loaded, z, phi, b)
        exponentiate(b, constant, has_holes, top)
    pad(length, t0, b, top)


@compiled
def add(kind, z, phi, extra, shares, out):
    """out += phi shares', in the shape of the form's sums; shares (S, n)."""
    D, n = z.shape
    S = shares.shape[0]
    if kind == VALUES:
        out += np.dot(z, shares.T)
    elif kind == CATEGORIES:
        for d in range(D):
            at = np.int64(extra[d])
            for k in range(n):
                if z[d, k] == z[d, k]:
                    cell = at + np.int64(z[d, k])
                    for j in range(S):
                        out[cell, j] += shares[j, k]
    elif kind == DIFFERENCES:
        total, scaled = np.zeros(n), np.empty((D, n))
        for j in range(S):
            for k in range(n):
                total[k] += shares[j, k]
        for d in range(D):
            for k in range(n):
                scaled[d, k] = total[k] * z[d, k]
        first, second = np.dot(z, shares.T), np.dot(z, scaled.T)
        for d in range(D):
            for j in range(S):
                out[d, j] += first[d, j]
            for e in range(D):
                out[d, S + e] += second[d, e]
    else:
        out += np.dot(phi, shares.T)
