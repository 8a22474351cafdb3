"""Counts of words, a class described by those of all others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from ...families.complement import Complement
from ...structures.words import ComplementWords
from ..sections import documented
from .multinomial import MultinomialNB


@documented
class ComplementNB(MultinomialNB):
    """Complement naive Bayes: a class is described by the words of all other classes (Rennie and others, 2003).

    Use it for text whose classes differ much in size. With `loss="nll"` it is scikit-learn's (norm=False); under "ncll" and "hinge" its
    counts are fitted so that they classify well, as those of `MultinomialNB`. It is a classifier and no model of the rows: it neither
    samples nor scores them, and learns nothing from rows without a label (they are refused unless unlabelled_weight=0).
    `MultinomialNB` does.

    PARAMETERS
    count_power : {1, 0.5, 0.25, "auto"}, default="auto"
        Power that counts are raised to before all else, as in `MultinomialNB`.
    row_norm : float, None or "auto", default="auto"
        Euclidean length every row is scaled to, at training and prediction. None leaves rows alone; "auto" is 10, and None for "nll".

    ATTRIBUTES
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weights of the words: minus log p(word | not the class), of the scaled rows.
    feature_count_ : ndarray of shape (n_classes, n_features)
        Counts of the words in each class, of the scaled rows (0 where there is one class only).
    class_log_prior_ : ndarray of shape (n_classes,)
        Of the training rows; it takes no part in the scores.
    row_norm_ : float or None
    unit_ : float
        What rows are divided by where they are not scaled to one length.

    Examples
    --------
    >>> from suffice import ComplementNB
    >>> X = [[2, 1, 0], [3, 0, 1], [0, 1, 4], [1, 0, 3]]
    >>> ComplementNB(loss="nll").fit(X, ["a", "a", "b", "b"]).predict([[5, 0, 1]])
    array(['a'], dtype='<U1')
    """

    _family, _joint_of = Complement, ComplementWords
    _takes_blocks = False

    @override
    def _check_parameters(self) -> None:
        if self.algorithm == "paper":
            raise ValueError(
                "algorithm='paper' fits a generative model, and ComplementNB is none: use MultinomialNB, or 'auto'"
            )
        if isinstance(self.prior, (int, float, np.number)) and self.prior == 0:
            raise ValueError(
                "prior=0 leaves words that only one class has without a count in the others: give a positive prior"
            )
        super()._check_parameters()

    @override
    def _recipe(self, reader: Any, structure: Any = None) -> Any:
        return replace(super()._recipe(reader, structure), learns_unlabelled=False)

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        super()._expose(model, moments)
        self.feature_log_prob_: Any = -self.feature_log_prob_
        others = self._statistics.columns[0].count.T
        self.feature_count_: Any = others.sum(axis=0) / max(len(others) - 1, 1) - others
        self.class_log_prior_: Any = np.log(self.class_count_ / self.class_count_.sum())

    @property
    def _no_density(self) -> Any:
        raise AttributeError("ComplementNB is a classifier and no model of the rows: MultinomialNB has this method")

    sample = score_samples = impute = sample_missing = _no_density
