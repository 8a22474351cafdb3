"""Choosing the prior on held-out parts of the training rows, and the check that training helps at all.

Every setting is fitted on the folds' training parts (warm-started from the setting before) and judged by the log-loss of the
pooled held-out scores: clipped, because a density can be wrong by hundreds of nats in a single row, and at the best temperature
where the loss does not calibrate itself. Maximum likelihood takes part as the model to beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from .learners.driver import Problem, run
from .priors import Setting, interior, search

# standard errors by which training must beat maximum likelihood; more for few rows: the best of several settings always looks good
EVIDENCE = 2.0
CLIP = 1e-3  # share of the uniform distribution mixed into held-out probabilities
MAX_ROWS = 20_000  # the choice is made on at most so many rows


@dataclass(frozen=True)
class Choice:
    setting: Setting | None  # None: keep maximum likelihood
    temperature: float = 1.0  # factor on the scores that calibrates held-out probabilities
    score: float = np.inf
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Selection:
    """How settings are compared.

    `prior_of(model, statistics, setting)` builds a prior from the statistics of a fold's training part.
    """

    problem: Problem
    reference: Problem  # the plain model to beat: the same rows, perhaps in other units
    prior_of: Callable[[Any, Any, Setting], Any]
    learner: Any
    generator: np.random.Generator
    calibrate: bool
    max_epochs: int = 8
    tol: float = 1e-2
    _folds: list = field(default_factory=list)

    def choose(self, strengths: list[float], seconds: list[float], **options) -> Choice:
        problem = self.problem
        labelled = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
        counts = np.bincount(problem.y[labelled], minlength=problem.model.n_outcomes)
        if len(labelled) < 10 * np.count_nonzero(counts):
            return Choice(None, reason=f"{len(labelled)} rows are fewer than 10 for each class")
        self._folds[:] = self._make_folds(labelled)
        held_out = np.concatenate([fold.held_out for fold in self._folds])
        y, weights = problem.y[held_out], problem.weights[held_out] / problem.weights[held_out].sum()
        baseline = np.concatenate([fold.plain_scores for fold in self._folds])
        temperatures: dict[Setting, float] = {}
        losses: dict[Setting, tuple[np.ndarray, float]] = {}

        def evaluate(setting: Setting) -> float:
            scores = np.concatenate([self._held_out_scores(fold, setting) for fold in self._folds])
            temperatures[setting] = best_temperature(scores, y, weights) if self.calibrate else 1.0
            rows = clipped_losses(temperatures[setting] * scores, y)
            losses[setting] = rows, float(weights @ (scores.argmax(axis=1) == y))
            return float(weights @ rows)

        setting, score = search(evaluate, strengths, seconds, **options)
        rows, accuracy = losses[setting]
        gain = clipped_losses(baseline, y) - rows
        mean = float(weights @ gain)
        spread = float(np.sqrt(weights @ (gain - mean) ** 2 / len(gain)))
        if mean <= EVIDENCE * (1 + 100 / len(y)) * spread:
            return Choice(
                None, score=score, reason=f"held-out log-loss gains {mean:.4f} +- {spread:.4f} over maximum likelihood"
            )
        start_accuracy = float(weights @ (baseline.argmax(axis=1) == y))
        if accuracy < start_accuracy:
            return Choice(
                None,
                score=score,
                reason=f"held-out accuracy {accuracy:.4f} is below {start_accuracy:.4f} of maximum likelihood",
            )
        return Choice(setting, temperatures[setting], score, f"held-out log-loss {score:.4f}")

    def _make_folds(self, labelled: np.ndarray) -> list[Fold]:
        """Parts dealt out class by class; 5, 3 or 1 of them held out in turn, fewer for more rows."""
        problem = self.problem
        shuffled = self.generator.permutation(labelled)[:MAX_ROWS]
        dealt = shuffled[np.argsort(problem.y[shuffled], kind="stable")]
        part = np.arange(len(dealt)) % 5
        unlabelled = np.flatnonzero(problem.y < 0)[:MAX_ROWS]
        n_folds = 5 if len(dealt) < 1000 else 3 if len(dealt) < 3000 else 1
        folds = []
        for held in range(n_folds):
            train = np.sort(np.concatenate([dealt[part != held], unlabelled]))
            sub = replace(problem, X=problem.X[train], y=problem.y[train], weights=problem.weights[train])
            statistics = problem.model.statistics(sub.X, sub.y, sub.weights)
            held_out = np.sort(dealt[part == held])
            start = interior(problem.model, statistics)
            folds.append(Fold(sub, statistics, start, held_out, self._plain_scores(train, held_out)))
        return folds

    def _plain_scores(self, train: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        model, X = self.reference.model, self.reference.X
        statistics = model.statistics(X[train], self.problem.y[train], self.problem.weights[train])
        return model.scores(interior(model, statistics), X[held_out])

    def _held_out_scores(self, fold: Fold, setting: Setting) -> np.ndarray:
        model = self.problem.model
        sub = replace(fold.problem, prior=self.prior_of(model, fold.statistics, setting))
        fit = run(
            self.learner, sub, fold.start, self.generator,
            max_epochs=self.max_epochs, tol=self.tol, multipliers=fold.multipliers,
        )  # fmt: skip
        fold.multipliers = fit.multipliers
        return model.scores(fit.moments, self.problem.X[fold.held_out])


@dataclass
class Fold:
    problem: Problem
    statistics: Any
    start: Any
    held_out: np.ndarray
    plain_scores: np.ndarray  # of the reference on the held-out rows
    multipliers: np.ndarray | None = None


def clipped_losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """-log((1 - CLIP) p + CLIP / K) of the label."""
    posterior = np.exp(scores[np.arange(len(y)), y] - logsumexp(scores, axis=1))
    return -np.log((1 - CLIP) * posterior + CLIP / scores.shape[1])


def best_temperature(scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """The factor on the scores with the lowest log-loss."""
    own = scores[np.arange(len(y)), y]

    def loss(log_factor: float) -> float:
        factor = np.exp(log_factor)
        return float(weights @ (logsumexp(factor * scores, axis=1) - factor * own))

    return float(np.exp(minimize_scalar(loss, bounds=(-2.5, 3.0), method="bounded").x))
