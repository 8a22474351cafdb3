"""What a fitted model answers: classes, probabilities, densities, samples, missing cells. Shared by all classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..choosing.calibration import log_probabilities, shares
from ..families.rows import dense


def log_posterior(scores: np.ndarray, class_count: np.ndarray, rivalry: float = 1.0) -> np.ndarray:
    """Scores normalised; of a row that is impossible under every class all that is known is how frequent the classes are."""
    impossible = np.asarray(np.isneginf(scores).all(axis=1))
    logs = log_probabilities(np.where(impossible[:, None], 0.0, scores), rivalry)
    return np.where(impossible[:, None], np.log(shares(class_count)), logs)


class Prediction:
    """A mixin: needs `classes_`, `moments_`, `temperature_`, `_stored_model` and the row methods of GenerativeClassifier."""

    classes_: np.ndarray
    moments_: Any
    temperature_: float
    background_: float
    rivalry_: float = 1.0
    class_count_: np.ndarray
    random_state: Any
    _stored_model: Any

    def predict_joint_log_proba(self, X):
        """log p(x, y) for every row and class (without parts that no class depends on); missing cells are integrated out."""
        check_is_fitted(self)
        return self._joint(self._new_rows(X))

    def _joint(self, X) -> np.ndarray:
        if not self._stored_model.in_domain(self.moments_):  # a class or category that never occurred, without a prior
            with np.errstate(divide="ignore", invalid="ignore"):
                joint = self._stored_model.log_joint(self.moments_, X)
            return np.where((self.moments_.mass > 0) & ~np.isnan(joint), joint, -np.inf)
        return self._stored_model.scores(self.moments_, X)

    def predict_log_proba(self, X):
        """log p(y | x). Scores are first multiplied by `temperature_` where the loss does not calibrate itself, rivals of the best
        class are told apart `rivalry_` times as sharply, and the share `background_` of the class frequencies is mixed in where
        held-out rows were met with confident errors."""
        joint = self.predict_joint_log_proba(X)
        logs = log_posterior(self.temperature_ * joint, self.class_count_, self.rivalry_)
        if self.background_:
            logs = np.log((1.0 - self.background_) * np.exp(logs) + self.background_ * shares(self.class_count_))
        return logs

    def predict_proba(self, X):
        """p(y | x)."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X, cost=None):
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
            return self.classes_[self.predict_joint_log_proba(X).argmax(axis=1)]
        cost = np.asarray(cost, dtype=float)
        K = len(self.classes_)
        if cost.shape != (K, K) or not np.isfinite(cost).all():
            raise ValueError(
                f"cost has shape {cost.shape}; it must be a finite matrix of shape ({K}, {K}), true class by said class"
            )
        return self.classes_[(self.predict_proba(X) @ cost).argmin(axis=1)]

    def score_samples(self, X):
        """log p(x): the log-density of every row (of its observed cells)."""
        check_is_fitted(self)
        X = self._new_rows(X)
        return logsumexp(self._joint(X), axis=1) + self._stored_model.log_base_measure(X)

    def sample(self, n_samples=1, y=None, random_state=None):
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
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        generator = self._generator(random_state)
        if y is None:
            share = self.moments_.mass / self.moments_.mass.sum()
            outcomes = generator.choice(len(share), size=n_samples, p=share)
        else:
            outcomes = self._outcomes(y, n_samples)
        X = self._stored_model.sample(self.moments_, outcomes, generator)
        return self._unscaled(X, self._stored_model), self.classes_[outcomes]

    def impute(self, X, y=None, return_std=False):
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
        X : ndarray of shape (n_samples, n_features)
            Observed cells are what they were.
        std : ndarray of shape (n_samples, n_features)
            Only if return_std.
        """
        check_is_fitted(self)
        given, rows = self._cells(X)
        if not np.isnan(rows).any():
            return (given, np.zeros(rows.shape)) if return_std else given
        if y is None:
            joint = self._joint(rows)
            shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        else:
            shares = np.zeros((len(rows), len(self.classes_)))
            shares[np.arange(len(rows)), self._outcomes(y, len(rows))] = 1.0
        filled, std = self._stored_model.imputed(self.moments_, rows, shares)
        filled = self._filled(given, self._unscaled(filled, self._stored_model))
        return (filled, self._unscaled_std(std)) if return_std else filled

    def sample_missing(self, X, y=None, random_state=None):
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
        given, rows = self._cells(X)
        if not np.isnan(rows).any():
            return given
        generator = self._generator(random_state)
        if y is None:
            joint = self._joint(rows)
            steps = np.cumsum(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), axis=1)
            outcomes = np.minimum((generator.random((len(rows), 1)) > steps).sum(axis=1), len(self.classes_) - 1)
        else:
            outcomes = self._outcomes(y, len(rows))
        filled = self._stored_model.drawn(self.moments_, rows, outcomes, generator)
        return self._filled(given, self._unscaled(filled, self._stored_model))

    # -- parts --------------------------------------------------------------------------------------------------------

    def _new_rows(self, X):
        """Rows as the model takes them."""
        X = self._check_rows(self._validated(X, reset=False), reset=False)
        return self._scaled(X, self._stored_model)

    def _cells(self, X) -> tuple[Any, np.ndarray]:
        """X as given (dense), and its rows as the model takes them."""
        given = self._validated(X, reset=False)
        rows = self._scaled(self._check_rows(given, reset=False), self._stored_model)
        return dense(given), dense(rows)

    def _filled(self, given, filled: np.ndarray):
        """`given` with its missing cells replaced."""
        return np.where(np.isnan(given), filled, given)

    def _unscaled_std(self, std: np.ndarray) -> np.ndarray:
        return self._unscaled(std, self._stored_model)

    def _generator(self, random_state) -> np.random.Generator:
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        return np.random.default_rng(seed)

    def _outcomes(self, y, n: int) -> np.ndarray:
        """Codes of n labels, or of one label for all."""
        labels = np.broadcast_to(np.asarray(y), (n,))
        outcomes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        wrong = labels != self.classes_[outcomes]
        if wrong.any():
            raise ValueError(f"y={labels[wrong][0]!r} is not one of the classes {self.classes_!r}")
        return outcomes

    # -- what GenerativeClassifier and its subclasses fill in ---------------------------------------------------------

    def _validated(self, X, *, reset: bool):
        raise NotImplementedError

    def _check_rows(self, X, *, reset: bool):
        return X

    def _scaled(self, X, model):
        """Rows in the units the model is fitted in."""
        return X

    def _unscaled(self, X, model):
        return X
