"""Mixtures of linear experts as a regressor: parameters, the line of a fit, streams. No mathematics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_consistent_length
from typing_extensions import override

from ...choosing.recipes.experts import StackedExperts
from ...engines.threads import n_threads
from ...families.categorical import Categorical
from ...families.gaussian_diagonal import GaussianDiagonal
from ...families.poisson import Poisson
from ...learners.expert_stream import moved
from ...learners.experts import ExpertSetting, fitted
from ...learners.starts import distinct
from ...learners.watch import Watch
from ...reading.frames import taken
from ...reading.guards import all_or_nothing, checked_weights, naming, one_blas_thread
from ...reading.inputs import Inputs, read_targets
from ...structures.committee import Committee, Member
from ...structures.experts import Experts
from ...structures.joint import Joint
from ...structures.targets import TARGETS
from ..checks import check_jobs, check_one_of, check_tol, check_whole, is_number
from ..contract import Contract
from .answers import RegressionAnswers


class MixtureRegressor(RegressionAnswers, Contract, RegressorMixin, BaseEstimator):
    """Regression with a predictive density: gates p(z) p(x | z) and linear experts p(y | x, z), trained by log p(y | x).

    For tables of numbers, categories and counts where the spread, the shape or the number of peaks of the target depends on the row,
    where cells are missing (they are integrated out, in training and in prediction), or where an interval is wanted and not only a
    mean. Several such mixtures are fitted to parts of the rows and mixed by their held-out log density.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Components of each mixture. "auto" stacks mixtures of 1 to 32.
    loss : {"ncll", "nll"}, default="ncll"
        "ncll" fits log p(y | x), "nll" the joint log p(x, y) (a density of the rows too, and a worse one of the target).
    family : {"gaussian", "poisson", "negative_binomial", "bernoulli"}, default="gaussian"
        What the target is given a row and a component: a number, a count, or 0 and 1.
    kinds : dict {column: kind}, list of kinds, one kind or "auto", default="auto"
        "gaussian", "categorical", "bernoulli" or "count". By default columns of numbers are "gaussian" and all others categories.
    n_members : int or "auto", default="auto"
        Fits of every candidate, each on all rows but one part; 1 is a single fit to all rows, with nothing held out.
    max_iter : int, default=100
        Steps of L-BFGS in each fit.
    tol : float, default=1e-6
        Relative decrease of the objective that ends a fit.
    unlabelled_weight : float or "auto", default="auto"
        Weight of rows whose target is missing (NaN). "auto" is 1 under "nll", and 0 under "ncll", which says nothing of p(x).
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : int, default=0
    checkpoint, checkpoint_minutes, resume
        A file from which an interrupted fit goes on, as for all estimators.

    Attributes
    ----------
    committees_ : list of Committee
        The mixture of mixtures of each target.
    choice_ : str
        What was chosen.
    candidates_ : list of dict
        Every candidate with its held-out log density and its weight.
    held_out_log_density_ : float
        Mean held-out log density of the stack, of the (first) target; NaN where nothing was held out.
    n_features_in_, feature_names_in_, n_targets_

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.regression import MixtureRegressor
    >>> generator = np.random.default_rng(0)
    >>> X = generator.uniform(-2, 2, (300, 1))
    >>> y = np.abs(X[:, 0]) + (0.05 + 0.2 * (X[:, 0] > 0)) * generator.normal(size=300)
    >>> model = MixtureRegressor(4, n_members=1, random_state=0).fit(X, y)
    >>> mean, std = model.predict([[-1.0], [1.0]], return_std=True)
    >>> bool(std[1] > 2 * std[0])
    True
    >>> lower, upper = model.predict_interval([[1.0]], coverage=0.9)
    >>> bool(lower[0] < 1.0 < upper[0])
    True
    """

    def __init__(
        self, n_components="auto", *, loss="ncll", family="gaussian", kinds="auto", n_members="auto", max_iter=100, tol=1e-6,
        unlabelled_weight="auto", random_state=None, n_jobs=None, verbose=0, checkpoint=None, checkpoint_minutes=3.0,
        resume=None,
    ):  # fmt: skip
        self.n_components = n_components
        self.loss = loss
        self.family = family
        self.kinds = kinds
        self.n_members = n_members
        self.max_iter = max_iter
        self.tol = tol
        self.unlabelled_weight = unlabelled_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
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

    def _learn(self, reader: Inputs, X, y: np.ndarray, weights: np.ndarray, watch: Watch) -> None:
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

    def _committee(self, rows, y, weights, generator, watch: Watch, n_more: int = 0) -> tuple[Committee, tuple]:
        """The committee of one target, and (what was chosen, all candidates, held-out log density)."""
        target = TARGETS[self.family]()
        seen = ~np.isnan(y)
        share = self._unlabelled_share()
        if not seen.all():
            weights = np.where(seen, weights, share * weights)
            keep = np.flatnonzero(weights > 0)
            rows, y, weights, seen = rows[keep], y[keep], weights[keep], seen[keep]
        location, scale = 0.0, 1.0
        if not target.is_whole:
            location, scale = units_of(y[seen], weights[seen])
            y = (y - location) / scale
        rows = np.ascontiguousarray(rows)
        structure = Experts.of(self._gates(n_more), rows, target)
        whole = structure.rows(rows, y, weights)
        if self.n_members == 1:
            setting = self._single(len(y))
            fit = fitted(structure, whole, setting, self.loss == "ncll", generator, watch, self.tol)
            own = Member(structure.with_outcomes(setting.n_components), fit.moments, 1.0)
            self.history_, self.n_iter_, self.stopped_ = fit.history, fit.n_iter, fit.stopped
            return Committee([own], location, scale), (f"one fit of {setting.n_components} components", [], np.nan)
        recipe = StackedExperts(
            self.n_components, self.n_members, self.max_iter, self.tol, self.loss == "ncll", n_threads(self.n_jobs)
        )
        committee, stack = recipe.trained(structure, rows, y, weights, generator, watch)
        committee = replace(committee, location=location, scale=scale)
        shown = [
            {**vars(c), "held_out_log_density": density - np.log(scale), "weight": w} for c, density, w in stack.tried
        ]
        if self.verbose:
            for each in shown:
                print(f"{type(self).__name__} candidate {each}", flush=True)
        text = (
            f"{len(stack.candidates)} of {len(stack.tried)} candidates, {len(stack.fits[0])} fits each, by held-out log density; "
            f"width {committee.width:.2f} by held-out coverage"
        )
        return committee, (text, shown, stack.held_out - np.log(scale))

    def _single(self, n_rows: int) -> ExpertSetting:
        K = 8 if isinstance(self.n_components, str) else self.n_components
        return ExpertSetting(min(K, max(1, n_rows // 3)), steps=self.max_iter)

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

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None):
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
            self.committees_ = [self._moved(c, rows, columns[:, j], weights) for j, c in enumerate(self.committees_)]
            if self.n_targets_ > 1:
                after = enumerate(self.chain_[1:], start=1)
                chain = [self._moved(c, self._with_targets(rows, columns, j), columns[:, j], weights) for j, c in after]
                self.chain_ = [self.committees_[0], *chain]
        self._seen += float(weights.sum())
        return self

    def _moved(self, committee: Committee, rows, y, weights) -> Committee:
        seen = ~np.isnan(y)
        weights = np.where(seen, weights, self._unlabelled_share() * weights)
        keep = np.flatnonzero(weights > 0)
        if not len(keep):
            return committee
        y = (y - committee.location) / committee.scale
        own = rows[keep], y[keep], weights[keep], self._seen, self.loss == "ncll"
        return replace(
            committee, members=[replace(m, moments=moved(m.structure, m.moments, *own)) for m in committee.members]
        )

    # -- parts --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Inputs:
        return Inputs(self.kinds)

    def _unlabelled_share(self) -> float:
        if isinstance(self.unlabelled_weight, str):
            return 0.0 if self.loss == "ncll" else 1.0
        return float(self.unlabelled_weight)

    def _training_data(self, reader, X, y, sample_weight, *, reset: bool):
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = self._validated(reader, X, reset=reset)
        target = TARGETS[self.family]
        y = read_targets(y, is_whole=target.is_whole, largest=target.largest, family=self.family)
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

    def _check_parameters(self) -> None:
        check_whole("n_components", self.n_components, auto=True)
        check_whole("n_members", self.n_members, auto=True)
        check_whole("max_iter", self.max_iter)
        check_one_of("loss", self.loss, ("ncll", "nll"))
        check_one_of("family", self.family, tuple(TARGETS))
        check_tol(self.tol)
        check_jobs(self.n_jobs)
        weight = self.unlabelled_weight
        if not (0 <= weight < np.inf if is_number(weight) else isinstance(weight, str) and weight == "auto"):
            raise ValueError(f"unlabelled_weight={weight!r} is neither a number >= 0 nor 'auto'")

    @override
    def __sklearn_tags__(self):
        tags = self._tagged(super().__sklearn_tags__(), self._reader())
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = self.family != "gaussian"
        tags.target_tags.positive_only = self.family != "gaussian"
        return tags


def joined_rows(rows: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equal rows of equal targets as one of their total weight, so that a row of weight 2 is the row twice to the last bit."""
    n_columns = rows.shape[1]
    both = np.ascontiguousarray(np.column_stack([rows, y]))
    both, _, weights = distinct(both, np.zeros(len(both)), weights)
    targets = both[:, n_columns:]
    return np.ascontiguousarray(both[:, :n_columns]), targets[:, 0] if y.ndim == 1 else targets, weights


def units_of(y: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Weighted mean and deviation (1 where all targets are equal)."""
    total = float(weights.sum())
    mean = float(weights @ y) / total
    deviation = float(np.sqrt(weights @ (y - mean) ** 2 / total))
    return mean, deviation if deviation > 1e-12 * abs(mean) else max(abs(mean), 1.0) if mean else 1.0
