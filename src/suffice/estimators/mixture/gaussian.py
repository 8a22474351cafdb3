"""The mixture of Gaussians."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from ...reading.tables import Numbers
from ...structures.base import Moments
from ...structures.component_prior import ComponentPrior
from ...structures.joint import Joint
from ..checks import check_one_of, is_number
from ..families import COVARIANCES
from ..kinds import Path, Seed
from .base import Mixture
from .sections import documented


@documented
class GaussianMixture(Mixture):
    """A mixture of Gaussians: scikit-learn's, with missing cells, weights, streams and priors.

    Use it to estimate a density of numeric columns, to cluster, or to fill missing cells. With `reg_covar=1e-6` (scikit-learn's
    default) it follows scikit-learn's estimates pass by pass.

    PARAMETERS
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
    reg_covar : float or None, default=None
        Added to variances after the M-step, in the place of the prior. None: the prior.
    weights_init, means_init, precisions_init : arrays as in scikit-learn, default=None
        Where EM starts; what is not given comes from `init_params`.

    ATTRIBUTES
    means_ : ndarray of shape (n_components, n_features)
    covariances_, precisions_, precisions_cholesky_ : arrays, as scikit-learn shapes them

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.mixture import GaussianMixture
    >>> X = np.array([[1.0, 2.0], [1.0, np.nan], [1.0, 0.0], [10.0, 2.0], [np.nan, 4.0], [10.0, 0.0]])
    >>> model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    >>> np.sort(model.means_[:, 0]).round(1)
    array([ 1., 10.])
    >>> model.impute([[1.0, np.nan]]).shape
    (1, 2)
    """

    covariances_: Any

    def __init__(
        self, n_components: int | str = 1, *, covariance_type: str = "full", tol: float = 1e-3, reg_covar: float | None = None,
        max_iter: int = 100, n_init: int = 1, init_params: str = "kmeans", weights_init: Any = None, means_init: Any = None,
        precisions_init: Any = None, prior: float | str = "auto", algorithm: str = "em", batch_size: int | None = None,
        weight_concentration_prior: float | None = None, n_jobs: int | None = None, random_state: Seed = None,
        warm_start: bool = False, verbose: int = 0, checkpoint: Path = None, checkpoint_minutes: float = 3.0,
        resume: Path | bool = None, n_members: int | str = "auto",
    ) -> None:  # fmt: skip
        super().__init__(
            n_components, tol=tol, max_iter=max_iter, n_init=n_init, init_params=init_params, prior=prior, algorithm=algorithm,
            batch_size=batch_size, weight_concentration_prior=weight_concentration_prior, n_jobs=n_jobs,
            random_state=random_state, warm_start=warm_start, verbose=verbose,
            checkpoint=checkpoint, checkpoint_minutes=checkpoint_minutes, resume=resume, n_members=n_members,
        )  # fmt: skip
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init

    @classmethod
    def of(
        cls, weights: ArrayLike, means: ArrayLike, covariances: ArrayLike, covariance_type: str = "full"
    ) -> GaussianMixture:
        """A mixture with given parameters, as if it had been fitted (covariances in scikit-learn's shapes)."""
        weights, means, covariances = (np.array(values, dtype=float) for values in (weights, means, covariances))
        model = cls(len(weights), covariance_type=covariance_type)
        model._check_parameters()
        K, d = means.shape
        joint = Joint.of(COVARIANCES[covariance_type](K, d, np.zeros(d)))
        shapes = {"full": (K, d, d), "tied": (d, d), "diag": (K, d), "spherical": (K,)}
        if covariances.shape != shapes[covariance_type] or weights.shape != (K,) or not np.isclose(weights.sum(), 1.0):
            raise ValueError(
                f"weights, means and covariances have the shapes {weights.shape}, {means.shape} and {covariances.shape}; they must "
                f"be ({K},) with sum 1, ({K}, {d}) and {shapes[covariance_type]}"
            )
        model._stored_model, model.moments_ = joint, gaussian_moments(joint, weights, means, covariances)
        if not joint.in_domain(model.moments_):
            raise ValueError("weights must be positive and covariances positive definite")
        model._reader_, model.n_features_in_, model.converged_, model.n_iter_ = model._reader(), d, True, 0
        model._finish(joint)
        return model

    @override
    def _reader(self) -> Any:
        return Numbers()

    @override
    def _structure(self, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
        return Joint.of(COVARIANCES[self.covariance_type].for_data(rows, n_outcomes))

    @override
    def _component_prior(self, model: Any, statistics: Any) -> Any:
        if self.reg_covar is None:
            return super()._component_prior(model, statistics)
        return ComponentPrior.of(model, statistics, 0.0, 0.0, float(self.reg_covar))

    @override
    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_one_of("covariance_type", self.covariance_type, COVARIANCES)
        if self.reg_covar is not None and not (is_number(self.reg_covar) and 0 <= self.reg_covar < np.inf):
            raise ValueError(f"reg_covar={self.reg_covar!r} is neither None nor a number >= 0")

    @override
    def _given_start(self, problem: Any) -> Any:
        if self.weights_init is None and self.means_init is None and self.precisions_init is None:
            return None
        model, K, d = problem.model, problem.model.n_outcomes, problem.model.n_features
        statistics = self._start_statistics(problem, np.random.default_rng(0))
        prior = self._component_prior(model, statistics)
        mean, covariance = self._parameters(model, prior.posterior(statistics))
        weights = statistics.mass / statistics.mass.sum()
        if self.weights_init is not None:
            weights = np.asarray(self.weights_init, dtype=float)
            if weights.shape != (K,) or not (weights > 0).all() or not np.isclose(weights.sum(), 1.0):
                raise ValueError(f"weights_init={self.weights_init!r} must be {K} positive numbers that add up to 1")
        if self.means_init is not None:
            mean = np.asarray(self.means_init, dtype=float) - model.family.location
            if mean.shape != (K, d) or not np.isfinite(mean).all():
                raise ValueError(f"means_init has shape {mean.shape}; it must be finite, of shape ({K}, {d})")
        if self.precisions_init is not None:
            covariance = inverted(np.asarray(self.precisions_init, dtype=float), covariance.shape, self.covariance_type)
        return gaussian_moments(model, float(problem.weights.sum()) * weights, mean, covariance)

    def _parameters(self, model: Any, moments: Any) -> Any:
        """Means (about the location) and covariances in scikit-learn's shapes."""
        mean, covariance = model.family.parameters(moments.columns[0])
        return mean, covariance.mean(axis=1) if self.covariance_type == "spherical" else covariance

    @override
    def _expose(self, model: Any, moments: Any) -> None:
        mean, self.covariances_ = self._parameters(model, moments)
        self.means_: Any = mean + model.family.location
        if self.covariance_type in ("diag", "spherical"):
            self.precisions_: Any = 1.0 / self.covariances_
            self.precisions_cholesky_: Any = np.sqrt(self.precisions_)
        else:
            factor = np.linalg.cholesky(self.covariances_)
            identity = np.broadcast_to(np.eye(model.n_features), self.covariances_.shape)
            self.precisions_cholesky_ = np.swapaxes(np.linalg.solve(factor, identity), -1, -2)
            self.precisions_ = self.precisions_cholesky_ @ np.swapaxes(self.precisions_cholesky_, -1, -2)

    @override
    def _n_parameters(self) -> int:
        K, d = self.means_.shape
        spread = {"full": K * d * (d + 1) // 2, "tied": d * (d + 1) // 2, "diag": K * d, "spherical": K}
        return spread[self.covariance_type] + K * d + K - 1


def gaussian_moments(model: Joint, mass: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> Moments:
    """Moments of components with these masses, means about the location, and covariances in scikit-learn's shapes."""
    family = model.family
    if covariance.ndim == 1:  # one variance for all columns
        covariance = np.repeat(covariance[:, None], mean.shape[1], axis=1)
    return Moments(mass, (family.from_parameters(family.weight_of(mass), mean, covariance),))


def inverted(precisions: np.ndarray, shape: tuple[Any, ...], kind: str) -> np.ndarray:
    if precisions.shape != shape or not np.isfinite(precisions).all():
        raise ValueError(f"precisions_init has shape {precisions.shape}; it must be finite, of shape {shape}")
    if kind in ("diag", "spherical"):
        if not (precisions > 0).all():
            raise ValueError("precisions_init must be positive")
        return 1.0 / precisions
    if not np.allclose(precisions, np.swapaxes(precisions, -1, -2)) or not (np.linalg.eigvalsh(precisions) > 0).all():
        raise ValueError("precisions_init must be symmetric and positive definite")
    return np.linalg.inv(precisions)
