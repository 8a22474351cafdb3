"""Choosing the prior on held-out parts of the training rows, and the check that training helps at all.

Every setting is fitted on the folds' training parts (warm-started from the setting before) and judged by the log-loss of the
pooled held-out scores: clipped, because a density can be wrong by hundreds of nats in a single row, and at the best temperature
where the loss does not calibrate itself. For words the share of errors is added, and a setting that is worse than the best
in the first fold is not tried in the others. Maximum likelihood takes part as the model to beat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from ..engines.threads import Engine
from ..learners.driver import Problem, run
from ..learners.incremental import Incremental, Warm
from .calibration import best_background, best_rivalry, best_temperature, clipped_losses, shares
from .priors import ENOUGH, Axis, Setting, interior, search

# standard errors by which training must beat maximum likelihood; more for few rows: the best of several settings always looks good
EVIDENCE = 2.0
# scores of words under the hinge grow with the number of documents: the best temperature falls as its power -SHARPER
# (fitted on half and on all of four fifths of the training documents of four sets, judged on the rest: 0.05 to 0.25)
SHARPER = 0.14
HOPELESS = 0.5  # standard errors by which a setting of words loses the first fold and is not tried in the others
MAX_ROWS = 20_000  # the choice is made on at most so many rows (of words: twice as many)


@dataclass(frozen=True)
class Choice:
    setting: Setting | None  # None: keep maximum likelihood
    temperature: float = 1.0  # factor on the scores that calibrates held-out probabilities
    score: float = np.inf
    reason: str = ""
    background: float = 0.0  # share of the class frequencies that calibrates held-out probabilities
    rivalry: float = 1.0  # how much sharper the rivals of the best class are told apart
    multipliers: np.ndarray | None = None  # of the rows in the folds at the chosen setting: a warm start for all rows


@dataclass(frozen=True, eq=False)
class Selection:
    """How settings are compared.

    `prior_of(model, statistics, setting)` builds a prior from the statistics of a fold's training part.
    """

    problem: Problem
    plain_scores: Callable[[np.ndarray, np.ndarray], np.ndarray]  # (weights, which): scores of the plain model to beat
    prior_of: Callable[[Any, Any, Setting], Any]
    rows_as: Callable[[Problem, Setting], Problem]  # the problem with its rows as a setting reads them
    learner: Any
    generator: np.random.Generator
    calibrate: bool
    engine: Engine = field(default_factory=Engine)
    max_epochs: int = 8
    tol: float = 1e-2
    _folds: list = field(default_factory=list)
    _warm: dict = field(default_factory=dict)

    def choose(self, strengths: Sequence[float], axes: Sequence[Axis], **options) -> Choice:
        problem = self.problem
        labelled = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
        counts = np.bincount(problem.y[labelled], minlength=problem.model.n_outcomes)
        if len(labelled) < 10 * np.count_nonzero(counts):
            return Choice(None, reason=f"{len(labelled)} rows are fewer than 10 for each class")
        folds, others = self._make_folds(labelled)
        self._folds[:] = folds
        y, weights = self._held_out_rows()
        temperatures: dict[Setting, float] = {}
        held_out: dict[Setting, np.ndarray] = {}
        losses: dict[Setting, np.ndarray] = {}

        def evaluate(setting: Setting, rival: Setting | None) -> np.ndarray | None:
            n_first = 1 if self.shares_rows and rival is not None else len(self._folds)
            scores = self._held_out_scores(self._folds[:n_first], setting)
            if rival is not None and n_first < len(self._folds):
                n = len(scores)
                lost = self._losses(scores, y[:n], weights[:n])[1] - losses[rival][:n]
                if lost.sum() > HOPELESS * np.linalg.norm(lost):
                    return None
                scores = np.concatenate([scores, self._held_out_scores(self._folds[n_first:], setting)])
            temperatures[setting], losses[setting] = self._losses(scores, y, weights)
            held_out[setting] = scores
            score = float(losses[setting].sum())
            if score < self._warm.get("score", np.inf):
                self._warm.update(score=score, multipliers=self._mean_multipliers())
            return losses[setting]

        setting, score = search(evaluate, strengths, axes, **options)
        scores, temperature = held_out[setting], temperatures[setting]
        if others:  # the verdict and the calibration see every part: errors that count most are rare
            self._folds.extend(make() for make in others)
            scores = np.concatenate([scores, self._held_out_scores(self._folds[len(folds) :], setting)])
            y, weights = self._held_out_rows()
        baseline = np.concatenate([fold.plain_scores for fold in self._folds])
        rows = clipped_losses(temperature * scores, y)
        accuracy = float(weights @ (scores.argmax(axis=1) == y))
        gain = clipped_losses(baseline, y) - rows
        mean = float(weights @ gain)
        spread = float(np.sqrt(weights @ (gain - mean) ** 2 / len(gain)))
        start_accuracy = float(weights @ (baseline.argmax(axis=1) == y))
        if mean <= EVIDENCE * (1 + 100 / len(y)) * spread:
            return self._kept(
                f"held-out log-loss gains {mean:.4f} +- {spread:.4f} over maximum likelihood", baseline, y, weights
            )
        if accuracy < start_accuracy:
            return self._kept(
                f"held-out accuracy {accuracy:.4f} is below {start_accuracy:.4f} of maximum likelihood",
                baseline,
                y,
                weights,
            )
        reason = (
            f"held-out log-loss {score:.4f}" if not self.shares_rows else f"held-out log-loss plus errors {score:.4f}"
        )
        background, temperature = best_background(scores, y, weights, temperature, shares(counts), free=self.calibrate)
        rivalry = 1.0
        if self.shares_rows and problem.loss.name == "hinge":
            temperature, rivalry, background = best_rivalry(scores, y, weights, temperature, background, shares(counts))
            trained = float(np.mean([np.count_nonzero(fold.problem.weights) for fold in self._folds]))
            temperature *= max(trained / len(labelled), 0.5) ** SHARPER
        return Choice(setting, temperature, score, reason, background, rivalry, self._warm.get("multipliers"))

    def _losses(self, scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The best temperature, and what every row adds to the score of a setting."""
        temperature = 1.0
        if self.calibrate:
            temperature = best_temperature(scores, y, weights, precision=1e-2 if self.shares_rows else 1e-3)
        losses = weights * clipped_losses(temperature * scores, y)
        if self.shares_rows:  # words that calibrate to the same log-loss can differ by a point of accuracy
            losses += weights * (scores.argmax(axis=1) != y)
        return temperature, losses

    def _kept(self, reason: str, scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Choice:
        """Maximum likelihood, its probabilities calibrated where that lowers the held-out log-loss: it is too sure of itself."""
        frequency = shares(np.bincount(y, minlength=scores.shape[1]))
        start = best_temperature(scores, y, weights)
        background, temperature = best_background(scores, y, weights, start, frequency, free=True)
        before = float(weights @ clipped_losses(scores, y))
        rows = (1 - background) * softmax(temperature * scores, axis=1) + background * frequency
        after = -float(weights @ np.log(rows[np.arange(len(y)), y]))
        if after >= before * (1 - ENOUGH):
            background, temperature = 0.0, 1.0
        return Choice(None, temperature, min(before, after), reason, background)

    def _held_out_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and normalised weights of all rows held out, fold after fold."""
        held_out = np.concatenate([fold.held_out for fold in self._folds])
        weights = self.problem.weights[held_out]
        return self.problem.y[held_out], weights / weights.sum()

    def _mean_multipliers(self) -> np.ndarray | None:
        """Every row's multipliers, averaged over the folds that trained on it (only where folds share the rows)."""
        if not self.shares_rows or any(fold.multipliers is None for fold in self._folds):
            return None
        times = sum((fold.problem.weights > 0).astype(float) for fold in self._folds)
        return sum(fold.multipliers for fold in self._folds) / np.maximum(times, 1.0)[:, None]

    @property
    def shares_rows(self) -> bool:
        """Whether a fold is the same rows with weights of zero for those held out: no copy of the data."""
        return not self.problem.model.table_prior

    def _make_folds(self, labelled: np.ndarray) -> tuple[list[Fold], list[Callable[[], Fold]]]:
        """Five parts dealt out class by class; a few of them held out in turn in the search, fewer for more rows, and functions that
        make the others, which only the verdict and the calibration see."""
        problem = self.problem
        shuffled = self.generator.permutation(labelled)[: 2 * MAX_ROWS if self.shares_rows else MAX_ROWS]
        dealt = shuffled[np.argsort(problem.y[shuffled], kind="stable")]
        part = self._parts(dealt)
        unlabelled = np.flatnonzero(problem.y < 0)[:MAX_ROWS]
        n_folds = 5 if len(dealt) < 1000 else 3 if len(dealt) < 3000 else 1
        if self.shares_rows and len(dealt) >= 3000:
            n_folds = 2

        generators = self.generator.spawn(5)

        def fold(held: int) -> Fold:
            train = np.sort(np.concatenate([dealt[part != held], unlabelled]))
            trained = np.zeros_like(problem.weights)
            trained[train] = problem.weights[train]
            if self.shares_rows:
                sub = replace(problem, weights=trained)
            else:
                sub = replace(problem, X=problem.X[train], y=problem.y[train], weights=problem.weights[train])
            held_out = np.sort(dealt[part == held])
            return Fold(sub, held_out, self.plain_scores(trained, held_out), generators[held])

        n_judges = 2 if self.shares_rows else 5  # one run of documents says too little of the next ones
        others: list[Callable[[], Fold]] = [partial(fold, held) for held in range(n_folds, n_judges)]
        return [fold(held) for held in range(n_folds)], others

    def _parts(self, dealt: np.ndarray) -> np.ndarray:
        """Five parts of rows sorted by class. Words: runs of each class, as they stand in the data, because neighbours (a thread, a
        day's news, reviews of one film) are more alike than new documents will be; tables: dealt out in turn."""
        if not self.shares_rows:
            return np.arange(len(dealt)) % 5
        y = self.problem.y[dealt]
        first, last = np.searchsorted(y, y), np.searchsorted(y, y, side="right")
        rank = np.empty(len(dealt))
        rank[np.lexsort((dealt, y))] = np.arange(len(dealt))
        part = (5 * (rank - first) // (last - first)).astype(np.int64)
        small = last - first < 5
        part[small] = self.generator.integers(5, size=int(small.sum()))
        return self.generator.permutation(5)[part]

    def _held_out_scores(self, folds: list[Fold], setting: Setting) -> np.ndarray:
        """Scores of the rows held out, fold after fold; the folds are fitted side by side where the engine has threads."""
        return np.concatenate(list(self.engine.each(lambda fold: self._scores_of(fold, setting), folds)))

    def _scores_of(self, fold: Fold, setting: Setting) -> np.ndarray:
        view = self._view(fold, setting)
        model = view.problem.model
        sub = replace(view.problem, prior=self.prior_of(model, view.statistics, setting))
        learner = self.learner
        if self.shares_rows and isinstance(learner, Incremental):
            coarse = 5e-3 if sub.loss.name == "hinge" else 2e-3
            learner = Incremental(max(coarse, learner.tolerance), watch=False)
        epochs = self.max_epochs if not self.shares_rows else 6 if fold.multipliers is None else 4
        fit = run(
            learner, sub, view.start, fold.generator, max_epochs=epochs, tol=self.tol,
            warm=None if fold.multipliers is None else Warm(fold.multipliers, view.collected),
        )  # fmt: skip
        fold.multipliers = fit.multipliers
        if fit.arrays is not None and (sub.y >= 0).all():
            view.collected = fit.moments - sub.prior
        rows = sub.X if self.shares_rows else self.problem.X
        return model.scores(fit.moments, rows, fit.arrays, which=fold.held_out)

    def _view(self, fold: Fold, setting: Setting) -> View:
        """The fold's training part as the setting reads its rows; only the last one is kept."""
        if fold.view is None or fold.view.roots != setting.roots:
            problem = self.rows_as(fold.problem, setting)
            statistics = problem.model.statistics(problem.X, problem.y, problem.weights)
            fold.view = View(setting.roots, problem, statistics, interior(problem.model, statistics))
        return fold.view


@dataclass
class View:
    roots: int
    problem: Problem
    statistics: Any
    start: Any
    collected: Any = None  # the statistics weighted by the multipliers


@dataclass
class Fold:
    problem: Problem
    held_out: np.ndarray
    plain_scores: np.ndarray
    generator: np.random.Generator  # its own, so that the order in which folds are fitted does not matter
    multipliers: np.ndarray | None = None
    view: View | None = None
