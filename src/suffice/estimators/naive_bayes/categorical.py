"""Columns of categories."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ...families.categorical import Categorical
from ...reading.tables import Codes
from ...structures.joint import Joint
from ..classifier import GenerativeClassifier
from ..kinds import Path, Seed
from ..onnx import linear
from ..sections import documented


@documented
class CategoricalNB(GenerativeClassifier):
    """Categorical naive Bayes: each column has a category, independent given the class.

    Categories are the distinct values of the training rows, whatever numbers they are. A category that was not seen in training is
    treated as missing at prediction, with a warning.

    PARAMETERS
    min_categories : int, array-like of shape (n_features,) or None, default=None
        Categories 0 .. min_categories - 1 exist in a column even where they do not occur in training.

    ATTRIBUTES
    categories_ : list of ndarrays
    n_categories_ : ndarray of shape (n_features,)
    feature_log_prob_ : list of ndarrays of shape (n_classes, n_categories of the column)
    category_count_ : list of ndarrays of shape (n_classes, n_categories of the column)
    class_log_prior_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from suffice import CategoricalNB
    >>> X = [[0, 2], [0, 1], [1, 2], [1, 0]]
    >>> CategoricalNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[0, 1]])
    array(['a'], dtype='<U1')
    """

    categories_: Any
    n_categories_: Any

    def __init__(
        self, *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto", step_size: float | None = None,
        max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", min_categories: Any = None, random_state: Seed = None,
        verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.min_categories = min_categories

    @override
    def _reader(self) -> Any:
        return Codes(self.min_categories)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return Joint.of(Categorical(n_outcomes, rows.shape[1], reader.n_categories))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        logs = np.log(model.family.probabilities(moments.columns[0]))
        self.categories_, self.n_categories_ = self._reader_.categories, self._reader_.n_categories
        self.feature_log_prob_: list[Any] = [part.T for part in model.family.columns_of(logs)]
        self.category_count_: list[Any] = [
            part.T for part in model.family.columns_of(self._statistics.columns[0].count)
        ]
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())

    def _onnx_scores(self, graph: Any, X: str) -> str:
        """The tensor (n, K) of log p(x, class) in an ONNX graph."""
        terms = []
        for j, (values, logs) in enumerate(zip(self.categories_, self.feature_log_prob_, strict=True)):
            column = graph("Gather", X, np.array([j]), axis=1)
            terms.append((graph("Cast", graph("Equal", column, np.asarray(values, dtype=float)), to=11), logs))
        return linear(graph, terms, self.class_log_prior_)
