"""Columns of counts, independent given the class."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ...families.gaussian_diagonal import GaussianDiagonal, mean_and_variance
from ...families.poisson import Poisson, rates
from .counts import CountClassifier
from .sections import documented


@documented
class PoissonNB(CountClassifier):
    """Poisson naive Bayes: counts in independent Poisson columns given the class.

    Use it for counts whose totals matter (MultinomialNB only looks at proportions).

    PARAMETERS
    unit : float, array-like of shape (n_features,) or "auto", default="auto"
        What one count is worth: a column is unit times a Poisson variable, so its variance is unit times its mean. "auto" is the
        pooled ratio of variance to mean within classes (scale-free, allows for overdispersion), and 1 for "nll".

    ATTRIBUTES
    rate_ : ndarray of shape (n_classes, n_features)
        Expected value of each column.
    unit_ : ndarray of shape (n_features,)
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import PoissonNB
    >>> X = [[2, 1], [3, 0], [0, 4], [1, 3]]
    >>> PoissonNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[5, 0]])
    array(['a'], dtype='<U1')
    """

    def __init__(
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, unlabelled_weight="auto",
        unit="auto", random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.unit = unit

    def _model(self, X, n_outcomes, codes, weights):
        if not isinstance(self.unit, str):
            unit = np.broadcast_to(np.asarray(self.unit, dtype=float), (X.shape[1],)).copy()
            if not ((unit > 0) & np.isfinite(unit)).all():
                raise ValueError(f"unit={self.unit!r} must be positive: one number, or one for each column")
            self.unit_ = unit
        elif self.unit != "auto":
            raise ValueError(f"unit={self.unit!r} is neither a positive number, an array of them nor 'auto'")
        elif self.loss == "nll" or self.algorithm == "paper":
            self.unit_ = np.ones(X.shape[1])
        else:
            spread = GaussianDiagonal(n_outcomes, X.shape[1], np.zeros(X.shape[1])).statistics(X, codes, weights)
            _, variance = mean_and_variance(spread)
            total = spread.first.sum(axis=0)
            unit = (spread.weight * variance).sum(axis=0) / np.where(total > 0, total, 1.0)
            typical = np.median(unit[unit > 0]) if (unit > 0).any() else 1.0
            self.unit_ = np.where(unit > 1e-3 * typical, unit, typical)
        return Poisson.for_data(X, n_outcomes)

    def _scaled(self, X, model):
        return X @ sparse.diags(1.0 / self.unit_) if sparse.issparse(X) else X / self.unit_

    def _unscaled(self, X, model):
        return X * self.unit_

    def _expose(self, model, moments) -> None:
        self.rate_ = rates(moments) * self.unit_
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())
