"""Warm starts: a fit begins at the last one's solution where both speak of the same things."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Last(NamedTuple):
    """The last fit of an estimator."""

    structure: Any
    moments: Any
    posterior: Any  # of variational Bayes
    reader: Any
    classes: Any

    def fits(self, structure: Any, reader: Any, classes: Any = None) -> bool:
        """Whether its moments mean the same to a new structure: as many outcomes and columns, read with the same codes and units."""
        same = type(structure) is type(self.structure) and structure.n_outcomes == self.structure.n_outcomes
        same = same and structure.n_features == self.structure.n_features and np.array_equal(classes, self.classes)
        return bool(same and are_equal(reader.learned(), self.reader.learned()))


def last_fit(estimator: Any, state: dict[Any, Any] | None = None) -> Last | None:
    """What a warm start begins at; None: there was no fit, or it is not asked for."""
    state = vars(estimator) if state is None else state
    if not estimator.warm_start or "moments_" not in state:
        return None
    names = ("_stored_model", "moments_", "posterior_", "_reader_", "classes_")
    return Last(*(state.get(name) for name in names))


def are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(are_equal(one[k], other[k]) for k in one)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(are_equal, one, other))
    return bool(np.array_equal(one, other))
