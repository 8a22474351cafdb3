"""Sequences of classes that are hidden Markov chains: scores, losses with their signed statistics, and EM.

    scores[i, c] = log pi_c + log p(x_i | c)          by the forward pass of every chain
    statistics_c = sum_i w_ic E[s | x_i, c]           forward and backward, only where |w_ic| counts

Sequences of positive and of negative weight are summed apart, so every sum is one of `ChainSteps`. `GroupProblem` and the minimiser
of `quasi_newton` take these rows as they take those of mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engines.threads import Engine
from ..losses import Loss, loss_named
from ..structures.chain import ChainMoments, ChainPrior, Parameters
from ..structures.chain_classes import (
    ChainClasses,
    ClassesMoments,
    ClassesPrior,
    ClassParameters,
    SequenceRows,
    gathered,
)
from .chain_em import ChainProblem, start_statistics
from .chain_steps import ChainSteps, ExpectedSteps
from .driver import run
from .em import BatchEM
from .problem import Measure
from .watch import SILENT, Watch

NEGLIGIBLE = 1e-7  # signed weights below it (of a sequence of weight 1) are taken as zero


@dataclass(eq=False)
class ClassRows:
    """Sequences with labels (-1: none) and weights under a chain for every class."""

    model: ChainClasses
    X: SequenceRows
    labels: np.ndarray
    weights: np.ndarray
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        chain = self.model.chain
        self.form = chain.emissions.form(np.ascontiguousarray(self.model.seen(self.X).steps))
        self.steps = ChainSteps(chain, self.form, self.X.offsets, np.ones(len(self.X)), None, self.engine)

    def scores(self, coefficients: ClassParameters) -> np.ndarray:
        """(N, C) array: log p(x_i, c), without the base measure."""
        found = [self.steps.log_likelihoods(own) for own in coefficients.chains]
        return np.stack(found, axis=1) + coefficients.log_shares

    def loss(self, coefficients: ClassParameters, loss: Loss) -> tuple[float, ClassesMoments]:
        """The sum of a loss over the sequences, and its signed statistics: minus its gradient in the natural parameters."""
        scores = self.scores(coefficients)
        with np.errstate(invalid="ignore"):
            value = float(self.weights @ loss.values(scores, self.labels))
            weights = loss.weights(scores, self.labels)
        weights = np.where(np.abs(weights) > NEGLIGIBLE, weights, 0.0) * self.weights[:, None]
        chains = tuple(self.signed(own, w) for own, w in zip(coefficients.chains, weights.T, strict=True))
        return value, ClassesMoments(weights.sum(axis=0), chains)

    def signed(self, parameters: Parameters, weights: np.ndarray) -> ChainMoments:
        """sum_i weights_i E[s | x_i] of one chain."""
        found = self.model.chain.no_statistics()
        for sign in (1.0, -1.0):
            rows = np.flatnonzero((sign * weights > 0) & (self.X.lengths > 0))
            if len(rows):
                found = found + sign * self.some(rows, sign * weights[rows]).expected(parameters).statistics
        return found

    def some(self, rows: np.ndarray, weights: np.ndarray) -> ChainSteps:
        """The steps of some sequences, with weights of their own."""
        steps = self.steps
        if len(rows) == len(self.X):
            return ChainSteps(steps.chain, self.form, steps.offsets, weights, None, self.engine, steps.burn)
        where, offsets = gathered(steps.offsets, rows)
        return ChainSteps(steps.chain, self.form.some(where), offsets, weights, None, self.engine, steps.burn)


@dataclass(eq=False)
class ClassProblem:
    """What EM over the classes minimises: labelled sequences count in their class, the others in all by their posteriors."""

    rows: ClassRows
    prior: Any  # a ClassesPrior

    reseeds: bool = False  # chains begin where EM of each class ended
    _last: tuple = (None, None)

    patience = 1

    @property
    def model(self) -> ChainClasses:
        return self.rows.model

    @property
    def weights(self) -> np.ndarray:
        return self.rows.weights

    def scale(self, measure: Measure) -> float:
        """So that `tol` is the gain of a step's mean log-likelihood."""
        return 10.0 * max(float(self.weights @ self.rows.X.lengths), 1e-300)

    def expected(self, moments) -> ExpectedSteps:
        if self._last[0] is not moments:
            parameters = self.model.parameters(self.rows.form, moments)
            value, statistics = self.rows.loss(parameters, loss_named("nll"))
            self._last = moments, ExpectedSteps(statistics, -value)
        return self._last[1]

    def measured(self, moments, expected: ExpectedSteps) -> Measure:
        nll = -expected.log_likelihood / max(float(self.weights.sum()), 1e-300)
        return Measure(-expected.log_likelihood - self.prior.log_density(moments), nll, nll)

    def measure(self, moments) -> Measure:
        return self.measured(moments, self.expected(moments))


# -- EM class by class -------------------------------------------------------------------------------------------------

FEW = 0.1  # weight of the steps of all classes that stand for those of a class without any (in a stream's first batch)


def class_parts(rows: ClassRows) -> list[ChainSteps]:
    """The steps of every class."""
    usable = (rows.weights > 0) & (rows.X.lengths > 0)
    parts = []
    for c in range(rows.model.n_outcomes):
        own = np.flatnonzero(usable & (rows.labels == c))
        weights = rows.weights[own]
        if not len(own):
            own = np.flatnonzero(usable)
            weights = np.full(len(own), FEW / max(len(own), 1))
        parts.append(rows.some(own, weights))
    return parts


def classes_prior(rows: ClassRows, how: str, amount: float, generator) -> ClassesPrior:
    """The prior of EM, from a first labelling of the steps of all classes."""
    starts = [start_statistics(part, how, generator) for part in class_parts(rows)]
    return ClassesPrior(ChainPrior.of(rows.model.chain, sum(starts[1:], starts[0]), amount))


def fitted_by_classes(
    rows: ClassRows, how: str, amount: float, generator, passes: int, tol: float, watch: Watch = SILENT
) -> tuple[ClassesMoments, ClassesMoments, ClassesPrior]:
    """(moments, expected statistics, prior) of EM in every class on its own; `amount` pseudo-steps that look like all classes'."""
    parts = class_parts(rows)
    starts = [start_statistics(part, how, generator) for part in parts]
    prior = ChainPrior.of(rows.model.chain, sum(starts[1:], starts[0]), amount)
    fits = []
    for part, start in zip(parts, starts, strict=True):
        problem = ChainProblem(part, prior, reseeds=amount > 0)
        fit = run(BatchEM(), problem, prior.posterior(start), generator, max_epochs=passes, tol=tol, watch=watch)
        fits.append((fit.moments, problem.expected(fit.moments).statistics))
    labelled = rows.labels >= 0
    mass = np.bincount(rows.labels[labelled], rows.weights[labelled], minlength=rows.model.n_outcomes)
    mass = np.maximum(mass, 1e-3 * max(mass.sum(), 1e-300) / len(mass))
    moments, statistics = zip(*fits, strict=True)
    return ClassesMoments(mass, moments), ClassesMoments(mass, statistics), ClassesPrior(prior)
