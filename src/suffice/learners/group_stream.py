"""Streams of classes that are mixtures: online EM, and stochastic steps towards classification on top of it.

Online EM (with the labels) keeps the statistics of what was seen. Under a discriminative loss mirror steps in the moments follow,
towards a prior that is made of those statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .online import Stream, begun, stream
from .problem import Problem
from .step_sizes import step_size_of
from .stochastic import stream_step

BATCH = 500
EM_PASSES = 30


@dataclass
class GroupStream:
    """A stream between two batches; `recipe` (of groups) gives starts, problems of EM and priors."""

    em: Stream
    stepped: Any = None  # moments under a discriminative loss
    natural: Any = None  # averaged
    moments: Any = None  # the model that is shown
    n_steps: int = 0
    n_shortened: int = 0

    @property
    def n_iter(self) -> int:
        return self.n_steps

    @classmethod
    def begun(cls, problem: Problem, recipe, generator) -> GroupStream:
        statistics = recipe.start_statistics(problem, generator)
        em = recipe.em_problem(problem, statistics, reseeds=recipe.width > 1)
        found = begun(em, em.prior.posterior(statistics), BATCH, generator, EM_PASSES)
        return cls(found)._stepped(problem, recipe)

    @classmethod
    def after_fit(cls, model, prior, statistics) -> GroupStream:
        """From the statistics that a fit ended with; `prior` is that of online EM."""
        seen = float(statistics.mass.sum())
        mean = (1.0 / seen) * statistics
        em = Stream(prior, mean, mean, seen, seen / BATCH)
        if not model.in_domain(
            mean
        ):  # a word or category that a component never had: steps begin at EM's model, with its prior
            return cls(em)
        return cls(em, model.moments_of(model.natural_of(mean)))

    def moved(self, problem: Problem, recipe) -> GroupStream:
        em = recipe.em_problem(problem, None, reseeds=False, prior=self.em.prior)
        return replace(self, em=stream(em, self.em, BATCH))._stepped(problem, recipe)

    def _stepped(self, problem: Problem, recipe) -> GroupStream:
        if not problem.loss.is_discriminative:
            return replace(self, moments=self.em.shown())
        model, em = problem.model, self.em.shown()
        here = float(problem.weights.sum())
        whole = replace(problem, weights=problem.weights * (self.em.seen / max(here, 1e-300)))
        prior = (here / self.em.seen) * recipe.stream_prior(whole, em)
        moments = self.stepped if self.stepped is not None else (1.0 / float(em.mass.sum())) * em
        loss = replace(problem.loss, width=recipe.width)
        moments, natural, n_steps, n_shortened = stream_step(
            replace(problem, loss=loss, prior=prior), moments, self.natural, self.n_steps,
            step_size_of(recipe.options.step_size), max(self.em.seen - here, 0.0),
        )  # fmt: skip
        shown = model.moments_of(natural) if recipe.options.average else moments
        return replace(self, stepped=moments, natural=natural, moments=shown, n_steps=n_steps, n_shortened=n_shortened)
