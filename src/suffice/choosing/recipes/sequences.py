"""The recipe for classes that are hidden Markov chains: EM in every class, then L-BFGS on the loss from there.

The prior is `strength` pseudo-steps of every state that look like all steps, plus the share `second` of EM's statistics. It is chosen
on held-out sequences, whole groups where there are some, together with what the chains look like (`sequence_search`); EM takes part
at every shape that is tried. Scores are judged at their best temperature, which the answers keep.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ...engines.threads import Engine
from ...learners.chain_classes import ClassProblem, ClassRows, classes_prior, fitted_by_classes
from ...learners.chain_stream import ChainStream
from ...learners.driver import run
from ...learners.em import BatchEM
from ...learners.problem import Problem
from ...learners.quasi_newton import FLAT, GroupProblem, QuasiNewton
from ...learners.state import Fit, Stop
from ...learners.watch import SILENT, Watch
from ...losses.base import log_posteriors
from ...structures.chain_classes import ChainClasses, ClassesMoments, ClassesPrior, ClassMember, SequenceRows
from ..averaging import MOST, alike, mean_of
from ..calibration import best_background, best_temperature, shares
from ..folds import deal, deal_whole
from ..priors import Setting
from ..search import Plan, Walk
from .base import MAX_ROWS, Choice, Fold, HeldOut, Recipe, Trained, Warm, measured
from .sequence_search import (
    ALL_AUTO,
    AUTO,
    FEW_ROWS,
    ChainSetting,
    Wanted,
    is_large,
    most_rows,
    trial_steps,
    usual_pair,
    walk,
)

EM_PASSES, EM_TOL = 50, 1e-4
TRIAL_TOL = 1e-6


@dataclass(frozen=True)
class Sequences(Recipe):
    wanted: Wanted = ALL_AUTO
    start: str = "kmeans"  # how EM of ergodic chains begins
    amount: float = 1.0  # pseudo-steps of a state in EM
    engine: Engine = field(default_factory=Engine)
    n_members: Any = AUTO  # models that answer together, at most
    pair: tuple[float, float] | None = None  # the prior of a stream, where a fit has chosen one
    notes: dict[str, float] = field(default_factory=dict, compare=False, repr=False)

    stream_kind: ClassVar[type] = ChainStream
    fits_labelled_first = False
    unlabelled_evidence = 0.0
    checks_plain_loss = False
    calibrates = True
    smallest_weight = "a sequence without one counts a tenth"

    # -- parts --------------------------------------------------------------------------------------------------------

    @override
    def n_classes(self, problem: Problem) -> int:
        return problem.model.n_outcomes

    def rows(self, problem: Problem) -> ClassRows:
        model: Any = problem.model
        return ClassRows(model, problem.X, problem.y, problem.weights, self.engine)

    def scores(self, model: Any, moments: ClassesMoments, X: SequenceRows) -> np.ndarray:
        """(N, C) array: log p(x_i, c)."""
        n = len(X)
        rows = ClassRows(model, X, np.full(n, -1, dtype=np.int64), np.ones(n), self.engine)
        return rows.scores(model.parameters(rows.form, moments))

    @override
    def answering(self, structure) -> Any:
        return structure

    @override
    def with_class_prior(self, mass: np.ndarray, class_prior) -> np.ndarray:
        return np.asarray(class_prior, dtype=float) * float(mass.sum())

    def shaped(self, problem: Problem, setting: ChainSetting | None) -> Problem:
        """The problem with chains of the setting's shape."""
        shape = self.wanted.shapes(problem)[0] if setting is None else setting.shape
        model: Any = problem.model
        return replace(problem, model=model.at_shape(shape))

    # -- EM and the loss ----------------------------------------------------------------------------------------------

    def how(self, model: ChainClasses) -> str:
        return "parts" if np.isfinite(model.chain.start_cells).all() else self.start

    def by_classes(self, problem: Problem, generator, watch: Watch = SILENT):
        """(moments, statistics, prior) of EM in every class."""
        rows = self.rows(problem)
        return fitted_by_classes(rows, self.how(rows.model), self.amount, generator, EM_PASSES, EM_TOL, watch)

    def with_all(self, problem: Problem, moments, prior: ClassesPrior, watch: Watch, steps: int = EM_PASSES) -> Fit:
        """EM over all classes from there: sequences without a label count in all of them."""
        goal = ClassProblem(self.rows(problem), prior)
        return run(BatchEM(), goal, moments, np.random.default_rng(0), max_epochs=steps, tol=EM_TOL, watch=watch)

    @override
    def prior(self, problem: Problem, statistics, setting: Setting | None, own=None):
        assert setting is not None
        model: Any = problem.model
        return model.pooled_prior(statistics, setting.strength, setting.second)

    def descended(
        self, problem: Problem, em, statistics, setting, learner, steps: int, watch: Watch, start=None
    ) -> Fit:
        """L-BFGS from EM, unless another start is given."""
        model: Any = problem.model
        rows: Any = self.rows(problem)
        goal = GroupProblem(rows, problem.loss, self.prior(problem, statistics, setting), model.chart(em))
        start = em if start is None else start
        fit = run(learner, goal, start, np.random.default_rng(0), max_epochs=steps, watch=watch)
        if learner.flat > FLAT:  # the certificate: how steep F is where it ended
            gradient = goal.value_and_gradient(goal.coordinates.vector(fit.moments))[1]
            fit.history["gradient"] = [float(np.abs(gradient).max())]
        if not model.in_domain(fit.moments):  # at the edge, beyond what moments can hold
            fit.moments = em
            fit.ended(Stop.DOMAIN)
        return fit

    @override
    def fitted(self, problem: Problem, choice: Choice, generator, watch: Watch, start=None, steps=None) -> Fit:
        setting: Any = choice.setting
        problem, steps = self.shaped(problem, setting), self.options.max_epochs if steps is None else steps
        moments, statistics, prior = self.by_classes(problem, generator, watch.child("em"))
        keeps = setting is None or setting.is_likelihood
        is_complete = bool((problem.y >= 0).all())
        if keeps or not is_complete:
            own = watch if keeps else watch.child("all")
            fit = self.with_all(problem, moments if start is None or not keeps else start, prior, own, steps)
            if keeps:
                return measured(fit, problem, self.scores)
            moments = fit.moments
            statistics = ClassProblem(self.rows(problem), prior).expected(moments).statistics
        learner = QuasiNewton(1e-12, max(self.options.tol, 2 * FLAT))
        fit = self.descended(problem, moments, statistics, setting, learner, steps, watch, start)
        return measured(fit, problem, self.scores)

    # -- the choice ---------------------------------------------------------------------------------------------------

    @override
    def enough_rows(self, n: int, n_classes: int) -> str:
        return f"{n} sequences are fewer than 10 for each class" if n < 10 * n_classes else ""

    @override
    def deal_unlabelled(self, problem: Problem, labelled: np.ndarray, generator):
        """Of few sequences every quarter is held out in turn, of many one."""
        groups = problem.X.groups
        if groups is not None and len(np.unique(groups[labelled])) >= 4:
            dealt = deal_whole(problem.y, labelled, groups, generator, 4)
            return dealt, 4 if len(dealt.rows) < FEW_ROWS else 1
        dealt = deal(problem.y, labelled, generator, 4, MAX_ROWS)
        return dealt, 4 if len(dealt.rows) < FEW_ROWS else 1

    @override
    def plan(self, problem: Problem) -> Plan:
        raise NotImplementedError  # `walk` goes its own way

    @override
    def walk(self, problem: Problem, folds) -> Walk:
        return walk(problem, self.wanted, self.options.prior, self.is_settled_on_em(problem), self.notes)

    @override
    def fold_scores(self, problem: Problem, fold: Fold, setting):
        own = self.shaped(fold.problem, setting)
        seed = fold.generator.bit_generator.seed_seq.generate_state(2)  # so the order of the settings does not matter
        if is_large(problem) and not setting.is_whole:
            own = own.part(deal(own.y, np.arange(len(own.y)), np.random.default_rng(seed), 1, most_rows(problem)).rows)
        if fold.memory.get("shape") != (setting.shape, setting.is_whole):
            generator = np.random.default_rng([*seed, setting.shape.n_states])
            em = self.by_classes(own, generator, fold.watch.child("em"))[:2]
            fold.memory.update(shape=(setting.shape, setting.is_whole), em=em)
        moments, statistics = fold.memory["em"]
        if not setting.is_likelihood:
            learner, steps = QuasiNewton(TRIAL_TOL), trial_steps(problem)
            fit = self.descended(own, moments, statistics, setting, learner, steps, fold.watch.child("run"))
            moments = fit.moments
        return self.scores(own.model, moments, problem.X[fold.held_out])

    @override
    def kept_of(self, fold: Fold) -> dict:
        return {}

    @override
    def verdict(self, held_out: HeldOut, setting, score: float) -> Choice:
        scores, y, weights, temperature = held_out.scores, held_out.y, held_out.weights, held_out.temperature
        members = self.chosen_members(held_out, setting)
        if members:
            scores = mean_of([log_posteriors(t * held_out.trial.scores[own]) for own, t in members])
            temperature = best_temperature(scores, y, weights)
        background, temperature = best_background(
            scores, y, weights, temperature, shares(held_out.class_counts), free=True
        )
        if (scores.argmax(axis=1) == y).all():  # no error says how sure it may be
            temperature = min(temperature, 1.0)
        background = max(background, 0.5 / (len(y) + 1.0))  # what half an error more would say
        reason, other = f"{setting.shape}: held-out log-loss {score:.4f}", self.notes.get("other", np.nan)
        if held_out.problem.loss.is_discriminative and self.options.algorithm != "em":
            if setting.is_likelihood:
                reason += (
                    f" of EM is the lowest, {other:.4f} after training for classification: maximum likelihood was kept"
                )
            else:
                reason += f" (EM: {other:.4f})"
        if members:
            others = "; ".join(str(own.shape) + " (EM)" * own.is_likelihood for own, _ in members[1:])
            reason += f"; answers with {len(members) - 1} others that held-out sequences do not tell apart: {others}"
        return Choice(setting, temperature, score, reason, background, members=members)

    def chosen_members(self, held_out: HeldOut, setting) -> tuple:
        """(setting, temperature) of the models whose probabilities are averaged: of every shape that may as well be the best, the best
        setting. Empty where one is left, and where the loss is the likelihood."""
        if self.is_settled_on_em(held_out.problem):
            return ()
        trial, most = held_out.trial, MOST if self.n_members == AUTO else int(self.n_members)
        losses = {own: found for own, found in trial.losses.items() if own.is_whole == setting.is_whole}
        found = alike(losses, lambda own: own.shape, most)
        # none is made surer of itself than it was trained to be: few rows say little of that, and the mean is calibrated after
        return tuple((own, min(float(trial.temperatures[own]), 1.0)) for own in found) if len(found) > 1 else ()

    # -- the fit ------------------------------------------------------------------------------------------------------

    def is_settled_on_em(self, problem: Problem) -> bool:
        is_plain = not problem.loss.is_discriminative or self.n_classes(problem) == 1
        return is_plain or self.options.algorithm == "em"

    @override
    def settled(self, problem: Problem) -> Choice | None:
        shapes = self.wanted.shapes(problem)
        is_open = len(shapes) > 1 or self.wanted.n_states == AUTO
        if self.is_settled_on_em(problem):
            if is_open and self.n_classes(problem) > 1:
                return None
            setting = ChainSetting(0.0, shape=shapes[0], is_likelihood=True)
            return Choice(setting, reason=f"{shapes[0]}: the loss is the likelihood")
        if self.options.prior == AUTO or is_open:
            return None
        setting = ChainSetting(float(self.options.prior), 0.0, shape=shapes[0])
        return Choice(setting, reason=f"{shapes[0]}: prior={self.options.prior!r} was given")

    @override
    def trained(self, problem: Problem, choice: Choice, generator, watch: Watch, warm: Warm | None) -> Trained:
        shaped: Any = self.shaped(problem, choice.setting)  # type: ignore[arg-type]
        fits = warm is not None and warm.structure is not None and warm.structure.is_like(shaped.model)
        fit = self.fitted(problem, choice, generator, watch, warm.moments if warm is not None and fits else None)
        return Trained(shaped, fit, choice)

    @override
    def members(self, problem: Problem, choice: Choice, generator, watch: Watch) -> tuple:
        found = []
        for number, (setting, temperature) in enumerate(choice.members[1:]):
            own = watch.child(f"member{number}")
            fit = self.fitted(problem, replace(choice, setting=setting), generator, own)
            model: Any = self.shaped(problem, setting).model
            found.append(ClassMember(model, fit.moments, temperature, "" if fit.converged else fit.stopped))
        return tuple(found)

    # -- rows without a label, streams --------------------------------------------------------------------------------

    @override
    def with_unlabelled(self, problem: Problem, trained: Trained) -> Problem:
        return self.shaped(problem, trained.choice.setting)  # type: ignore[arg-type]

    @override
    def unlabelled_weights(self, labelled: float, unlabelled: float) -> list[float]:
        return [0.1, 1.0]

    @override
    def trial_seed(self, generator):
        seed = int(generator.integers(2**31))
        return lambda number: np.random.default_rng([seed, number])

    @override
    def trial_scores(self, problem: Problem, choice: Choice, X, generator, watch: Watch) -> np.ndarray:
        steps = trial_steps(problem)
        fit = self.fitted(problem, choice, generator, watch.child("unlabelled"), steps=steps)
        return self.scores(self.shaped(problem, choice.setting).model, fit.moments, X)  # type: ignore[arg-type]

    def em_prior(self, problem: Problem) -> ClassesPrior:
        """The prior of EM, from a first labelling of the steps."""
        rows = self.rows(problem)
        return classes_prior(rows, self.how(rows.model), self.amount, np.random.default_rng(0))

    def stream_pair(self, problem: Problem) -> tuple[float, float]:
        """The prior of a stream, of which nothing can be held out: (strength, second)."""
        if self.pair is not None:
            return self.pair
        usual = usual_pair(problem)
        return usual if self.options.prior == AUTO else (float(self.options.prior), 0.0)

    @override
    def stream_after(self, trained: Trained) -> Any:
        return ChainStream.after_fit(trained.problem, self, trained.fit.moments)
