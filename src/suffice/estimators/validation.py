"""X and y as scikit-learn checks them, with missing cells allowed and tables of several dtypes left as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from ..reading.guards import naming, refuse_huge
from ..reading.labels import is_missing

NO_LABELS = "no_validation"


def without_na(X):
    """X with NaN in the place of pandas NA and None in columns of objects."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        objects = [place for place, dtype in enumerate(X.dtypes) if dtype.kind == "O"]
        if objects:
            X = X.copy()
            for place in objects:
                X.isetitem(place, X.iloc[:, place].where(X.iloc[:, place].notna(), np.nan))
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        X = np.where(np.vectorize(is_missing, otypes=[bool])(X), np.nan, X) if X.size else X
    return X


def validated(estimator: Any, reader: Any, X, y: Any = NO_LABELS, *, reset: bool):
    """X (and y, if given) for a reader; the estimator learns or compares the columns' number and names."""
    if reader.takes_frames and is_table(X := table_of(X)):
        return validated_table(estimator, X, y, reset=reset)
    with naming("X"):
        found = validate_data(
            estimator, without_na(X), y, reset=reset, accept_sparse=reader.takes_sparse, order="C",
            dtype="numeric" if reader.takes_frames else np.float64, ensure_all_finite="allow-nan",
        )  # fmt: skip
    refuse_huge(found[0] if isinstance(found, tuple) else found)
    return found


def table_of(X):
    return X if hasattr(X, "iloc") or hasattr(X, "toarray") else np.asarray(X)


def is_table(X) -> bool:
    """A DataFrame, or an array of objects or texts."""
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return True
    return getattr(X, "dtype", None) is not None and X.dtype.kind in "OUS" and X.ndim == 2 and all(X.shape)


def validated_table(estimator: Any, X, y, *, reset: bool):
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: it needs at least one of each")
    if isinstance(y, str):
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    with naming("X and y"):
        check_consistent_length(X, y)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X, y


def column_names(estimator: Any) -> list[str] | None:
    """Names of the columns, where X had some."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
