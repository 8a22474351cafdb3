"""The life of a training: rows with a label, the choice, the fit, then rows without a label if they help. One straight line.

The choice compares settings of a prior on held-out parts of the rows. Every setting is fitted on the folds' training parts (a
recipe may begin where the setting before ended) and judged by the log-loss of the pooled held-out scores: clipped, because a density
can be wrong by hundreds of nats in a single row, and at the best temperature where the loss does not calibrate itself. Where the
recipe counts errors (words), their share is added, and a setting that is worse than the best in the first folds is not tried in the
others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..engines.threads import Engine
from ..learners.problem import Problem
from ..learners.state import Stop
from ..learners.watch import Watch
from .calibration import best_temperature
from .recipes.base import Choice, Fold, HeldOut, Recipe, Trained, Warm
from .unlabelled import choose_weight, weighted

HOPELESS = 0.5  # standard errors by which a setting loses the folds so far and is not tried in the others
PACE = 2  # folds after which it is asked again


def train(
    problem: Problem, recipe: Recipe, generator, watch: Watch, warm: Warm | None = None, given: Choice | None = None
) -> Trained:
    """The fit of a problem by a recipe, and what was chosen; interrupted, wherever that was. `given` is a choice made on other rows."""
    trained = _train(problem, recipe, generator, watch, warm, given)
    fit = trained.fit
    if watch.is_interrupted and fit is not None and fit.stop != Stop.CALLBACK.name:  # while a prior was chosen, say
        fit.ended(Stop.by(watch))
    return trained


def _train(
    problem: Problem, recipe: Recipe, generator, watch: Watch, warm: Warm | None, given: Choice | None
) -> Trained:
    recipe.refuse(problem)
    labelled = problem.labelled()
    choice = recipe.settled(labelled) or given
    if choice is None:
        own = labelled if labelled.blocks is None else replace(labelled, blocks=None)  # a choice is made on the sample
        choice = chosen(recipe.prepared(own), recipe, generator, watch.child("choice"))
    weight = recipe.options.unlabelled_weight
    is_complete = labelled is problem or weight == 0 or recipe.n_classes(problem) == 1
    if is_complete or recipe.fits_labelled_first:
        trained = recipe.trained(recipe.prepared(labelled), choice, generator, watch, warm)
        if is_complete:
            return with_members(trained, recipe, generator, watch)
        choice = trained.choice
    else:
        trained = Trained(labelled, None, choice)
    whole = recipe.with_unlabelled(problem, trained)
    if isinstance(weight, str):
        weight, reason = choose_weight(whole, recipe, choice, generator, watch)
        choice = replace(choice, reason=f"{choice.reason}; {reason}")
    if weight == 0 and recipe.fits_labelled_first:
        return with_members(replace(trained, choice=choice), recipe, generator, watch)
    whole = weighted(whole, float(weight))
    fit = recipe.fitted(whole, choice, generator, watch)
    trained = replace(trained, problem=whole, fit=fit, choice=choice, unlabelled_weight=float(weight), answering=None)
    return with_members(trained, recipe, generator, watch)


def with_members(trained: Trained, recipe: Recipe, generator, watch: Watch) -> Trained:
    """With the other models that answer with this one, where the choice has some."""
    return replace(trained, members=recipe.members(trained.problem, trained.choice, generator, watch))


def chosen(problem: Problem, recipe: Recipe, generator: np.random.Generator, watch: Watch) -> Choice:
    """The choice among the settings of the recipe's plan, on held-out parts of the rows."""
    problem = recipe.for_choice(problem)
    labelled = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
    class_counts = np.bincount(problem.y[labelled], minlength=problem.model.n_outcomes)
    few = recipe.enough_rows(len(labelled), int(np.count_nonzero(class_counts)))
    if few:
        return Choice(None, reason=few)
    dealt, n_searched, n_judged = recipe.deal(problem, generator)
    generators = generator.spawn(int(dealt.part.max(initial=-1)) + 1)
    makes = recipe.fold_problem
    folds = [
        Fold(number, makes(problem, dealt.trained_on(number)), dealt.held_out(number), generators[number], watch.child(f"fold{number}"))
        for number in range(max(n_searched, n_judged))
    ]  # fmt: skip
    trial = Trial(problem, recipe, folds[:n_searched])
    walk = recipe.walk(problem, folds)
    setting, rival = next(walk)
    while True:
        try:
            setting, rival = walk.send(trial.losses_of(setting, rival))
        except StopIteration as end:
            setting, score = end.value
            break
    scores = trial.scores[setting]
    others = folds[n_searched:n_judged]
    if others:  # the verdict and the calibration see every part: errors that count most are rare
        scores = np.concatenate([scores, trial.scores_of(others, setting)])
    y, weights = rows_of(problem, folds[: max(n_searched, n_judged)])
    held_out = HeldOut(
        problem, folds, scores, y, weights, trial.temperatures[setting], class_counts, trial.best_memories, trial
    )
    return recipe.verdict(held_out, setting, score)


