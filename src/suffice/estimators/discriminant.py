"""Gaussian discriminant analysis: linear (one covariance for all classes) and quadratic (one for each)."""

from __future__ import annotations

from typing import Any

import numpy as np
from typing_extensions import override

from ..families import gaussian_diagonal, gaussian_full, gaussian_tied
from ..structures.joint import Joint
from .checks import check_one_of
from .classifier import GenerativeClassifier
from .kinds import Path, Seed
from .onnx import gaussian_scores, linear
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

    covariance_: Any

    def __init__(
        self, covariance: str = "tied", *, loss: str = "ncll", prior: float | str = "auto", algorithm: str = "auto",
        step_size: float | None = None, max_epochs: int = 100, tol: float = 1e-3, average: bool = True, class_prior: Any = None,
        class_weight: Any = None, unlabelled_weight: float | str = "auto", unlabelled: Any = "auto", random_state: Seed = None,
        verbose: int = 0, warm_start: bool = False, n_jobs: int | None = None, checkpoint: Path = None,
        checkpoint_minutes: float = 3.0, resume: Path | bool = None,
    ) -> None:  # fmt: skip
        super().__init__(
            loss=loss, prior=prior, algorithm=algorithm, step_size=step_size, max_epochs=max_epochs, tol=tol, average=average,
            class_prior=class_prior, class_weight=class_weight, unlabelled_weight=unlabelled_weight, unlabelled=unlabelled,
            random_state=random_state, verbose=verbose, warm_start=warm_start, n_jobs=n_jobs,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume,
        )  # fmt: skip
        self.covariance = covariance

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("covariance", self.covariance, MODELS)

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return Joint.of(MODELS[self.covariance].for_data(rows, n_outcomes))

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        mean, self.covariance_ = model.family.parameters(moments.columns[0])
        self.means_: Any = mean + model.family.location
        self.priors_: Any = moments.mass / moments.mass.sum()

    def _onnx_scores(self, graph: Any, X: str) -> str:
        """The tensor (n, K) of log p(x, class) in an ONNX graph."""
        mean, log_prior, covariance = self.means_, np.log(self.priors_), self.covariance_
        K, D = mean.shape
        if self.covariance == "diag":
            return gaussian_scores(graph, X, mean, covariance, log_prior)
        values = graph("Sub", X, mean.mean(axis=0))  # NaN stays NaN, and is refused
        z = mean - mean.mean(axis=0)
        if self.covariance == "tied":  # the square of x is the same for all classes
            weights = np.linalg.solve(covariance, z.T).T
            return linear(graph, [(values, weights)], log_prior - 0.5 * (weights * z).sum(axis=1))
        roots = np.linalg.inv(np.linalg.cholesky(covariance))  # (K, D, D); |root (x - mean)|^2 is the distance
        turned = linear(graph, [(values, roots.reshape(K * D, D))], -np.einsum("kij,kj->ki", roots, z).ravel())
        square = graph("Reshape", graph("Mul", turned, turned), np.array([-1, K, D]))
        constant = log_prior + np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        return graph("Add", graph("Mul", graph("ReduceSum", square, np.array([2]), keepdims=0), -0.5), constant)
