"""Conjugate posteriors of a mixture's parameters: a Dirichlet of the masses, and those of the families (`families.conjugates`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma

from ..families.conjugates import Conjugate, dirichlet_divergence
from .base import Moments
from .joint import Joint


@dataclass(frozen=True, eq=False)
class Posterior:
    """Hyperparameters: of the masses, and a tuple of arrays for every family."""

    mass: np.ndarray
    columns: tuple


@dataclass(frozen=True, eq=False)
class ConjugatePrior:
    """A weak prior; `form` turns expected log-densities into coefficients."""

    model: Joint
    form: Any  # `forms.JointForm`
    concentration: float  # of the Dirichlet of the masses
    parts: tuple[Conjugate, ...]

    @classmethod
    def of(cls, model: Joint, form, statistics: Moments, concentration: float) -> ConjugatePrior:
        """From the statistics of some first partition of the rows."""
        parts = tuple(f.conjugate(own) for f, own in zip(model.families, statistics.columns, strict=True))
        return cls(model, form, concentration, parts)

    def posterior(self, statistics: Moments) -> Posterior:
        columns = tuple(part.updated(own) for part, own in zip(self.parts, statistics.columns, strict=True))
        return Posterior(self.concentration + statistics.mass, columns)

    def coefficients(self, q: Posterior) -> tuple:
        """Coefficients of the form whose scores are E_q[log p(x, k)]."""
        log_mass = digamma(q.mass) - digamma(q.mass.sum())
        parts = zip(self.parts, q.columns, self.form.parts, strict=True)
        return self.form.with_masses(log_mass, [part.coefficients(*own) for part, *own in parts])

    def divergence(self, q: Posterior) -> float:
        """KL(q | prior)."""
        masses = dirichlet_divergence(q.mass, np.full_like(q.mass, self.concentration))
        return masses + sum(part.divergence(own) for part, own in zip(self.parts, q.columns, strict=True))

    def mean_moments(self, q: Posterior) -> Moments:
        """The model at the posterior means."""
        parts = zip(self.parts, q.columns, strict=True)
        return Moments(q.mass, tuple(part.mean_moments(own, q.mass) for part, own in parts))
