"""Sparse matrices at the border: whatever a person made of one, compiled loops only see rows that are in order.

scipy checks little of what its matrices are made of, and nothing that was changed afterwards, and compiled code (scipy's own too) then
reads and writes outside of its arrays. `checked_sparse` looks at every index once, compiled: places out of range and pointers that
fall are refused; cells that are given twice are added up, as scipy adds them wherever it computes. Indices of 64 bits that fit in 32
become those, since every loop would be compiled once more for them. The caller's matrix stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

MOST = np.iinfo(np.int32).max


def checked_sparse(X: Any) -> Any:
    """X itself, or (sparse) as a CSR matrix that is whole and in canonical form."""
    if not sparse.issparse(X) or X.ndim != 2 or X.dtype.kind not in "biuf":
        return X  # what is wrong with its type, scikit-learn says
    from ..kernels import checks  # compiled: not before it is needed

    if X.format == "coo":
        _check_coo(X)
    elif X.format == "csc":
        if _verdict(X.indptr, X.indices, X.data, X.shape[1], X.shape[0], "column") != checks.FINE:
            X = X.copy()
            X.sum_duplicates()
    elif X.format == "bsr":
        X.check_format(full_check=True)
    if X.format != "csr":
        X = X.tocsr()
    indptr, indices = X.indptr, X.indices
    if (
        _verdict(indptr, indices, X.data, X.shape[0], X.shape[1], "row") == checks.FINE
        and len(X.data) == len(indices) == indptr[-1]
    ):
        return narrowed(X)
    n = int(indptr[-1])
    parts = X.data[:n].copy(), indices[:n].copy(), indptr.copy()
    X = type(X)(parts, shape=X.shape)
    X.has_sorted_indices = X.has_canonical_format = False  # what it said of itself may be old
    X.sum_duplicates()
    return narrowed(X)


def narrowed(X: Any) -> Any:
    """X itself, or with indices of 32 bits where its were of another type and fit; X is CSR and canonical."""
    if X.indices.dtype == X.indptr.dtype == np.int32 or max(X.indptr[-1], X.shape[1]) > MOST:
        return X
    X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    X.has_canonical_format = True
    return X


def _verdict(indptr: Any, indices: Any, data: Any, n: int, n_places: int, line: str) -> int:
    if indptr.shape != (n + 1,) or indices.ndim != 1 or data.ndim != 1 or len(data) < indptr[-1]:
        raise ValueError(
            f"X is a sparse matrix of {n} {line}s whose parts do not fit together: data {data.shape}, indices {indices.shape} and "
            f"indptr {indptr.shape} ending in {indptr.flat[-1] if indptr.size else None}. X.check_format() says more"
        )
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError(
            f"X is a sparse matrix with indices of {indices.dtype} and indptr of {indptr.dtype}: give whole numbers"
        )
    from ..kernels import checks

    verdict, where = checks.check_rows(indptr, indices, n_places)
    if verdict == checks.RANGE:
        raise ValueError(
            f"X is a sparse matrix with an index out of range in {line} {where}: places are 0 to {n_places - 1}"
        )
    if verdict == checks.FALLING:
        raise ValueError(
            f"X is a sparse matrix whose indptr does not run up from 0 to its {len(indices)} indices: look at {line} {where}"
        )
    return verdict


def _check_coo(X: Any) -> None:
    from ..kernels import checks

    rows, columns = X.row, X.col
    if not (rows.ndim == columns.ndim == X.data.ndim == 1 and len(rows) == len(columns) == len(X.data)):
        raise ValueError(
            f"X is a COO matrix with {rows.shape} rows, {columns.shape} columns and {X.data.shape} values: as many of each"
        )
    for name, places, size in (("row", rows, X.shape[0]), ("column", columns, X.shape[1])):
        if places.dtype.kind not in "iu":
            raise ValueError(f"X is a COO matrix with {name}s of {places.dtype}: give whole numbers")
        wrong = checks.check_places(places, size)
        if wrong >= 0:
            raise ValueError(f"X is a COO matrix with the {name} {places[wrong]}: they are 0 to {size - 1}")
