"""Columns of categories."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse

from ...families.categorical import Categorical
from ..classifier import GenerativeClassifier
from .sections import documented


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

    def __init__(
        self, *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3, average=True,
        class_prior=None, class_weight=None, unlabelled_weight="auto",
        min_categories=None, random_state=None, verbose=0, warm_start=False, n_jobs=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.min_categories = min_categories

    def _check_rows(self, X, *, reset):
        X = X.toarray() if sparse.issparse(X) else X
        if reset:
            self.categories_ = self._find_categories(X)
            self.n_categories_ = np.array([len(values) for values in self.categories_], dtype=np.int64)
        codes = np.full(X.shape, np.nan)
        unseen = []
        for j, values in enumerate(self.categories_):
            place = np.minimum(np.searchsorted(values, X[:, j]), len(values) - 1)
            known = values[place] == X[:, j]
            codes[known, j] = place[known]
            if not (known | np.isnan(X[:, j])).all():
                unseen.append(j)
        if unseen:
            warnings.warn(
                f"columns {unseen[:10]} hold categories that were not seen in training; they are treated as missing",
                stacklevel=4,
            )
        return codes

    def _find_categories(self, X) -> list[np.ndarray]:
        found = [np.unique(column[~np.isnan(column)]) for column in X.T]
        if self.min_categories is not None:
            sizes = np.broadcast_to(np.asarray(self.min_categories), (X.shape[1],))
            if not np.issubdtype(sizes.dtype, np.integer) or (sizes < 0).any():
                raise ValueError(
                    f"min_categories={self.min_categories!r} must be whole numbers >= 0, one or one for each column"
                )
            found = [
                np.union1d(values, np.arange(size, dtype=float)) for values, size in zip(found, sizes, strict=True)
            ]
        return [values if len(values) else np.zeros(1) for values in found]

    def _model(self, X, n_outcomes, codes, weights):
        return Categorical(n_outcomes, X.shape[1], self.n_categories_)

    def _unscaled(self, X, model):
        return np.stack([values[X[:, j].astype(int)] for j, values in enumerate(self.categories_)], axis=1)

    def _expose(self, model, moments) -> None:
        cuts = model.offset[1:]
        self.feature_log_prob_ = [part.T for part in np.split(np.log(model.probabilities(moments)), cuts)]
        self.category_count_ = [part.T for part in np.split(self._statistics.count, cuts)]
        self.class_log_prior_ = np.log(moments.mass / moments.mass.sum())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _unscaled_std(self, std):
        return std
