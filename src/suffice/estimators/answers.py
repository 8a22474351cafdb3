"""What a fitted classifier answers: classes, probabilities, densities, samples, missing cells."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..choosing.calibration import log_probabilities, shares
from ..engines.threads import n_threads
from ..reading.frames_back import as_given
from ..reading.guards import one_blas_thread
from ..structures.groups import Groups, drawn
from .kinds import Seed
from .lazily import by_blocks, summed


def log_posterior(scores: np.ndarray, class_count: np.ndarray, rivalry: float = 1.0) -> np.ndarray:
    """Scores normalised; of a row that is impossible under every class all that is known is how frequent the classes are."""
    impossible = np.asarray(np.isneginf(scores).all(axis=1))
    logs = log_probabilities(np.where(impossible[:, None], 0.0, scores), rivalry)
    return np.where(impossible[:, None], np.log(shares(class_count)), logs)


class Answers:
    """A mixin of GenerativeClassifier."""

    classes_: np.ndarray
    moments_: Any
    temperature_: float
    background_: float
    rivalry_: float = 1.0
    class_count_: np.ndarray
    random_state: Any
    n_jobs: int | None
    _stored_model: Any
    _reader_: Any
    _framed: Any  # Contract's
    _validated: Any
    _answering: Groups

    @by_blocks
    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x, y) for every row and class (without parts that no class depends on); missing cells are integrated out."""
        check_is_fitted(self)
        return self._joint(self._new_rows(X))

    def _joint(self, rows: Any) -> np.ndarray:
        with one_blas_thread():
            return self._answering.class_scores(self.moments_, rows, n_threads(self.n_jobs))

    @by_blocks
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y | x). Scores are first multiplied by `temperature_` where the loss does not calibrate itself, rivals of the best
        class are told apart `rivalry_` times as sharply, and the share `background_` of the class frequencies is mixed in where
        held-out rows were met with confident errors."""
        joint = self.predict_joint_log_proba(X)
        logs = log_posterior(self.temperature_ * joint, self.class_count_, self.rivalry_)
        if self.background_:
            logs = np.log((1.0 - self.background_) * np.exp(logs) + self.background_ * shares(self.class_count_))
        return logs

    @by_blocks
    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y | x)."""
        return np.exp(self.predict_log_proba(X))

    @by_blocks
    def predict(self, X: Any, cost: Any = None) -> np.ndarray:
        """The most probable class, or the one of least expected cost.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            NaN, None and pandas NA are missing cells.
        cost : array-like of shape (n_classes, n_classes), default=None
            cost[i, j] is what it costs to say class j where class i is true.
        """
        check_is_fitted(self)
        if cost is None:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        cost = np.asarray(cost, dtype=float)
        K = len(self.classes_)
        if cost.shape != (K, K) or not np.isfinite(cost).all():
            raise ValueError(
                f"cost has shape {cost.shape}; it must be a finite matrix of shape ({K}, {K}), true class by said class"
            )
        return self.classes_[(self.predict_proba(X) @ cost).argmin(axis=1)]

    @by_blocks
    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x): the log-density of every row (of its observed cells)."""
        check_is_fitted(self)
        X = self._new_rows(X)
        return logsumexp(self._joint(X), axis=1) + self._stored_model.log_base_measure(X)

    @summed
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The accuracy of `predict`; of data in blocks by their own labels, or by y as a dask collection."""
        return float(ClassifierMixin.score(cast(Any, self), X, y, sample_weight))

    def sample(self, n_samples: int = 1, y: Any = None, random_state: Seed = None) -> Any:
        """Draw rows and labels from the model.

        Parameters
        ----------
        n_samples : int, default=1
        y : a label, or array-like of n_samples labels, default=None
            Draw rows of this class; None draws the classes too.
        random_state : int, RandomState instance or None, default=None
            None takes the estimator's own.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), or a frame with the library and dtypes of the one in `fit`
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        generator = self._generator(random_state)
        classes = None if y is None else self._codes(y, n_samples)
        X, classes = self._answering.sampled(self.moments_, n_samples, classes, generator)
        return self._framed(self._reader_.unread(X)), self.classes_[classes]

    def impute(self, X: Any, y: Any = None, return_std: bool = False) -> Any:
        """Fill missing cells with their expectation given the observed cells of the row (categories: the most probable one).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : a label, or array-like of n_samples labels, default=None
            The rows' classes, where they are known; None averages over p(y | observed cells).
        return_std : bool, default=False
            Also return the standard deviation of every cell: 0 where it was observed, sqrt(p (1 - p)) for a category of probability p.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), or a frame as X is one, with its dtypes
            Observed cells are what they were.
        std : ndarray of shape (n_samples, n_features)
            Only if return_std.
        """
        check_is_fitted(self)
        given, rows = self._reader_.cells(self._validated(self._reader_, X, reset=False))
        if not np.isnan(rows).any():
            return (as_given(X, given), np.zeros(rows.shape)) if return_std else as_given(X, given)
        filled, std = self._stored_model.imputed(self.moments_, rows, self._shares(rows, y))
        filled = as_given(X, self._reader_.filled(given, self._reader_.unread(filled)))
        return (filled, self._reader_.unread_std(std)) if return_std else filled

    def sample_missing(self, X: Any, y: Any = None, random_state: Seed = None) -> Any:
        """Fill missing cells with draws given the observed cells of the row: multiple imputation in one call each.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : a label, or array-like of n_samples labels, default=None
            The rows' classes, where they are known; None draws them from p(y | observed cells).
        random_state : int, RandomState instance or None, default=None
            None takes the estimator's own.
        """
        check_is_fitted(self)
        given, rows = self._reader_.cells(self._validated(self._reader_, X, reset=False))
        if not np.isnan(rows).any():
            return as_given(X, given)
        generator = self._generator(random_state)
        if y is not None and self._answering.width == 1:
            outcomes = self._codes(y, len(rows))
        else:
            outcomes = drawn(self._shares(rows, y), generator)
        filled = self._stored_model.drawn(self.moments_, rows, outcomes, generator)
        return as_given(X, self._reader_.filled(given, self._reader_.unread(filled)))

    # -- parts --------------------------------------------------------------------------------------------------------

    def _new_rows(self, X: Any) -> Any:
        """Rows as the structure takes them."""
        return self._reader_.rows(self._validated(self._reader_, X, reset=False))

    def _shares(self, rows: Any, y: Any) -> np.ndarray:
        """Posteriors of the outcomes given the rows, and their labels if they are known."""
        classes = None if y is None else self._codes(y, rows.shape[0])
        with one_blas_thread():
            return self._answering.shares(self.moments_, rows, classes, n_threads(self.n_jobs))

    def _generator(self, random_state: Any) -> np.random.Generator:
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        return np.random.default_rng(seed)

    def _codes(self, y: Any, n: int) -> np.ndarray:
        """Codes of n labels, or of one label for all."""
        labels = np.broadcast_to(np.asarray(y), (n,))
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        wrong = labels != self.classes_[codes]
        if wrong.any():
            raise ValueError(f"y={labels[wrong][0]!r} is not one of the classes {self.classes_!r}")
        return codes
