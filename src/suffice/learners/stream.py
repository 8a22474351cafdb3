"""Streams of labelled rows, batch by batch: what `partial_fit` learns with.

Under the likelihood the batches give what one fit on all of them gives (where cells or labels are missing: one pass of EM, each batch
completed by the model so far). Under the other losses every row is visited once, as `Incremental` visits it, and what earlier rows
gave to the moments is the prior of later ones; the natural parameters are averaged. Where cells of correlated columns are missing, a
row weighs more than the model, or a step size is given, mini-batches make stochastic steps from the model so far instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..losses.base import posteriors
from .incremental import Incremental
from .problem import Problem
from .step_sizes import step_size_of
from .stochastic import stream_size, stream_step, with_step

HASTE, CORNER_HASTE = 20.0, 4.0  # how fast the average forgets: under a loss with a corner the parameters wander


def posterior(scores: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """p(outcome | row); the outcomes' frequencies where a row is impossible under all of them."""
    return posteriors(scores, mass + 1.0)


@dataclass(frozen=True)
class OutcomeStream:
    """A stream between two batches; `moved` is the stream after one more."""

    statistics: Any = None  # of all rows so far
    moments: Any = None  # the model that is shown
    sums: Any = None  # the prior and what the rows have contributed; None: `moments` are that
    average: Any = None  # of the natural parameters
    n_steps: int = 0
    n_shortened: int = 0  # in the last batch
    size: float = 0.0  # mass of the prior of a fit
    keeps_likelihood: bool = False  # a fit found that training does not help

    stored_as: ClassVar[dict[str, str]] = {"n_steps": "int 0..", "n_shortened": "int 0..", "size": "number 0.."}

    @property
    def is_new(self) -> bool:
        return self.statistics is None

    @classmethod
    def begun(cls, problem: Problem, recipe: Any, generator: np.random.Generator) -> OutcomeStream:
        """The stream after its first batch."""
        return cls().moved(problem, recipe)

    def moved(self, problem: Problem, recipe: Any) -> OutcomeStream:
        """`recipe` gives priors (`given_prior`, `stream_prior`), what a model is at maximum likelihood (`likelihood_start`) and
        options."""
        seen = replace(self, statistics=self._seen(problem, recipe))
        model = problem.model
        if not problem.loss.is_discriminative or self.keeps_likelihood:
            prior = recipe.given_prior(model, seen.statistics, is_discriminative=False)
            return replace(seen, moments=seen.statistics + prior, average=None, n_steps=0, n_shortened=0)
        sums = recipe.stream_prior(problem, seen.statistics) if self.is_new else self.sums
        if sums is None:  # after a fit; of some algorithms moments add up to one
            sums = self.moments * max(1.0, self.size / float(self.moments.mass.sum()))
        is_light = problem.weights.max() <= sums.mass.sum()  # steps of heavier rows would hardly be a beginning
        if problem.loss.has_dual and recipe.options.step_size is None and is_light and not model.is_latent(problem.X):
            return seen._visited(problem, recipe, sums)
        return seen._stepped(problem, recipe, sums, self)

    def _seen(self, problem: Problem, recipe) -> Any:
        """Statistics of all rows so far: of the labelled ones; under the likelihood with the rest completed by the model so far."""
        model, codes, before = problem.model, problem.y, self.statistics
        unlabelled = codes < 0
        is_known = self.is_new or not model.is_latent(problem.X)
        if is_known and (problem.loss.is_discriminative or not unlabelled.any()):
            return model.statistics_of_shards(problem.X, codes, problem.weights, before)
        moments = recipe.likelihood_start(model, problem.statistics()) if self.is_new else self.moments
        shares = np.zeros((len(codes), model.n_outcomes))
        if unlabelled.any() and not problem.loss.is_discriminative:
            shares[unlabelled] = posterior(model.joint_scores(moments, problem.X[unlabelled]), moments.mass)
        shares[~unlabelled, codes[~unlabelled]] = 1.0
        batch = model.completed_statistics(problem.X, problem.weights[:, None] * shares, moments)
        return batch if before is None else before + batch

    def _stepped(self, problem: Problem, recipe, sums, before: OutcomeStream) -> OutcomeStream:
        """Stochastic steps on mini-batches."""
        model, statistics = problem.model, self.statistics
        # after a fit blocks may weigh other than their outcomes (the prior's do): the same model, one example in all
        if before.is_new:
            moments = recipe.likelihood_start(model, statistics)
        else:
            moments = model.moments_of(model.natural_of(self.moments))
        seen = max(float(statistics.mass.sum()), 1e-300)
        here = float(problem.weights.sum())
        prior = recipe.stream_prior(problem, statistics) * (here / seen)
        moments, average, n_steps, n_shortened = stream_step(
            replace(problem, prior=prior), moments, self.average, self.n_steps,
            step_size_of(recipe.options.step_size), max(seen - here, 0.0),
        )  # fmt: skip
        sums = moments * float(sums.mass.sum() / moments.mass.sum())
        return self._shown(problem.model, recipe, moments, sums, average, n_steps, n_shortened)

    def _visited(self, problem: Problem, recipe, sums) -> OutcomeStream:
        """One incremental pass over the batch: the moments so far (a sum: prior and contributions) are the prior of its rows."""
        model, learner = problem.model, Incremental(watch=False)
        average, n_steps = self.average, self.n_steps
        seen = max(float(self.statistics.mass.sum() - problem.weights.sum()), 0.0)
        start, n_shortened = 0, 0
        while start < len(problem.y):
            size = stream_size(seen + start, model.n_outcomes)
            part = problem.part(np.arange(start, min(start + size, len(problem.y))))
            part = replace(part, prior=sums)
            state = learner.step(part, learner.init(part, sums, np.random.default_rng(n_steps)))
            n_shortened += state.n_shortened
            moved = learner.last_moments(part, state)
            natural = model.natural_of(moved if model.in_domain(moved) else sums)
            if model.in_domain(moved) and natural.is_finite():
                sums = moved
            else:  # numbers so far from all before that rounding took over: no step
                natural, n_shortened = model.natural_of(sums), n_shortened + 1
            average = with_step(average, natural, n_steps, CORNER_HASTE if problem.loss.has_corner else HASTE)
            n_steps, start = n_steps + 1, start + size
        return self._shown(model, recipe, sums, sums, average, n_steps, n_shortened)

    def _shown(self, model, recipe, moments, sums, average, n_steps: int, n_shortened: int) -> OutcomeStream:
        """The average of the natural parameters, or the last of them."""
        shown = model.moments_of(average, float(moments.mass.sum())) if recipe.options.average else moments
        shown = shown if model.in_domain(shown) else moments
        return replace(self, moments=shown, sums=sums, average=average, n_steps=n_steps, n_shortened=n_shortened)
