"""Columns of yes and no."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...families.bernoulli import Bernoulli
from ...reading.tables import Flags
from ...structures.words import BernoulliWords
from ..classifier import GenerativeClassifier
from ..kinds import Path, Seed
from ..onnx import linear, observed
from ..sections import documented


@documented
class BernoulliNB(GenerativeClassifier):
    """Bernoulli naive Bayes: columns of yes and no, independent given the class.

    Use it for presence and absence. It counts absences, which MultinomialNB does not.

    PARAMETERS
    binarize : float or None, default=0.0
        Values above it are 1, others 0. None: X has only 0 and 1 already.

    ATTRIBUTES
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log p(column is 1 | class).
    feature_count_ : ndarray of shape (n_classes, n_features)
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import BernoulliNB
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 1]]
    >>> BernoulliNB(loss="nll").fit(X, [0, 0, 1, 1]).predict([[1, 1, 0]])
    array([0])
    """

    def __init__(
        self, *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto", step_size: float | None = None,
        max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", binarize: float | None = 0.0, random_state: Seed = None,
        verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.binarize = binarize

    @override
    def _reader(self) -> Any:
        return Flags(self.binarize)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return BernoulliWords.of(Bernoulli.for_data(rows, n_outcomes))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        self.feature_log_prob_: Any = np.log(model.family.probabilities(moments.columns[0]))[1::2].T
        self.feature_count_: Any = self._statistics.columns[0].count[1::2].T
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on numbers cut in two, as scikit-learn says of its own
        return tags

    def _onnx_scores(self, graph: Any, X: str) -> str:
        """The tensor (n, K) of log p(x, class) in an ONNX graph."""
        values, seen = observed(graph, X)
        if self.binarize is not None:
            values = graph("Mul", seen, graph("Cast", graph("Less", float(self.binarize), X), to=11))
        logs = np.log(self._stored_model.family.probabilities(self.moments_.columns[0]))
        on, off = logs[1::2].T, logs[0::2].T
        return linear(graph, [(values, on - off), (seen, off)], self.class_log_prior_)
