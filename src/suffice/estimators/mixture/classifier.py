"""A classifier with a mixture per class; training is in `suffice.mixture.training`."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ...choosing.priors import Setting
from ...choosing.selection import Choice
from ...engines.threads import Engine, n_threads
from ...families.categorical import Categorical
from ...families.forms import form_of
from ...families.poisson import rates
from ...families.words import ScaledRows
from ...learners.driver import Fit, Problem, Stop
from ...learners.expectation import Rows
from ...losses import LOSSES, Loss
from ...reading.guards import all_or_nothing, naming, one_blas_thread
from ..classifier import GenerativeClassifier
from ..naive_bayes.sections import documented
from .families import COVARIANCES
from .readers import CLASSES, reader, validated_table
from .starts import distinct
from .stream import GroupStream
from .training import Task, choose, choose_unlabelled, trained
from .warm import last_fit

ALGORITHMS = ("auto", "lbfgs", "em")


@documented
class MixtureClassifier(GenerativeClassifier):
    """A classifier whose classes are mixtures, with latent components: trained for the likelihood or for classification.

    Use it where one simple density a class is too little: components and discriminative training add up. With `loss="nll"` it is EM in
    every class; with "ncll" or "hinge" the same model is trained to classify, starting from there, unless EM is better on held-out
    rows. It stays a joint density: missing cells, rows without a label, samples and imputations as with the other classifiers.

    PARAMETERS
    n_components : int, default=2
        Components of every class.
    family : {"gaussian", "bernoulli", "categorical", "multinomial", "poisson", "mixed"}, default="gaussian"
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        Of the Gaussian family; "tied" is one covariance for all components of all classes.
    kinds, binarize, min_categories : as in `MixedNB`, `BernoulliNB` and `CategoricalNB`
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.

    ATTRIBUTES
    weights_ : ndarray of shape (n_classes, n_components)
        Probabilities of class and component.
    class_prior_ : ndarray of shape (n_classes,)
    means_, covariances_ : arrays (n_classes, n_components, ...)
        Of the Gaussian family (one covariance for "tied").

    References
    ----------
    A. Masegosa (2014). Stochastic discriminative EM. UAI. Table 2.

    Notes
    -----
    `prior` is the number of pooled pseudo-rows of a component under "ncll" and "hinge" (the pseudo-rows of EM under "nll");
    `max_epochs` the most steps of the minimiser or passes of EM; `algorithm` is "auto", "lbfgs" or "em".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from suffice.mixture import MixtureClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MixtureClassifier(2, prior=1.0, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.93)
    True
    """

    def __init__(
        self, n_components=2, *, family="gaussian", covariance_type="diag", loss="ncll", prior="auto", algorithm="auto",
        step_size=None, max_epochs=150, tol=1e-6, average=True, class_prior=None, class_weight=None, unlabelled_weight="auto",
        kinds="auto", binarize=0.0, min_categories=None, n_jobs=None, random_state=None, verbose=0, warm_start=False,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
        )  # fmt: skip
        self.n_components = n_components
        self.family = family
        self.covariance_type = covariance_type
        self.kinds = kinds
        self.binarize = binarize
        self.min_categories = min_categories

    # -- rows -----------------------------------------------------------------------------------------------------------

    def _validated(self, X, y="no_validation", *, reset):
        if self.family != "mixed":
            return super()._validated(X, y, reset=reset)
        if isinstance(y, str):
            return validated_table(self, X, reset=reset)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        with naming("X and y"):
            check_consistent_length(X, y)
        return validated_table(self, X, reset=reset), y

    def _row_options(self):
        return super()._row_options() | {"accept_sparse": False if self.family == "categorical" else "csr"}

    def _check_rows(self, X, *, reset):
        if reset:
            options = {
                "bernoulli": {"binarize": self.binarize},
                "categorical": {"min_categories": self.min_categories},
                "mixed": {"kinds": self.kinds},
            }.get(self.family, {})
            self._reader_ = reader(self.family, **options)
            self._reader_.nb.loss = self.loss
        return self._reader_.rows(X, reset=reset)

    def _informative(self, X, codes, weights, loss):
        """Few rows are merged where they are the same: a weight of 2 is the row twice to the last bit, also for what is held out."""
        return distinct(*super()._informative(X, codes, weights, loss))

    def _model(self, X, n_outcomes, codes, weights):
        J = n_outcomes * self.n_components
        if self.family == "gaussian":
            return COVARIANCES[self.covariance_type].for_data(X, J)
        if self.family == "categorical":
            return Categorical(J, X.shape[1], self._reader_.nb.n_categories_)
        if self.family == "poisson":
            self._reader_.nb._model(X, n_outcomes, codes, weights)  # finds the units
        return replace(self._reader_.nb._model(X, n_outcomes, codes, weights), n_outcomes=J)

    def _scaled(self, X, model):
        if self.family not in ("poisson", "multinomial"):
            return X
        rows = self._reader_.nb._scaled(X, model)
        return rows.tocsr() if isinstance(rows, ScaledRows) else rows

    def _unscaled(self, X, model):
        return self._reader_.unscaled(self._reader_.nb._unscaled(X, model) if self.family == "poisson" else X)

    def _unscaled_std(self, std):
        if self.family == "poisson":
            return std * self._reader_.nb.unit_
        return self._reader_.unscaled_std(std)

    def _filled(self, given, filled):
        return self._reader_.filled(given, filled)

    def _cells(self, X):
        if self.family == "mixed":
            given = self._validated(X, reset=False)
            return given, self._check_rows(given, reset=False)
        return super()._cells(X)

    # -- training -------------------------------------------------------------------------------------------------------

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        self._last = last_fit(self)
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._last

    fit.__doc__ = GenerativeClassifier.fit.__doc__

    def _train(self, problem: Problem, plain: Problem, generator):
        engine, start = Engine(n_threads(self.n_jobs)), None
        if self._last is not None and self._last.fits(problem.model, self._reader_, self.classes_):
            problem, start = replace(problem, model=self._last.model), self._last.moments
        amount = float(self.prior) if self.loss == "nll" and self.prior != "auto" else 1.0
        task = Task(
            problem.model, problem.X, problem.y, problem.weights, problem.loss, self.n_components, engine, amount
        )
        self.unlabelled_weight_ = 0.0
        with engine.open():
            choice = self._choose_setting(task, generator)
            if (task.y < 0).any():
                weight = self.unlabelled_weight
                if isinstance(weight, str):
                    weight, reason = choose_unlabelled(task, choice, generator, self.tol)
                    choice = replace(choice, reason=f"{choice.reason}; {reason}")
                self.unlabelled_weight_ = float(weight)
                task = task.unlabelled_at(self.unlabelled_weight_)
            fit = trained(task, choice, generator, self.max_epochs, self.tol, self._reporter(), start)
            self._measure(task, fit)
        self._statistics = (float(task.weights.sum()) / float(fit.moments.mass.sum())) * fit.moments
        self._group_stream: GroupStream | None = None
        return problem, fit, choice

    def _choose_setting(self, task: Task, generator) -> Choice:
        if not task.loss.is_discriminative or task.n_classes == 1 or self.algorithm == "em":
            return Choice(None, reason="the loss is the likelihood")
        if self.prior == "auto":
            return choose(task, generator, self.tol)
        setting = Setting(float(self.prior), 0.0)
        return Choice(setting, reason=f"prior={self.prior!r} was given")

    def _measure(self, task: Task, fit: Fit) -> None:
        """Losses and accuracy on the training rows, at the end."""
        labelled = np.flatnonzero(task.y >= 0)
        scores, y = task.scores(fit.moments, task.X[labelled]), task.y[labelled]
        shares = task.weights[labelled] / task.weights[labelled].sum()
        for name in LOSSES:
            fit.history[name] = [float(shares @ Loss(name).values(scores, y))]
        fit.history["accuracy"] = [float(shares @ (scores.argmax(axis=1) == y))]

    def _keep(self, model, fit: Fit, choice: Choice) -> None:
        moments = fit.moments
        if self.class_prior is not None:
            mass = moments.mass.reshape(-1, self.n_components)
            within = mass / mass.sum(axis=1, keepdims=True)
            share = np.asarray(self.class_prior, dtype=float)[:, None] * within
            moments = replace(moments, mass=share.ravel() * float(moments.mass.sum()))
        self._stored_model, self.moments_ = model, moments
        self.history_, self.n_iter_, self.converged_ = fit.history, fit.n_iter, fit.converged
        self.stopped_, self.choice_ = fit.stopped, choice
        self.temperature_, self.background_ = choice.temperature, choice.background
        with np.errstate(divide="ignore", invalid="ignore"):
            self.natural_ = model.natural_of(moments)
        self._expose(model, moments)
        if not fit.converged and choice.setting is None and self.max_epochs < 50:
            warnings.warn(
                f"{type(self).__name__} stopped before it converged: {fit.stopped}. Raise max_epochs.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _expose(self, model, moments) -> None:
        shape = (len(self.classes_), self.n_components)
        self.weights_ = (moments.mass / moments.mass.sum()).reshape(shape)
        self.class_prior_ = self.weights_.sum(axis=1)
        if self.family == "gaussian":
            mean, covariance = gaussian_parameters(self.covariance_type, moments)
            self.means_ = (mean + model.location).reshape(*shape, -1)
            tied = self.covariance_type == "tied"
            self.covariances_ = covariance if tied else covariance.reshape(*shape, *covariance.shape[1:])
        elif self.family == "poisson":
            self.rates_ = (rates(moments) * self._reader_.nb.unit_).reshape(*shape, -1)
        elif self.family == "multinomial":
            self.probabilities_ = (moments.count / moments.weight).T.reshape(*shape, -1)
        elif self.family in ("categorical", "bernoulli"):
            parts = np.split(model.probabilities(moments), model.offset[1:])
            self.probabilities_ = [part.T.reshape(*shape, -1) for part in parts]

    # -- streams --------------------------------------------------------------------------------------------------------

    def _learn_batch(self, problem: Problem, first: bool) -> tuple[Fit, np.ndarray]:
        """Online EM under "nll", and stochastic steps on top of it under the other losses."""
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        engine = Engine(n_threads(self.n_jobs))
        task = Task(problem.model, problem.X, problem.y, problem.weights, problem.loss, self.n_components, engine)
        stream = getattr(self, "_group_stream", None)
        with engine.open():
            if stream is not None:
                stream = stream.moved(task)
            elif first:
                stream = GroupStream.begun(task, generator, self)
            else:
                stream = GroupStream.after_fit(task, self._statistics, self)
        self._group_stream = stream
        labelled = problem.y >= 0
        counts = np.bincount(problem.y[labelled], problem.weights[labelled], minlength=len(self.classes_))
        fit = Fit(stream.shown(), n_iter=stream.n_steps).ended(Stop.ONE_PASS)
        return fit, counts if first else self.class_count_ + counts

    # -- prediction -----------------------------------------------------------------------------------------------------

    def _rows_of(self, X) -> Rows:
        n = X.shape[0]
        form = form_of(self._stored_model, X)
        labels = np.full(n, -1, dtype=np.int64)
        return Rows(form, np.ones(n), labels, self._stored_width, Engine(n_threads(self.n_jobs)))

    @property
    def _stored_width(self) -> int:
        return self._stored_model.n_outcomes // len(self.classes_)

    def _joint(self, X) -> np.ndarray:
        rows = self._rows_of(X)
        with np.errstate(divide="ignore"), one_blas_thread():
            return rows.group_scores(rows.form.coefficients(self.moments_))

    def predict_component_proba(self, X):
        """p(class, component | x): ndarray of shape (n_samples, n_classes, n_components)."""
        check_is_fitted(self)
        return self._component_shares(self._new_rows(X), None).reshape(-1, len(self.classes_), self._stored_width)

    def _component_shares(self, X, y) -> np.ndarray:
        """Posteriors of the outcomes given the rows (and their classes, if known)."""
        rows = self._rows_of(X)
        with np.errstate(divide="ignore"):
            scores = rows.scores(rows.form.coefficients(self.moments_))
        if y is not None:
            own = np.arange(scores.shape[1])[None] // self._stored_width == self._outcomes(y, len(scores))[:, None]
            scores = np.where(own, scores, -np.inf)
        return np.exp(scores - logsumexp(scores, axis=1, keepdims=True))

    def sample(self, n_samples=1, y=None, random_state=None):
        """Draw rows and labels from the model; `y` is a label, or one for each row."""
        check_is_fitted(self)
        generator = self._generator(random_state)
        shares = np.tile(self.weights_.ravel(), (n_samples, 1))
        if y is not None:
            chosen = self._outcomes(y, n_samples)
            shares = np.where(np.arange(shares.shape[1]) // self._stored_width == chosen[:, None], shares, 0.0)
        outcomes = drawn(shares, generator)
        X = self._stored_model.sample(self.moments_, outcomes, generator)
        return self._unscaled(X, self._stored_model), self.classes_[outcomes // self._stored_width]

    def impute(self, X, y=None, return_std=False):
        """Fill missing cells with their expectation (categories: the most probable one) given the observed cells, and `y` if known.

        With `return_std` also the standard deviations of the cells: 0 where they were observed.
        """
        check_is_fitted(self)
        given, rows = self._cells(X)
        if not np.isnan(rows).any():
            return (given, np.zeros(rows.shape)) if return_std else given
        filled, std = self._stored_model.imputed(self.moments_, rows, self._component_shares(rows, y))
        filled = self._filled(given, self._unscaled(filled, self._stored_model))
        return (filled, self._unscaled_std(std)) if return_std else filled

    def sample_missing(self, X, y=None, random_state=None):
        """Fill missing cells with draws given the observed cells of the row and the label `y`, if known."""
        check_is_fitted(self)
        given, rows = self._cells(X)
        if not np.isnan(rows).any():
            return given
        generator = self._generator(random_state)
        outcomes = drawn(self._component_shares(rows, y), generator)
        filled = self._stored_model.drawn(self.moments_, rows, outcomes, generator)
        return self._filled(given, self._unscaled(filled, self._stored_model))

    # -- checks ---------------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> Loss:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm={self.algorithm!r} is not one of {', '.join(map(repr, ALGORITHMS))}")
        if self.family not in CLASSES:
            raise ValueError(f"family={self.family!r} is not one of {', '.join(map(repr, CLASSES))}")
        if self.covariance_type not in COVARIANCES:
            raise ValueError(
                f"covariance_type={self.covariance_type!r} is not one of {', '.join(map(repr, COVARIANCES))}"
            )
        H = self.n_components
        if isinstance(H, bool) or not isinstance(H, (int, np.integer)) or H < 1:
            raise ValueError(f"n_components={H!r} is not a positive whole number")
        if isinstance(self.prior, str) and self.prior != "auto":
            raise ValueError(f"prior={self.prior!r} is neither a number of pseudo-rows nor 'auto'")
        algorithm, self.algorithm = self.algorithm, "auto"
        try:
            return super()._check_parameters()
        finally:
            self.algorithm = algorithm

    def _check_loaded(self) -> None:
        if not hasattr(self, "moments_"):
            return
        model, moments, name = self._stored_model, self.moments_, type(self).__name__
        K, d = len(self.classes_), self.n_features_in_
        if model.n_features != d or K == 0 or model.n_outcomes % K or not 0 < model.n_outcomes <= 10**7:
            raise ValueError(
                f"the file's {name} does not fit together: classes, columns and parameters differ in number"
            )
        empty = sparse.csr_matrix((0, d)) if model.family == "multinomial" else np.zeros((0, d))
        largest = max(int(np.size(array)) for array in moments.arrays())
        if d > max(largest, 1) or model.n_outcomes > largest:
            raise ValueError(f"the file's {name} has parameters of the wrong shape")
        template = model.statistics(empty, np.zeros(0, dtype=np.int64), np.zeros(0))
        shapes = [np.shape(array) for array in template.arrays()]
        if type(template) is not type(moments) or [np.shape(array) for array in moments.arrays()] != shapes:
            raise ValueError(f"the file's {name} has parameters of the wrong shape")
        mass = np.asarray(moments.mass, dtype=float)
        if not moments.is_finite() or (mass < 0).any() or not mass.sum() > 0:
            raise ValueError(f"the file's {name} has parameters that are not finite or not positive")

    def _reporter(self):
        if not self.verbose:
            return None

        def report(epoch: int, line: dict) -> None:
            print(f"{type(self).__name__} step {epoch}: objective {line['objective']:.6g}, {line['seconds']:.1f} s")

        return report

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.family not in ("categorical", "mixed")
        tags.input_tags.allow_nan = self.family != "multinomial"
        tags.input_tags.positive_only = self.family in ("multinomial", "poisson")
        tags.input_tags.categorical = self.family in ("categorical", "mixed")
        tags.input_tags.string = self.family == "mixed"
        tags.classifier_tags.poor_score = self.family in ("bernoulli", "multinomial")  # as in naive_bayes
        return tags


def drawn(shares: np.ndarray, generator) -> np.ndarray:
    """An outcome of every row, by its shares."""
    steps = np.cumsum(shares, axis=1)
    draws = generator.random((len(shares), 1)) * steps[:, -1:]
    return np.minimum((draws > steps).sum(axis=1), shares.shape[1] - 1)


def gaussian_parameters(kind: str, moments):
    from ...families import gaussian_diagonal, gaussian_full, gaussian_tied

    if kind == "diag":
        return gaussian_diagonal.mean_and_variance(moments)
    if kind == "spherical":
        mean, variance = gaussian_diagonal.mean_and_variance(moments)
        return mean, variance[:, 0]
    return (gaussian_full if kind == "full" else gaussian_tied).mean_and_covariance(moments)
