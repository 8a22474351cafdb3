"""Fits at a choice over rows in blocks, whose problem holds a sample of them: closed form, EM, and quasi-Newton on sums of gradients.

The search over all blocks begins at the fit of the sample, which is near: what is left is to move from the sample to the whole.
A loss with a corner is rounded by a softness that falls to that of the loss, or to SOFTEST where it has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...learners.blocks import ByMoments
from ...learners.driver import run
from ...learners.em import BatchEM, MixtureProblem
from ...learners.problem import Measure, Problem
from ...learners.quasi_newton import GroupProblem, QuasiNewton
from ...learners.shardwise import Shardwise
from ...learners.state import Fit, Stop
from ...learners.surrogate import Surrogate, Tilted
from ...learners.watch import SILENT, Watch
from ...losses.soft_hinge import SoftHinge
from .. import priors
from .base import Choice, noted

SOFTEST, SOFTER = 0.003, 8.0  # of a hinge that has no softness of its own; the factor by which it falls
ROUNDS, ROUND_TOL = 30, 3e-4  # by way of the sample; the gain of a row, in tenths of this, that ends them
DUAL_ROUNDS, MAX_SHARDS = 2, 16  # of dual passes before L-BFGS, and the blocks up to which they pay
TOL = 1e-6  # relative gain of a step of L-BFGS that ends it


@dataclass(frozen=True, eq=False)
class Pseudo:
    """A prior of pseudo-statistics as EM takes it."""

    model: Any
    record: Any
    amount: float = 1.0

    def posterior(self, statistics: Any) -> Any:
        return statistics + self.record

    def log_density(self, moments: Any) -> float:
        return self.model.log_likelihood(self.record, moments)


def likelihood(recipe: Any, problem: Problem, statistics: Any, start: Any, generator, watch: Watch) -> Fit:
    """Maximum likelihood: closed form, or EM where missing cells are latent."""
    model, options = problem.model, recipe.options
    if model.is_latent(problem.X):
        whole = MixtureProblem(problem.blocks, Pseudo(model, problem.prior), reseeds=False)
        return run(BatchEM(), whole, start, generator, max_epochs=options.max_epochs, tol=options.tol, watch=watch)
    if not model.in_domain(start):
        return noted(Fit(start, None, n_iter=1))
    nll = -model.log_likelihood(statistics, start)
    mean = nll / max(float(statistics.mass.sum()), 1e-300)
    return noted(Fit(start, Measure(nll - model.log_likelihood(problem.prior, start), mean, mean), n_iter=1))


def nearer(goal: Any, local: Any, start: np.ndarray, generator, watch: Watch) -> np.ndarray:
    """Coordinates after rounds over all blocks by way of the sample."""
    return run(
        Surrogate(), Tilted(goal, local), start, generator, max_epochs=ROUNDS, tol=ROUND_TOL, watch=watch
    ).moments


def fit_of_sample(recipe: Any, problem: Problem, choice: Choice, generator, watch: Watch) -> Any:
    """Moments: what the sample's rows collected, on the prior of all."""
    own = replace(problem, blocks=None)
    statistics = own.statistics()
    own = replace(own, prior=recipe.prior(own, statistics, choice.setting))
    begin = priors.interior(own.model, statistics)
    found = recipe.solved(recipe.learner(own), own, begin, generator, SILENT, choice.multipliers).moments
    start = problem.prior + (found - own.prior)
    return start if problem.model.in_domain(start) else found


def dual_rounds(recipe: Any, problem: Problem, choice: Choice, generator, watch: Watch) -> Any:
    """Moments after DUAL_ROUNDS of dual passes in the blocks, from the prior; the prior where there are too many blocks for that."""
    if len(problem.blocks.blocks) > MAX_SHARDS:
        return problem.prior
    learner = Shardwise(min(1e-3, recipe.options.tol))
    fit = run(
        learner,
        problem,
        problem.prior,
        generator,
        max_epochs=DUAL_ROUNDS,
        tol=recipe.options.tol,
        watch=watch,
        keep_best=False,
    )
    last = fit.memory.moments  # not measured yet: L-BFGS does that
    return last if problem.model.in_domain(last) else fit.moments


def searched(recipe: Any, problem: Problem, choice: Choice, generator, watch: Watch) -> Fit:
    """L-BFGS over all blocks, from the fit of the sample or from rounds of dual passes."""
    model = cast(Any, problem.model)
    begins = dual_rounds if recipe.options.algorithm == "incremental" else fit_of_sample
    start = begins(recipe, problem, choice, generator, watch)
    history: dict[str, list] = {}
    n_iter = 0
    for loss in rounded(problem.loss):
        chart, least = model.chart(start), -model.log_likelihood(problem.prior, problem.prior)
        coordinates = ByMoments(chart, units(problem, chart, start))
        goal = GroupProblem(problem.blocks, loss, problem.prior, coordinates, least)
        fit = run(
            QuasiNewton(TOL), goal, start, generator,
            max_epochs=10 * recipe.options.max_epochs, tol=recipe.options.tol, watch=watch,
        )  # fmt: skip
        start, n_iter = fit.moments, n_iter + fit.n_iter
        history = {name: history.get(name, []) + values for name, values in fit.history.items()}
        if watch.is_interrupted:
            break
    measure = problem.measure(start)
    for name in ("nll", "ncll", "hinge", "accuracy"):
        history[name] = [getattr(measure, name)] * len(history["objective"])  # of the optimum
    fit = replace(fit, moments=start, measure=measure, history=history, n_iter=n_iter)
    return fit.ended(Stop.SMALL_GAIN, passes="a step of L-BFGS", tol=recipe.options.tol) if fit.converged else fit


def units(problem: Problem, chart: Any, start: Any) -> np.ndarray:
    """Of the coordinates: logits of words by what the pseudo-counts say of their second derivatives, others as the chart has them."""
    vector = chart.vector(start)
    own = np.concatenate([np.ravel(start.mass), *(np.ravel(array) for array in start.columns[0].arrays())])
    if problem.model.table_prior or own.shape != vector.shape:
        return np.ones_like(vector)
    return np.sqrt(float(np.mean(own)) / np.maximum(own, 1e-6 * float(np.mean(own))))


def rounded(loss: Any) -> list:
    """The losses to search with, one after the other."""
    if not loss.has_corner:
        return [loss]
    last = loss.softness or SOFTEST
    softness = [last]
    while not loss.softness and softness[0] * SOFTER < 1.0:
        softness.insert(0, softness[0] * SOFTER)
    return [SoftHinge(loss.margin, value) for value in softness]
