"""What a fitted mixture answers: components, densities, samples, missing cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ...engines.threads import Engine, n_threads, shards
from ...learners.expectation import Rows
from ...losses.base import posteriors
from ...reading.frames_back import as_given
from ...reading.guards import one_blas_thread
from ...structures.groups import drawn
from ..kinds import Seed
from ..lazily import by_blocks, summed

CELLS = 1 << 24  # rows times components that are held at once


class Answers:
    """A mixin of Mixture."""

    weights_: np.ndarray
    moments_: Any
    n_jobs: int | None
    random_state: Any
    _stored_model: Any
    _reader_: Any
    _framed: Any  # Contract's
    _validated: Any
    _n_parameters: Any  # Mixture's

    @by_blocks
    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log p(x, component) of every row; missing cells are integrated out."""
        check_is_fitted(self)
        rows = self._rows(X)
        return self._joint(rows) + np.reshape(self._base(rows), (-1, 1))

    @by_blocks
    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probabilities of the components."""
        check_is_fitted(self)
        joint = self._joint(self._rows(X))
        return posteriors(joint, self.weights_)

    @by_blocks
    def predict(self, X: Any) -> np.ndarray:
        """The most probable component of every row."""
        check_is_fitted(self)
        return self._joint(self._rows(X)).argmax(axis=1)

    @by_blocks
    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of every row (of its observed cells)."""
        check_is_fitted(self)
        rows = self._rows(X)
        step = max(1, CELLS // len(self.weights_))
        return np.concatenate([self._log_rows(rows[part]) for part in shards(rows.shape[0], step)])

    @summed
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """The mean of `score_samples`."""
        return float(
            np.average(self.score_samples(X), weights=None if sample_weight is None else np.asarray(sample_weight))
        )

    def bic(self, X: Any) -> float:
        """Bayesian information criterion: lower is better."""
        scores = self.score_samples(X)
        return float(-2 * scores.sum() + self._n_parameters() * np.log(len(scores)))

    def aic(self, X: Any) -> float:
        """Akaike information criterion: lower is better."""
        return float(-2 * self.score_samples(X).sum() + 2 * self._n_parameters())

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Any:
        """Draw rows and their components, in the order of the components (as scikit-learn does).

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"Invalid value for 'n_samples': {n_samples!r}; it must be at least 1")
        generator = self._generator(random_state)
        outcomes = np.sort(generator.choice(len(self.weights_), size=n_samples, p=self.weights_))
        X = self._stored_model.sample(self.moments_, outcomes, generator)
        return self._framed(self._reader_.unread(X)), outcomes

    def impute(self, X: Any, return_std: bool = False) -> Any:
        """Fill missing cells with their expectation given the observed cells of the row (categories: the most probable one).

        With `return_std` also the standard deviations of the cells: 0 where they were observed.
        """
        check_is_fitted(self)
        given, rows = self._reader_.cells(self._validated(self._reader_, X, reset=False))
        if not np.isnan(rows).any():
            return (as_given(X, given), np.zeros(rows.shape)) if return_std else as_given(X, given)
        found = [self._stored_model.imputed(self.moments_, *part) for part in self._with_shares(rows)]
        filled, std = (np.concatenate(parts) for parts in zip(*found, strict=True))
        filled = as_given(X, self._reader_.filled(given, self._reader_.unread(filled)))
        return (filled, self._reader_.unread_std(std)) if return_std else filled

    def sample_missing(self, X: Any, random_state: Seed = None) -> Any:
        """Fill missing cells with draws from p(missing | observed), those of a row together: multiple imputation in one call each.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        random_state : int, RandomState instance or None, default=None
            None takes the estimator's own.
        """
        check_is_fitted(self)
        given, rows = self._reader_.cells(self._validated(self._reader_, X, reset=False))
        if not np.isnan(rows).any():
            return as_given(X, given)
        generator, parts = self._generator(random_state), []
        for part, shares in self._with_shares(rows):
            outcomes = drawn(shares, generator)
            parts.append(self._stored_model.drawn(self.moments_, part, outcomes, generator))
        return as_given(X, self._reader_.filled(given, self._reader_.unread(np.concatenate(parts))))

    def _with_shares(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows and their posteriors of the components, part by part."""
        for part in shards(len(rows), max(1, CELLS // len(self.weights_))):
            yield rows[part], posteriors(self._joint(rows[part]), self.weights_)

    def _log_rows(self, rows: Any) -> np.ndarray:
        """(n,) array: log p(x)."""
        return logsumexp(self._joint(rows), axis=1) + self._base(rows)

    def _rows(self, X: Any) -> Any:
        return self._reader_.rows(self._validated(self._reader_, X, reset=False))

    def _joint(self, rows: Any) -> np.ndarray:
        form = self._stored_model.form(rows)
        nothing = np.zeros(rows.shape[0])
        with one_blas_thread():
            return Rows(form, nothing, nothing, engine=Engine(n_threads(self.n_jobs))).scores(
                form.coefficients(self.moments_)
            )

    def _base(self, rows: Any) -> Any:
        return self._stored_model.log_base_measure(rows)

    def _generator(self, random_state: Any) -> np.random.Generator:
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        return np.random.default_rng(seed)
