"""The recipe for tables: pooled pseudo-examples plus a share of maximum likelihood, along a path from strong to weak.

It is also the frame of the recipe for words (`suffice.choosing.recipes.words`), which reads rows and builds priors otherwise. Maximum
likelihood takes part as the model to beat: training must gain EVIDENCE standard errors on the rows held out, and lose no accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from typing_extensions import override

from ...families.rows import any_missing
from ...learners.batch import Batch
from ...learners.driver import run
from ...learners.incremental import Incremental
from ...learners.incremental import Warm as WarmDual
from ...learners.paper import Paper
from ...learners.problem import Problem
from ...learners.state import Fit, Stop
from ...learners.step_sizes import step_size_of
from ...learners.stochastic import Stochastic
from ...learners.stream import OutcomeStream
from ...learners.watch import Watch
from ...losses import loss_named
from .. import priors
from ..calibration import best_background, clipped_losses, shares
from ..folds import deal
from ..priors import Setting, strengths
from ..search import Axis, Plan
from . import in_blocks
from .base import MAX_ROWS, Choice, Fold, HeldOut, Recipe, Trained, Warm, kept, noted

# standard errors by which training must beat maximum likelihood; more for few rows: the best of several settings always looks good
EVIDENCE = 2.0
MAX_CIRCLES = 30  # incremental passes over rows with missing cells
MAX_MULTIPLIERS = 2**28  # rows x outcomes up to which incremental is taken by itself (2 GiB)
TRIAL_EPOCHS, COARSE_EPOCHS, TRIAL_TOL = 8, 5, 1e-2  # of a fold's fit
AXES = (Axis("second", ((0.03, 0.1, 0.3, 1.0),), neighbours=True),)
COARSE_AXES = (Axis("second", ((0.1,),), neighbours=True),)
UNLABELLED_SHARES = (0.1, 0.3, 1.0)  # of the labelled rows' weight


@dataclass(frozen=True)
class Tables(Recipe):
    calibrates: bool = False
    is_discriminative: bool = True  # the loss that the user asked for

    smallest_weight = "a tenth of the labelled rows' weight"
    takes_blocks = True

    # -- learners -----------------------------------------------------------------------------------------------------

    @override
    def refuse(self, problem: Problem) -> None:
        latent, loss = problem.model.is_latent(problem.X), problem.loss
        name, hint = self.options.algorithm, "use 'auto', 'stochastic' or 'batch'"
        if name == "incremental" and not loss.has_dual:
            raise ValueError(
                f"algorithm='incremental' needs the dual of the loss, and loss={loss.name!r} has none: {hint}"
            )
        if name == "incremental" and latent:
            raise ValueError(
                f"algorithm='incremental' cannot complete the missing cells (NaN) of correlated columns: {hint}"
            )
        if name == "paper" and (latent or any_missing(problem.X) or (problem.y < 0).any()):
            raise ValueError(
                "algorithm='paper' takes neither missing cells (NaN) nor rows without a label: use 'auto' or 'stochastic'"
            )

    def learner(self, problem: Problem) -> Any:
        name, latent = self.options.algorithm, problem.model.is_latent(problem.X)
        if name == "auto" and latent:
            name = "stochastic" if problem.loss.is_discriminative else "batch"
        if name == "auto":
            small = len(problem.y) * problem.model.n_outcomes <= MAX_MULTIPLIERS
            name = "incremental" if small and problem.loss.has_dual else "stochastic"
        if name == "incremental":
            return Incremental(min(1e-3, self.options.tol))
        step_size = step_size_of(self.options.step_size)
        if name == "batch":
            return Batch(step_size if isinstance(step_size, float) else None)
        size = max(100, len(problem.y) // 10) if latent else None
        return Stochastic(step_size, size, average=self.options.average)

    # -- priors -------------------------------------------------------------------------------------------------------

    @override
    def prior(self, problem: Problem, statistics, setting: Setting | None, own=None):
        if setting is None:
            return self.given_prior(problem.model, statistics, is_discriminative=True)
        return priors.blended(problem.model, statistics, setting, own)

    def given_prior(self, model, statistics, *, is_discriminative: bool):
        """Pseudo-counts as asked for; the outcomes get them too under a discriminative loss, which needs them."""
        return priors.given(model, statistics, self.options.prior, is_discriminative)

    # -- the choice ---------------------------------------------------------------------------------------------------

    @override
    def deal(self, problem: Problem, generator):
        rows = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
        dealt = deal(problem.y, rows, generator, 5, MAX_ROWS)
        n = len(dealt.rows)
        return dealt, 5 if n < 1000 else 3 if n < 3000 else 1, 5

    @override
    def plan(self, problem: Problem) -> Plan:
        n = min(float(problem.weights.sum()), float(MAX_ROWS))
        path = strengths(n, problem.model.n_outcomes)
        if problem.model.is_latent(problem.X):  # every pass completes every row: a coarser path
            return Plan(path[::2], COARSE_AXES)
        return Plan(path, AXES, extend=3.0)

    @override
    def fold_scores(self, problem: Problem, fold: Fold, setting):
        """The fold's fit begins with the multipliers of the setting before."""
        own, memory = self.likelihood_of(fold), fold.memory
        part = replace(fold.problem, prior=self.prior(fold.problem, memory["statistics"], setting, own))
        warm = memory.get("multipliers")
        epochs = COARSE_EPOCHS if part.model.is_latent(part.X) else TRIAL_EPOCHS
        fit = run(
            self.learner(problem), part, own, fold.generator, max_epochs=epochs, tol=TRIAL_TOL,
            warm=None if warm is None else WarmDual(warm), watch=fold.watch.child("run"),
        )  # fmt: skip
        memory["multipliers"] = fit.multipliers
        return part.model.scores(fit.moments, problem.X, fit.arrays, which=fold.held_out)

    def likelihood_of(self, fold: Fold) -> Any:
        """Smoothed maximum likelihood of the rows that a fold trains on."""
        if "own" not in fold.memory:
            fold.memory["statistics"] = fold.problem.statistics()
            fold.memory["own"] = priors.interior(fold.problem.model, fold.memory["statistics"])
        return fold.memory["own"]

    def likelihood_scores(self, held_out: HeldOut) -> np.ndarray:
        """Scores of the rows held out under maximum likelihood of the others."""
        problem = held_out.problem
        return np.concatenate(
            [problem.model.scores(self.likelihood_of(fold), problem.X, which=fold.held_out) for fold in held_out.folds]
        )

    @override
    def verdict(self, held_out: HeldOut, setting, score: float) -> Choice:
        scores, temperature, y, weights = held_out.scores, held_out.temperature, held_out.y, held_out.weights
        baseline = self.likelihood_scores(held_out)
        gain = clipped_losses(baseline, y) - clipped_losses(temperature * scores, y)
        mean = float(weights @ gain)
        spread = float(np.sqrt(weights @ (gain - mean) ** 2 / len(gain)))
        if mean <= EVIDENCE * (1 + 100 / len(y)) * spread:
            reason = f"the other fits gain {mean:.4f} +- {spread:.4f} in held-out log-loss, too little to be sure"
            return kept(reason, baseline, y, weights)
        accuracy = float(weights @ (scores.argmax(axis=1) == y))
        before = float(weights @ (baseline.argmax(axis=1) == y))
        if accuracy < before:
            reason = f"held-out accuracy {accuracy:.4f} is below {before:.4f} of maximum likelihood"
            return kept(reason, baseline, y, weights)
        return self.calibrated(held_out, setting, score)

    def calibrated(self, held_out: HeldOut, setting, score: float) -> Choice:
        frequency = shares(held_out.class_counts)
        rows = held_out.scores, held_out.y, held_out.weights
        background, temperature = best_background(*rows, held_out.temperature, frequency, free=self.calibrates)
        return Choice(setting, temperature, score, f"held-out log-loss {score:.4f}", background)

    # -- the fit ------------------------------------------------------------------------------------------------------

    def is_likelihood(self, problem: Problem) -> bool:
        """Whether maximum likelihood is all there is to do."""
        return not problem.loss.is_discriminative or problem.model.n_outcomes == 1 or self.options.algorithm == "paper"

    @override
    def settled(self, problem: Problem) -> Choice | None:
        if self.is_likelihood(problem):
            return Choice(None, reason="the loss is the likelihood")
        return None if self.options.prior == "auto" else Choice(None, reason=f"prior={self.options.prior!r} was given")

    @override
    def prepared(self, problem: Problem) -> Problem:
        if not problem.loss.softness or self.is_likelihood(problem) or isinstance(self.learner(problem), Incremental):
            return problem
        return replace(problem, loss=replace(problem.loss, softness=0.0))  # only multipliers round the hinge's corner

    @override
    def trained(self, problem: Problem, choice: Choice, generator, watch: Watch, warm: Warm | None) -> Trained:
        options = self.options
        if self.is_likelihood(problem):
            return self._trained_by_likelihood(problem, choice, generator, watch)
        if options.prior == "auto":
            if choice.setting is None:
                return self._kept(problem, choice)
            problem = self.rows_as(problem, choice.setting)
        statistics = problem.statistics()
        own = priors.interior(problem.model, statistics)
        problem = replace(problem, prior=self.prior(problem, statistics, choice.setting, own))
        if problem.blocks is not None:
            fit = in_blocks.searched(self, problem, choice, generator, watch)
            return Trained(problem, fit, choice, statistics)
        shape = (len(problem.y), problem.model.n_outcomes)
        known = None if warm is None else warm.multipliers
        begins = warm if known is not None and known.shape == shape else None
        start = own if begins is None else begins.moments
        multipliers = choice.multipliers if begins is None else begins.multipliers
        fit = self.solved(self.learner(problem), problem, start, generator, watch, multipliers)
        if options.step_size is not None and not fit.converged and multipliers is None and options.prior == "auto":
            plain, _, solution = self.likelihood(problem)
            if fit.measure is not None and fit.measure.accuracy < plain.measure(solution).accuracy:
                short = f"step_size={options.step_size!r} did not reach its accuracy on the training rows in {fit.n_iter} passes"
                return self._kept(problem, Choice(None, reason=short))
        return Trained(problem, fit, choice, statistics)

    def rows_as(self, problem: Problem, setting: Setting) -> Problem:
        """The problem with its rows as the setting reads them."""
        return problem

    def solved(self, learner, problem: Problem, start, generator, watch: Watch, multipliers=None) -> Fit:
        """Passes of the learner; where missing cells keep the incremental one from settling, all rows at a time finish it.

        With missing cells the blocks of an outcome have seen different rows, F is not convex and its dual is not what the incremental
        search climbs: it comes near the optimum and then circles. Descent on all rows is monotone whatever is missing.
        """
        circles = isinstance(learner, Incremental) and problem.loss.is_discriminative and any_missing(problem.X)
        most, tol = self.options.max_epochs, self.options.tol
        epochs = min(most, MAX_CIRCLES) if circles else most
        warm = None if multipliers is None else WarmDual(multipliers)
        fit = run(learner, problem, start, generator, max_epochs=epochs, tol=tol, warm=warm, watch=watch)
        if not circles or fit.converged or epochs == most or watch.is_interrupted:
            return fit
        last = run(Batch(), problem, fit.moments, generator, max_epochs=most - epochs, tol=tol, watch=watch)
        history = {name: values + last.history[name] for name, values in fit.history.items()}
        return replace(last, history=history, n_iter=fit.n_iter + last.n_iter, memory=fit.memory)

    def _kept(self, problem: Problem, choice: Choice) -> Trained:
        """Maximum likelihood, because training did not help."""
        plain, statistics, moments = self.likelihood(problem)
        fit = Fit(moments, plain.measure(moments)).ended(Stop.LIKELIHOOD, reason=choice.reason)
        return Trained(plain, noted(fit), choice, statistics, reader=self.plain_reader(problem))

    def likelihood(self, problem: Problem) -> tuple[Problem, Any, Any]:
        """The problem that maximum likelihood solves, its statistics and its solution."""
        plain = self.plain(problem)
        statistics = plain.statistics()
        return replace(plain, prior=statistics * 0.0), statistics, priors.interior(plain.model, statistics)

    def plain(self, problem: Problem) -> Problem:
        """The problem with its rows as maximum likelihood reads them."""
        return problem

    def plain_reader(self, problem: Problem) -> Any:
        """The reader of such rows, where it is another one."""
        return None

    def _trained_by_likelihood(self, problem: Problem, choice: Choice, generator, watch: Watch) -> Trained:
        """Closed form, unless missing cells are latent: then EM (or the paper's algorithm)."""
        model, options = problem.model, self.options
        if problem.blocks is not None or problem.loss.is_discriminative:
            statistics = problem.statistics()
        else:
            statistics = model.statistics_of_shards(problem.X, problem.y, problem.weights)
        prior = self.given_prior(model, statistics, is_discriminative=options.algorithm == "paper")
        problem = replace(problem, prior=prior)
        if options.algorithm == "paper":
            start = priors.interior(model, statistics)
            fit = run(
                Paper(step_size_of(options.step_size)), problem, start, generator,
                max_epochs=options.max_epochs, tol=options.tol, watch=watch, keep_best=False,
            )  # fmt: skip
            return Trained(problem, fit, choice, statistics)
        problem = replace(problem, loss=loss_named("nll"))  # with one class there is nothing to discriminate
        start = statistics + prior
        if problem.blocks is not None:
            fit = in_blocks.likelihood(self, problem, statistics, start, generator, watch)
        elif not model.is_latent(problem.X):
            fit = noted(Fit(start, problem.measure(start) if model.in_domain(start) else None, n_iter=1))
        else:
            fit = self.solved(self.learner(problem), problem, start, generator, watch)
        return Trained(problem, fit, choice, statistics)

    # -- rows without a label -----------------------------------------------------------------------------------------

    @override
    def with_unlabelled(self, problem: Problem, trained: Trained) -> Problem:
        choice = trained.choice
        if choice.setting is not None:
            return self.rows_as(problem, choice.setting)
        if self.options.prior != "auto":
            return problem
        if problem.loss.is_discriminative:  # maximum likelihood was kept, with rows as it reads them
            rows = problem.X if trained.reader is None else trained.reader.scaled(problem.X)
            problem = replace(problem, X=rows, model=trained.problem.model)
        return replace(problem, loss=loss_named("nll"))

    @override
    def fitted(self, problem: Problem, choice: Choice, generator, watch: Watch) -> Fit:
        model, statistics = problem.model, problem.statistics()
        start = priors.interior(model, statistics)
        if problem.loss.is_discriminative:
            prior = self.prior(problem, statistics, choice.setting, start)
        else:
            prior = self.given_prior(model, statistics, is_discriminative=False)
            if self.is_discriminative:
                prior = replace(prior, mass=np.full(model.n_outcomes, 1.0 / model.n_outcomes))
        problem = replace(problem, prior=prior)
        return self.solved(self.learner(problem), problem, start, generator, watch)

    @override
    def n_classes(self, problem: Problem) -> int:
        return problem.model.n_outcomes

    @override
    def unlabelled_weights(self, labelled: float, unlabelled: float) -> list[float]:
        ratio = labelled / unlabelled
        return sorted({min(1.0, share * ratio) for share in UNLABELLED_SHARES} | {1.0})

    @override
    def deal_unlabelled(self, problem: Problem, labelled: np.ndarray, generator):
        dealt = deal(problem.y, labelled, generator, 5)
        return dealt, 5 if len(labelled) < 1000 else 1

    @override
    def trial_scores(self, problem: Problem, choice: Choice, X, generator, watch: Watch) -> np.ndarray:
        moments = self.fitted(problem, choice, generator, watch.child("unlabelled")).moments
        return choice.temperature * problem.model.scores(moments, X)

    # -- streams ------------------------------------------------------------------------------------------------------

    def stream_prior(self, problem: Problem, statistics):
        """The prior of a stream that no fit has chosen one for."""
        if self.options.prior != "auto":
            return self.given_prior(problem.model, statistics, is_discriminative=True)
        return priors.blended(problem.model, statistics, Setting(3.0 * problem.model.n_outcomes, 0.0))

    def likelihood_start(self, model, statistics):
        return priors.interior(model, statistics)

    @override
    def stream_after(self, trained: Trained) -> OutcomeStream:
        prior, keeps = trained.problem.prior, self.is_discriminative and self.options.prior == "auto"
        return OutcomeStream(
            trained.statistics, trained.fit.moments,
            size=0.0 if prior is None else float(prior.mass.sum()),
            keeps_likelihood=keeps and trained.choice.setting is None,
        )  # fmt: skip
