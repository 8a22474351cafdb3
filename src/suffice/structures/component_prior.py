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

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..saving.schema import require
from .base import Moments
from .joint import Joint


@dataclass(frozen=True, eq=False)
class ComponentPrior:
    model: Joint
    amount: float  # pseudo-rows of every component
    mass: float  # pseudo-count of every component's mass
    typical: tuple  # of every family: variances, frequencies or rates of the data
    ridge: float = 0.0

    stored_as: ClassVar[dict[str, str]] = {"amount": "number 0..", "mass": "number 0..", "ridge": "number 0.."}

    def check_stored(self) -> None:
        require(isinstance(self.model, Joint), "the model of a prior must be a joint distribution of columns")

    @classmethod
    def of(cls, model: Joint, statistics: Moments, amount: float, mass: float, ridge: float = 0.0) -> ComponentPrior:
        """A prior from the statistics of some first partition of the rows."""
        typical = tuple(f.typical(own) for f, own in zip(model.families, statistics.columns, strict=True))
        return cls(model, float(amount), float(mass), typical, float(ridge))

    def _changed(self, moments: Moments, function: Callable) -> Moments:
        """function(family, its moments, what is typical of it) in the place of the moments."""
        parts = zip(self.model.families, moments.columns, self.typical, strict=True)
        return Moments(moments.mass, tuple(function(*part) for part in parts))

    def pseudo(self, statistics: Moments) -> Moments:
        """The prior as a record (a Gaussian's follows the components' own means)."""
        rows = self._changed(statistics, lambda family, own, kind: family.pseudo_rows(own, self.amount, kind))
        return Moments(np.full(self.model.n_outcomes, self.mass), rows.columns)

    def posterior(self, statistics: Moments) -> Moments:
        moments = statistics + self.pseudo(statistics) if self.amount or self.mass else statistics
        if self.amount:
            moments = self._changed(moments, lambda family, own, kind: family.resolved(own, kind))
        moments = self._changed(moments, lambda family, own, _: family.projected(own))
        if not self.ridge:
            return moments
        return self._changed(moments, lambda family, own, _: family.ridged(own, self.ridge))

    def log_density(self, moments: Moments) -> float:
        if not self.amount and not self.mass:
            return 0.0
        return self.model.log_likelihood(self.pseudo(moments), moments)


def default_amount(model: Joint) -> float:
    """Pseudo-rows: one, but enough to keep a full covariance of few rows away from singular."""
    return max(family.default_rows for family in model.families)
