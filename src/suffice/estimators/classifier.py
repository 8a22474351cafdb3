"""What all classifiers share: parameters, validation, labels, what they keep. No mathematics."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import validate_data

from ..choosing.selection import Choice
from ..families.completion import any_missing
from ..families.rows import empty_rows, label_masses
from ..learners.driver import Fit, Problem
from ..learners.step_sizes import step_size_of
from ..losses import LOSSES, Loss
from ..reading.guards import all_or_nothing, checked_weights, naming, one_blas_thread, refuse_huge
from ..reading.labels import class_weights, encoded, is_missing, split_labels
from .answers import Prediction
from .streaming import Streaming
from .training import Training

ALGORITHMS = ("auto", "incremental", "stochastic", "batch", "paper")


class GenerativeClassifier(Training, Prediction, Streaming, ClassifierMixin, BaseEstimator):
    """Base of the classifiers: a joint distribution p(x, y), trained with one of three losses.

    Subclasses say how rows are checked (`_check_rows`), which model they are of (`_model`) and which attributes they show (`_expose`).
    """

    _softness = 0.0  # of the hinge's corner

    def __init__(
        self,
        *,
        loss="ncll",
        prior="auto",
        algorithm="auto",
        step_size=None,
        max_epochs=100,
        tol=1e-3,
        average=True,
        class_prior=None,
        class_weight=None,
        unlabelled_weight="auto",
        random_state=None,
        verbose=0,
        warm_start=False,
        n_jobs=None,
    ):
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
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.n_jobs = n_jobs

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            NaN, None and pandas NA are missing cells.
        y : array-like of shape (n_samples,)
            None or NaN is a row without a label; so is -1 where y is of whole numbers and has at least two other labels, none
            of them negative.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as the row twice, under every loss.

        Returns
        -------
        self
        """
        loss = self._check_parameters()
        y, unlabelled = (y, None) if y is None else split_labels(y)
        X, y = self._validated(X, y, reset=True)
        self.classes_, codes = encoded(y, unlabelled)
        self._check_class_prior()
        weights = checked_weights(sample_weight, X)
        used = np.flatnonzero(weights > 0)
        if not (codes[used] >= 0).any():
            raise ValueError("sample_weight is zero for every row: at least one row needs a positive weight")
        if len(used) < len(weights):  # a row of no weight is no row: not even its categories count
            X, codes, weights = _safe_indexing(X, used), codes[used], weights[used]
        X = self._check_rows(X, reset=True)
        weights = class_weights(self.class_weight, self.classes_, codes, weights)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        count = label_masses(codes, weights, len(self.classes_))
        X, codes, weights = self._informative(X, codes, weights, loss)
        with one_blas_thread():
            model = self._model(X, len(self.classes_), codes, weights)
            plain = Problem(model, X, codes, weights, loss, None)
            problem, fit, choice = self._train(replace(plain, X=self._scaled(X, model)), plain, generator)
        self._begin_stream(problem, choice)
        self.class_count_ = count
        self._keep(problem.model, fit, choice)
        return self

    def _informative(self, X, codes, weights, loss: Loss):
        """Leave out rows without an observed cell, which say nothing of p(y | x); under the likelihood their labels still count."""
        if not any_missing(X):
            return X, codes, weights
        empty = empty_rows(X)
        if empty.all():
            raise ValueError("X has no observed cell: every value is missing (NaN)")
        keep = ~empty if loss.is_discriminative else ~empty | (codes >= 0)
        if keep.all():
            return X, codes, weights
        return X[keep], codes[keep], weights[keep]

    def _keep(self, model, fit: Fit, choice: Choice) -> None:
        """Fitted attributes, set only when training has succeeded."""
        moments = fit.moments
        if self.class_prior is not None:
            share = np.asarray(self.class_prior, dtype=float)
            moments = replace(moments, mass=share * float(moments.mass.sum()))
        self._stored_model, self.moments_ = model, moments
        self.history_, self.n_iter_, self.converged_ = fit.history, fit.n_iter, fit.converged
        self.stopped_, self.choice_ = fit.stopped, choice
        self.temperature_, self.rivalry_, self.background_ = choice.temperature, choice.rivalry, choice.background
        self._multipliers = fit.multipliers if self.warm_start else None
        with np.errstate(divide="ignore", invalid="ignore"):
            self.natural_ = model.natural_of(moments)
            self._expose(model, moments)
        if not fit.converged and self.algorithm != "paper":
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {fit.stopped}. Raise max_epochs, or tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # -- what subclasses fill in --------------------------------------------------------------------------------------

    def _row_options(self) -> dict:
        return {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan"}

    def _validated(self, X, y="no_validation", *, reset: bool):
        """X (and y) as scikit-learn checks them; None and pandas NA become NaN."""
        with naming("X"):
            found = validate_data(self, without_na(X), y, reset=reset, **self._row_options())
        refuse_huge(found[0] if isinstance(found, tuple) else found)
        return found

    def _model(self, X, n_outcomes: int, codes, weights):
        raise NotImplementedError

    def _expose(self, model, moments) -> None:
        raise NotImplementedError

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> Loss:
        if self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r} is not one of {', '.join(map(repr, LOSSES))}")
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm={self.algorithm!r} is not one of {', '.join(map(repr, ALGORITHMS))}")
        number = isinstance(self.prior, (int, float, np.number)) and not isinstance(self.prior, bool)
        if not (self.prior in ("auto", "laplace", "log") if not number else 0 <= self.prior < np.inf):
            raise ValueError(
                f"prior={self.prior!r} is neither a number of pseudo-counts >= 0 nor 'auto', 'laplace' or 'log'"
            )
        if number and self.prior == 0 and self.loss != "nll":
            raise ValueError(
                f"prior=0 leaves loss={self.loss!r} without regularisation: give a positive prior or 'auto'"
            )
        if not isinstance(self.max_epochs, (int, np.integer)) or self.max_epochs < 1:
            raise ValueError(f"max_epochs={self.max_epochs!r} is not a positive whole number")
        if not isinstance(self.tol, (int, float, np.number)) or not self.tol >= 0:
            raise ValueError(f"tol={self.tol!r} is not a number >= 0")
        weight = self.unlabelled_weight
        number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
        if not (0 <= weight < np.inf if number else isinstance(weight, str) and weight == "auto"):
            raise ValueError(f"unlabelled_weight={weight!r} is neither a number >= 0 nor 'auto'")
        jobs = self.n_jobs
        if jobs is not None and (not isinstance(jobs, (int, np.integer)) or isinstance(jobs, bool) or jobs == 0):
            raise ValueError(f"n_jobs={jobs!r} is neither None nor a whole number other than 0")
        step_size_of(self.step_size)
        return Loss(self.loss, softness=self._softness)

    def _check_class_prior(self) -> None:
        if self.class_prior is not None:
            share = np.asarray(self.class_prior, dtype=float)
            if share.shape != self.classes_.shape or not (share > 0).all() or not np.isclose(share.sum(), 1.0):
                raise ValueError(
                    f"class_prior={self.class_prior!r} must be {len(self.classes_)} probabilities above 0 that add up to 1, "
                    f"in the order of the classes {self.classes_!r}"
                )

    def _check_loaded(self) -> None:
        """After reading from a file: arrays of the model's own shapes, finite, with masses that are masses."""
        if not hasattr(self, "moments_"):
            return
        model, moments = self._stored_model, self.moments_
        name, d = type(self).__name__, getattr(self, "n_features_in_", None)
        arrays = moments.arrays()
        largest = max(int(np.size(array)) for array in arrays)
        if model.n_features != d or not 0 < d <= largest or model.n_outcomes != len(self.classes_):
            raise ValueError(
                f"the file's {name} does not fit together: classes, columns and parameters differ in number"
            )
        empty = sparse.csr_matrix((0, d)) if model.takes_sparse else np.zeros((0, d))
        template = model.statistics(empty, np.zeros(0, dtype=np.int64), np.zeros(0))
        shapes = [np.shape(array) for array in template.arrays()]
        if type(template) is not type(moments) or [np.shape(array) for array in arrays] != shapes:
            raise ValueError(
                f"the file's {name} has parameters of the wrong shape: {[np.shape(array) for array in arrays]}"
            )
        mass = np.asarray(moments.mass, dtype=float)
        if not moments.is_finite() or (mass < 0).any() or not mass.sum() > 0:
            raise ValueError(f"the file's {name} has parameters that are not finite or not positive")

    def _reporter(self):
        if not self.verbose:
            return None

        def report(epoch: int, line: dict) -> None:
            print(
                f"{type(self).__name__} pass {epoch}: objective {line['objective']:.6g}, {self.loss} {line[self.loss]:.5f}, "
                f"accuracy {line['accuracy']:.4f}, gap {line['gap']:.3g}, {line['seconds']:.1f} s"
            )

        return report

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def without_na(X):
    """X with NaN in the place of pandas NA and None in columns of objects."""
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        objects = [place for place, dtype in enumerate(X.dtypes) if dtype.kind == "O"]
        if objects:
            X = X.copy()
            for place in objects:
                X.isetitem(place, X.iloc[:, place].where(X.iloc[:, place].notna(), np.nan))
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        X = np.where(np.vectorize(is_missing, otypes=[bool])(X), np.nan, X) if X.size else X
    return X
