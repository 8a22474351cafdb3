"""Columns of counts, independent given the class."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...families.poisson import Poisson
from ...reading.tables import Counts
from ...structures.joint import Joint
from ..classifier import GenerativeClassifier
from ..kinds import Path, Seed
from ..onnx import linear, observed
from ..sections import documented


@documented
class PoissonNB(GenerativeClassifier):
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
        self, *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto", step_size: float | None = None,
        max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", unit: Any = "auto", random_state: Seed = None,
        verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.unit = unit

    @override
    def _reader(self) -> Any:
        return Counts(type(self).__name__, self.unit)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return Joint.of(Poisson.for_data(rows, n_outcomes))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.unit_: Any = self._reader_.unit
        self.rate_: Any = model.family.rates(moments.columns[0]) * self.unit_
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())

    def _onnx_scores(self, graph: Any, X: str) -> str:
        """The tensor (n, K) of log p(x, class) in an ONNX graph."""
        values, seen = observed(graph, X)
        rate = self.rate_ / self.unit_
        return linear(graph, [(values, np.log(rate) / self.unit_), (seen, -rate)], self.class_log_prior_)
