"""What all classifiers share: parameters, the straight line of a fit, streams, what is kept. No mathematics."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from typing_extensions import override

from ..choosing.recipes.base import Choice, Options, Recipe, Trained, Warm
from ..choosing.recipes.linear import Linear
from ..choosing.recipes.tables import Tables
from ..choosing.train import train
from ..engines.threads import n_threads
from ..families.rows import any_missing, empty_rows, label_masses
from ..learners.problem import Problem
from ..learners.state import Fit, Stop
from ..learners.watch import Watch
from ..losses import Loss, loss_named
from ..reading.base import Reader
from ..reading.frames import taken
from ..reading.guards import all_or_nothing, checked_weights, looking_again, one_blas_thread
from ..reading.labels import class_weights, encoded, split_labels
from . import loaded
from .answers import Answers
from .checks import check_class_prior, check_training
from .contract import Contract
from .explaining import Explains
from .kinds import Path, Seed
from .scale import scaled

ALGORITHMS = ("auto", "lbfgs", "incremental", "stochastic", "batch", "paper")
QUASI_NEWTON = ("auto", "lbfgs")  # of dense tables under the conditional likelihood


class GenerativeClassifier(Answers, Explains, Contract, ClassifierMixin, BaseEstimator):
    """Base of the classifiers: a joint distribution p(x, y), trained with one of three losses.

    A subclass says how rows are read (`_reader`), which structure they get (`_structure`), how it is trained (`_recipe`) and which
    attributes it shows (`_expose`). It may leave out rows that say nothing or join equal ones (`_rows_that_count`).
    """

    history_: Any
    n_iter_: Any
    converged_: Any
    stopped_: Any
    choice_: Any
    temperature_: float
    rivalry_: float
    background_: float

    _softness = 0.0  # of the hinge's corner
    _takes_blocks = True  # learns from data in blocks, where its recipe does
    _given: Any = None  # a choice of the prior that was made on other rows

    def __init__(
        self, *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto", step_size: float | None = None,
        max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", random_state: Seed = None, verbose: int = 0,
        warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.prior = prior
        self.algorithm = algorithm
        self.step_size = step_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.average = average
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.unlabelled_weight = unlabelled_weight
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.checkpoint_minutes = checkpoint_minutes
        self.resume = resume

    # -- hooks --------------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        """How rows are read."""
        return Reader()

    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        """The structure of rows in its units."""
        raise NotImplementedError

    def _structure_of(self, reader: Any, rows: Any, n_outcomes: int) -> Any:
        """The structure of rows as another reading of the same table has them."""
        return self._structure(reader, rows, n_outcomes, np.ones(len(rows)))

    def _recipe(self, reader: Any, structure: Any = None) -> Recipe:
        """How the structure is trained."""
        loss = self._loss()
        what = self._options(), not loss.calibrates_itself, loss.is_discriminative
        is_linear = structure is not None and loss.name == "ncll" and self.algorithm in QUASI_NEWTON
        if is_linear and all(getattr(family, "conditional", "") for family in structure.families if family.n_features):
            return Linear(*what, reader, self._structure_of if hasattr(reader, "reading") else None)
        return Tables(*what)

    def _expose(self, structure: Any, moments: Any) -> None:
        """Set the attributes that show the model."""
        raise NotImplementedError

    def _rows_that_count(self, rows: Any, codes: np.ndarray, weights: np.ndarray, loss: Loss) -> tuple[Any, ...]:
        """Rows with an observed cell: the others say nothing of p(y | x); under the likelihood their labels still count."""
        if not any_missing(rows):
            return rows, codes, weights
        empty = empty_rows(rows)
        if empty.all():
            raise ValueError("X has no observed cell: every value is missing (NaN)")
        keep = ~empty if loss.is_discriminative else ~empty | (codes >= 0)
        return (rows, codes, weights) if keep.all() else (rows[keep], codes[keep], weights[keep])

    def _check_parameters(self) -> None:
        check_training(self, ALGORITHMS)

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    @looking_again
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features), or data in blocks
            NaN, None and pandas NA are missing cells. A `suffice.files.Dataset` has its own labels; y of a dask collection is one too.
        y : array-like of shape (n_samples,)
            None or NaN: no label; so is -1 where y is of whole numbers with at least two other labels, none of them negative.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as the row twice, under every loss.

        Returns
        -------
        self
        """
        self._check_parameters()
        loss, reader, before = self._loss(), self._reader(), dict(vars(self))
        whole = scaled(self, X, y, sample_weight, labelled=True)
        if whole is not None:
            X, y, sample_weight = whole.sample.X, whole.sample.y, whole.sample.weights
        y, unlabelled = (y, None) if y is None else split_labels(y, marker=self.unlabelled)
        X, y = self._validated(reader, X, y, reset=True)
        self.classes_, codes = encoded(y, unlabelled)
        check_class_prior(self.class_prior, self.classes_)
        weights = checked_weights(sample_weight, X)
        watch = self._watch(X, codes, weights) if whole is None else whole.watch(self)
        used = np.flatnonzero(weights > 0)
        if not (codes[used] >= 0).any():
            raise ValueError("sample_weight is zero for every row: at least one row needs a positive weight")
        if len(used) < len(weights):  # a row of no weight is no row: not even its categories count
            X, codes, weights = taken(X, used), codes[used], weights[used]
        rows = reader.learn(X, self._column_names())
        weights = class_weights(self.class_weight, self.classes_, codes, weights)
        generator = np.random.default_rng(self._fit_seed(watch))
        self.class_count_: np.ndarray = label_masses(codes, weights, len(self.classes_))
        rows, codes, weights = self._rows_that_count(rows, codes, weights, loss)
        with one_blas_thread():
            problem = self._problem(reader, rows, codes, weights, loss)
            recipe = self._recipe(reader, problem.model).for_rows(problem)
            if whole is not None:
                problem = replace(problem, blocks=whole.labelled_rows(self, reader, problem.model, recipe))
                self.class_count_ = whole.class_count
            warm = self._warm(before, reader, problem.model)
            if warm is not None and warm.structure is not None:
                problem = replace(problem, model=warm.structure)
            trained = train(problem, recipe, generator, watch, warm, self._given)
        watch.close()
        self._keep(trained, reader if trained.reader is None else trained.reader, recipe)
        self._stream = recipe.stream_after(trained)
        self._finish(trained.fit, trained.choice)
        return self

    def _problem(self, reader: Any, rows: Any, codes: np.ndarray, weights: np.ndarray, loss: Loss) -> Problem:
        """Rows in the structure's units, with the structure."""
        plain = not loss.is_discriminative or self.algorithm == "paper"
        reader.settle(rows, codes, weights, len(self.classes_), is_plain=plain)
        rows = reader.scaled(rows)
        return Problem(self._structure(reader, rows, len(self.classes_), weights), rows, codes, weights, loss)

    @override
    def _fit_seed(self, watch: Watch) -> int:
        """As given; None is a seed too, so that a fit of the same rows gives the same bits."""
        return 0 if self.random_state is None else super()._fit_seed(watch)

    def _tells_classes_apart(self) -> bool:
        """Whether the loss is discriminative; an unknown one is refused by `fit`."""
        try:
            return self._loss().is_discriminative
        except ValueError:
            return True

    def _loss(self) -> Loss:
        return loss_named(self.loss, softness=self._softness)

    def _options(self) -> Options:
        return Options(
            self.prior, self.algorithm, self.step_size, self.max_epochs, self.tol, self.average, self.unlabelled_weight,
            n_threads(self.n_jobs), getattr(self, "class_weight", None) is not None,
        )  # fmt: skip

    def _warm(self, before: dict[Any, Any], reader: Any, structure: Any) -> Warm | None:
        """The last fit, where this one is to begin there."""
        if not self.warm_start or "moments_" not in before:
            return None
        return Warm(before["moments_"], before.get("_multipliers"))

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one batch of a stream.

        Under `loss="nll"` the batches give what one `fit` on all of them gives (where cells or labels are missing: one pass of EM,
        each batch completed by the model so far). Under the other losses every row is visited once, as `fit` visits it, and
        what earlier rows gave to the moments is the prior of later ones; the natural parameters are averaged. Where cells of correlated
        columns are missing, a row weighs more than the model, or `step_size` is given, mini-batches make stochastic steps from the
        model so far instead. After `fit` its prior and calibration are kept, and maximum likelihood where it kept that.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            None or NaN, or -1 if it is not one of the classes: no label.
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        loss = self._loss()
        first = not hasattr(self, "_stored_model")
        if not first:
            self._check_unchanged()
            check_class_prior(self.class_prior, self.classes_)
        reader = self._reader() if first else self._reader_
        rows, codes, weights = self._stream_rows(reader, X, y, classes, sample_weight, first, loss)
        if not weights.any():  # rows without a label that are to count nothing
            return self
        with one_blas_thread():
            if first:
                problem = self._problem(reader, rows, codes, weights, loss)
            else:
                problem = Problem(self._stored_model, reader.scaled(rows), codes, weights, loss)
            recipe = self._recipe(reader, problem.model)
            recipe.refuse_unlabelled(problem)
            if first:
                seed = 0 if self.random_state is None else check_random_state(self.random_state).randint(2**31 - 1)
                generator = np.random.default_rng(seed)
                self._stream = recipe.stream_kind.begun(problem, recipe, generator)
            else:
                self._stream = self._stream.moved(problem, recipe)
        stream, count = self._stream, label_masses(codes, weights, len(self.classes_))
        self.class_count_ = count if first else self.class_count_ + count
        self.unlabelled_weight_: float = recipe.stream_weight(loss.is_discriminative)
        choice = Choice(None, reason="partial_fit does not choose a prior") if first else self.choice_
        fit = Fit(stream.moments, n_iter=getattr(stream, "n_iter", 1)).ended(Stop.ONE_PASS)
        earlier = [] if first else self.history_.get("shortened", [])
        fit.history = {"shortened": [*earlier, stream.n_shortened]}
        self._keep(Trained(problem, fit, replace(choice, multipliers=None)), reader, recipe)
        self._finish(fit, self.choice_)
        return self

    def _stream_rows(
        self, reader: Any, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool, loss: Any
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Checked rows, codes of their labels (-1: none) and weights; the first batch fixes the classes."""
        if getattr(self, "class_weight", None) == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all rows at once: give weights {label: weight} for a stream"
            )
        known = self.classes_ if not first else None if classes is None else np.unique(classes)
        y, unlabelled = split_labels(y, known, self.unlabelled)
        X, y = self._validated(reader, X, y, reset=first)
        if known is None:
            raise ValueError("classes=None in the first call of partial_fit: give all labels that will occur")
        if not first and classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes={classes!r} is not the same as in the first call of partial_fit: {known!r}")
        _, codes = encoded(y, unlabelled, known)
        if first and unlabelled.all():
            raise ValueError("y has no label in the first batch of the stream: begin with labelled rows")
        if first:
            self.classes_: np.ndarray = known
            check_class_prior(self.class_prior, self.classes_)
        rows = reader.learn(X, self._column_names()) if first else reader.read(X)
        if first and any_missing(rows) and empty_rows(rows).all():
            raise ValueError("X has no observed cell in the first batch of the stream: every value is missing (NaN)")
        weights = checked_weights(sample_weight, rows)
        weights = class_weights(getattr(self, "class_weight", None), self.classes_, codes, weights)
        counts = self._recipe(reader).stream_weight(loss.is_discriminative)
        weights = np.where(unlabelled, counts * weights, weights)
        if first and not weights[~unlabelled].any():
            raise ValueError("sample_weight is zero for every labelled row of the first batch of the stream")
        return rows, codes, weights

    # -- what is kept -------------------------------------------------------------------------------------------------

    def _keep(self, trained: Trained, reader: Any, recipe: Recipe) -> None:
        """Fitted attributes, set only when training has succeeded."""
        structure, fit, choice = trained.problem.model, trained.fit, trained.choice
        self._note_built()
        self._reader_, self._stored_model, self.moments_ = reader, structure, fit.moments
        self._answering = trained.answering or recipe.answering(structure)
        if self.class_prior is not None:
            self.moments_: Any = replace(fit.moments, mass=recipe.with_class_prior(fit.moments.mass, self.class_prior))
        self.history_, self.n_iter_, self.converged_ = fit.history, fit.n_iter, fit.converged
        self.stopped_, self.choice_ = fit.stopped, choice
        self.temperature_, self.rivalry_, self.background_ = choice.temperature, choice.rivalry, choice.background
        self.unlabelled_weight_ = (
            getattr(self, "unlabelled_weight_", 0.0) if fit.stop == "ONE_PASS" else trained.unlabelled_weight
        )
        self._multipliers = fit.multipliers if self.warm_start else None

    def _finish(self, fit: Fit, choice: Choice) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            self.natural_: Any = self._stored_model.natural_of(self.moments_)
            self._expose(self._stored_model, self.moments_)
        if not fit.converged and self.algorithm != "paper":
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {fit.stopped}. Raise max_epochs, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    @property
    def _statistics(self) -> Any:
        """Sums over the labelled rows."""
        return self._stream.statistics

    def _check_loaded(self) -> None:
        loaded.check_classifier(self)

    def _template(self, rows: Any) -> Any:
        """The structure of such rows that this estimator builds: what a file must hold."""
        return self._structure(self._reader_, rows, len(self.classes_), np.ones(rows.shape[0]))

    def __sklearn_tags__(self) -> Any:
        return self._tagged(super().__sklearn_tags__(), self._reader())
