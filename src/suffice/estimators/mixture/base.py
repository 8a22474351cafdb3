"""What all mixtures share: reading rows, starts, learners, streams. No mathematics."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from typing_extensions import override

from ...engines.threads import Engine, n_threads
from ...learners.driver import Fit
from ...learners.em import MixtureProblem
from ...learners.expectation import Rows
from ...learners.online import begun, stream
from ...learners.starts import STARTS
from ...reading.base import Reader
from ...reading.frames import taken
from ...reading.guards import all_or_nothing, checked_weights, looking_again, one_blas_thread
from ...reading.labels import checked_labels
from ...saving.schema import require
from .. import loaded
from ..checks import check_jobs, check_one_of, check_positive, check_tol, check_whole, is_number, is_whole
from ..contract import Contract
from ..kinds import Path, Seed
from ..scale import RowsOf, refuse, scaled, shell_of
from ..warm import last_fit
from .answers import Answers
from .cells import CellAnswers
from .runs import Runs

ALGORITHMS = ("em", "accelerated", "online", "variational")


class Mixture(Answers, CellAnswers, Runs, Contract, DensityMixin, BaseEstimator):
    """Base of the mixtures. A subclass says how rows are read (`_reader`), which structure they get (`_structure`) and what it shows
    (`_expose`, `_n_parameters`)."""

    n_iter_: int
    converged_: bool
    stopped_: str
    reseeded_: Any

    _estimator_type = "density_estimator"

    def __init__(
        self, n_components: int | str = 1, *, tol: float = 1e-3, max_iter: int = 100, n_init: int = 1, init_params: str = "kmeans",
        prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None,
        weight_concentration_prior: float | None = None, n_jobs: int | None = None, random_state: Seed = None,
        warm_start: bool = False, verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None, n_members: int | str = "auto",
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.n_members = n_members
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.prior = prior
        self.algorithm = algorithm
        self.batch_size = batch_size
        self.weight_concentration_prior = weight_concentration_prior
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        """How rows are read."""
        raise NotImplementedError

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        raise NotImplementedError

    def _expose(self, structure: Any, moments: Any) -> None:
        """Set the attributes that show the components."""
        raise NotImplementedError

    @override
    def _n_parameters(self) -> int:
        raise NotImplementedError

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, labels: Any = None) -> Self:
        """Learn from rows X.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), or data in blocks
            NaN, None and pandas NA are missing cells: latent variables, never dropped rows. A `suffice.files.Dataset` or a dask
            collection need not fit in memory.
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as the row twice.
        labels : array-like of shape (n_samples,), default=None
            The components of rows where they are known: 0 .. n_components - 1; -1 or NaN where they are not.

        Returns
        -------
        self
        """
        self._fit(X, sample_weight, labels)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, labels: Any = None
    ) -> np.ndarray:
        """Learn from rows X and return their most probable components."""
        return self.fit(X, sample_weight=sample_weight, labels=labels).predict(X)

    @looking_again
    def _fit(self, X: Any, sample_weight: Any, labels: Any) -> None:
        self._check_parameters()
        last, reader = last_fit(self), self._reader()
        whole = scaled(self, X, None, sample_weight, labelled=False)
        if whole is not None:
            if self.algorithm not in ("em", "accelerated") or labels is not None or self.n_members not in (1, "auto"):
                refuse(self, whole.data)
            X, sample_weight = whole.sample.X, whole.sample.weights
        X = self._validated(reader, X, reset=True)
        watch = self._watch(X, sample_weight, labels) if whole is None else whole.watch(self)
        rows, weights, labels = self._training_rows(reader, X, sample_weight, labels, reset=True)
        generator = np.random.default_rng(self._fit_seed(watch))
        engine = Engine(n_threads(self.n_jobs))
        with one_blas_thread(), engine.open():
            all_rows = None if whole is None else partial(whole.rows, RowsOf(shell_of(self), reader))
            problem, fit = self._members(reader, rows, weights, labels, generator, last, watch, engine, all_rows)
        watch.close()
        self._reader_ = reader
        self._keep(problem, fit)
        self._stream: Any = None

    def _keep(self, problem: Any, fit: Fit) -> None:
        model = problem.model
        self._stored_model, self.moments_ = model, fit.moments
        self.__dict__.pop("posterior_", None)
        if self.algorithm == "variational":
            self.posterior_: Any = fit.moments
            self.moments_: Any = problem.prior.mean_moments(fit.moments)
        base = problem.rows.mean_base_measure()
        assert fit.measure is not None and fit.first is not None
        self.lower_bounds_: list[Any] = [base - value for value in (fit.history["nll"] if fit.history else [])]
        self.lower_bound_: float = base - fit.measure.nll
        self.lower_bounds_.insert(0, base - fit.first.nll)
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged
        self.history_: dict[str, list[Any]] = {
            name: values for name, values in fit.history.items() if np.isfinite(values).any()
        }
        self.stopped_, self.reseeded_ = fit.stopped, list(getattr(fit.memory, "reseeded", ()))
        self._finish(model)
        if not fit.converged and self.algorithm != "online":
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {fit.stopped}. Raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _finish(self, model: Any) -> None:
        self._note_built()
        self.weights_: np.ndarray = self.moments_.mass / self.moments_.mass.sum()
        self.n_components_: int = len(self.weights_)
        self._expose(model, self.moments_)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one batch of a stream (stepwise EM); the first batch also finds the start, so it should not be small.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        first, begins = getattr(self, "_stream", None) is None, not hasattr(self, "moments_")
        if begins and not self._is_plain:
            return self.fit(X, sample_weight=sample_weight)
        if not begins:
            self._check_unchanged()
        reader = self._reader() if begins else self._reader_
        X = self._validated(reader, X, reset=begins)
        rows, weights, labels = self._training_rows(reader, X, sample_weight, None, reset=begins)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        engine = Engine(n_threads(self.n_jobs))
        with one_blas_thread(), engine.open():
            if begins:
                model = self._centred(self._structure(reader, rows, self.n_components, weights), rows, weights)
                problem = MixtureProblem(Rows(model.form(rows), weights, labels, engine=engine), None)
                statistics = self._start_statistics(problem, generator)
                prior = self._component_prior(model, statistics)
                problem = replace(problem, prior=prior, reseeds=prior.amount > 0)
                state = begun(problem, prior.posterior(statistics), self._batch_rows(), generator, self.max_iter)
            else:
                model = self._stored_model
                problem = MixtureProblem(Rows(model.form(rows), weights, labels, engine=engine), None)
                if first:  # goes on from a fit
                    prior = self._component_prior(model, self.moments_)
                    state = begun(replace(problem, prior=prior), self.moments_, self._batch_rows(), generator, 1)
                else:
                    state = stream(replace(problem, prior=self._stream.prior), self._stream, self._batch_rows())
        self._reader_, self._stored_model, self._stream = reader, model, state
        self.moments_ = state.shown()
        self.__dict__.pop("posterior_", None)
        self.n_iter_, self.converged_, self.stopped_ = state.n_steps, True, "one pass over the batch"
        self.history_, self.reseeded_ = {}, []
        self.lower_bound_ = state.mean_log_likelihood + problem.rows.mean_base_measure()
        self.lower_bounds_ = [self.lower_bound_]
        self._finish(model)
        return self

    # -- parts --------------------------------------------------------------------------------------------------------

    def _training_rows(self, reader: Any, X: Any, sample_weight: Any, labels: Any, *, reset: bool) -> Any:
        weights = checked_weights(sample_weight, X)
        least = 1 if self._is_auto else self.n_components
        if labels is not None and not self._is_plain:
            raise ValueError("labels are of the components of one mixture: give n_components, and n_members=1")
        labels, self._has_labels = checked_labels(labels, X.shape[0], least)
        if (weights == 0).all():
            raise ValueError("sample_weight is zero for every row: at least one row needs a positive weight")
        if (weights == 0).any():
            keep = np.flatnonzero(weights > 0)
            X = taken(X, keep)
            weights, labels = weights[keep], labels[keep]
        rows = reader.scaled(reader.learn(X, self._column_names())) if reset else reader.rows(X)
        if reset and X.shape[0] < least:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {least}, n_samples = {X.shape[0]}"
            )
        return rows, weights, labels

    def _check_parameters(self) -> None:
        for name in ("n_components", "n_members"):
            check_whole(name, getattr(self, name), auto=True)
        for name in ("max_iter", "n_init"):
            check_whole(name, getattr(self, name))
        check_one_of("algorithm", self.algorithm, ALGORITHMS)
        check_one_of("init_params", self.init_params, STARTS)
        check_tol(self.tol)
        if self.prior != "auto" and not (is_number(self.prior) and 0 <= self.prior < np.inf):
            raise ValueError(f"prior={self.prior!r} is neither a number of pseudo-rows >= 0 nor 'auto'")
        check_positive("weight_concentration_prior", self.weight_concentration_prior, none=True)
        check_whole("batch_size", self.batch_size, none=True)
        check_jobs(self.n_jobs)
        if self.algorithm == "variational" and not self._is_plain:
            raise ValueError(
                "algorithm='variational' empties the components that the rows do not need by itself: give n_components as the most "
                "there may be, and n_members=1"
            )

    def _check_loaded(self) -> None:
        loaded.check_mixture(self)

    def _template(self, rows: Any) -> Any:
        """The structure of such rows that this estimator builds: what a file must hold."""
        return self._structure(self._reader_, rows, self._size(), np.ones(rows.shape[0]))

    def _size(self) -> int:
        """The components of the mixture that answers: those of all members."""
        found = self.n_components if self._is_plain else self.n_components_
        require(is_whole(found), f"n_components_ must be a positive whole number, and is {found!r}")
        return int(found)

    @override
    def _report(self, number: int, line: dict[Any, Any]) -> None:
        text = f"{type(self).__name__} pass {number}: mean log-likelihood {-line['nll']:.6f}, {line['seconds']:.1f} s"
        print(text, flush=True)

    def __sklearn_tags__(self) -> Any:
        tags = self._tagged(super().__sklearn_tags__(), self._reader())
        # scikit-learn's check of sparse rows asks these of anything with `predict_proba`, and then for two columns or four
        tags.classifier_tags = ClassifierTags(multi_class=self.n_components == 4)
        return tags
