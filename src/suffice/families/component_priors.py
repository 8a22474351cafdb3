r"""Priors of a mixture's components: pseudo-statistics that keep every component inside the domain, whatever EM gives it.

Gaussian columns     `amount` rows at the component's own mean with a typical variance V0 (an inverse gamma or Wishart prior of the
                     variance; the mean is free):   V = (W V_ml + amount V0) / (W + amount)
categories, counts   `amount` rows as the data are on the whole (a Dirichlet or gamma prior)
masses               `mass` rows for each component (a Dirichlet prior)

A prior is fixed before EM starts, so EM climbs  log-likelihood + log prior.  `posterior(statistics)` is the M-step,
`log_density(moments)` the second term (the log-likelihood of the pseudo-statistics). With `ridge` instead, a number is added
to every variance after the M-step, as scikit-learn's `reg_covar` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import categorical, gaussian_diagonal, gaussian_full, gaussian_tied, mixed, multinomial, poisson
from .base import Model
from .gaussian_diagonal import RESOLUTION, floored_variance, typical_variance
from .gaussian_spherical import GaussianSpherical


@dataclass(frozen=True, eq=False)
class ComponentPrior:
    model: Model
    amount: float  # pseudo-rows of every component
    mass: float  # pseudo-count of every component's mass
    typical: Any  # the family's own: variances, frequencies or rates of the data
    ridge: float = 0.0

    def pseudo(self, statistics):
        """The prior as a record (a Gaussian's follows the components' own means)."""
        return replace(
            pseudo_rows(self.model, statistics, self.amount, self.typical),
            mass=np.full(self.model.n_outcomes, self.mass),
        )

    def posterior(self, statistics):
        moments = statistics + self.pseudo(statistics) if self.amount or self.mass else statistics
        if self.amount:
            moments = resolved(self.model, moments, self.typical)
        if isinstance(self.model, GaussianSpherical):
            moments = self.model.projected(moments)
        return ridged(self.model, moments, self.ridge) if self.ridge else moments

    def log_density(self, moments) -> float:
        if not self.amount and not self.mass:
            return 0.0
        return self.model.log_likelihood(self.pseudo(moments), moments)


def component_prior(model: Model, statistics, amount: float, mass: float, ridge: float = 0.0) -> ComponentPrior:
    """A prior from the statistics of some first partition of the rows."""
    return ComponentPrior(model, float(amount), float(mass), typical_of(model, statistics), float(ridge))


def default_amount(model: Model) -> float:
    """Pseudo-rows: one, but enough to keep a full covariance of few rows away from singular."""
    if isinstance(model, gaussian_full.GaussianFull):
        return model.n_features + 1.0
    return 1.0


def above_rounding(model, variance: np.ndarray) -> np.ndarray:
    """Variances of columns that are constant up to rounding: the square of their value, or 1."""
    square = model.location**2
    return np.where(variance > 1e-14 * square, variance, np.where(square > 0, square, 1.0))


def typical_of(model: Model, statistics):
    if isinstance(model, gaussian_diagonal.GaussianDiagonal):
        return above_rounding(model, typical_variance(statistics))
    if isinstance(model, gaussian_full.GaussianFull):
        n = max(float(statistics.weight.sum()), 1e-300)
        _, covariance = gaussian_full.mean_and_covariance(statistics)
        within = np.einsum("k,kaa->a", statistics.weight, covariance) / n
        square = np.einsum("kaa->a", statistics.second) / n
        overall = square - (statistics.first.sum(axis=0) / n) ** 2
        return above_rounding(model, floored_variance(within, overall, square))
    if isinstance(model, gaussian_tied.GaussianTied):
        n = max(float(statistics.weight.sum()), 1e-300)
        _, within = gaussian_tied.mean_and_covariance(statistics)
        square = np.diagonal(statistics.second) / n
        overall = square - (statistics.first.sum(axis=0) / n) ** 2
        return above_rounding(model, floored_variance(np.diagonal(within), overall, square))
    if isinstance(model, categorical.Categorical):
        count = statistics.count.sum(axis=1) + 1.0 / model.n_categories[model.column_of]  # a trace of every category
        return count / model.block_sums(count)[model.column_of]
    if isinstance(model, multinomial.Multinomial):
        count = statistics.count.sum(axis=1)
        count = count + max(float(count.sum()), 1.0) * 1e-3 / len(count)
        return model.length * count / count.sum()
    if isinstance(model, poisson.Poisson):
        rate = statistics.count.sum(axis=0) / np.maximum(statistics.weight.sum(axis=0), 1e-300)
        smallest = rate[rate > 0].min() if (rate > 0).any() else 1.0
        return np.where(rate > 0, rate, smallest)
    assert isinstance(model, mixed.Mixed)
    return [typical_of(part, own) for part, own in zip(model.models, statistics.parts, strict=True)]


def pseudo_rows(model: Model, statistics, amount: float, typical):
    """`amount` typical rows for every component; masses are zero."""
    K = model.n_outcomes
    nothing = np.zeros(K)
    if isinstance(model, gaussian_diagonal.GaussianDiagonal):
        mean, _ = gaussian_diagonal.mean_and_variance(statistics)
        weight = np.full_like(mean, amount)
        return gaussian_diagonal.from_parameters(nothing, weight, mean, np.broadcast_to(typical, mean.shape))
    if isinstance(model, gaussian_full.GaussianFull):
        mean, covariance = gaussian_full.mean_and_covariance(statistics)
        spread = np.broadcast_to(np.diag(typical), covariance.shape)
        return gaussian_full.from_parameters(nothing, np.full(K, amount), mean, spread)
    if isinstance(model, gaussian_tied.GaussianTied):  # `amount` rows in all
        mean = statistics.first / np.where(statistics.weight > 0, statistics.weight, 1.0)[:, None]
        return gaussian_tied.from_parameters(nothing, np.full(K, amount / K), mean, np.diag(typical))
    if isinstance(model, categorical.Categorical):
        count = np.repeat(amount * typical[:, None], K, axis=1)
        return categorical.Moments(nothing, count, model.block_sums(count))
    if isinstance(model, multinomial.Multinomial):
        return multinomial.Moments(nothing, np.repeat(amount * typical[:, None], K, axis=1))
    if isinstance(model, poisson.Poisson):
        weight = np.full((K, model.n_features), amount)
        return poisson.Moments(nothing, weight, weight * typical)
    assert isinstance(model, mixed.Mixed)
    parts = zip(model.models, statistics.parts, typical, strict=True)
    return mixed.joined(*(pseudo_rows(part, own, amount, kind) for part, own, kind in parts))


def resolved(model: Model, moments, typical):
    """Variances that moments can hold: second moments less squared means must not be lost in rounding, however large the weights are.

    The least a variance may be (in any direction) is the share RESOLUTION of the squared mean and the typical variance.
    """
    if isinstance(model, mixed.Mixed):
        parts = zip(model.models, moments.parts, typical, strict=True)
        return mixed.joined(*(resolved(part, own, kind) for part, own, kind in parts))
    if isinstance(model, gaussian_diagonal.GaussianDiagonal):
        mean, variance = gaussian_diagonal.mean_and_variance(moments)
        least = RESOLUTION * (mean**2 + typical)
        if (variance >= least).all():
            return moments
        return gaussian_diagonal.from_parameters(moments.mass, moments.weight, mean, np.maximum(variance, least))
    if isinstance(model, (gaussian_full.GaussianFull, gaussian_tied.GaussianTied)):
        module: Any = gaussian_full if isinstance(model, gaussian_full.GaussianFull) else gaussian_tied
        mean, covariance = module.mean_and_covariance(moments)
        square = mean**2 if covariance.ndim == 3 else (mean**2).max(axis=0)
        unit = np.sqrt(square + typical)
        units = unit[..., :, None] * unit[..., None, :]
        try:
            np.linalg.cholesky(covariance / units - RESOLUTION * np.eye(model.n_features))
            return moments
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(covariance / units)
        values = np.maximum(values, 2 * RESOLUTION)
        covariance = units * ((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2))
        return module.from_parameters(moments.mass, moments.weight, mean, covariance)
    return moments


def ridged(model: Model, moments, ridge: float):
    """Moments with `ridge` added to every variance."""
    if isinstance(model, gaussian_diagonal.GaussianDiagonal):
        mean, variance = gaussian_diagonal.mean_and_variance(moments)
        return gaussian_diagonal.from_parameters(moments.mass, moments.weight, mean, variance + ridge)
    if isinstance(model, gaussian_full.GaussianFull):
        mean, covariance = gaussian_full.mean_and_covariance(moments)
        covariance = covariance + ridge * np.eye(model.n_features)
        return gaussian_full.from_parameters(moments.mass, moments.weight, mean, covariance)
    if isinstance(model, gaussian_tied.GaussianTied):
        mean, covariance = gaussian_tied.mean_and_covariance(moments)
        covariance = covariance + ridge * np.eye(model.n_features)
        return gaussian_tied.from_parameters(moments.mass, moments.weight, mean, covariance)
    return moments
