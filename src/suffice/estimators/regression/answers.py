"""What a fitted regressor answers: densities of the target, not only its mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ...engines.threads import n_threads
from ...reading.frames_back import as_given
from ...reading.guards import one_blas_thread
from ...reading.inputs import read_targets
from ...structures.predictive import Predictive
from ..kinds import Seed


class RegressionAnswers:
    """Questions to `committee_` (or, of several targets, to one for each) about rows that `_reader_` reads."""

    _validated: Any
    _reader_: Any
    committees_: list[Any]
    chain_: list[Any]
    n_jobs: Any
    n_targets_: int

    def _rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self._reader_.rows(self._validated(self._reader_, X, reset=False))

    @property
    def _threads(self) -> int:
        return n_threads(self.n_jobs)

    def _targets(self, X: Any, y: Any) -> np.ndarray:
        y = np.asarray(y, dtype=float)
        check_consistent_length(X, y)
        if y.ndim == 2 and y.shape[1] == 1 and self.n_targets_ == 1:
            y = y[:, 0]
        if (y.ndim == 2) != (self.n_targets_ > 1) or (y.ndim == 2 and y.shape[1] != self.n_targets_):
            raise ValueError(f"y has the shape {y.shape}, but the model was fitted to {self.n_targets_} target(s)")
        return y

    def _each_target(self, function: Any) -> np.ndarray:
        """function(committee, its number), along a new axis 1 where there are several targets."""
        with one_blas_thread():
            found = [function(committee, number) for number, committee in enumerate(self.committees_)]
        return found[0] if self.n_targets_ == 1 else np.stack(found, axis=1)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of the target given each row.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            NaN, None and pandas NA are missing cells: they are integrated out.
        return_std : bool, default=False
            Whether to return the standard deviation of the target too.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of the same shape, with return_std=True
        """
        rows = self._rows(X)
        found = self._each_target(lambda committee, _: np.stack(committee.mean_and_variance(rows, self._threads)))
        if self.n_targets_ > 1:
            found = found.transpose(0, 2, 1)
        return (found[0], np.sqrt(found[1])) if return_std else found[0]

    def predict_quantiles(self, X: Any, quantiles: ArrayLike = (0.05, 0.25, 0.5, 0.75, 0.95)) -> np.ndarray:
        """The levels that the target stays below with these probabilities: ndarray of shape (n_samples, n_quantiles), with an axis for
        the targets before the last where there are several."""
        levels = np.atleast_1d(np.asarray(quantiles, dtype=float))
        if levels.ndim != 1 or not ((levels > 0) & (levels < 1)).all():
            raise ValueError(f"quantiles={quantiles!r} are not numbers between 0 and 1")
        rows = self._rows(X)
        return self._each_target(
            lambda c, _: c.over_parts(lambda p: p.quantiles(levels), rows, n_threads=self._threads)
        )

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Any:
        """The central interval that holds the target with the probability `coverage`: (lower, upper)."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage={coverage!r} is not a number between 0 and 1")
        tail = 0.5 * (1.0 - coverage)
        found = self.predict_quantiles(X, (tail, 1.0 - tail))
        return found[..., 0], found[..., 1]

    def log_density(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of each row: ndarray of shape (n_samples,). Of several targets it is that of all of them together."""
        rows, y = self._rows(X), self._targets(X, y)
        with one_blas_thread():
            if self.n_targets_ == 1:
                return self.committees_[0].log_density(rows, y, self._threads)
            total = np.zeros(len(rows))
            for number, committee in enumerate(self.chain_):
                total += committee.log_density(self._with_targets(rows, y, number), y[:, number], self._threads)
        return total

    def _with_targets(self, rows: np.ndarray, y: np.ndarray, number: int) -> np.ndarray:
        """Rows with the targets before `number`, in standard units, as their first columns."""
        before = [(y[:, j] - self.committees_[j].location) / self.committees_[j].scale for j in range(number)]
        return np.ascontiguousarray(np.column_stack([*before, rows]))

    def cdf(self, X: Any, y: Any) -> np.ndarray:
        """P(target <= y | x) of each row (of each target by itself)."""
        rows, y = self._rows(X), self._targets(X, y)
        columns = y.reshape(len(y), -1)
        return self._each_target(
            lambda c, j: c.over_parts(
                Predictive.cdf, rows, np.ascontiguousarray(columns[:, j]), n_threads=self._threads
            )
        )

    def crps(self, X: Any, y: Any) -> np.ndarray:
        """The continuous ranked probability score of each row (lower is better, in units of the target)."""
        rows, y = self._rows(X), self._targets(X, y)
        columns = y.reshape(len(y), -1)
        return self._each_target(
            lambda c, j: c.over_parts(
                Predictive.crps, rows, np.ascontiguousarray(columns[:, j]), n_threads=self._threads
            )
        )

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Seed = None) -> np.ndarray:
        """Draws of the target given each row: ndarray of shape (n_rows, n_samples), with a last axis for several targets."""
        rows = self._rows(X)
        generator = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        if self.n_targets_ == 1:
            return self.committees_[0].over_parts(lambda p: p.sample(generator, int(n_samples)), rows)
        rows = np.repeat(rows, int(n_samples), axis=0)
        y = np.empty((len(rows), self.n_targets_))
        for number, committee in enumerate(self.chain_):
            beside = self._with_targets(rows, y, number)
            y[:, number] = committee.over_parts(lambda p: p.sample(generator, 1)[:, 0], beside)
        return y.reshape(-1, int(n_samples), self.n_targets_)

    def components(self, X: Any) -> Any:
        """The predictive mixture of each row: (shares, means, variances), each ndarray of shape (n_samples, n_components of all
        members); a tuple for every target where there are several."""
        rows = self._rows(X)
        found = [committee.predictive(rows).components() for committee in self.committees_]
        return found[0] if self.n_targets_ == 1 else found

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of each row under the gates. They describe the rows best under loss="nll"; under "ncll" they serve the target."""
        rows = self._rows(X)
        return self.committees_[0].log_rows(rows, self._threads) - self._reader_.log_scale(rows)

    def impute(self, X: Any, y: Any = None) -> Any:
        """X with its missing cells at their expectation given the row, and its target where y is given; categories at their mode."""
        check_is_fitted(self)
        table = self._validated(self._reader_, X, reset=False)
        rows = self._reader_.rows(table)
        own = None
        if y is not None:
            first = self._targets(X, y).reshape(len(rows), -1)[:, 0]
            own = read_targets(first, is_whole=False, largest=np.inf, family="")
        filled = self._reader_.unscaled(self.committees_[0].imputed(rows, own))
        return as_given(X, self._reader_.filled(table, self._reader_.unread(filled)))

    def explain(self, X: Any) -> Any:
        """What each cell adds to the prediction: E[target | x] less E[target | x without the cell], exact because missing cells are
        integrated out. ndarray of shape (n_samples, n_features), with an axis 1 for several targets."""
        rows = self._rows(X)

        def of_target(committee, _):
            whole = committee.mean_and_variance(rows, self._threads)[0]
            effect = np.empty(rows.shape)
            for j in range(rows.shape[1]):
                without = rows.copy()
                without[:, j] = np.nan
                effect[:, j] = whole - committee.mean_and_variance(without, self._threads)[0]
            return self._reader_.unread_std(effect)

        return self._each_target(of_target)
