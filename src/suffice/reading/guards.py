"""A call that fails changes nothing, and says which argument it failed on."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from functools import cache, wraps
from types import FrameType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from ..kernels.interruption import is_interruption

LARGEST = 1e100  # of a number or weight: sums of squares must not overflow
SMALLEST = 1e-100  # of a positive weight, as a share of the largest


def all_or_nothing(train):
    """A call that fails leaves the estimator as it was: nothing of other data (classes, columns, units) stays behind.

    A fit that Ctrl-C has ended is whole, at its best state so far (while settings are still compared on held-out parts there is none,
    and the estimator stays as it was); the KeyboardInterrupt goes on from the outermost call, so that a
    script ends and the estimator is there for whoever catches it.
    """

    @wraps(train)
    def guarded(self, *args, **kwargs):
        before, outer = dict(vars(self)), enclosing(sys._getframe())
        ended: list[str] = [] if outer is None else outer.f_locals["ended"]  # fits that Ctrl-C has ended
        try:
            vars(self).pop("stopped_", None)
            observed = getattr(self, "_with_callbacks", None)  # of scikit-learn
            done = (train if observed is None else observed(train))(self, *args, **kwargs)
            refuse_infinite(self, args[0] if args else kwargs.get("X"))
        except BaseException as error:
            prior = getattr(self, "prior", None)
            vars(self).update(before)
            for name in vars(self).keys() - before.keys():
                del vars(self)[name]
            if isinstance(error, SystemError) and is_interruption(error):
                raise KeyboardInterrupt from error
            if isinstance(error, np.linalg.LinAlgError):
                said = "X has" if prior is None else f"prior={prior!r} leaves"
                raise ValueError(
                    f"{said} a covariance that cannot be inverted ({error}): give a larger prior, or leave out columns of X that are "
                    "constant or sums of others"
                ) from error
            raise
        if str(vars(self).get("stopped_", "")).startswith("interrupted"):
            ended.append(type(self).__name__)
        if "stopped_" in before:
            vars(self).setdefault("stopped_", before["stopped_"])
        if outer is None and ended:
            raise KeyboardInterrupt(f"{type(self).__name__} was interrupted; it is fitted, at its best state so far")
        return done

    return guarded


def enclosing(frame: FrameType) -> FrameType | None:
    """The call of the same function around this one, if there is one.

    The stack tells, and no variable that is set and taken back: Ctrl-C can come between any two lines.
    """
    found = frame.f_back
    while found is not None and found.f_code is not frame.f_code:
        found = found.f_back
    return found


class UnforeseenGaps(Exception):
    """Columns have missing cells that the first pass did not look at."""


def looking_again(fit):
    """`fit`, begun anew after a first pass over all cells where it meets gaps that outlines did not tell of."""

    @wraps(fit)
    def fitted(self, X, *args, **options):
        before = dict(vars(self))
        try:
            return fit(self, X, *args, **options)
        except UnforeseenGaps:
            vars(self).clear()
            vars(self).update(before)
            X.read_whole()
            return fit(self, X, *args, **options)

    return fitted


# attributes that show a model; logarithms of probabilities are not among them: they may be -inf
SHOWN = (
    "weights_", "means_", "covariances_", "precisions_", "theta_", "var_", "rates_", "topics_", "components_", "biases_",
    "startprob_", "transmat_", "coef_", "noise_", "lambda_",
)  # fmt: skip


def refuse_infinite(model, X) -> None:
    """The last border of a fit: what is kept is finite, or the call has failed and changed nothing."""
    moments: Any = getattr(model, "moments_", None)
    found = {"moments_": list(moments.arrays()) if hasattr(moments, "arrays") else []}
    for name in SHOWN:
        value = getattr(model, name, None)
        found[name] = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]
    for name, arrays in found.items():
        if all(
            np.isfinite(array).all() for array in arrays if isinstance(array, np.ndarray) and array.dtype.kind == "f"
        ):
            continue
        raise ValueError(
            f"X{sizes(X)} (with its sample_weight) is beyond what {type(model).__name__} can hold: {name} would not be finite. Give "
            "columns in units in which they are neither huge nor tiny, and weights near 1"
        )


def sizes(X) -> str:
    """Of the numbers in X, where it is a table of them."""
    values = X.data if sparse.issparse(X) else X
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        return ""
    size = np.abs(values[(values != 0) & np.isfinite(values)].astype(float))
    return f", of numbers as small as {size.min():.3g} and as large as {size.max():.3g}" if size.size else ""


@cache
def _libraries():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looking for them takes milliseconds


def one_blas_thread():
    """A block in which products use one thread: of thousands of small ones, threads would only wait for each other."""
    return _libraries().limit(limits=1, user_api="blas")


@contextmanager
def naming(argument: str):
    """Errors in the block name the argument; that sums of what it looks for overflow is no news."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except ValueError as error:
        if re.search(r"\b(X|y)\b", str(error)):
            raise
        raise ValueError(f"{argument}: {error}") from error


def all_moderate(values: np.ndarray) -> bool:
    """Whether all numbers are there and far from overflow, as their sum of squares tells: fast, by one thread. False may be wrong."""
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
        return values.dtype == np.float64 and bool(np.einsum("i,i->", flat, flat) < LARGEST**2)


def refuse_huge(X) -> None:
    """Numbers whose squares would overflow."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind not in "fiu" or not values.size or all_moderate(values):
        return
    flat = values.ravel(order="K")
    with np.errstate(over="ignore", invalid="ignore"):
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
