"""Fits at a choice over rows in blocks, whose problem holds a sample of them: closed form, EM, and quasi-Newton on sums of gradients.

The search over all blocks begins at the fit of the sample, or after dual rounds where a block has more rows than that. What is left is
to move from there to the whole, in units of the second derivatives that all rows have there.
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
DUAL_ROUNDS, MAX_SHARDS = 4, 16  # of dual passes before L-BFGS, and the blocks up to which they pay
UNLIKE = 0.1  # Cramer's V squared of blocks and labels above which dual rounds do not pay
ENOUGH = 1e-3  # relative gain of a step of L-BFGS that ends it, as a share of `tol`


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


def start_of(recipe: Any, problem: Problem, choice: Choice, generator, watch: Watch) -> Any:
    """Moments near the optimum: by dual rounds where they were asked for or a block has more rows than the sample, and where blocks are
    few and alike; else the fit of the sample."""
    blocks = problem.blocks
    n_blocks = len(blocks.blocks)
    says_more = is_curved(problem, problem.loss) and float(problem.weights.sum()) < problem.total / n_blocks
    is_wanted = recipe.options.algorithm == "incremental" or says_more
    pays = problem.loss.has_dual and n_blocks <= MAX_SHARDS and blocks.labelled.dependence <= UNLIKE
    begins = dual_rounds if is_wanted and pays else fit_of_sample
    return begins(recipe, problem, choice, generator, watch)


def dual_rounds(recipe: Any, problem: Problem, choice: Choice, generator, watch: Watch) -> Any:
    """Moments after DUAL_ROUNDS of dual passes in the blocks, from the prior."""
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
    start = start_of(recipe, problem, choice, generator, watch)
    history: dict[str, list] = {}
    n_iter = 0
    for loss in rounded(problem.loss):
        fit = run(
            QuasiNewton(ENOUGH * recipe.options.tol), goal_near(problem, loss, start), start, generator,
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


def goal_near(problem: Problem, loss: Any, start: Any) -> GroupProblem:
    """The problem over all blocks, in coordinates in which F has second derivatives of about one near the start."""
    model = cast(Any, problem.model)
    chart, least = model.chart(start), -model.log_likelihood(problem.prior, problem.prior)
    if not is_curved(problem, loss):
        return GroupProblem(problem.blocks, loss, problem.prior, ByMoments(chart, units(problem, chart, start)), least)
    total, statistics, squares = problem.blocks.curved_loss(start, loss)
    goal = GroupProblem(problem.blocks, loss, problem.prior, ByMoments(chart, unit_of(problem.prior + squares)), least)
    goal.summed(start, total, statistics)
    return goal


def is_curved(problem: Problem, loss: Any) -> bool:
    """Whether second derivatives are known: of the loss in the scores, and of those in the coordinates."""
    none = np.zeros((0, problem.model.n_outcomes))
    is_smooth = loss.labelled_curvatures(none, np.zeros(0, dtype=np.int64)) is not None
    return is_smooth and problem.model.squared_statistics(problem.X[:0], none) is not None


def units(problem: Problem, chart: Any, start: Any) -> np.ndarray:
    """Of the coordinates: logits of words by what the pseudo-counts say of their second derivatives, others as the chart has them."""
    vector = chart.vector(start)
    if problem.model.table_prior or start.flat().shape != vector.shape:
        return np.ones_like(vector)
    return unit_of(start)


def unit_of(curvature: Any) -> np.ndarray:
    """Of coordinates that have these second derivatives, a record."""
    own = curvature.flat()
    mean = float(np.mean(own))
    return np.sqrt(mean / np.maximum(own, 1e-6 * mean))


def rounded(loss: Any) -> list:
    """The losses to search with, one after the other."""
    if not loss.has_corner:
        return [loss]
    last = loss.softness or SOFTEST
    softness = [last]
    while not loss.softness and softness[0] * SOFTER < 1.0:
        softness.insert(0, softness[0] * SOFTER)
    return [SoftHinge(loss.margin, value) for value in softness]
