"""Rows of a belief network as people have them: zeros and ones or counts, with missing cells, dense or sparse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning

from .contract import checked_numbers

MOST = 2**24  # of a count: the kernels hold them in single precision, whole up to there


def checked_rows(network: Any, X: Any, *, reset: bool) -> Any:
    """X as a dense array; counts that come sparse stay so in `fit` (a corpus may not fit in memory otherwise)."""
    X = checked_numbers(
        network, X, reset=reset, accept_sparse="csr", ensure_all_finite="allow-nan", dtype=[np.float64, np.float32]
    )
    if issparse(X) and reset and network.data == "count" and not network.with_labels:
        with np.errstate(invalid="ignore"):
            if ((X.data >= 0) & (X.data % 1 == 0) & (X.data <= MOST)).all():  # so neither NaN nor infinity
                return X
    X = np.asarray(X.todense()) if issparse(X) else X
    if np.isinf(X).any():
        raise ValueError("Input X contains infinity or a value too large: only numbers and NaN (missing) are allowed")
    if network.data == "count":
        bad = ~np.isnan(X) & ((X < 0) | (np.floor(X) != X))
        if bad.any():
            n, i = np.argwhere(bad)[0]
            raise ValueError(
                f"Negative values in data or fractions are no counts: X[{n}, {i}] = {X[n, i]}; "
                'counts are whole numbers from 0, and data="binary" takes zeros and ones'
            )
        large = MOST < X
        if large.any():
            n, i = np.argwhere(large)[0]
            raise ValueError(
                f"X[{n}, {i}] = {X[n, i]:g} is beyond {MOST}, the largest count of a network: count in larger units"
            )
        return X
    other = ~np.isnan(X) & (X != 0) & (X != 1)
    if other.any():
        n, i = np.argwhere(other)[0]
        if network.binarize is None:
            raise ValueError(
                f"X[{n}, {i}] = {X[n, i]} is neither 0 nor 1; set binarize=THRESHOLD to cut values into 0 and 1"
            )
        if reset:
            text = f"X has values besides 0 and 1 (X[{n}, {i}] = {X[n, i]}): cut at binarize={network.binarize}"
            warnings.warn(text, DataConversionWarning, stacklevel=4)
        X = np.where(np.isnan(X), np.nan, (network.binarize < X).astype(float))
    return X
