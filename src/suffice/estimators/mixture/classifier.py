"""A classifier with a mixture per class; training is in `suffice.choosing.recipes.groups`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from ...choosing.priors import ENOUGH
from ...choosing.recipes.base import Warm
from ...choosing.recipes.groups import Groups
from ...choosing.train import chosen
from ...engines.threads import Engine
from ...learners.starts import distinct
from ...learners.watch import SILENT
from ..checks import check_one_of, check_training, check_whole
from ..classifier import GenerativeClassifier
from ..families import COVARIANCES, FAMILIES
from ..kinds import Path, Seed
from ..sections import documented
from ..warm import last_fit

ALGORITHMS = ("auto", "lbfgs", "em")
COMPONENTS = (1, 2, 4, 8, 12)


@documented
class MixtureClassifier(GenerativeClassifier):
    """A classifier whose classes are mixtures, with latent components: trained for the likelihood or for classification.

    Use it where one simple density a class is too little: components and discriminative training add up. With `loss="nll"` it is EM in
    every class; with "ncll" or "hinge" the same model is trained to classify, starting from there, unless EM is better on held-out
    rows. It stays a joint density: missing cells, rows without a label, samples and imputations as with the other classifiers.

    PARAMETERS
    n_components : int or "auto", default=2
        Components of every class. "auto" tries 1, 2, 4, 8 and 12 on held-out rows until three in a row are no better.
    family : {"gaussian", "bernoulli", "categorical", "multinomial", "poisson", "mixed"}, default="gaussian"
    covariance_type : {"diag", "spherical", "full", "tied"}, default="diag"
        Of the Gaussian family; "tied" is one covariance for all components of all classes.
    kinds, binarize, min_categories : as in `MixedNB`, `BernoulliNB` and `CategoricalNB`
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.

    ATTRIBUTES
    n_components_ : int
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
        self, n_components: int | str = 2, *, family: Any = "gaussian", covariance_type: str = "diag", loss: str = "ncll",
        prior: float | str = "auto", algorithm: str = "auto", step_size: float | None = None, max_epochs: int = 150,
        tol: float = 1e-6, average: bool = True, class_prior: Any = None, class_weight: Any = None,
        unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", kinds: Any = "auto", binarize: float | None = 0.0,
        min_categories: Any = None, n_jobs: int | None = None, random_state: Seed = None, verbose: int = 0,
        warm_start: bool = False, checkpoint: Path = None, checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.n_components = n_components
        self.family = family
        self.covariance_type = covariance_type
        self.kinds = kinds
        self.binarize = binarize
        self.min_categories = min_categories

    @override
    def _check_parameters(self) -> None:
        check_one_of("family", self.family, FAMILIES)
        check_one_of("covariance_type", self.covariance_type, COVARIANCES)
        if self.n_components != "auto":
            check_whole("n_components", self.n_components)
        check_training(self, ALGORITHMS, ("auto",))

    @override
    def _reader(self) -> Any:
        return FAMILIES.get(self.family, FAMILIES["gaussian"]).reader(self)  # an unknown one is refused by `fit`

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        width: Any = getattr(self, "n_components_", self.n_components)  # older files have no n_components_
        return FAMILIES[self.family].structure(self, reader, rows, n_outcomes * width, weights)

    @override
    def _recipe(self, reader: Any, structure: Any = None) -> Any:
        options = self._options()
        loss = self._loss()
        amount = float(self.prior) if not loss.is_discriminative and self.prior != "auto" else 1.0
        is_words = self.family == "multinomial"
        width = 1 if structure is None else structure.n_outcomes // len(self.classes_)
        return Groups(options, width, amount, not loss.calibrates_itself or is_words, Engine(options.n_threads))

    @override
    def _problem(self, reader, rows, codes, weights, loss):
        if self.n_components != "auto":
            self.n_components_ = int(self.n_components)
            return super()._problem(reader, rows, codes, weights, loss)
        problems, scores, idle = {}, dict[int, float](), 0
        for width in COMPONENTS:
            self.n_components_ = width
            problem = problems[width] = super()._problem(reader, rows, codes, weights, loss)
            recipe, generator = self._recipe(reader, problem.model), np.random.default_rng(0)
            lowest = min(scores.values(), default=np.inf)
            scores[width] = chosen(problem.labelled(), recipe, generator, SILENT).score
            idle = 0 if scores[width] < lowest * (1.0 - ENOUGH) else idle + 1
            if idle == 3 or not np.isfinite(scores[width]):  # too few rows to choose on
                break
        self.n_components_ = min(scores, key=scores.__getitem__)
        return problems[self.n_components_]

    @override
    def _rows_that_count(self, rows: Any, codes: np.ndarray, weights: np.ndarray, loss: Any) -> Any:
        """Few rows are merged where they are the same: a weight of 2 is the row twice to the last bit, also for what is held out."""
        return distinct(*super()._rows_that_count(rows, codes, weights, loss))

    @override
    def _warm(self, before: Any, reader: Any, structure: Any) -> Any:
        last = last_fit(self, before)
        if last is None or not last.fits(structure, reader, self.classes_):
            return None
        return Warm(last.moments, structure=last.structure)

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        shape = (len(self.classes_), self._answering.width)
        self.weights_: Any = (moments.mass / moments.mass.sum()).reshape(shape)
        self.class_prior_: Any = self.weights_.sum(axis=1)
        if self.family == "gaussian":
            mean, covariance = model.family.parameters(moments.columns[0])
            covariance = covariance[:, 0] if self.covariance_type == "spherical" else covariance
            self.means_: Any = (mean + model.family.location).reshape(*shape, -1)
            tied = self.covariance_type == "tied"
            self.covariances_: Any = covariance if tied else covariance.reshape(*shape, *covariance.shape[1:])
        elif self.family == "poisson":
            self.rates_: Any = (model.family.rates(moments.columns[0]) * self._reader_.unit).reshape(*shape, -1)
        elif self.family == "multinomial":
            count = model.counts_of(moments)
            self.probabilities_: Any = (count / count.sum(axis=0)).T.reshape(*shape, -1)
        elif self.family in ("categorical", "bernoulli"):
            parts = model.family.columns_of(model.family.probabilities(moments.columns[0]))
            self.probabilities_ = [part.T.reshape(*shape, -1) for part in parts]

    def predict_component_proba(self, X: Any) -> np.ndarray:
        """p(class, component | x): ndarray of shape (n_samples, n_classes, n_components)."""
        check_is_fitted(self)
        return self._shares(self._new_rows(X), None).reshape(-1, len(self.classes_), self._answering.width)

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.family in ("bernoulli", "multinomial")  # as in naive_bayes
        return tags
