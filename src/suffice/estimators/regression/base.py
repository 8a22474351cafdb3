"""What all regressors share: reading rows and targets, the line of a fit, one model for each target. No mathematics."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_consistent_length

from ...choosing.recipes.base import MAX_ROWS
from ...families.categorical import Categorical
from ...families.gaussian_diagonal import GaussianDiagonal
from ...families.poisson import Poisson
from ...learners.starts import copies_to_deal, distinct
from ...learners.watch import Watch
from ...reading.frames import taken
from ...reading.guards import all_or_nothing, checked_weights, naming, one_blas_thread
from ...reading.inputs import Inputs, read_targets
from ...structures.joint import Joint
from ...structures.targets import GaussianTarget
from .. import loaded_others
from ..contract import Contract
from .answers import RegressionAnswers


class Regressor(RegressionAnswers, Contract, RegressorMixin, BaseEstimator):
    """Base of the regressors. A subclass fits one target (`_committee`) and moves it by a batch (`_moved`)."""

    kinds_: dict[str, str]
    n_targets_: int
    choice_: Any
    candidates_: Any
    held_out_log_density_: Any

    kinds: Any

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _committee(
        self, rows: Any, y: Any, weights: np.ndarray, generator: np.random.Generator, watch: Watch, n_more: int = 0
    ) -> tuple[Any, tuple[Any, ...]]:
        """What answers for one target, and (what was chosen, all candidates, held-out log density)."""
        raise NotImplementedError

    def _moved(self, committee: Any, rows: Any, y: Any, weights: np.ndarray) -> Any:
        """What answers after one more batch."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        raise NotImplementedError

    @property
    def _target(self) -> Any:
        return GaussianTarget

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows X and targets y.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            NaN, None and pandas NA are missing cells.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            NaN is a row without a target (see `unlabelled_weight`).
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as the row twice.

        Returns
        -------
        self
        """
        self._check_parameters()
        reader = self._reader()
        X, y, weights = self._training_data(reader, X, y, sample_weight, reset=True)
        watch = self._watch(X, y, weights)
        self._learn(reader, X, y, weights, watch)
        watch.close()
        return self

    def _learn(self, reader: Inputs, X: Any, y: np.ndarray, weights: np.ndarray, watch: Watch) -> None:
        rows = reader.learn(X, self._column_names())
        rows, y, weights = joined_rows(rows, y, weights)
        reader.settle(rows, y, weights, 1, is_plain=True)
        rows = reader.scaled(rows)
        generator = np.random.default_rng(self._fit_seed(watch))
        self._reader_, self.kinds_, self.n_targets_ = reader, reader.kinds, 1 if y.ndim == 1 else y.shape[1]
        columns = y.reshape(len(rows), -1)
        self.committees_, self.chain_, choices = [], [], []
        with one_blas_thread():
            for number in range(self.n_targets_):
                committee, choice = self._committee(
                    rows, columns[:, number], weights, generator, watch.child(f"y{number}")
                )
                self.committees_.append(committee)
                choices.append(choice)
            for number in range(self.n_targets_ if self.n_targets_ > 1 else 0):
                if number == 0:
                    self.chain_.append(self.committees_[0])
                    continue
                beside = self._with_targets(rows, columns, number)
                found = self._committee(
                    beside, columns[:, number], weights, generator, watch.child(f"joint{number}"), number
                )
                self.chain_.append(found[0])
        self.choice_, self.candidates_, self.held_out_log_density_ = choices[0]
        self._seen = float(weights.sum())

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one batch of a stream; the first batch also chooses the mixtures, so it should not be small.

        Later batches move every mixture by a few natural-gradient steps, shorter as more rows have been seen.
        """
        self._check_parameters()
        if not hasattr(self, "committees_"):
            return self.fit(X, y, sample_weight)
        X, y, weights = self._training_data(self._reader_, X, y, sample_weight, reset=False)
        rows, columns = self._reader_.rows(X), y.reshape(len(y), -1)
        if columns.shape[1] != self.n_targets_:
            raise ValueError(f"y has {columns.shape[1]} targets, but the model was fitted to {self.n_targets_}")
        with one_blas_thread():
            self.committees_: list[Any] = [
                self._moved(c, rows, columns[:, j], weights) for j, c in enumerate(self.committees_)
            ]
            if self.n_targets_ > 1:
                after = enumerate(self.chain_[1:], start=1)
                chain = [self._moved(c, self._with_targets(rows, columns, j), columns[:, j], weights) for j, c in after]
                self.chain_: list[Any] = [self.committees_[0], *chain]
        self._seen += float(weights.sum())
        return self

    # -- parts --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Inputs:
        return Inputs(self.kinds)

    def _gates(self, n_more: int = 0) -> Joint:
        """Gates of one outcome over the columns of the reader, after `n_more` numbers."""
        numbers, categories, counts = (len(names) for names in self._reader_.named)
        families: list[Any] = []
        if numbers + n_more:
            families.append(GaussianDiagonal(1, numbers + n_more, np.zeros(numbers + n_more)))
        if categories:
            families.append(Categorical(1, categories, self._reader_.n_categories))
        if counts:
            families.append(Poisson(1, counts))
        return Joint.of(*families)

    def _training_data(self, reader: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> Any:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._validated(reader, X, reset=reset)
        target = self._target
        y = read_targets(y, is_whole=target.is_whole, largest=target.largest, family=target.name)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] == 0):
            raise ValueError(f"y has the shape {y.shape}: it must be one column of targets, or one for each target")
        with naming("X and y"):
            check_consistent_length(X, y)
        if y.ndim == 2 and reset and np.isnan(y).all(axis=0).any():
            raise ValueError(f"y has no target in column {int(np.isnan(y).all(axis=0).argmax())}")
        weights = checked_weights(sample_weight, X)
        used = np.flatnonzero(weights > 0)
        if not len(used) or np.isnan(y[used]).all():
            raise ValueError("sample_weight is zero for every row with a target: at least one needs a positive weight")
        if reset and len(used) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two rows, but there is {len(used)} sample (n_samples = 1)"
            )
        if len(used) < len(weights):
            X, y, weights = taken(X, used), y[used], weights[used]
        return X, y, weights

    def _check_loaded(self) -> None:
        loaded_others.check_regressor(self)

    def __sklearn_tags__(self) -> Any:
        tags = self._tagged(super().__sklearn_tags__(), self._reader())
        tags.target_tags.multi_output = True
        return tags


def joined_rows(rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows of equal targets as one of their total weight, so that a row of weight 2 is the row twice to the last bit; one by one
    again where the columns have few values."""
    n_columns = rows.shape[1]
    both = np.ascontiguousarray(np.column_stack([rows, y]))
    both, _, weights = distinct(both, np.zeros(len(both)), weights)
    rows, targets = np.ascontiguousarray(both[:, :n_columns]), both[:, n_columns:]
    copies = copies_to_deal(rows, weights, MAX_ROWS)
    rows, targets, weights = (np.repeat(own, copies, axis=0) for own in (rows, targets, weights / copies))
    return rows, targets[:, 0] if y.ndim == 1 else targets, weights


def units_of(y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Weighted mean and deviation (1 where all targets are equal)."""
    total = float(weights.sum())
    mean = float(weights @ y) / total
    deviation = float(np.sqrt(weights @ (y - mean) ** 2 / total))
    return mean, deviation if deviation > 1e-12 * abs(mean) else max(abs(mean), 1.0) if mean else 1.0
