"""Settings of a prior compared on held-out parts of the training rows.

Every setting is fitted on the folds' training parts (a recipe may begin where the setting before ended) and judged by the log-loss
of the pooled held-out scores: clipped, because a density can be wrong by hundreds of nats in a single row, and at the best temperature
where the loss does not calibrate itself. Where the recipe counts errors (words), their share is added, and a setting that is worse than
the best in the first fold is not tried in the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..engines.threads import Engine
from ..learners.problem import Problem
from ..learners.watch import Watch
from .calibration import best_temperature, clipped_losses
from .recipes.base import Choice, Fold, Recipe
from .search import search

HOPELESS = 0.5  # standard errors by which a setting loses the first fold and is not tried in the others


class Selection:
    """Held-out scores of settings over the folds of a problem's labelled rows."""

    def __init__(self, problem: Problem, recipe: Recipe, generator: np.random.Generator, watch: Watch):
        self.problem, self.recipe, self.watch = problem, recipe, watch
        self.generator = generator
        self.engine = Engine(recipe.options.n_threads)
        self.folds: list[Fold] = []
        self.scores: dict = {}  # of the rows held out in the search
        self.temperatures: dict = {}
        self.losses: dict = {}
        self.best_score = np.inf
        self.best_memories: list[dict] = []  # of the folds at the best setting so far

    def choose(self) -> Choice:
        problem, recipe = self.problem, self.recipe
        labelled = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
        self.class_counts = np.bincount(problem.y[labelled], minlength=problem.model.n_outcomes)
        few = recipe.enough_rows(len(labelled), int(np.count_nonzero(self.class_counts)))
        if few:
            return Choice(None, reason=few)
        self.n_labelled = len(labelled)
        dealt, self.n_searched, self.n_judged = recipe.deal(problem, self.generator)
        self.dealt, self.generators = dealt, self.generator.spawn(int(dealt.part.max(initial=-1)) + 1)
        self.folds = [self._fold(number) for number in range(self.n_searched)]
        setting, score = search(self._evaluate, recipe.plan(problem))
        return recipe.verdict(self, setting, score)

    def _fold(self, number: int) -> Fold:
        part = self.recipe.fold_problem(self.problem, self.dealt.trained_on(number))
        held_out = self.dealt.held_out(number)
        return Fold(number, part, held_out, self.generators[number], self.watch.child(f"fold{number}"))

    def _evaluate(self, setting, rival) -> np.ndarray | None:
        """What every row held out adds to the score of a setting; None if it lost the first fold to its rival."""
        y, weights = self.held_out_rows()
        n_first = 1 if self.recipe.counts_errors and rival is not None else len(self.folds)
        scores = self._scores_of(self.folds[:n_first], setting)
        if rival is not None and n_first < len(self.folds):
            n = len(scores)
            lost = self.row_losses(scores, y[:n], weights[:n])[1] - self.losses[rival][:n]
            if lost.sum() > HOPELESS * np.linalg.norm(lost):
                return None
            scores = np.concatenate([scores, self._scores_of(self.folds[n_first:], setting)])
        self.scores[setting] = scores
        self.temperatures[setting], self.losses[setting] = self.row_losses(scores, y, weights)
        total = float(self.losses[setting].sum())
        if total < self.best_score:
            self.best_score, self.best_memories = total, [dict(fold.memory) for fold in self.folds]
        return self.losses[setting]

    def row_losses(self, scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The best temperature, and what every row adds to the score of a setting."""
        temperature = 1.0
        if self.recipe.calibrates:
            temperature = best_temperature(scores, y, weights, precision=1e-2 if self.recipe.counts_errors else 1e-3)
        losses = weights * clipped_losses(temperature * scores, y)
        if self.recipe.counts_errors:  # words that calibrate to the same log-loss can differ by a point of accuracy
            losses += weights * (scores.argmax(axis=1) != y)
        return temperature, losses

    def judged_scores(self, setting) -> np.ndarray:
        """Held-out scores of a setting with the parts that only the verdict sees: errors that count most are rare."""
        scores = self.scores[setting]
        if self.n_judged > len(self.folds):
            first = len(self.folds)
            self.folds += [self._fold(number) for number in range(first, self.n_judged)]
            scores = np.concatenate([scores, self._scores_of(self.folds[first:], setting)])
        return scores

    def held_out_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and normalised weights of all rows held out, fold after fold."""
        held_out = np.concatenate([fold.held_out for fold in self.folds])
        weights = self.problem.weights[held_out]
        return self.problem.y[held_out], weights / weights.sum()

    def _scores_of(self, folds: list[Fold], setting) -> np.ndarray:
        """Scores of the rows held out, fold after fold; the folds are fitted side by side where there are threads."""
        return np.concatenate(list(self.engine.each(lambda fold: self._fold_scores(fold, setting), folds)))

    def _fold_scores(self, fold: Fold, setting) -> np.ndarray:
        def work(name: str) -> tuple[np.ndarray, dict]:
            scores = self.recipe.fold_scores(self.problem, replace(fold, watch=fold.watch.inside(name)), setting)
            return scores, self.recipe.kept_of(fold)

        scores, kept = fold.watch.once(work, fold.generator)
        fold.memory.update(kept)
        return scores
