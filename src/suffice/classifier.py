"""What all classifiers share: validation, labels, choice of prior and learner, prediction. No mathematics."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import wraps

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from . import priors
from .learners.batch import Batch
from .learners.driver import Fit, Problem, run
from .learners.incremental import Incremental
from .learners.paper import Paper
from .learners.stochastic import Stochastic, stream_step
from .losses import LOSSES, Loss
from .selection import Choice, Selection, shares
from .step_sizes import step_size_of

ALGORITHMS = ("auto", "incremental", "stochastic", "batch", "paper")
MAX_MULTIPLIERS = 2**28  # rows x outcomes up to which incremental is taken by itself (2 GiB)


def all_or_nothing(train):
    """A call that fails leaves the estimator as it was: nothing of other data (classes, columns, units) stays behind."""

    @wraps(train)
    def guarded(self, *args, **kwargs):
        before = dict(vars(self))
        try:
            return train(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded


class GenerativeClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers: a joint distribution p(x, y), trained with one of three losses.

    Subclasses say how rows are checked (`_check_rows`), which model they are of (`_model`) and which attributes they show (`_expose`).
    """

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
        random_state=None,
        verbose=0,
        warm_start=False,
    ):
        self.loss = loss
        self.prior = prior
        self.algorithm = algorithm
        self.step_size = step_size
        self.max_epochs = max_epochs
        self.tol = tol
        self.average = average
        self.class_prior = class_prior
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    # -- training -----------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        """Learn from rows X and labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as the row twice, under every loss.

        Returns
        -------
        self
        """
        loss = self._check_parameters()
        X, y = validate_data(self, X, y, **self._row_options())
        codes = self._encode(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        counted = weights > 0  # a row of weight zero is as good as not there
        if not counted.any():
            raise ValueError("sample_weight is zero for every row: at least one row needs a positive weight")
        X, codes, weights = (X, codes, weights) if counted.all() else (X[counted], codes[counted], weights[counted])
        X = self._check_rows(X, reset=True)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        with threadpool_limits(1, "blas"):  # thousands of small products: threads would only wait for each other
            model = self._model(X, len(self.classes_), codes, weights)
            plain = Problem(model, X, codes, weights, loss, None)
            problem, fit, choice = self._train(replace(plain, X=self._scaled(X, model)), plain, generator)
        self._average, self._n_steps = None, 0
        self._keep(problem.model, fit, choice)
        return self

    def _train(self, problem: Problem, plain: Problem, generator) -> tuple[Problem, Fit, Choice]:
        """The problem that was solved in the end, its fit, and the prior that was chosen."""
        model, loss = problem.model, problem.loss
        self._statistics = statistics = model.statistics(problem.X, problem.y, problem.weights)
        self.class_count_ = statistics.mass
        if not loss.is_discriminative or model.n_outcomes == 1 or self.algorithm == "paper":
            return problem, *self._train_likelihood(problem, statistics, generator)
        row = 1.0 if model.table_prior else mean_squared_row(problem.X, problem.weights)

        def prior_of(model, statistics, setting):
            if model.table_prior:
                return priors.blended(model, statistics, setting)
            return priors.uniform(model, statistics, setting, row)

        learner = self._learner(problem)
        choice = self._choose(problem, plain, learner, prior_of, generator)
        if self.prior != "auto":
            prior = self._given_prior(model, statistics, discriminative=True)
        elif choice.setting is None:
            return self._keep_likelihood(plain, choice)
        else:
            prior = prior_of(model, statistics, choice.setting)
        problem = replace(problem, prior=prior)
        warm = self._warm_multipliers(problem)
        warm = choice.multipliers if warm is None else warm
        start = priors.interior(model, statistics)
        fit = run(
            learner, problem, start, generator,
            max_epochs=self.max_epochs, tol=self.tol, multipliers=warm, report=self._reporter(),
        )  # fmt: skip
        return problem, fit, choice

    def _keep_likelihood(self, plain: Problem, choice: Choice) -> tuple[Problem, Fit, Choice]:
        plain = self._plain(plain)
        self._statistics = statistics = plain.model.statistics(plain.X, plain.y, plain.weights)
        plain = replace(plain, prior=statistics * 0.0)
        start = priors.interior(plain.model, statistics)
        fit = Fit(start, plain.measure(start), converged=True, stopped=f"maximum likelihood was kept: {choice.reason}")
        record_history(fit)
        return plain, fit, choice

    def _train_likelihood(self, problem: Problem, statistics, generator) -> tuple[Fit, Choice]:
        """Closed form where every row has a label; EM (or the paper's algorithm) else."""
        model = problem.model
        choice = Choice(None, reason="the loss is the likelihood")
        prior = self._given_prior(model, statistics, discriminative=self.algorithm == "paper")
        problem = replace(problem, prior=prior)
        if self.algorithm == "paper":
            fit = run(
                Paper(step_size_of(self.step_size)), problem, priors.interior(model, statistics), generator,
                max_epochs=self.max_epochs, tol=self.tol, report=self._reporter(), keep_best=False,
            )  # fmt: skip
            return fit, choice
        start = statistics + prior
        if (problem.y >= 0).all():
            fit = Fit(start, problem.measure(start) if model.in_domain(start) else None, converged=True, n_iter=1)
            fit.stopped = "closed form"
            record_history(fit)
            return fit, choice
        learner = Incremental() if self.algorithm in ("auto", "incremental") else self._learner(problem)
        fit = run(learner, problem, start, generator, max_epochs=self.max_epochs, tol=self.tol, report=self._reporter())
        return fit, choice

    def _choose(self, problem: Problem, plain: Problem, learner, prior_of, generator) -> Choice:
        if self.prior != "auto":
            return Choice(None, reason=f"prior={self.prior!r} was given")
        words = not problem.model.table_prior
        selection = Selection(
            problem, self._plain(plain, keep=False), prior_of, learner, generator,
            calibrate=words or problem.loss.name == "hinge",
        )  # fmt: skip
        if words:
            name = problem.loss.name
            return selection.choose(
                priors.WORD_STRENGTHS[name],
                priors.WORD_TILTS[name],
                extend=3.0,
                step=priors.WORD_TILTS[name][0],
                patience=2,
            )
        n = min(float(problem.weights.sum()), 20_000.0)
        return selection.choose(priors.table_strengths(n, problem.model.n_outcomes), priors.TABLE_SECONDS, extend=3.0)

    def _given_prior(self, model, statistics, *, discriminative: bool):
        """Pseudo-counts as asked for; the outcomes get them too under a discriminative loss, which needs them."""
        amount = self.prior
        if amount in ("auto", "laplace"):
            amount = model.default_pseudo_counts if amount == "auto" else 1.0
        elif amount == "log":
            amount = float(np.log(max(model.n_features, 2)))  # ln |W| of the paper's prior P2
        prior = model.pseudo_counts(statistics, float(amount))
        if discriminative:
            prior = replace(prior, mass=np.full(model.n_outcomes, max(float(amount), 1e-3)))
        return prior

    def _learner(self, problem: Problem):
        name = self.algorithm
        if name == "auto":
            small = len(problem.y) * problem.model.n_outcomes <= MAX_MULTIPLIERS
            name = "incremental" if small else "stochastic"
        if name == "incremental":
            return Incremental(min(1e-3, self.tol))
        step_size = step_size_of(self.step_size)
        if name == "batch":
            return Batch(step_size if isinstance(step_size, float) else None)
        return Stochastic(step_size, average=self.average)

    def _warm_multipliers(self, problem: Problem):
        if not self.warm_start or not hasattr(self, "_multipliers"):
            return None
        shape = (len(problem.y), problem.model.n_outcomes)
        return self._multipliers if self._multipliers is not None and self._multipliers.shape == shape else None

    def _keep(self, model, fit: Fit, choice: Choice) -> None:
        """Fitted attributes, set only when training has succeeded."""
        moments = fit.moments
        if self.class_prior is not None:
            share = np.asarray(self.class_prior, dtype=float)
            moments = replace(moments, mass=share * float(moments.mass.sum()))
        self._stored_model, self.moments_ = model, moments
        self.history_, self.n_iter_, self.converged_ = fit.history, fit.n_iter, fit.converged
        self.stopped_, self.choice_ = fit.stopped, choice
        self.temperature_, self.background_ = choice.temperature, choice.background
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

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from one batch of a stream.

        Under `loss="nll"` the batches give what one `fit` on all of them gives. Under the other losses every call makes stochastic
        steps from the model so far, towards a prior that is kept up to date with the statistics of all rows seen.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        loss = self._check_parameters()
        first = not hasattr(self, "_stored_model")
        X, y = validate_data(self, X, y, reset=first, **self._row_options())
        if first:
            if classes is None:
                raise ValueError("classes=None in the first call of partial_fit: give all labels that will occur")
            self.classes_ = np.unique(classes)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} is not the same as in the first call of partial_fit: {self.classes_!r}"
            )
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the labels {unknown!r}, which are not in classes={self.classes_!r}")
        codes = np.searchsorted(self.classes_, y)
        X = self._check_rows(X, reset=first)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        model = self._model(X, len(self.classes_), codes, weights) if first else self._stored_model
        X = self._scaled(X, model)
        with threadpool_limits(1, "blas"):
            batch = model.statistics(X, codes, weights)
            statistics = batch if first else self._statistics + batch
            problem = Problem(model, X, codes, weights, loss, None)
            fit, average, n_steps = self._stream(problem, statistics, first)
        self._statistics, self.class_count_ = statistics, statistics.mass
        self._average, self._n_steps = average, n_steps
        self._keep(model, fit, Choice(None, reason="partial_fit does not choose a prior"))
        return self

    def _stream(self, problem: Problem, statistics, first: bool):
        model = problem.model
        if not problem.loss.is_discriminative:
            moments = statistics + self._given_prior(model, statistics, discriminative=False)
            return Fit(moments, None, converged=True, n_iter=1, stopped="closed form"), None, 0
        moments = (
            priors.interior(model, statistics) if first else self.moments_ * (1.0 / float(self.moments_.mass.sum()))
        )
        seen = float(statistics.mass.sum())
        if not model.table_prior:
            prior = priors.uniform(
                model, statistics, priors.Setting(0.03), mean_squared_row(problem.X, problem.weights)
            )
        elif self.prior == "auto":
            prior = priors.blended(model, statistics, priors.Setting(3.0 * model.n_outcomes, 0.0))
        else:
            prior = self._given_prior(model, statistics, discriminative=True)
        prior = prior * (float(problem.weights.sum()) / seen)
        average = None if first else self._average
        moments, average, n_steps, shortened = stream_step(
            replace(problem, prior=prior), moments, average, 0 if first else self._n_steps, step_size_of(self.step_size)
        )
        shown = model.moments_of(average) if self.average else moments
        fit = Fit(shown, None, converged=True, n_iter=1, stopped="one pass over the batch")
        fit.history = {"shortened": [*([] if first else self.history_.get("shortened", [])), shortened]}
        return fit, average, n_steps

    # -- prediction ---------------------------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X):
        """log p(x, y) for every row and class (without parts that no class depends on)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._row_options())
        X = self._scaled(self._check_rows(X, reset=False), self._stored_model)
        return self._joint(X)

    def _joint(self, X) -> np.ndarray:
        if not self._stored_model.in_domain(self.moments_):  # a class or category that never occurred, without a prior
            with np.errstate(divide="ignore", invalid="ignore"):
                return self._stored_model.log_joint(self.moments_, X)
        return self._stored_model.scores(self.moments_, X)

    def predict_log_proba(self, X):
        """log p(y | x). Where the loss does not calibrate itself, scores are first multiplied by `temperature_`, and the share
        `background_` of the class frequencies is mixed in."""
        joint = self.predict_joint_log_proba(X)
        scores = self.temperature_ * joint
        logs = scores - logsumexp(scores, axis=1, keepdims=True)
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
        """log p(x): the log-density of every row."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **self._row_options())
        X = self._scaled(self._check_rows(X, reset=False), self._stored_model)
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
        seed = check_random_state(self.random_state if random_state is None else random_state).randint(2**31 - 1)
        generator = np.random.default_rng(seed)
        if y is None:
            share = self.moments_.mass / self.moments_.mass.sum()
            outcomes = generator.choice(len(share), size=n_samples, p=share)
        else:
            labels = np.broadcast_to(np.asarray(y), (n_samples,))
            outcomes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
            wrong = labels != self.classes_[outcomes]
            if wrong.any():
                raise ValueError(f"y={labels[wrong][0]!r} is not one of the classes {self.classes_!r}")
        X = self._stored_model.sample(self.moments_, outcomes, generator)
        return self._unscaled(X, self._stored_model), self.classes_[outcomes]

    # -- what subclasses fill in --------------------------------------------------------------------------------------

    def _row_options(self) -> dict:
        return {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}

    def _check_rows(self, X, *, reset: bool):
        return X

    def _model(self, X, n_outcomes: int, codes, weights):
        raise NotImplementedError

    def _scaled(self, X, model):
        """Rows in the units the model is fitted in."""
        return X

    def _plain(self, problem: Problem, *, keep: bool = True) -> Problem:
        """The problem that maximum likelihood solves where training does not help; with `keep` the estimator turns to it."""
        return replace(problem, X=self._scaled(problem.X, problem.model))

    def _unscaled(self, X, model):
        return X

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
        step_size_of(self.step_size)
        return Loss(self.loss)

    def _encode(self, y) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.class_prior is not None:
            share = np.asarray(self.class_prior, dtype=float)
            if share.shape != self.classes_.shape or not (share >= 0).all() or not np.isclose(share.sum(), 1.0):
                raise ValueError(
                    f"class_prior={self.class_prior!r} must be {len(self.classes_)} probabilities that add up to 1, "
                    f"in the order of the classes {self.classes_!r}"
                )
        return codes.astype(np.int64)

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
        return tags


def mean_squared_row(X, weights: np.ndarray) -> float:
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else (X**2).sum(axis=1)
    return max(float(weights @ squares) / float(weights.sum()), 1e-12)


def record_history(fit: Fit) -> None:
    if fit.measure is not None:
        for name in ("objective", "nll", "ncll", "hinge", "accuracy"):
            fit.history[name] = [getattr(fit.measure, name)]
        fit.history["shortened"], fit.history["seconds"] = [0], [0.0]
