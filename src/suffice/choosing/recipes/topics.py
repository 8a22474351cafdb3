"""The recipe for topics of classes: EM from a random split of the words finds the topics, then the loss is trained from there.

The prior has a fixed strength; what is chosen on held-out documents is the calibration of losses that do not calibrate themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ...learners.driver import run
from ...learners.problem import Problem
from ...learners.state import Fit
from ...learners.topics.gibbs import OnlineGibbs
from ...learners.topics.passes import EM, IncrementalTopics
from ...learners.topics.stream import TopicStream
from ...learners.watch import SILENT, Watch
from ...losses import loss_named
from ...reading.documents import scaled_to
from ...structures.groups import Groups
from ..calibration import best_background, best_temperature, shares
from ..folds import deal
from ..priors import FLAT_OUTCOMES, Setting, mean_squared_row
from .base import Choice, Recipe, Trained, Warm
from .tables import Tables

# pseudo-count of a word in a class, in units of the mean squared row, and where steps are larger and noisier; for other losses
STRENGTHS, GIBBS_STRENGTHS, STRENGTH = {"ncll": 0.03}, {"ncll": 0.05}, 1.0
PSEUDO_COUNT = 0.1  # of a word in a topic, under the likelihood
MIN_HELD_OUT = 50  # documents a class and more, for a calibration on held-out ones


@dataclass(frozen=True)
class Topics(Recipe):
    inference: str = "map"
    nll_passes: int = 6  # of EM, before the passes of a discriminative loss
    judge: str = "plug-in"  # estimator of a document's likelihood in prediction, of sampled topics
    seed: int = 0  # of streams

    stream_kind: ClassVar[type] = TopicStream
    smallest_weight = Tables.smallest_weight
    n_classes = Tables.n_classes
    unlabelled_weights = Tables.unlabelled_weights
    deal_unlabelled = Tables.deal_unlabelled

    # -- priors -------------------------------------------------------------------------------------------------------

    def likelihood_prior(self, model, statistics):
        amount = PSEUDO_COUNT if self.options.prior == "auto" else float(self.options.prior)
        prior = model.pseudo_counts(statistics, max(amount, 1e-12))
        return replace(prior, mass=np.full(model.n_outcomes, 1e-9))

    @override
    def prior(self, problem: Problem, statistics, setting=None, own=None):
        """The same pseudo-count for every word and topic, a flat prior of the classes."""
        model: Any = problem.model
        if not problem.loss.is_discriminative:
            return self.likelihood_prior(model, statistics)
        if self.options.prior == "auto":
            rows = problem.X if model.row_norm is None else scaled_to(problem.X, model.row_norm)
            amount = self.strength(problem.loss) * mean_squared_row(rows, problem.weights) / model.n_topics
        else:
            amount = float(self.options.prior)
        prior = model.pseudo_counts(statistics, max(amount, 1e-12))
        return replace(prior, mass=np.full(model.n_outcomes, FLAT_OUTCOMES))

    def strength(self, loss) -> float:
        return (GIBBS_STRENGTHS if self.inference == "gibbs" else STRENGTHS).get(loss.name, STRENGTH)

    # -- the fit ------------------------------------------------------------------------------------------------------

    def learner(self, problem: Problem) -> Any:
        if self.inference == "gibbs":
            return OnlineGibbs(self.nll_passes, self.options.max_epochs)
        if not problem.loss.is_discriminative:
            return EM()
        return IncrementalTopics(min(1e-3, self.options.tol), n_jobs=self.options.n_threads)

    def solved(self, learner, problem: Problem, generator, watch: Watch = SILENT, warm: Warm | None = None) -> Fit:
        """EM from a random split of the labelled documents' words; then, for a discriminative loss, its own passes. `warm` is a fit of
        some of the documents, from which the others' passes go on without EM."""
        if warm is not None:
            most, tol = self.options.max_epochs, self.options.tol
            return run(learner, problem, warm.moments, generator, max_epochs=most, tol=tol, warm=warm, watch=watch)
        model: Any = problem.model
        statistics = problem.statistics()
        prior = self.likelihood_prior(model, statistics)
        if problem.loss.is_discriminative:
            prior = replace(prior, count=np.full_like(prior.count, PSEUDO_COUNT))
        start = model.random_split(statistics, generator) + prior
        most, tol = self.options.max_epochs, self.options.tol
        if self.inference == "gibbs" or not problem.loss.is_discriminative:
            last = self.inference == "gibbs"
            return run(learner, problem, start, generator, max_epochs=most, tol=tol, watch=watch, keep_best=not last)
        likelihood = replace(problem.labelled(), loss=loss_named("nll"), prior=prior)
        passes, quiet = self.nll_passes, watch.child("em")
        found = run(EM(watch=False), likelihood, start, generator, max_epochs=passes, watch=quiet)
        return run(learner, problem, found.moments, generator, max_epochs=most, tol=tol, watch=watch)

    @override
    def settled(self, problem: Problem) -> Choice:
        if not problem.loss.is_discriminative or problem.model.n_outcomes == 1:
            return Choice(None, reason="likelihood")
        return Choice(Setting(self.strength(problem.loss)), reason="fixed strength")

    @override
    def trained(self, problem: Problem, choice: Choice, generator, watch: Watch, warm: Warm | None) -> Trained:
        statistics, known = problem.statistics(), None
        if choice.setting is None:
            problem = replace(problem, loss=loss_named("nll"))
        elif not problem.loss.calibrates_itself or self.inference == "gibbs":
            choice, known = self._calibrated(problem, choice, generator, watch.child("choice"))
        problem = replace(problem, prior=self.prior(problem, statistics))
        fit = self.solved(self.learner(problem), problem, generator, watch, known)
        return Trained(problem, fit, choice, statistics)

    @override
    def fitted(self, problem: Problem, choice: Choice, generator, watch: Watch) -> Fit:
        problem = replace(problem, prior=self.prior(problem, problem.statistics()))
        return self.solved(self.learner(problem), problem, generator, watch)

    def _calibrated(self, problem: Problem, choice: Choice, generator, watch: Watch) -> tuple[Choice, Warm | None]:
        """Temperature and background from a fit on four fifths, where the rest is large enough to tell; and that fit."""
        counts = np.bincount(problem.y, minlength=problem.model.n_outcomes)
        dealt = deal(problem.y, np.arange(len(problem.y)), generator, 5)
        held, train = dealt.held_out(0), dealt.trained_on(0)
        if len(held) < MIN_HELD_OUT or np.bincount(problem.y[train], minlength=len(counts)).min() == 0:
            return choice, None
        fold = problem.part(train)
        fold = replace(fold, prior=self.prior(fold, fold.statistics()))
        fit = self.solved(replace(self.learner(fold), watch=False), fold, generator, watch)
        judge: Any = problem.model
        scores = judge.judging(self.judge).scores(fit.moments, problem.X[held])
        y, weights = problem.y[held], problem.weights[held] / problem.weights[held].sum()
        temperature = best_temperature(scores, y, weights)
        background, temperature = best_background(scores, y, weights, temperature, shares(counts), free=True)
        known = None
        if fit.multipliers is not None:
            multipliers = np.full((len(problem.y), len(counts)), np.nan)
            multipliers[train] = fit.multipliers
            known = Warm(fit.moments, multipliers)
        return replace(choice, temperature=temperature, background=background), known

    @override
    def answering(self, structure) -> Groups:
        return Groups(structure.judging(self.judge))

    # -- rows without a label, streams --------------------------------------------------------------------------------

    @override
    def with_unlabelled(self, problem: Problem, trained: Trained) -> Problem:
        if trained.choice.setting is not None or self.options.prior != "auto":
            return problem
        return replace(problem, loss=loss_named("nll"))

    @override
    def trial_scores(self, problem: Problem, choice: Choice, X, generator, watch: Watch) -> np.ndarray:
        moments = self.fitted(problem, choice, generator, watch.child("unlabelled")).moments
        return choice.temperature * problem.model.scores(moments, X)

    @override
    def stream_after(self, trained: Trained) -> TopicStream:
        return TopicStream(trained.statistics, trained.fit.moments)

    # -- nothing is searched ------------------------------------------------------------------------------------------

    def _unused(self, *arguments):
        raise NotImplementedError("the strength of topics is fixed: nothing is searched")

    deal = plan = fold_scores = verdict = _unused
