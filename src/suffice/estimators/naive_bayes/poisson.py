"""Columns of counts, independent given the class."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from ...families.poisson import Poisson
from ...reading.tables import Counts
from ...structures.joint import Joint
from ..sections import documented
from .counts import CountClassifier


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
        class_prior=None, unlabelled_weight="auto", unlabelled="auto",
        unit="auto", random_state=None, verbose=0, warm_start=False, n_jobs=None,
        checkpoint=None, checkpoint_minutes=3.0, resume=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.unit = unit

    @override
    def _reader(self):
        return Counts(type(self).__name__, self.unit)

    @override
    def _structure(self, reader, rows, n_outcomes, weights):
        return Joint.of(Poisson.for_data(rows, n_outcomes))

    @override
    def _expose(self, model, moments) -> None:
        self.unit_ = self._reader_.unit
        self.rate_ = model.family.rates(moments.columns[0]) * self.unit_
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())
