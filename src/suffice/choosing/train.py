"""The life of a training: rows with a label, the choice, the fit, then rows without a label if they help. One straight line."""

from __future__ import annotations

from dataclasses import replace

from ..learners.problem import Problem
from ..learners.watch import Watch
from .recipes.base import Recipe, Trained, Warm
from .unlabelled import choose_weight, weighted


def train(problem: Problem, recipe: Recipe, generator, watch: Watch, warm: Warm | None = None) -> Trained:
    """The fit of a problem by a recipe, and what was chosen."""
    recipe.refuse(problem)
    recipe.refuse_unlabelled(problem)
    labelled = problem.labelled()
    weight = recipe.options.unlabelled_weight
    if labelled is problem or weight == 0 or recipe.n_classes(problem) == 1:
        return recipe.train(labelled, generator, watch, warm)
    if recipe.fits_labelled_first:
        trained = recipe.train(labelled, generator, watch, warm)
    else:
        trained = recipe.chosen(labelled, generator, watch)
    choice = trained.choice
    whole = recipe.with_unlabelled(problem, trained)
    if isinstance(weight, str):
        weight, reason = choose_weight(whole, recipe, choice, generator, watch)
        choice = replace(choice, reason=f"{choice.reason}; {reason}")
    if weight == 0 and recipe.fits_labelled_first:
        return replace(trained, choice=choice)
    whole = weighted(whole, float(weight))
    fit = recipe.fitted(whole, choice, generator, watch)
    return replace(trained, problem=whole, fit=fit, choice=choice, unlabelled_weight=float(weight))
