"""How much rows without a label count.

They enter every loss through their marginal likelihood (EM's posterior weights), times a weight. A model that is wrong can be led
astray by many of them, so "auto" decides on held-out labelled rows: a few weights are tried, and the best is taken only if it beats
leaving the rows out in clipped log-loss (by some standard errors, if the recipe asks for them), and does not lose in plain log-loss.
With fewer than MIN_LABELS labelled rows in a class nothing can be held out: then the smallest weight is taken.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from ..learners.problem import Problem
from ..learners.watch import Watch
from .calibration import clipped_losses
from .recipes.base import MAX_ROWS, Choice, Recipe

MIN_LABELS = 3


def weighted(problem: Problem, weight: float) -> Problem:
    """The problem in which rows without a label count `weight` times; without them if it is 0."""
    if weight == 0:
        return problem.labelled()
    return replace(problem, weights=np.where(problem.y < 0, weight * problem.weights, problem.weights))


def choose_weight(problem: Problem, recipe: Recipe, choice: Choice, generator, watch: Watch) -> tuple[float, str]:
    """The weight of a row without a label, and why."""
    labelled = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
    unlabelled = np.flatnonzero((problem.y < 0) & (problem.weights > 0))
    totals = float(problem.weights[labelled].sum()), float(problem.weights[unlabelled].sum())
    candidates = recipe.unlabelled_weights(*totals)
    if np.bincount(problem.y[labelled], minlength=recipe.n_classes(problem)).min() < MIN_LABELS:
        return candidates[0], f"a class has fewer than {MIN_LABELS} labels: {recipe.smallest_weight}"
    dealt, n_folds = recipe.deal_unlabelled(problem, labelled, generator)
    some = np.sort(generator.permutation(unlabelled)[:MAX_ROWS])
    share = len(unlabelled) / max(len(some), 1)  # a sample of them stands for all
    seed = recipe.trial_seed(generator)
    scores: dict[float, list[np.ndarray]] = {weight: [] for weight in (0.0, *candidates)}
    held_out = [dealt.held_out(number) for number in range(n_folds)]
    for number, rows in enumerate(held_out):
        train = problem.part(dealt.trained_on(number, some))
        for weight in scores:
            part = weighted(train, weight * share)
            scores[weight].append(recipe.trial_scores(part, choice, problem.X[rows], seed(number), watch))
    rows = np.concatenate(held_out)
    y, weights = problem.y[rows], problem.weights[rows] / problem.weights[rows].sum()
    return best_of({weight: np.concatenate(parts) for weight, parts in scores.items()}, y, weights, recipe)


def best_of(scores: dict[float, np.ndarray], y: np.ndarray, weights: np.ndarray, recipe: Recipe) -> tuple[float, str]:
    """The weight whose scores of the rows held out are best, 0 unless one gains; and the gain as a sentence."""

    def losses(weight: float) -> tuple[np.ndarray, float]:
        plain = logsumexp(scores[weight], axis=1) - scores[weight][np.arange(len(y)), y]
        return clipped_losses(scores[weight], y), float(weights @ plain)

    without, plain_without = losses(0.0)
    best, gained = 0.0, 0.0
    smallest = min(weight for weight in scores if weight > 0)
    for weight in list(scores)[1:]:
        clipped, plain = losses(weight)
        gain = without - clipped
        mean = float(weights @ gain)
        spread = float(np.sqrt(weights @ (gain - mean) ** 2 / len(gain)))
        evidence = 0.0 if weight == smallest else recipe.unlabelled_evidence
        if mean > max(gained, evidence * spread) and (plain <= plain_without or not recipe.checks_plain_loss):
            best, gained = weight, mean
    if not best:
        return 0.0, "rows without a label do not lower held-out log-loss"
    return best, f"rows without a label change held-out log-loss by {-gained:.4f}"
