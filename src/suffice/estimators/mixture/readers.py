"""How rows of each kind are read: the checks, codes and units of the naive Bayes classifier of the same family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ...reading.guards import naming, refuse_huge
from ..classifier import without_na
from ..naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB
from ..naive_bayes.mixed import MixedNB

CLASSES: dict[str, Any] = {
    "gaussian": GaussianNB,
    "bernoulli": BernoulliNB,
    "categorical": CategoricalNB,
    "multinomial": MultinomialNB,
    "poisson": PoissonNB,
    "mixed": MixedNB,
}


@dataclass
class Reader:
    """Rows as a model takes them, and back."""

    family: str
    columns: BaseEstimator  # holds what was learned of the columns: categories, kinds

    @property
    def nb(self) -> Any:
        return self.columns

    def rows(self, X, *, reset: bool):
        if self.family == "mixed" and reset and hasattr(X, "columns"):
            self.nb.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self.nb._check_rows(X, reset=reset)

    def unscaled(self, X):
        if self.family in ("categorical", "mixed"):
            return self.nb._unscaled(X, None)
        return X

    def unscaled_std(self, std):
        return self.nb._unscaled_std(std) if self.family == "mixed" else std

    def filled(self, given, filled):
        return self.nb._filled(given, filled)


def reader(family: str, **options) -> Reader:
    return Reader(family, CLASSES[family](loss="nll", **options))


def validated_table(estimator, X, *, reset: bool):
    """A DataFrame or array of objects stays what it is; an array of numbers is checked as others are."""
    if not (hasattr(X, "columns") and hasattr(X, "iloc")):
        X = np.asarray(X) if not hasattr(X, "toarray") else X
        if getattr(X, "dtype", None) is None or X.dtype.kind not in "OUS" or X.ndim != 2 or not all(X.shape):
            with naming("X"):
                found = validate_data(
                    estimator, without_na(X), reset=reset, accept_sparse=False, dtype="numeric", order="C",
                    ensure_all_finite="allow-nan",
                )  # fmt: skip
            refuse_huge(found)
            return found
    elif X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X has {X.shape[0]} rows and {X.shape[1]} columns: it needs at least one of each")
    return validate_data(estimator, X, reset=reset, skip_check_array=True)
