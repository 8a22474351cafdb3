"""What the classifiers of counts share."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..classifier import GenerativeClassifier

LEAST_COUNT = 1e-100


class CountClassifier(GenerativeClassifier):
    """Shared by the classifiers of counts: no negative values.

    They take `sample_weight` but no `class_weight`: scikit-learn's check of that parameter feeds negative numbers.
    """

    class_weight = None

    def _check_rows(self, X, *, reset):
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() >= LEAST_COUNT:
            return X
        if (values < 0).any():
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__} as X: the smallest is {np.nanmin(values)}; "
                "it takes counts. Use GaussianNB for numbers of any sign"
            )
        if ((values > 0) & (values < LEAST_COUNT)).any():  # zero up to rounding
            X = X.copy()
            tiny = X.data if sparse.issparse(X) else X
            tiny[tiny < LEAST_COUNT] = 0.0
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
