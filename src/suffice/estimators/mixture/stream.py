"""Classifiers with a mixture per class on a stream: online EM, and stochastic steps towards classification on top of it.

Online EM (with the labels) keeps the statistics of what was seen. Under a discriminative loss mirror steps in the moments follow,
towards a prior that is made of those statistics: one pooled pseudo-row of every component and a tenth of the EM moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ...choosing.priors import Setting
from ...families.component_priors import component_prior
from ...learners.driver import Problem
from ...learners.em import MixtureProblem
from ...learners.online import Stream, begun, stream
from ...learners.step_sizes import step_size_of
from ...learners.stochastic import stream_step
from ...losses import Loss
from .training import Task, candidate_prior, start_statistics

BATCH = 500
EM_PASSES = 30
STREAM_TABLE, STREAM_WORDS = Setting(1.0, 0.1), Setting(0.03, 0.0)


@dataclass(frozen=True)
class GroupLoss(Loss):
    """A loss over groups of `width` outcomes each."""

    width: int = 1
    scaled: bool = True  # so that learners ask for `weights` rather than for compiled ones of single outcomes

    def grouped(self, scores: np.ndarray) -> np.ndarray:
        return logsumexp(scores.reshape(len(scores), -1, self.width), axis=2)

    def values(self, scores, y):
        return Loss(self.name, self.margin).values(self.grouped(scores), y)

    def weights(self, scores, y):
        groups = self.grouped(scores)
        within = np.exp(scores - np.repeat(groups, self.width, axis=1))
        return np.repeat(Loss(self.name, self.margin).weights(groups, y), self.width, axis=1) * within


@dataclass
class GroupStream:
    em: Stream
    loss: str
    step_size: Any
    average: bool
    moments: Any = None  # under a discriminative loss
    natural: Any = None  # averaged
    model: Any = None
    n_steps: int = 0

    @classmethod
    def begun(cls, task: Task, generator, options) -> GroupStream:
        statistics = start_statistics(task, generator)
        prior = component_prior(task.model, statistics, task.amount, 1.0 / task.model.n_outcomes)
        problem = MixtureProblem(task.rows(), prior, reseeds=task.n_components > 1)
        em = begun(problem, prior.posterior(statistics), BATCH, generator, EM_PASSES)
        made = cls(em, task.loss.name, step_size_of(options.step_size), bool(options.average), model=task.model)
        return made._stepped(task)

    @classmethod
    def after_fit(cls, task: Task, statistics, options) -> GroupStream:
        """From the statistics that a fit ended with."""
        model, seen = task.model, float(statistics.mass.sum())
        prior = component_prior(model, statistics, task.amount, 1.0 / model.n_outcomes)
        mean = (1.0 / seen) * statistics
        em = Stream(prior, mean, mean, seen, seen / BATCH)
        made = cls(em, task.loss.name, step_size_of(options.step_size), bool(options.average), model=model)
        return replace(made, moments=model.moments_of(model.natural_of(mean))).moved(task)

    def moved(self, task: Task) -> GroupStream:
        problem = MixtureProblem(task.rows(), self.em.prior, reseeds=False)
        return replace(self, em=stream(problem, self.em, BATCH))._stepped(task)

    def _stepped(self, task: Task) -> GroupStream:
        if self.loss == "nll":
            return self
        model, em = task.model, self.em.shown()
        setting = STREAM_TABLE if model.table_prior else STREAM_WORDS
        here = float(task.weights.sum())
        whole = replace(task, weights=task.weights * (self.em.seen / max(here, 1e-300)))
        prior = (here / self.em.seen) * candidate_prior(whole, em, setting)
        moments = self.moments if self.moments is not None else (1.0 / float(em.mass.sum())) * em
        loss = GroupLoss(self.loss, width=task.n_components)
        problem = Problem(model, task.X, task.y, task.weights, loss, prior)
        moments, natural, n_steps, _ = stream_step(
            problem, moments, self.natural, self.n_steps, self.step_size, max(self.em.seen - here, 0.0)
        )
        return replace(self, moments=moments, natural=natural, n_steps=n_steps)

    def shown(self):
        if self.loss == "nll":
            return self.em.shown()
        return self.model.moments_of(self.natural) if self.average else self.moments
