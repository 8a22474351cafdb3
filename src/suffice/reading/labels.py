"""Labels of training rows: which rows have none, which class each belongs to, and what the classes weigh."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from .guards import naming

MISSING_TYPES = ("NAType", "NaTType")


def is_missing(value) -> bool:
    """None, NaN, pandas NA or NaT."""
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def split_labels(y, classes: np.ndarray | None = None, marker: Any = "auto") -> tuple[np.ndarray, np.ndarray]:
    """The labels, and which rows have none (those hold some label of another row).

    A row has no label where y is None, NaN or pandas NA; or -1, if y is of whole numbers with at least two other labels, none of
    them negative (and -1 is not one of the given classes); or the `marker`, where one is given in the place of that rule (None: no
    label stands for "no label").
    """
    array = np.asarray(y := values_of(y))
    if array.dtype == object and array.ndim == 1:
        array = one_type(array)
    if array.ndim != 1 or array.dtype.kind not in "fiOUS":
        return array, np.zeros(array.shape[:1], dtype=bool)
    if array.dtype.kind == "f":
        unlabelled = np.isnan(array)
    elif array.dtype.kind == "O":
        unlabelled = np.fromiter(map(is_missing, array), bool, len(array))
    elif array.dtype.kind in "US":  # a list of texts and NaN: NumPy would make the text "nan" of it
        unlabelled = (
            np.zeros(len(array), bool) if hasattr(y, "dtype") else np.fromiter(map(is_missing, y), bool, len(array))
        )
    else:
        unlabelled = is_minus_one(array, classes) if is_auto(marker) else np.zeros(len(array), dtype=bool)
    if marker is not None and not is_auto(marker):
        unlabelled = unlabelled | np.array([bool(value == marker) for value in array.tolist()], dtype=bool)
    if not unlabelled.any():
        return array, unlabelled
    if unlabelled.all() and classes is not None:  # a batch of a stream
        return np.full(len(array), classes[0]), unlabelled
    if unlabelled.all():
        raise ValueError("y has no label in any row: at least one row of every class needs one")
    if array.dtype.kind in "OUS":
        array = np.array([value for value, without in zip(y, unlabelled, strict=True) if not without])
        filled = np.empty(len(unlabelled), dtype=array.dtype)
        filled[~unlabelled] = array
        array = filled
    array = array.copy()
    array[unlabelled] = array[~unlabelled][0]
    return array, unlabelled


def values_of(y):
    """A series of polars, pyarrow or another library as an array (objects and None where a value is missing); others as they are."""
    if hasattr(y, "to_pylist"):  # pyarrow, also an array that is not chunked
        values = y.to_pylist()
    elif nw.dependencies.is_into_series(y) and not nw.dependencies.is_pandas_like_series(y):
        values = nw.from_native(y, series_only=True).to_list()
    else:
        return y
    return np.array([*values, None], dtype=object)[:-1] if None in values else np.asarray(values)


def is_auto(marker: Any) -> bool:
    return isinstance(marker, str) and marker == "auto"


def is_text(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "US" or (labels.dtype == object and isinstance(labels[0], (str, bytes)))


def one_type(y: np.ndarray) -> np.ndarray:
    """Labels that can be put in order: all texts or all numbers (None and NaN beside them)."""
    present = [value for value in y if not is_missing(value)]
    texts = sum(isinstance(value, (str, bytes)) for value in present)
    if 0 < texts < len(present):
        other = next(value for value in present if not isinstance(value, (str, bytes)))
        raise ValueError(
            f"y mixes texts with other labels, such as {other!r} of type {type(other).__name__}: give all labels one type"
        )
    return y


def is_minus_one(y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    """Where -1 stands for "no label" (as in sklearn.semi_supervised)."""
    minus = y == -1
    if not minus.any():
        return minus
    others = np.unique(y[~minus]) if classes is None else np.asarray(classes)
    if others.dtype.kind not in "iuf" or len(others) < 2 or -1 in others or not (others >= 0).all():
        return np.zeros(len(y), dtype=bool)
    warnings.warn(
        f"y is -1 in {int(minus.sum())} rows, which are taken as rows without a label. Give unlabelled=-1 to say "
        "so, or unlabelled=None if -1 is a class",
        stacklevel=5,
    )
    return minus


def encoded(
    y: np.ndarray, unlabelled: np.ndarray | None, classes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Classes in order, and the code of every row (-1 without a label)."""
    if classes is None:
        with naming("y"):
            check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
    else:
        if is_text(classes) != is_text(y):
            raise ValueError(f"y has labels such as {y[0]!r}, which are of another type than classes={classes!r}")
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        wrong = classes[codes] != y
        if wrong.any():
            raise ValueError(f"y has the labels {np.unique(y[wrong])!r}, which are not in classes={classes!r}")
    return classes, np.where(False if unlabelled is None else unlabelled, -1, codes).astype(np.int64)


def class_weights(class_weight, classes: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of the rows times those of their classes; rows without a label keep theirs."""
    if class_weight is None:
        return weights
    labelled = codes >= 0
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f"class_weight={class_weight!r} is neither None, 'balanced' nor a dict {{label: weight}}")
        count = np.bincount(codes[labelled], weights[labelled], minlength=len(classes))
        factor = count.sum() / (len(classes) * np.where(count > 0, count, 1.0))
    elif isinstance(class_weight, dict):
        names = classes.tolist()
        unknown = [label for label in class_weight if label not in names]
        if unknown:
            raise ValueError(f"class_weight has the label {unknown[0]!r}, which is not one of the classes {classes!r}")
        factor = np.array([float(class_weight.get(label, 1.0)) for label in names])
        if not (np.isfinite(factor).all() and (factor >= 0).all() and (factor > 0).any()):
            raise ValueError(f"class_weight={class_weight!r} must hold finite weights >= 0, one of them positive")
    else:
        raise ValueError(f"class_weight={class_weight!r} is neither None, 'balanced' nor a dict {{label: weight}}")
    return weights * np.where(labelled, factor[codes], 1.0)


def checked_labels(labels, n: int, n_components: int) -> tuple[np.ndarray, bool]:
    """(n,) array: the known components of rows, -1 where they are not known; and whether any is."""
    if labels is None:
        return np.full(n, -1, dtype=np.int64), False
    try:
        values = np.asarray(labels, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"labels holds what is not the number of a component: {error}") from error
    if values.shape != (n,):
        raise ValueError(f"labels has shape {values.shape}; it must have one component for each of the {n} rows")
    values = np.where(np.isnan(values), -1, values)
    wrong = (values != np.floor(values)) | (values < -1) | (values >= n_components)
    if wrong.any():
        raise ValueError(
            f"labels has the value {values[wrong][0]:g}; components are 0 to {n_components - 1}, and -1 or NaN: unknown"
        )
    return values.astype(np.int64), bool((values >= 0).any())
