"""From a problem to a fit: the prior is chosen, a learner runs, maximum likelihood is kept where training does not help.

Shared by all classifiers; no mathematics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..choosing import priors
from ..choosing.selection import Choice, Selection
from ..choosing.unlabelled import choose_weight, rows_of, weighted
from ..engines.threads import Engine, n_threads
from ..families.completion import any_missing
from ..learners.batch import Batch
from ..learners.driver import Fit, Problem, Stop, run
from ..learners.incremental import Incremental, Warm
from ..learners.paper import Paper
from ..learners.step_sizes import step_size_of
from ..learners.stochastic import Stochastic
from ..learners.watch import Watch
from ..losses import Loss

MAX_CIRCLES = 30  # incremental passes over rows with missing cells
MAX_MULTIPLIERS = 2**28  # rows x outcomes up to which incremental is taken by itself (2 GiB)


class Training:
    """A mixin of GenerativeClassifier."""

    loss: str
    prior: Any
    algorithm: str
    step_size: Any
    max_epochs: int
    tol: float
    average: bool
    unlabelled_weight: Any
    warm_start: bool
    n_jobs: int | None
    moments_: Any
    _scaled: Any  # these two are GenerativeClassifier's
    _reporter: Any

    def _train(self, problem: Problem, plain: Problem, generator) -> tuple[Problem, Fit, Choice]:
        """The problem that was solved in the end, its fit, and the prior that was chosen."""
        self.unlabelled_weight_ = 0.0
        self._refuse_unfit(problem)
        labelled = np.flatnonzero(problem.y >= 0)
        if len(labelled) == len(problem.y):
            return self._train_labelled(problem, plain, generator)
        solved, fit, choice = self._train_labelled(rows_of(problem, labelled), rows_of(plain, labelled), generator)
        if self.unlabelled_weight == 0 or problem.model.n_outcomes == 1:
            return solved, fit, choice
        is_plain = choice.setting is None and self.prior == "auto"  # maximum likelihood was kept, in plain units
        whole = problem
        if is_plain and problem.loss.is_discriminative:  # in the units that `_plain` turned to
            whole = replace(plain, X=self._scaled(plain.X, solved.model), model=solved.model)
        if is_plain:
            whole = replace(whole, loss=replace(problem.loss, name="nll"))
        elif choice.setting is not None:
            whole = self._rows_as(whole, choice.setting)

        def fitted(problem: Problem) -> Fit:
            statistics = problem.model.statistics(problem.X, problem.y, problem.weights)
            prior = self._prior_of(problem, statistics, choice)
            start = priors.interior(problem.model, statistics)
            problem = replace(problem, prior=prior)
            learner = self._learner(problem)
            return self._solve(learner, problem, start, generator)

        weight = self.unlabelled_weight
        if isinstance(weight, str):
            weight, reason = choose_weight(
                whole, lambda problem: fitted(problem).moments, choice.temperature, generator
            )
            choice = replace(choice, reason=f"{choice.reason}; {reason}")
        self.unlabelled_weight_ = float(weight)
        if weight == 0:
            return solved, fit, choice
        whole = weighted(whole, self.unlabelled_weight_)
        return whole, fitted(whole), choice

    def _refuse_unfit(self, problem: Problem) -> None:
        """Algorithms that cannot learn from these rows."""
        latent = problem.model.is_latent(problem.X)
        if self.algorithm == "incremental" and latent:
            raise ValueError(
                "algorithm='incremental' cannot complete the missing cells (NaN) of correlated columns: "
                "use 'auto', 'stochastic' or 'batch'"
            )
        if self.algorithm == "paper" and (latent or any_missing(problem.X) or (problem.y < 0).any()):
            raise ValueError(
                "algorithm='paper' takes neither missing cells (NaN) nor rows without a label: use 'auto' or 'stochastic'"
            )

    def _prior_of(self, problem: Problem, statistics, choice: Choice):
        """The prior that training with rows without a label takes: as chosen or given; the plain one for the likelihood."""
        model = problem.model
        if not problem.loss.is_discriminative:
            prior = self._given_prior(model, statistics, discriminative=False)
            return (
                prior if self.loss == "nll" else replace(prior, mass=np.full(model.n_outcomes, 1.0 / model.n_outcomes))
            )
        if choice.setting is None:
            return self._given_prior(model, statistics, discriminative=True)
        return self._setting_prior(problem)(model, statistics, choice.setting)

    def _setting_prior(self, problem: Problem):
        common = cache(lambda: priors.commonness(problem.X, problem.weights))
        leaning_of = remembered(priors.leanings)  # of a fold, for all of its settings
        told_of = remembered(priors.tellings)

        def prior_of(model, statistics, setting):
            if model.table_prior:
                return priors.blended(model, statistics, setting)
            leaning = leaning_of(statistics) if setting.second else None
            told = told_of(model, statistics) if setting.telling else None
            return priors.uniform(
                model, statistics, setting, model.squared_row, leaning, common() if setting.common else None, told
            )

        return prior_of

    def _train_labelled(self, problem: Problem, plain: Problem, generator) -> tuple[Problem, Fit, Choice]:
        model, loss = problem.model, problem.loss
        if loss.is_discriminative:
            self._statistics = statistics = model.statistics(problem.X, problem.y, problem.weights)
        else:
            self._statistics = statistics = model.statistics_of_shards(problem.X, problem.y, problem.weights)
        if not loss.is_discriminative or model.n_outcomes == 1 or self.algorithm == "paper":
            return problem, *self._train_likelihood(problem, statistics, generator)
        prior_of = self._setting_prior(problem)
        learner = self._learner(problem)
        if not isinstance(learner, Incremental):  # only multipliers round the hinge's corner
            problem = replace(problem, loss=replace(loss, softness=0.0))
        choice = self._choose(problem, plain, learner, prior_of, generator)
        if self.prior != "auto":
            prior = self._given_prior(model, statistics, discriminative=True)
        elif choice.setting is None:
            return self._keep_likelihood(plain, choice)
        else:
            problem = self._rows_as(problem, choice.setting, keep=True)
            if problem.model is not model:
                model = problem.model
                self._statistics = statistics = model.statistics(problem.X, problem.y, problem.weights)
            prior = prior_of(model, statistics, choice.setting)
        problem = replace(problem, prior=prior)
        warm = self._warm_multipliers(problem)
        start = self.moments_ if warm is not None else priors.interior(model, statistics)
        warm = choice.multipliers if warm is None else warm
        fit = self._solve(learner, problem, start, generator, warm)
        if self.step_size is not None and not fit.converged and warm is None and self.prior == "auto":
            likelihood, _, solution = self._likelihood(plain, keep=False)
            if fit.measure is not None and fit.measure.accuracy < likelihood.measure(solution).accuracy:
                short = f"step_size={self.step_size!r} did not reach its accuracy on the training rows in {fit.n_iter} passes"
                return self._keep_likelihood(plain, Choice(None, reason=short))
        return problem, fit, choice

    def _solve(self, learner, problem: Problem, start, generator, warm=None) -> Fit:
        """Passes of the learner; where missing cells keep the incremental one from settling, all rows at a time finish it.

        With missing cells the blocks of an outcome have seen different rows, F is not convex and its dual is not what the incremental
        search climbs: it comes near the optimum and then circles. Descent on all rows is monotone whatever is missing.
        """
        circles = isinstance(learner, Incremental) and problem.loss.is_discriminative and any_missing(problem.X)
        epochs = min(self.max_epochs, MAX_CIRCLES) if circles else self.max_epochs
        options: Any = {"tol": self.tol, "watch": Watch(self._reporter())}
        warm = None if warm is None else Warm(warm)
        fit = run(learner, problem, start, generator, max_epochs=epochs, warm=warm, **options)
        if not circles or fit.converged or epochs == self.max_epochs:
            return fit
        last = run(Batch(), problem, fit.moments, generator, max_epochs=self.max_epochs - epochs, **options)
        for name, values in last.history.items():
            fit.history[name] += values
        last.history, last.n_iter, last.memory = fit.history, fit.n_iter + last.n_iter, fit.memory
        return last

    def _keep_likelihood(self, plain: Problem, choice: Choice) -> tuple[Problem, Fit, Choice]:
        plain, self._statistics, start = self._likelihood(plain, keep=True)
        fit = Fit(start, plain.measure(start)).ended(Stop.LIKELIHOOD, reason=choice.reason)
        record_history(fit)
        return plain, fit, choice

    def _likelihood(self, plain: Problem, *, keep: bool) -> tuple[Problem, Any, Any]:
        """The problem that maximum likelihood solves, its statistics and its solution; with `keep` the estimator turns to it."""
        plain = self._plain(plain, keep=keep)
        statistics = plain.model.statistics(plain.X, plain.y, plain.weights)
        return replace(plain, prior=statistics * 0.0), statistics, priors.interior(plain.model, statistics)

    def _train_likelihood(self, problem: Problem, statistics, generator) -> tuple[Fit, Choice]:
        """Closed form, unless missing cells are latent: then EM (or the paper's algorithm)."""
        model = problem.model
        choice = Choice(None, reason="the loss is the likelihood")
        prior = self._given_prior(model, statistics, discriminative=self.algorithm == "paper")
        problem = replace(problem, prior=prior)
        if self.algorithm == "paper":
            fit = run(
                Paper(step_size_of(self.step_size)), problem, priors.interior(model, statistics), generator,
                max_epochs=self.max_epochs, tol=self.tol, watch=Watch(self._reporter()), keep_best=False,
            )  # fmt: skip
            return fit, choice
        problem = replace(problem, loss=Loss("nll"))  # with one class there is nothing to discriminate
        start = statistics + prior
        if not model.is_latent(problem.X):
            fit = Fit(start, problem.measure(start) if model.in_domain(start) else None, n_iter=1)
            record_history(fit)
            return fit, choice
        fit = run(
            self._learner(problem),
            problem,
            start,
            generator,
            max_epochs=self.max_epochs,
            tol=self.tol,
            watch=Watch(self._reporter()),
        )
        return fit, choice

    def _choose(self, problem: Problem, plain: Problem, learner, prior_of, generator) -> Choice:
        if self.prior != "auto":
            return Choice(None, reason=f"prior={self.prior!r} was given")
        words = not problem.model.table_prior
        selection = Selection(
            problem, self._plain_scores(plain), prior_of, self._rows_as, learner, generator,
            calibrate=words or problem.loss.name == "hinge", engine=Engine(n_threads(self.n_jobs)),
        )  # fmt: skip
        if words:
            name = problem.loss.name
            axes = priors.word_axes(name, self._max_roots)
            return selection.choose(priors.WORD_STRENGTHS[name], axes, base=priors.WORD_BASE, extend=3.0, halve=True)
        n = min(float(problem.weights.sum()), 20_000.0)
        strengths = priors.table_strengths(n, problem.model.n_outcomes)
        if problem.model.is_latent(problem.X):  # every pass completes every row: a coarser path
            return replace(selection, max_epochs=5).choose(strengths[::2], priors.COARSE_TABLE_AXES)
        return selection.choose(strengths, priors.TABLE_AXES, extend=3.0)

    def _given_prior(self, model, statistics, *, discriminative: bool):
        """Pseudo-counts as asked for; the outcomes get them too under a discriminative loss, which needs them."""
        amount = self.prior
        if amount in ("auto", "laplace"):
            amount = model.default_pseudo_counts if amount == "auto" else 1.0
        elif amount == "log":
            amount = float(np.log(max(model.n_features, 2)))  # ln |W| of the paper's prior P2
        prior = model.pseudo_counts(statistics, float(amount))
        if discriminative:
            prior = replace(prior, mass=np.full(model.n_outcomes, max(float(amount), 1e-3)))
        return prior

    def _learner(self, problem: Problem):
        name = self.algorithm
        if name == "auto" and problem.model.is_latent(problem.X):
            name = "stochastic" if problem.loss.is_discriminative else "batch"
        if name == "auto":
            small = len(problem.y) * problem.model.n_outcomes <= MAX_MULTIPLIERS
            name = "incremental" if small else "stochastic"
        if name == "incremental":
            return Incremental(min(1e-3, self.tol))
        step_size = step_size_of(self.step_size)
        if name == "batch":
            return Batch(step_size if isinstance(step_size, float) else None)
        size = max(100, len(problem.y) // 10) if problem.model.is_latent(problem.X) else None
        return Stochastic(step_size, size, average=self.average)

    def _warm_multipliers(self, problem: Problem):
        if not self.warm_start or not hasattr(self, "_multipliers"):
            return None
        shape = (len(problem.y), problem.model.n_outcomes)
        return self._multipliers if self._multipliers is not None and self._multipliers.shape == shape else None

    # -- what subclasses may change -----------------------------------------------------------------------------------

    _max_roots = 0  # how often the square root of the counts may be taken

    def _rows_as(self, problem: Problem, setting, *, keep: bool = False) -> Problem:
        """The problem with its rows as the setting reads them; with `keep` the estimator turns to it."""
        return problem

    def _plain(self, problem: Problem, *, keep: bool = True) -> Problem:
        """The problem that maximum likelihood solves where training does not help; with `keep` the estimator turns to it."""
        return replace(problem, X=self._scaled(problem.X, problem.model))

    def _plain_scores(self, problem: Problem) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """A function of weights and places of rows: their scores under maximum likelihood of the weighted rows."""
        plain = self._plain(problem, keep=False)

        def scores(weights: np.ndarray, which: np.ndarray) -> np.ndarray:
            statistics = plain.model.statistics(plain.X, plain.y, weights)
            return plain.model.scores(priors.interior(plain.model, statistics), plain.X, which=which)

        return scores


def remembered(function: Callable) -> Callable:
    """The function, its results kept for as long as its last argument lives."""
    results: WeakKeyDictionary = WeakKeyDictionary()

    def recall(*arguments):
        if arguments[-1] not in results:
            results[arguments[-1]] = function(*arguments)
        return results[arguments[-1]]

    return recall


def record_history(fit: Fit) -> None:
    if fit.measure is not None:
        for name in ("objective", "nll", "ncll", "hinge", "accuracy"):
            fit.history[name] = [getattr(fit.measure, name)]
        fit.history["best"] = fit.history["objective"]
        fit.history["shortened"], fit.history["seconds"] = [0], [0.0]
