"""Streams of documents with latent topics: a batch is fitted with all earlier ones (through the moments) as its prior."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...losses import loss_named
from ..driver import run
from ..incremental import Warm
from ..problem import Problem
from .passes import EM

PASSES = 3  # over a batch
RATE = 0.5  # of steps with sampled topics, in all batches but the first


@dataclass(frozen=True)
class TopicStream:
    statistics: Any = None  # of the documents so far
    moments: Any = None
    n_steps: int = 0
    n_shortened: int = 0

    @classmethod
    def begun(cls, problem: Problem, recipe: Any, generator: np.random.Generator) -> TopicStream:
        """The stream after its first batch."""
        return cls().moved(problem, recipe)

    def moved(self, problem: Problem, recipe: Any) -> TopicStream:
        """The stream after one more batch; `recipe` (of topics) gives priors, learners and the seed."""
        statistics = self._seen(problem, recipe)
        n_steps = self.n_steps + len(problem.y)
        if recipe.inference == "gibbs":
            moments = self._sampled(problem, statistics, recipe)
        elif not problem.loss.is_discriminative or problem.model.n_outcomes == 1:
            return TopicStream(statistics, statistics + recipe.likelihood_prior(problem.model, statistics))
        else:
            moments = self._trained(problem, statistics, recipe)
        return TopicStream(statistics, moments, n_steps)

    def _generator(self, recipe) -> np.random.Generator:
        return np.random.default_rng(recipe.seed + self.n_steps)

    def _seen(self, problem: Problem, recipe) -> Any:
        """Statistics so far: of the labelled documents; under the likelihood with topics (and missing labels) as the model sees
        them."""
        model: Any = problem.model
        batch = problem.statistics()
        if not ((problem.loss.is_discriminative and model.n_outcomes > 1) or recipe.inference == "gibbs"):
            prior = recipe.likelihood_prior(model, batch)
            problem = replace(problem, loss=loss_named("nll"), prior=prior)
            if self.statistics is None:
                batch = recipe.solved(EM(watch=False), problem, np.random.default_rng(0)).moments - prior
            else:
                state = EM(watch=False).init(problem, self.moments, None)
                batch = EM(n_steps=50, watch=False).step(problem, state).moments - prior
        return batch if self.statistics is None else self.statistics + batch

    def _trained(self, problem: Problem, statistics, recipe) -> Any:
        generator = self._generator(recipe)
        learner = replace(recipe.learner(problem), watch=False)
        if self.moments is None:
            problem = replace(problem, prior=recipe.prior(problem, statistics))
            return recipe.solved(learner, problem, generator).moments
        nothing = Warm(np.zeros((len(problem.y), problem.model.n_outcomes)))
        problem = replace(problem, prior=self.moments)
        return run(learner, problem, self.moments, generator, max_epochs=PASSES, warm=nothing).moments

    def _sampled(self, problem: Problem, statistics, recipe) -> Any:
        """One online pass over the batch from the model so far; the first batch gets all its passes."""
        generator = self._generator(recipe)
        learner = replace(recipe.learner(problem), watch=False)
        if self.moments is None:
            likelihood = replace(problem, prior=recipe.prior(problem, statistics))
            return recipe.solved(learner, likelihood, generator).moments
        learner = replace(learner, nll_passes=0, n_passes=1, average=False, rate=RATE)
        problem = replace(problem, prior=self.moments)
        return run(learner, problem, self.moments, generator, max_epochs=1).moments
