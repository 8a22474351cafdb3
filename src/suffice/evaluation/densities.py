"""The density of one column under a model: all other cells of a row are missing, and a model that takes missing cells sums them out.

    log p(x_j, k) = log p(k | x_j) + log p(x_j)

for a class or component k. No formula of any family is needed, so it is right for every model of the library.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..files.dates import clock_times, days_of_times


@dataclass(frozen=True)
class ColumnDensity:
    """p(x_j, k) on values of a column.

    Examples
    --------
    >>> from suffice import CategoricalNB
    >>> from suffice.evaluation import column_density
    >>> model = CategoricalNB(loss="nll").fit([[0], [1], [1], [1]], ["a", "a", "b", "b"])
    >>> found = column_density(model, [[0], [1]], 0)
    >>> found.values, found.outcomes
    (array([0, 1]), ['a', 'b'])
    """

    column: str
    values: np.ndarray  # numbers in order (of dates: days since 1970), or categories
    joint: np.ndarray  # (values, outcomes): p(x_j, k)
    outcomes: list[str]
    is_numeric: bool


def column_names(model: Any, X: Any) -> list[str]:
    """The columns' names: the frame's, the model's, or x0, x1, ..."""
    names = getattr(X, "columns", None)
    names = getattr(model, "feature_names_in_", None) if names is None else names
    return [f"x{j}" for j in range(np.shape(X)[1])] if names is None else [str(name) for name in names]


def takes_missing(model: Any) -> bool:
    """Whether a cell of X may be missing, so that a column can be looked at alone."""
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


def column_density(model: Any, X: Any, column: int | str, n_points: int = 200, padding: float = 0.1) -> ColumnDensity:
    """p(x_j, k) of a fitted classifier or mixture over the range of a column of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GaussianNB
    >>> from suffice.evaluation import column_density
    >>> X, y = load_iris(return_X_y=True)
    >>> found = column_density(GaussianNB(loss="nll").fit(X, y), X, 2, padding=1.0)
    >>> mass = found.joint.sum() * (found.values[1] - found.values[0])
    >>> bool(0.99 < mass < 1.01)
    True
    """
    if not takes_missing(model):
        raise ValueError(f"{type(model).__name__} takes no missing cells, so a column cannot be looked at alone")
    names = column_names(model, X)
    place = names.index(column) if isinstance(column, str) else int(column)
    cells = X.iloc[:, place] if hasattr(X, "iloc") else np.asarray(X)[:, place]
    is_date = cells.dtype.kind == "M"
    values, is_numeric = _values(days_of_times(cells) if is_date else np.asarray(cells), n_points, padding)
    rows, model = _only(X, place, clock_times(values) if is_date else values), _without_told_gaps(model)
    joint = model.predict_joint_log_proba(rows)
    log_joint = joint - logsumexp(joint, axis=1, keepdims=True) + model.score_samples(rows)[:, None]
    outcomes = getattr(model, "classes_", range(joint.shape[1]))
    return ColumnDensity(names[place], values, np.exp(log_joint), [str(k) for k in outcomes], is_numeric)


def _without_told_gaps(model: Any) -> Any:
    """The model, or a copy in which a missing cell says nothing of the class: else p(x_j) has the factor p(all others are missing)."""
    inner = getattr(model, "model_", model)
    reader: Any = getattr(inner, "_reader_", None)
    if not getattr(reader, "told", None):
        return model
    silent = copy(inner)
    silent._reader_ = reader.without_told()
    if inner is model:
        return silent
    outer = copy(model)
    outer.model_ = silent
    return outer


def _values(cells: np.ndarray, n_points: int, padding: float) -> tuple[np.ndarray, bool]:
    """Points to look at: a grid for floats, the distinct values otherwise."""
    if cells.dtype.kind == "f" and len(np.unique(cells[np.isfinite(cells)])) > 2:
        known = cells[np.isfinite(cells)]
        low, high = float(known.min()), float(known.max())
        margin = padding * (high - low)
        return np.linspace(low - margin, high + margin, n_points), True
    known = np.array([cell for cell in cells if cell is not None and cell == cell], dtype=cells.dtype)
    if known.dtype.kind in "iu" and len(np.unique(known)) > 20:
        return np.linspace(float(known.min()), float(known.max()), n_points), True
    return np.unique(known.astype(str) if known.dtype == object else known), False


def _only(X: Any, place: int, values: np.ndarray) -> Any:
    """Rows in the form of X whose only observed column holds the values."""
    if not hasattr(X, "iloc"):
        rows = np.full((len(values), np.shape(X)[1]), np.nan, dtype=object if values.dtype.kind in "OU" else float)
        rows[:, place] = values
        return rows
    import pandas as pd

    kept = pd.Series(values).astype(X.dtypes.iloc[place] if X.dtypes.iloc[place].kind not in "iub" else None)
    nothing = {
        j: pd.Series([np.nan] * len(values), dtype=X.dtypes.iloc[j] if X.dtypes.iloc[j].kind not in "iub" else float)
        for j in range(X.shape[1])
    }
    frame = pd.DataFrame(nothing | {place: kept})
    frame.columns = X.columns
    return frame