def rows_of(problem: Problem, folds: list[Fold]) -> tuple[np.ndarray, np.ndarray]:
    """Labels and normalised weights of all rows held out, fold after fold."""
    held_out = np.concatenate([fold.held_out for fold in folds])
    weights = problem.weights[held_out]
    return problem.y[held_out], weights / weights.sum()


class Trial:
    """Held-out scores of settings over the folds of the search."""

    def __init__(self, problem: Problem, recipe: Recipe, folds: list[Fold]):
        self.problem, self.recipe, self.folds = problem, recipe, folds
        self.engine = Engine(recipe.options.n_threads)
        self.y, self.weights = rows_of(problem, folds)
        self.scores: dict = {}
        self.temperatures: dict = {}
        self.losses: dict = {}
        self.best_score = np.inf
        self.best_memories: list[dict] = []  # of the folds at the best setting so far

    def losses_of(self, setting, rival) -> np.ndarray | None:
        """What every row held out adds to the score of a setting; None if it lost the first folds to its rival."""
        races = self.recipe.counts_errors and rival is not None
        n_folds = 1 if races else len(self.folds)
        scores = self.scores_of(self.folds[:n_folds], setting)
        while n_folds < len(self.folds):
            n = len(scores)
            lost = self._judged(scores, self.y[:n], self.weights[:n])[1] - self.losses[rival][:n]
            if lost.sum() > HOPELESS * np.linalg.norm(lost):
                return None
            scores = np.concatenate([scores, self.scores_of(self.folds[n_folds : n_folds + PACE], setting)])
            n_folds += PACE
        self.scores[setting] = scores
        self.temperatures[setting], self.losses[setting] = self._judged(scores, self.y, self.weights)
        total = float(self.losses[setting].sum())
        if total < self.best_score:
            self.best_score, self.best_memories = total, [dict(fold.memory) for fold in self.folds]
        return self.losses[setting]

    def _judged(self, scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The best temperature, and what every row adds to the score of a setting."""
        temperature = 1.0
        if self.recipe.calibrates:
            temperature = best_temperature(scores, y, weights, precision=1e-2 if self.recipe.counts_errors else 1e-3)
        losses = weights * self.recipe.losses(temperature * scores, y)
        if self.recipe.counts_errors:  # words that calibrate to the same log-loss can differ by a point of accuracy
            losses += weights * (scores.argmax(axis=1) != y)
        return temperature, losses

    def scores_of(self, folds: list[Fold], setting) -> np.ndarray:
        """Scores of the rows held out, fold after fold; groups of folds are fitted side by side where there are threads."""
        groups = self.recipe.together(self.problem, folds)
        return np.concatenate(self.engine.all(lambda group: self._group_scores(group, setting), groups))

    def _group_scores(self, folds: list[Fold], setting) -> np.ndarray:
        fold = folds[0]

        def work(name: str) -> tuple[np.ndarray, dict]:
            watched = [replace(fold, watch=fold.watch.inside(name)), *folds[1:]]
            scores = self.recipe.group_scores(self.problem, watched, setting)
            return scores, self.recipe.kept_of(fold)

        scores, kept = fold.watch.once(work, fold.generator)
        fold.memory.update(kept)
        return scores
