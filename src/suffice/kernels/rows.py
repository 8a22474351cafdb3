"""One row of the data as a kernel sees it, for each layout.

dense    X is a C-ordered float64 matrix, a row is a view of it; a missing cell is NaN
scatter  X is (indptr, indices, data, buffer); a row is the buffer, filled
pairs    X is (indptr, indices, data, factors, buffer, roots); a row is (indices, values) of its non-zeros in the buffer: the square
         root of the data `roots` times over, times the row's factor
"""

import math

import numpy as np

from .compile import compiled, inlined


@compiled
def dense_row(X, i):
    return X[i]


@compiled
def scatter_row(X, i):
    indptr, indices, data, buffer = X
    buffer[:] = 0.0
    for position in range(indptr[i], indptr[i + 1]):
        buffer[indices[position]] = data[position]
    return buffer


@inlined
def pairs_row(X, i):
    indptr, indices, data, factors, buffer, roots = X
    first, last, factor = indptr[i], indptr[i + 1], factors[i]
    filled = buffer[: last - first]
    if roots == 0:
        for position in range(len(filled)):
            filled[position] = factor * data[first + position]
    else:
        for position in range(len(filled)):
            filled[position] = math.sqrt(data[first + position])
        for _ in range(1, roots):
            for position in range(len(filled)):
                filled[position] = math.sqrt(filled[position])
        for position in range(len(filled)):
            filled[position] *= factor
    return indices[first:last], filled


@compiled
def rooted_row(X, i):
    """`pairs_row` without its factor: the data themselves where no root is taken, else the buffer."""
    indptr, indices, data, factors, buffer, roots = X
    first, last = indptr[i], indptr[i + 1]
    words, values = indices[first:last], data[first:last]
    if roots > 0:
        filled = buffer[: last - first]
        for position in range(len(filled)):
            filled[position] = math.sqrt(values[position])
        for _ in range(1, roots):
            for position in range(len(filled)):
                filled[position] = math.sqrt(filled[position])
        values = filled
    return words, values


@compiled
def row_sums(rows, sums, squares):
    """Sum and sum of squares of every row of pairs; returns the smallest positive value (infinity where there is none)."""
    least = np.inf
    for i in range(len(sums)):
        total, square = 0.0, 0.0
        for value in pairs_row(rows, i)[1]:
            total += value
            square += value * value
            if 0.0 < value < least:
                least = value
        sums[i], squares[i] = total, square
    return least


@compiled
def column_sums(rows, weights, n_rows, squares):
    """Add the weights of the rows that have each word, and the weighted squares of their values."""
    for i in range(len(weights)):
        words, values = pairs_row(rows, i)
        for p in range(len(words)):
            if values[p] != 0.0:
                n_rows[words[p]] += weights[i]
                squares[words[p]] += weights[i] * values[p] * values[p]


@compiled
def add_weighted(rows, shares, sums):
    """sums[w, k] += sum_i x_iw shares_ik; of many outcomes most have no share in a row."""
    has_share = np.empty(shares.shape[1], np.int64)
    for i in range(len(shares)):
        n_shares = 0
        for k in range(shares.shape[1]):
            if shares[i, k] != 0.0:
                has_share[n_shares] = k
                n_shares += 1
        if n_shares == 0:
            continue
        words, values = pairs_row(rows, i)
        for p in range(len(words)):
            for k in has_share[:n_shares]:
                sums[words[p], k] += values[p] * shares[i, k]


@compiled
def multiply(rows, table, products):
    """products[i, k] = sum_w x_iw table[w, k]."""
    for i in range(len(products)):
        words, values = pairs_row(rows, i)
        products[i] = 0.0
        for p in range(len(words)):
            for k in range(table.shape[1]):
                products[i, k] += values[p] * table[words[p], k]


ROWS = {"dense": dense_row, "scatter": scatter_row, "pairs": pairs_row}


# -- keys of rows: equal rows have equal keys, whatever the layout -------------------------------------------------------


@compiled
def mixed_bits(column, value):
    """A cell as 64 bits that look random (the finaliser of splitmix64)."""
    cell = np.empty(1)
    cell[0] = value
    bits = cell.view(np.uint64)[0] if value == value else np.uint64(0x7FF8000000000000)
    bits = bits + np.uint64(0x9E3779B97F4A7C15) * np.uint64(column + 1)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@compiled
def dense_keys(X, keys):
    """keys[i] += the sum over the cells of row i that are not zero."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            if X[i, j] != 0.0:
                keys[i] += mixed_bits(j, X[i, j])


@compiled
def sparse_keys(indptr, indices, data, keys):
    for i in range(len(indptr) - 1):
        for position in range(indptr[i], indptr[i + 1]):
            if data[position] != 0.0:
                keys[i] += mixed_bits(indices[position], data[position])


@compiled
def place_columns(rows, j, first, stop, a, b, c, d, e, f, g, h):
    """Eight columns into rows[first:stop, j : j + 8]."""
    for i in range(first, stop):
        rows[i, j], rows[i, j + 1], rows[i, j + 2], rows[i, j + 3] = a[i], b[i], c[i], d[i]
        rows[i, j + 4], rows[i, j + 5], rows[i, j + 6], rows[i, j + 7] = e[i], f[i], g[i], h[i]
