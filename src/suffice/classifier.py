"""What all classifiers share: validation, labels, choice of prior and learner, prediction. No mathematics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import validate_data

from . import priors
from .engines import Engine, n_threads
from .guards import all_or_nothing, checked_weights, naming, one_blas_thread, refuse_huge
from .labels import class_weights, encoded, is_missing, split_labels
from .learners.batch import Batch
from .learners.driver import Fit, Problem, run
from .learners.incremental import Incremental
from .learners.paper import Paper
from .learners.stochastic import Stochastic
from .losses import LOSSES, Loss
from .models.completion import any_missing
from .models.rows import empty_rows, label_masses
from .prediction import Prediction
from .selection import Choice, Selection
from .step_sizes import step_size_of
from .streaming import Streaming
from .unlabelled import choose_weight, rows_of, weighted

ALGORITHMS = ("auto", "incremental", "stochastic", "batch", "paper")
MAX_CIRCLES = 30  # incremental passes over rows with missing cells
MAX_MULTIPLIERS = 2**28  # rows x outcomes up to which incremental is taken by itself (2 GiB)


class GenerativeClassifier(Prediction, Streaming, ClassifierMixin, BaseEstimator):
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
        self._average, self._n_steps = None, 0
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

    def _train(self, problem: Problem, plain: Problem, generator) -> tuple[Problem, Fit, Choice]:
        """The problem that was solved in the end, its fit, and the prior that was chosen."""
        self.unlabelled_weight_ = 0.0
        self._refuse_unfit(problem)
        labelled = np.flatnonzero(problem.y >= 0)
        if len(labelled) == len(problem.y):
            return self._train_labelled(problem, plain, generator)
        solved, fit, choice = self._train_labelled(rows_of(problem, labelled), rows_of(plain, labelled), generator)
        if self.unlabelled_weight == 0 or problem.model.n_outcomes == 1:
            return solved, fit, choice
        is_plain = choice.setting is None and self.prior == "auto"  # maximum likelihood was kept, in plain units
        whole = problem
        if is_plain and problem.loss.is_discriminative:  # in the units that `_plain` turned to
            whole = replace(plain, X=self._scaled(plain.X, solved.model), model=solved.model)
        if is_plain:
            whole = replace(whole, loss=replace(problem.loss, name="nll"))

        def fitted(problem: Problem) -> Fit:
            statistics = problem.model.statistics(problem.X, problem.y, problem.weights)
            prior = self._prior_of(problem, statistics, choice)
            start = priors.interior(problem.model, statistics)
            problem = replace(problem, prior=prior)
            learner = self._learner(problem)
            return self._solve(learner, problem, start, generator)

        weight = self.unlabelled_weight
        if isinstance(weight, str):
            weight, reason = choose_weight(
                whole, lambda problem: fitted(problem).moments, choice.temperature, generator
            )
            choice = replace(choice, reason=f"{choice.reason}; {reason}")
        self.unlabelled_weight_ = float(weight)
        if weight == 0:
            return solved, fit, choice
        whole = weighted(whole, self.unlabelled_weight_)
        return whole, fitted(whole), choice

    def _prior_of(self, problem: Problem, statistics, choice: Choice):
        """The prior that training with rows without a label takes: as chosen or given; the plain one for the likelihood."""
        model = problem.model
        if not problem.loss.is_discriminative:
            prior = self._given_prior(model, statistics, discriminative=False)
            return (
                prior if self.loss == "nll" else replace(prior, mass=np.full(model.n_outcomes, 1.0 / model.n_outcomes))
            )
        if choice.setting is None:
            return self._given_prior(model, statistics, discriminative=True)
        return self._setting_prior(problem)(model, statistics, choice.setting)

    def _setting_prior(self, problem: Problem):
        row = cache(lambda: priors.mean_squared_row(problem.X, problem.weights))
        leaning_of = cache(priors.leanings)  # of a fold, for all of its settings

        def prior_of(model, statistics, setting):
            if model.table_prior:
                return priors.blended(model, statistics, setting)
            leaning = leaning_of(statistics) if setting.second else None
            return priors.uniform(model, statistics, setting, row(), leaning)

        return prior_of

    def _train_labelled(self, problem: Problem, plain: Problem, generator) -> tuple[Problem, Fit, Choice]:
        model, loss = problem.model, problem.loss
        if loss.is_discriminative:
            self._statistics = statistics = model.statistics(problem.X, problem.y, problem.weights)
        else:
            self._statistics = statistics = model.statistics_of_shards(problem.X, problem.y, problem.weights)
        if not loss.is_discriminative or model.n_outcomes == 1 or self.algorithm == "paper":
            return problem, *self._train_likelihood(problem, statistics, generator)
        prior_of = self._setting_prior(problem)
        learner = self._learner(problem)
        if not isinstance(learner, Incremental):  # only multipliers round the hinge's corner
            problem = replace(problem, loss=replace(loss, softness=0.0))
        choice = self._choose(problem, plain, learner, prior_of, generator)
        if self.prior != "auto":
            prior = self._given_prior(model, statistics, discriminative=True)
        elif choice.setting is None:
            return self._keep_likelihood(plain, choice)
        else:
            prior = prior_of(model, statistics, choice.setting)
        problem = replace(problem, prior=prior)
        warm = self._warm_multipliers(problem)
        start = self.moments_ if warm is not None else priors.interior(model, statistics)
        warm = choice.multipliers if warm is None else warm
        fit = self._solve(learner, problem, start, generator, warm)
        if self.step_size is not None and not fit.converged and warm is None and self.prior == "auto":
            likelihood, _, solution = self._likelihood(plain, keep=False)
            if fit.measure is not None and fit.measure.accuracy < likelihood.measure(solution).accuracy:
                short = f"step_size={self.step_size!r} did not reach its accuracy on the training rows in {fit.n_iter} passes"
                return self._keep_likelihood(plain, Choice(None, reason=short))
        return problem, fit, choice

    def _solve(self, learner, problem: Problem, start, generator, warm=None) -> Fit:
        """Passes of the learner; where missing cells keep the incremental one from settling, all rows at a time finish it.

        With missing cells the blocks of an outcome have seen different rows, F is not convex and its dual is not what the incremental
        search climbs: it comes near the optimum and then circles. Descent on all rows is monotone whatever is missing.
        """
        circles = isinstance(learner, Incremental) and problem.loss.is_discriminative and any_missing(problem.X)
        epochs = min(self.max_epochs, MAX_CIRCLES) if circles else self.max_epochs
        options = {"tol": self.tol, "report": self._reporter()}
        fit = run(learner, problem, start, generator, max_epochs=epochs, multipliers=warm, **options)
        if not circles or fit.converged or epochs == self.max_epochs:
            return fit
        last = run(Batch(), problem, fit.moments, generator, max_epochs=self.max_epochs - epochs, **options)
        for name, values in last.history.items():
            fit.history[name] += values
        last.history, last.n_iter, last.multipliers = fit.history, fit.n_iter + last.n_iter, fit.multipliers
        return last

    def _keep_likelihood(self, plain: Problem, choice: Choice) -> tuple[Problem, Fit, Choice]:
        plain, self._statistics, start = self._likelihood(plain, keep=True)
        fit = Fit(start, plain.measure(start), converged=True, stopped=f"maximum likelihood was kept: {choice.reason}")
        record_history(fit)
        return plain, fit, choice

    def _likelihood(self, plain: Problem, *, keep: bool) -> tuple[Problem, Any, Any]:
        """The problem that maximum likelihood solves, its statistics and its solution; with `keep` the estimator turns to it."""
        plain = self._plain(plain, keep=keep)
        statistics = plain.model.statistics(plain.X, plain.y, plain.weights)
        return replace(plain, prior=statistics * 0.0), statistics, priors.interior(plain.model, statistics)

    def _train_likelihood(self, problem: Problem, statistics, generator) -> tuple[Fit, Choice]:
        """Closed form, unless missing cells are latent: then EM (or the paper's algorithm)."""
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
        problem = replace(problem, loss=Loss("nll"))  # with one class there is nothing to discriminate
        start = statistics + prior
        if not model.is_latent(problem.X):
            fit = Fit(start, problem.measure(start) if model.in_domain(start) else None, converged=True, n_iter=1)
            fit.stopped = "closed form"
            record_history(fit)
            return fit, choice
        fit = run(
            self._learner(problem),
            problem,
            start,
            generator,
            max_epochs=self.max_epochs,
            tol=self.tol,
            report=self._reporter(),
        )
        return fit, choice

    def _choose(self, problem: Problem, plain: Problem, learner, prior_of, generator) -> Choice:
        if self.prior != "auto":
            return Choice(None, reason=f"prior={self.prior!r} was given")
        words = not problem.model.table_prior
        selection = Selection(
            problem, self._plain_scores(plain), prior_of, learner, generator,
            calibrate=words or problem.loss.name == "hinge", engine=Engine(n_threads(self.n_jobs)),
        )  # fmt: skip
        if words:
            name = problem.loss.name
            return selection.choose(
                priors.WORD_STRENGTHS[name], priors.WORD_TILTS[name],
                extend=3.0, step=priors.WORD_TILTS[name][0], patience=2,
            )  # fmt: skip
        n = min(float(problem.weights.sum()), 20_000.0)
        strengths, seconds = priors.table_strengths(n, problem.model.n_outcomes), priors.TABLE_SECONDS
        if problem.model.is_latent(problem.X):  # every pass completes every row: a coarser path
            return replace(selection, max_epochs=5).choose(strengths[::2], seconds[1:2])
        return selection.choose(strengths, seconds, extend=3.0)

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
        if name == "auto" and problem.model.is_latent(problem.X):
            name = "stochastic" if problem.loss.is_discriminative else "batch"
        if name == "auto":
            small = len(problem.y) * problem.model.n_outcomes <= MAX_MULTIPLIERS
            name = "incremental" if small else "stochastic"
        if name == "incremental":
            return Incremental(min(1e-3, self.tol))
        step_size = step_size_of(self.step_size)
        if name == "batch":
            return Batch(step_size if isinstance(step_size, float) else None)
        size = max(100, len(problem.y) // 10) if problem.model.is_latent(problem.X) else None
        return Stochastic(step_size, size, average=self.average)

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

    def _refuse_unfit(self, problem: Problem) -> None:
        """Algorithms that cannot learn from these rows."""
        latent = problem.model.is_latent(problem.X)
        if self.algorithm == "incremental" and latent:
            raise ValueError(
                "algorithm='incremental' cannot complete the missing cells (NaN) of correlated columns: "
                "use 'auto', 'stochastic' or 'batch'"
            )
        if self.algorithm == "paper" and (latent or any_missing(problem.X) or (problem.y < 0).any()):
            raise ValueError(
                "algorithm='paper' takes neither missing cells (NaN) nor rows without a label: use 'auto' or 'stochastic'"
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

    def _plain(self, problem: Problem, *, keep: bool = True) -> Problem:
        """The problem that maximum likelihood solves where training does not help; with `keep` the estimator turns to it."""
        return replace(problem, X=self._scaled(problem.X, problem.model))

    def _plain_scores(self, problem: Problem) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """A function of weights and places of rows: their scores under maximum likelihood of the weighted rows."""
        plain = self._plain(problem, keep=False)

        def scores(weights: np.ndarray, which: np.ndarray) -> np.ndarray:
            statistics = plain.model.statistics(plain.X, plain.y, weights)
            return plain.model.scores(priors.interior(plain.model, statistics), plain.X, which=which)

        return scores

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


def record_history(fit: Fit) -> None:
    if fit.measure is not None:
        for name in ("objective", "nll", "ncll", "hinge", "accuracy"):
            fit.history[name] = [getattr(fit.measure, name)]
        fit.history["shortened"], fit.history["seconds"] = [0], [0.0]
