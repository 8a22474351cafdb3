"""Warm starts: a fit begins at the last one's solution where both speak of the same things."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .readers import Reader


class Last(NamedTuple):
    """The last fit of an estimator."""

    model: Any
    moments: Any
    posterior: Any  # of variational Bayes
    reader: Reader
    classes: Any

    def fits(self, model, reader: Reader, classes=None) -> bool:
        """Whether its moments mean the same to `model`: as many outcomes and columns, read with the same codes and units."""
        same = type(model) is type(self.model) and model.n_outcomes == self.model.n_outcomes
        same = same and model.n_features == self.model.n_features and np.array_equal(classes, self.classes)
        return bool(same and are_equal(learned(reader), learned(self.reader)))


def last_fit(estimator) -> Last | None:
    """What a warm start begins at; None: there was no fit, or it is not asked for."""
    if not estimator.warm_start or not hasattr(estimator, "moments_"):
        return None
    posterior, classes = getattr(estimator, "posterior_", None), getattr(estimator, "classes_", None)
    return Last(estimator._stored_model, estimator.moments_, posterior, estimator._reader_, classes)


def learned(reader: Reader) -> dict:
    """Codes, kinds and units of the columns."""
    return {name: value for name, value in vars(reader.columns).items() if name.endswith("_")}


def are_equal(one, other) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(are_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(are_equal, one, other))
    return bool(np.array_equal(one, other))
