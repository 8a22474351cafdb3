"""What Gaussian rows with correlated columns share: one covariance for each outcome (`gaussian_full`) or for all (`gaussian_tied`).

Covariances are (K, d, d) arrays, or (d, d) where they are tied; `weight` is (K,): a row with an observed cell counts for all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from typing_extensions import override

from .base import Family
from .charts import FullChart
from .completion import (
    available_cells,
    cell_of,
    completed_by_em,
    completed_sums,
    drawn,
    imputed,
    observed_log_densities,
)
from .conjugates import NormalWishart, log_determinant, wide
from .forms import LOG_2PI
from .forms_correlated import CompletedForm, FullForm, TiedForm
from .gaussian_diagonal import RESOLUTION, above_rounding, floored_variance
from .points import standardised, weighted_means
from .records import Record
from .rows import any_missing, dense, location_of


@dataclass(frozen=True, eq=False)
class Moments(Record):
    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True, eq=False)
class Natural(Record):
    linear: np.ndarray
    quadratic: np.ndarray


@dataclass(frozen=True, eq=False)
class GaussianCorrelated(Family):
    location: np.ndarray = field(default_factory=lambda: np.zeros(0))

    stored_as: ClassVar[dict[str, str]] = {"location": "float[n_features]"}

    record: ClassVar[Any] = Moments
    is_tied = False

    @classmethod
    @override
    def for_data(cls, X, n_outcomes: int) -> Self:
        return cls(n_outcomes, X.shape[1], location_of(X))

    @override
    def centred(self, X, weights):
        return replace(self, location=weighted_means(dense(X), weights))

    @abstractmethod
    def parameters(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Means (K, d) relative to the location, and covariances."""

    @abstractmethod
    def from_parameters(self, weight, mean, covariance) -> Moments:
        """Moments of these parameters."""

    @abstractmethod
    def variances(self, statistics: Moments) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(d,) arrays: variances within outcomes, overall variances, and mean squares."""

    def each_outcome(self, moments: Moments) -> tuple[np.ndarray, np.ndarray]:
        """Means and a covariance for every outcome."""
        mean, covariance = self.parameters(moments)
        return mean, np.broadcast_to(covariance, (self.n_outcomes, *covariance.shape[-2:]))

    # -- missing cells ------------------------------------------------------------------------------------------------

    @override
    def is_latent(self, X) -> bool:
        return any_missing(X)

    @override
    def labelled_statistics(self, X, outcomes, weights) -> Moments:
        """Where cells are missing: their expectations under the maximum-likelihood estimate itself, found by EM."""
        if not self.is_latent(X):
            return self.complete_statistics(X, outcomes, weights)
        mean, variance = available_cells(self, X, outcomes, weights)
        spread = np.array([np.diag(part) for part in variance])
        start = self.from_parameters(np.ones(self.n_outcomes), mean, spread.mean(axis=0) if self.is_tied else spread)
        return completed_by_em(self, X, outcomes, weights, start)

    def complete_statistics(self, X, outcomes, weights) -> Moments:
        return super().labelled_statistics(X, outcomes, weights)

    @override
    def completed_statistics(self, X, shares, moments) -> Moments:
        if not self.is_latent(X):
            return self.statistics(X, shares)
        weight, first, second = completed_sums(dense(X) - self.location, shares, *self.each_outcome(moments))
        return Moments(weight, first, second.sum(axis=0) if self.is_tied else second)

    @override
    def log_densities(self, moments: Moments, X) -> np.ndarray:
        z, (mean, covariance) = dense(X) - self.location, self.each_outcome(moments)
        if self.is_latent(X):
            return observed_log_densities(z, mean, covariance)
        result = np.empty((X.shape[0], self.n_outcomes))
        for k in range(self.n_outcomes):
            away = z - mean[k]
            distance = (away * np.linalg.solve(covariance[k], away.T).T).sum(axis=1)
            result[:, k] = -0.5 * (distance + log_determinant(covariance[k]) + self.n_features * LOG_2PI)
        return result

    @override
    def cell_log_densities(self, moments: Moments, X) -> np.ndarray:
        """With precision P and r = P (x - mean): x_j given the others is Gaussian of variance 1 / P_jj, r_j / P_jj off its mean."""
        if self.is_latent(X):
            return super().cell_log_densities(moments, X)
        z, (mean, covariance) = X - self.location, self.each_outcome(moments)
        found = np.empty((len(X), self.n_outcomes, self.n_features))
        for k, precision in enumerate(np.linalg.inv(covariance)):
            own = np.diag(precision)
            found[:, k] = 0.5 * (np.log(own) - LOG_2PI - ((z - mean[k]) @ precision) ** 2 / own)
        return found

    @override
    def cell_prediction(self, moments: Moments, X, j):
        mean, variance = cell_of(X - self.location, j, *self.each_outcome(moments))
        return mean + self.location[j], variance

    @override
    def imputed(self, moments: Moments, X, responsibilities):
        filled, variance = imputed(X - self.location, responsibilities, *self.each_outcome(moments))
        return np.where(np.isnan(X), filled + self.location, X), np.sqrt(np.maximum(variance, 0.0))

    @override
    def drawn(self, moments: Moments, X, outcomes, generator) -> np.ndarray:
        filled = drawn(X - self.location, outcomes, *self.each_outcome(moments), generator)
        return np.where(np.isnan(X), filled + self.location, X)

    # -- domain and priors --------------------------------------------------------------------------------------------

    @override
    def in_domain(self, moments: Moments) -> bool:
        if not (moments.is_finite() and (moments.weight > 0).all()):
            return False
        return bool((np.linalg.eigvalsh(self.parameters(moments)[1]) > 0).all())

    @override
    def at_weight(self, moments: Moments, weight) -> Moments:
        return self.from_parameters(weight, *self.parameters(moments))

    @property
    @override
    def default_pseudo_counts(self) -> float:
        return self.n_features + 1.0

    @override
    def typical(self, statistics: Moments) -> np.ndarray:
        """(d,) array: variances within outcomes."""
        return above_rounding(self.location, floored_variance(*self.variances(statistics)))

    @override
    def resolved(self, moments: Moments, typical) -> Moments:
        mean, covariance = self.parameters(moments)
        square = (mean**2).max(axis=0) if self.is_tied else mean**2
        unit = np.sqrt(square + typical)
        units = unit[..., :, None] * unit[..., None, :]
        try:
            np.linalg.cholesky(covariance / units - RESOLUTION * np.eye(self.n_features))
            return moments
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(covariance / units)
        values = np.maximum(values, 2 * RESOLUTION)
        covariance = units * ((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))
        return self.from_parameters(moments.weight, mean, covariance)

    @override
    def ridged(self, moments: Moments, ridge: float) -> Moments:
        mean, covariance = self.parameters(moments)
        return self.from_parameters(moments.weight, mean, covariance + ridge * np.eye(self.n_features))

    @override
    def conjugate(self, statistics: Moments) -> NormalWishart:
        second = statistics.second if self.is_tied else statistics.second.sum(axis=0)
        kappa, typical = wide(self.typical(statistics), np.diagonal(second), statistics.weight.sum())
        dof = self.n_features + 2.0
        return NormalWishart(self, (kappa, dof, dof * np.diag(typical)))

    @override
    def points(self, X, weights):
        return standardised(dense(X) - self.location, weights)

    @override
    def form_for(self, X):
        if self.is_latent(X):
            return CompletedForm
        return TiedForm if self.is_tied else FullForm

    @override
    def chart_for(self, moments):
        return FullChart

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        mean, covariance = self.parameters(moments)
        noise, factor = generator.standard_normal((len(outcomes), self.n_features)), np.linalg.cholesky(covariance)
        noise = noise @ factor.T if self.is_tied else np.einsum("iab,ib->ia", factor[outcomes], noise)
        return self.location + mean[outcomes] + noise
