"""Columns of yes and no."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from ...families.bernoulli import Bernoulli
from ...reading.tables import Flags
from ...structures.words import BernoulliWords
from ..classifier import GenerativeClassifier
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
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, class_weight=None, unlabelled_weight="auto", unlabelled="auto",
        binarize=0.0, random_state=None, verbose=0, warm_start=False, n_jobs=None,
        checkpoint=None, checkpoint_minutes=3.0, resume=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.binarize = binarize

    @override
    def _reader(self):
        return Flags(self.binarize)

    @override
    def _structure(self, reader, rows, n_outcomes, weights):
        return BernoulliWords.of(Bernoulli.for_data(rows, n_outcomes))

    @override
    def _expose(self, model, moments):
        self.feature_log_prob_ = np.log(model.family.probabilities(moments.columns[0]))[1::2].T
        self.feature_count_ = self._statistics.columns[0].count[1::2].T
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    @override
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on numbers cut in two, as scikit-learn says of its own
        return tags
