r"""Conjugate posteriors of a hidden Markov chain's parameters (variational Bayes; MacKay 1997, Beal 2003).

    q(theta) = Dir(start) prod_i Dir(what follows state i) prod q(emissions of a state)

Only free cells of start and transitions have a Dirichlet; fixed ones are known. The E-step is forward-backward with
exp E_q[log start], exp E_q[log A] (rows that add up to less than 1) and E_q[log p(x | state)]; the logarithm of the sum over all
paths, less KL(q | prior), is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma

from ..families.conjugates import Conjugate, dirichlet_divergence
from .base import Moments as JointMoments
from .chain import Chain, ChainMoments, Parameters


@dataclass(frozen=True, eq=False)
class ChainPosterior:
    """Hyperparameters: pseudo-counts of start and of what follows (0 where a cell is fixed), a tuple of arrays for every family; and
    `mass`, the expected steps in every state."""

    mass: np.ndarray
    start: np.ndarray
    leaving: np.ndarray
    columns: tuple


def expected_cells(counts: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """exp E[log cell] of rows of cells: those that are free share what the fixed ones leave, by a Dirichlet of these counts."""
    free = np.isnan(cells)
    left = 1.0 - np.where(free, 0.0, cells).sum(axis=-1, keepdims=True)
    total = np.where(free, counts, 0.0).sum(axis=-1, keepdims=True)
    logs = digamma(np.where(free, counts, 1.0)) - digamma(np.where(total > 0, total, 1.0))
    return np.where(
        free, np.maximum(left, 0.0) * np.exp(np.minimum(logs, 0.0)), cells
    )  # by rounding it may come out above 0


@dataclass(frozen=True, eq=False)
class ChainConjugate:
    """A weak prior: `amount` pseudo-counts over the free cells of every row, and those of the families."""

    chain: Chain
    form: Any
    amount: float
    parts: tuple[Conjugate, ...]

    @classmethod
    def of(cls, chain: Chain, form: Any, statistics: ChainMoments, amount: float) -> ChainConjugate:
        """From the statistics of some first labelling of the steps."""
        families = zip(chain.emissions.families, statistics.emissions.columns, strict=True)
        return cls(chain, form, float(amount), tuple(family.conjugate(own) for family, own in families))

    def _prior(self, cells: np.ndarray) -> np.ndarray:
        free = np.isnan(cells)
        return self.amount * free / np.maximum(free.sum(axis=-1, keepdims=True), 1)

    def posterior(self, statistics: ChainMoments) -> ChainPosterior:
        chain = self.chain
        start = self._prior(chain.start_cells) + statistics.start * np.isnan(chain.start_cells)
        leaving = self._prior(chain.leaving) + chain.left(statistics) * np.isnan(chain.leaving)
        families = zip(self.parts, statistics.emissions.columns, strict=True)
        return ChainPosterior(statistics.mass, start, leaving, tuple(part.updated(own) for part, own in families))

    def parameters(self, q: ChainPosterior) -> Parameters:
        """What the E-step takes."""
        chain, S = self.chain, self.chain.n_outcomes
        parts = zip(self.parts, q.columns, self.form.parts, strict=True)
        coefficients = self.form.with_masses(np.zeros(S), [part.coefficients(own, form) for part, own, form in parts])
        leaving = expected_cells(q.leaving, chain.leaving)
        end = leaving[:, S].copy() if chain.has_end else None
        A = np.ascontiguousarray(leaving[:, :S])
        return Parameters(expected_cells(q.start, chain.start_cells), A, end, coefficients)

    def divergence(self, q: ChainPosterior) -> float:
        """KL(q | prior)."""
        found = sum(part.divergence(own) for part, own in zip(self.parts, q.columns, strict=True))
        for counts, cells in ((q.start[None], self.chain.start_cells[None]), (q.leaving, self.chain.leaving)):
            prior = self._prior(cells)
            for own, weak, free in zip(counts, prior, np.isnan(cells), strict=True):
                found += dirichlet_divergence(own[free], weak[free]) if free.any() else 0.0
        return found

    def mean_moments(self, q: ChainPosterior) -> ChainMoments:
        """The model at the posterior means."""
        S, parts = self.chain.n_outcomes, zip(self.parts, q.columns, strict=True)
        mass = np.maximum(q.mass, 1e-6)
        emissions = JointMoments(mass, tuple(part.mean_moments(own, mass) for part, own in parts))
        end = q.leaving[:, S].copy() if self.chain.has_end else np.zeros(S)
        return ChainMoments(q.start, q.leaving[:, :S].copy(), end, emissions)
