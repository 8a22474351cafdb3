"""Counts of words, drawn independently given the class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from ...choosing.recipes.words import Words as WordRecipe
from ...families.multinomial import Multinomial
from ...reading.words import Words
from ...structures.words import Words as WordStructure
from ..checks import check_positive
from ..classifier import GenerativeClassifier
from ..kinds import Path, Seed
from ..onnx import linear
from ..sections import documented


@documented
class MultinomialNB(GenerativeClassifier):
    """Multinomial naive Bayes: counts of words (or weights such as tf-idf), drawn independently given the class.

    Use it for text and other sparse counts. The hinge is the default of words: on held-out parts of training documents it is at least
    as accurate as "ncll", its calibrated probabilities are at least as good, and it takes half the time. Under "ncll" and "hinge"
    rows are scaled to one length by default, because words of a document are not independent and a long document would count too
    often.

    PARAMETERS
    count_power : {1, 0.5, 0.25, "auto"}, default="auto"
        Power that counts are raised to before all else, at training and prediction (densities and samples are of such rows): words
        come in bursts, and the second occurrence says less than the first. "auto" is 1, unless held-out rows gain by a smaller one
        when `prior="auto"` is chosen.
    row_norm : float, None or "auto", default="auto"
        Euclidean length every row is scaled to, at training and prediction. None leaves rows alone; "auto" is 10, and None for
        "nll" and for `algorithm="paper"`.

    ATTRIBUTES
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log p(word | class), of the scaled rows.
    feature_count_ : ndarray of shape (n_classes, n_features)
    class_log_prior_ : ndarray of shape (n_classes,)
    count_power_ : float
    row_norm_ : float or None
    unit_ : float
        What rows are divided by where they are not scaled to one length.

    Examples
    --------
    >>> from suffice import MultinomialNB
    >>> X = [[2, 1, 0], [3, 0, 1], [0, 1, 4], [1, 0, 3]]
    >>> MultinomialNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[5, 0, 1]])
    array(['a'], dtype='<U1')
    """

    count_power_: Any
    row_norm_: Any
    unit_: Any

    _family: type[Multinomial] = Multinomial
    _joint_of: type[WordStructure] = WordStructure
    _softness = 1.0  # on held-out training documents it gains accuracy and log-loss (docs/notes/text.md), and it converges faster

    def __init__(
        self, *, loss: str = "hinge", prior: float | str = "auto", algorithm: str = "auto", step_size: float | None = None,
        max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", count_power: float | str = "auto",
        row_norm: Any = "auto", random_state: Seed = None, verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None,
        checkpoint: Path = None, checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.count_power = count_power
        self.row_norm = row_norm

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.count_power not in (1.0, 0.5, 0.25, "auto"):
            raise ValueError(f"count_power={self.count_power!r} is not one of 1, 0.5, 0.25 and 'auto'")
        check_positive("row_norm", self.row_norm, none=True, auto=True)

    @override
    def _reader(self) -> Any:
        is_plain = not self._tells_classes_apart() or self.algorithm == "paper"
        norm = (None if is_plain else 10.0) if self.row_norm == "auto" else self.row_norm
        power = 1.0 if self.count_power == "auto" else float(self.count_power)
        return Words(type(self).__name__, power, norm)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        family = self._family.for_data(rows, n_outcomes, weights)
        return self._joint_of.of(family if reader.norm is None else replace(family, unit=1.0))

    @override
    def _recipe(self, reader: Any, structure: Any = None) -> Any:
        def made(rows, n_outcomes, weights, reader):
            return self._structure(reader, rows, n_outcomes, weights)

        roots = 2 if self.count_power == "auto" else 0
        is_trained = self._tells_classes_apart()
        return WordRecipe(self._options(), True, is_trained, reader, made, roots, self.row_norm == "auto")

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        reader = self._reader_
        self.count_power_, self.row_norm_, self.unit_ = reader.power, reader.norm, reader.unit
        self.feature_log_prob_: Any = self.natural_.columns[0].logit.T
        self.feature_count_: Any = self._statistics.columns[0].count.T
        self.class_log_prior_: Any = np.log(moments.mass / moments.mass.sum())

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # as scikit-learn's: two columns of blobs are no counts of words
        return tags

    def _onnx_scores(self, graph: Any, X: str) -> str:
        """The tensor (n, K) of log p(x, class) in an ONNX graph."""
        reader, D = self._reader_, self.n_features_in_
        rows = X if reader.power == 1.0 else graph("Pow", X, reader.power)
        rows = graph("Div", rows, float(reader.unit))
        if reader.norm is not None:
            length = graph("Sqrt", graph("ReduceSum", graph("Mul", rows, rows), np.array([1]), keepdims=1))
            rows = graph("Mul", rows, graph("Div", float(reader.norm), graph("Max", length, 1e-300)))
        weights = self._stored_model.family.word_weights(self.moments_.columns[0])
        return linear(graph, [(rows, weights.T)], self.predict_joint_log_proba(np.zeros((1, D)))[0])
