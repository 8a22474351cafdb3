"""One row of the data as a kernel sees it, for each layout.

dense    X is a C-ordered float64 matrix, a row is a view of it; a missing cell is NaN
scatter  X is (indptr, indices, data, buffer); a row is the buffer, filled
pairs    X is (indptr, indices, data); a row is (indices, values) of its non-zeros
"""

from .compile import compiled


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


@compiled
def pairs_row(X, i):
    indptr, indices, data = X
    return indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]]


ROWS = {"dense": dense_row, "scatter": scatter_row, "pairs": pairs_row}
