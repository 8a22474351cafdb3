"""A call that fails changes nothing, and says which argument it failed on."""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import cache, wraps

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

LARGEST = 1e100  # of a number or weight: sums of squares must not overflow
SMALLEST = 1e-100  # of a positive weight, as a share of the largest


def all_or_nothing(train):
    """A call that fails leaves the estimator as it was: nothing of other data (classes, columns, units) stays behind."""

    @wraps(train)
    def guarded(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return train(self, *args, **kwargs)
        except BaseException as error:
            prior = getattr(self, "prior", None)
            vars(self).clear()
            vars(self).update(before)
            if isinstance(error, np.linalg.LinAlgError) and prior is not None:
                raise ValueError(
                    f"prior={prior!r} leaves a covariance that cannot be inverted ({error}): give a larger prior, or leave out "
                    "columns that are constant or sums of others"
                ) from error
            raise

    return guarded


@cache
def _libraries():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looking for them takes milliseconds


def one_blas_thread():
    """A block in which products use one thread: of thousands of small ones, threads would only wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@contextmanager
def naming(argument: str):
    """Errors in the block name the argument."""
    try:
        yield
    except ValueError as error:
        if re.search(r"\b(X|y)\b", str(error)):
            raise
        raise ValueError(f"{argument}: {error}") from error


def refuse_huge(X) -> None:
    """Numbers whose squares would overflow."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind not in "fiu" or not values.size:
        return
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.einsum("i,i->", flat, flat) if values.dtype == np.float64 else np.nan
        if square < LARGEST**2:  # fast, by one thread, and false where a cell is missing
            return
        worst = float(np.abs(flat[~np.isnan(flat)].astype(np.float64)).max(initial=0.0))
    if worst > LARGEST:
        raise ValueError(
            f"X holds a number of size {worst:g}, beyond {LARGEST:g}, whose square is too large to compute with: "
            "give that column in other units, or NaN if it stands for a missing value"
        )


def checked_weights(sample_weight, X) -> np.ndarray:
    """Weights of the rows, which can be added up."""
    with naming("sample_weight"):
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    largest = float(weights.max(initial=0.0))
    least = float(weights[weights > 0].min(initial=np.inf))
    if largest > LARGEST or least < 1.0 / LARGEST or least < SMALLEST * largest:
        raise ValueError(
            f"sample_weight runs from {least:g} to {largest:g}: positive weights must lie between {1 / LARGEST:g} and {LARGEST:g} "
            "and not be further apart than that; give 0 for rows that do not count"
        )
    return weights
