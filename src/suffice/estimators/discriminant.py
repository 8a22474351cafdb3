"""Gaussian discriminant analysis: linear (one covariance for all classes) and quadratic (one for each)."""

from __future__ import annotations

from typing_extensions import override

from ..families import gaussian_diagonal, gaussian_full, gaussian_tied
from ..structures.joint import Joint
from .checks import check_one_of
from .classifier import GenerativeClassifier
from .sections import documented

__all__ = ["GaussianDiscriminant"]

MODELS = {
    "tied": gaussian_tied.GaussianTied,
    "full": gaussian_full.GaussianFull,
    "diag": gaussian_diagonal.GaussianDiagonal,
}


@documented
class GaussianDiscriminant(GenerativeClassifier):
    """Gaussian classes with correlated columns.

    `covariance="tied"` is linear discriminant analysis (and with "ncll" the generative side of logistic regression), "full" is
    quadratic, "diag" is Gaussian naive Bayes.

    PARAMETERS
    covariance : {"tied", "full", "diag"}, default="tied"

    ATTRIBUTES
    means_ : ndarray of shape (n_classes, n_features)
    covariance_ : ndarray of shape (n_features, n_features) for "tied", (n_classes, n_features, n_features) for "full",
        (n_classes, n_features) for "diag"
    priors_ : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from suffice import GaussianDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> GaussianDiscriminant(covariance="full", loss="nll").fit(X, y).score(X, y) > 0.99
    True
    """

    def __init__(
        self, covariance="tied", *, loss="ncll", prior="auto", algorithm="auto", step_size=None, max_epochs=100, tol=1e-3,
        average=True, class_prior=None, class_weight=None, unlabelled_weight="auto", unlabelled="auto", random_state=None, verbose=0,
        warm_start=False, n_jobs=None, checkpoint=None, checkpoint_minutes=3.0, resume=None,
    ):  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.covariance = covariance

    @override
    def _check_parameters(self):
        super()._check_parameters()
        check_one_of("covariance", self.covariance, MODELS)

    @override
    def _structure(self, reader, rows, n_outcomes, weights):
        return Joint.of(MODELS[self.covariance].for_data(rows, n_outcomes))

    @override
    def _expose(self, model, moments):
        mean, self.covariance_ = model.family.parameters(moments.columns[0])
        self.means_ = mean + model.family.location
        self.priors_ = moments.mass / moments.mass.sum()
