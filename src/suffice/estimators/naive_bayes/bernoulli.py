"""Columns of yes and no."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ...families.categorical import Bernoulli
from ..classifier import GenerativeClassifier
from .sections import documented


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
        class_prior=None, class_weight=None, unlabelled_weight="auto",
        binarize=0.0, random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.binarize = binarize

    def _check_rows(self, X, *, reset):
        is_sparse = sparse.issparse(X)
        if is_sparse:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if is_sparse else X
        if self.binarize is None:
            wrong = ~((values == 0) | (values == 1) | np.isnan(values))
            if wrong.any():
                raise ValueError(
                    f"binarize=None but X has the value {values[wrong][0]}: give a threshold, or only 0 and 1"
                )
        elif is_sparse and self.binarize < 0:
            raise ValueError(f"binarize={self.binarize} is negative: on sparse X that would make every empty cell 1")
        else:
            values = np.where(np.isnan(values), np.nan, self.binarize < values)
        if not is_sparse:
            return values
        X.data = values
        X.eliminate_zeros()
        return X

    def _model(self, X, n_outcomes, codes, weights):
        return Bernoulli.for_data(X, n_outcomes)

    def _expose(self, model, moments) -> None:
        self.feature_log_prob_ = np.log(model.probabilities(moments))[1::2].T
        self.feature_count_ = self._statistics.count[1::2].T
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on numbers cut in two, as scikit-learn says of its own
        return tags
