"""The recipe for classes that are mixtures: EM in every class, then L-BFGS on the loss from there.

Outcomes are (class, component) pairs, so the signed weights of the losses apply as they are (Masegosa 2014, Table 2). The prior is
`strength` pseudo-rows of every component that look like all rows together, plus the share `second` of the EM moments; no single pair of
them is right (components much narrower than the data want the second, few rows want the first), so a few are tried on a quarter of the
rows, with EM itself among them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ...engines.threads import Engine
from ...learners.driver import run
from ...learners.em import BatchEM, MixtureProblem
from ...learners.expectation import Rows
from ...learners.group_stream import GroupStream
from ...learners.problem import Problem
from ...learners.quasi_newton import GroupProblem, QuasiNewton
from ...learners.starts import start_shares
from ...learners.state import Fit, Stop
from ...learners.watch import SILENT, Watch
from ...structures.component_prior import ComponentPrior
from ...structures.groups import Groups as Answers
from ...structures.joint import Joint
from ...structures.occupied import Occupied
from .. import priors
from ..folds import deal
from ..priors import Setting
from ..search import Plan
from .base import MAX_ROWS, Choice, Fold, HeldOut, Recipe, Trained, Warm, measured, one_by_one

EM_PASSES, EM_TOL = 50, 1e-4
TRIAL_STEPS = 60  # of the minimiser for a candidate
TABLE_CANDIDATES = ((0.01, 0.1), (1.0, 0.03), (3.0, 0.0), (1.0, 0.0), (0.3, 0.0), (0.1, 0.0), (0.03, 0.0))
WORD_CANDIDATES = ((0.1, 0.1), (0.1, 0.0), (0.03, 0.1), (0.03, 0.0), (0.01, 0.0))
STREAM_TABLE, STREAM_WORDS = Setting(1.0, 0.1), Setting(0.03, 0.0)
MIXED_START = 0.3  # share of the prior in the start: where EM leaves tiny variances every minimiser crawls


@dataclass(frozen=True)
class Groups(Recipe):
    width: int = 1  # components of a class
    amount: float = 1.0  # pseudo-rows of a component in EM
    calibrates: bool = False
    engine: Engine = field(default_factory=Engine)

    stream_kind: ClassVar[type] = GroupStream
    fits_labelled_first = False
    unlabelled_evidence = 0.0
    checks_plain_loss = False
    smallest_weight = "a row without one counts a tenth"

    # -- parts --------------------------------------------------------------------------------------------------------

    @override
    def n_classes(self, problem: Problem) -> int:
        return problem.model.n_outcomes // self.width

    def rows(self, problem: Problem) -> Rows:
        model: Any = problem.model
        return Rows(model.form(problem.X), problem.weights, problem.y, self.width, self.engine)

    def scores(self, model, moments, X) -> np.ndarray:
        """(n, classes) array: log p(x_i, class)."""
        form, n = model.form(X), X.shape[0]
        rows = Rows(form, np.ones(n), np.full(n, -1, dtype=np.int64), self.width, self.engine)
        return rows.group_scores(form.coefficients(moments))

    @override
    def answering(self, structure) -> Answers:
        return Answers(structure, self.width)

    # -- EM -----------------------------------------------------------------------------------------------------------

    def start_statistics(self, problem: Problem, generator):
        """k-means within every class; a class without rows (in a stream's first batch) starts like all of them, with little mass."""
        model: Any = problem.model
        H, J, total = self.width, model.n_outcomes, None
        one = model.with_outcomes(H)
        for c in range(self.n_classes(problem)):
            rows = np.flatnonzero((problem.y == c) & (problem.weights > 0))
            total_weight = float(problem.weights[rows].sum()) if len(rows) else 0.1
            rows = rows if len(rows) else np.flatnonzero(problem.weights > 0)
            used, shares, _ = start_shares(one, problem.X[rows], problem.weights[rows], "kmeans", generator)
            wide = np.zeros((len(shares), J))
            wide[:, c * H : (c + 1) * H] = shares * (total_weight / shares.sum())
            if model.is_latent(used):
                statistics = model.statistics(used, wide.argmax(axis=1), wide.sum(axis=1))
            else:
                statistics = model.expected_statistics(used, wide)
            total = statistics if total is None else total + statistics
        return total

    def component_prior(self, model, statistics):
        return ComponentPrior.of(model, statistics, self.amount, 1.0 / model.n_outcomes)

    def em_problem(self, problem: Problem, statistics, *, reseeds: bool, prior=None) -> MixtureProblem:
        prior = self.component_prior(problem.model, statistics) if prior is None else prior
        return MixtureProblem(self.rows(problem), prior, reseeds=reseeds)

    def fitted_by_em(
        self, problem: Problem, generator, watch: Watch = SILENT, start=None, passes: int = EM_PASSES
    ) -> Fit:
        statistics = self.start_statistics(problem, generator)
        em = self.em_problem(problem, statistics, reseeds=self.width > 1 and self.amount > 0)
        start = em.prior.posterior(statistics) if start is None else start
        return run(BatchEM(), em, start, generator, max_epochs=passes, tol=EM_TOL, watch=watch)

    # -- the loss -----------------------------------------------------------------------------------------------------

    @override
    def prior(self, problem: Problem, statistics, setting: Setting, own=None):  # type: ignore[override]
        """Pseudo-statistics; `statistics` are the moments of EM, of any total."""
        model, em, J = problem.model, statistics, problem.model.n_outcomes
        if not model.table_prior:
            strength = replace(setting, strength=setting.strength / self.width)
            record = priors.uniform(model, em, strength, priors.mean_squared_row(problem.X, problem.weights))
            return replace(record, mass=record.mass / self.width)
        own = (1.0 / float(em.mass.sum())) * em
        own = model.at_masses(own, own.mass)
        pooled = model.at_masses(model.pooled(own), np.full(J, 1.0))
        return setting.strength * pooled + (setting.second * float(problem.weights.sum())) * own

    def descended(self, problem: Problem, em, setting: Setting, steps: int, watch: Watch, start=None) -> Fit:
        """L-BFGS from between EM and the prior, unless another start is given."""
        model: Any = problem.model
        prior = self.prior(problem, em, setting)
        start = between(model, em, prior) if start is None else start
        occupied = Occupied(model)
        rows, chart = self.rows(replace(problem, model=occupied.model)), occupied.model.chart(occupied.of(em))
        goal = GroupProblem(rows, problem.loss, occupied.of(prior), chart)
        learner = QuasiNewton(self.options.tol)
        fit = run(learner, goal, occupied.of(start), np.random.default_rng(0), max_epochs=steps, watch=watch)
        fit.moments = occupied.beside(fit.moments, em)
        if not model.in_domain(fit.moments):  # at the edge, beyond what moments can hold
            fit.moments = em
            fit.ended(Stop.DOMAIN)
        return fit

    @override
    def fitted(self, problem: Problem, choice: Choice, generator, watch: Watch, start=None, steps=None) -> Fit:
        """EM, and from there the minimiser unless EM is what was chosen; the one that comes last begins at `start` if there is one."""
        if choice.setting is None:
            passes = self.options.max_epochs if steps is None else EM_PASSES
            return measured(self.fitted_by_em(problem, generator, watch, start, passes), problem, self.scores)
        em = self.fitted_by_em(problem, generator, watch.child("em")).moments
        steps = self.options.max_epochs if steps is None else steps
        return measured(self.descended(problem, em, choice.setting, steps, watch, start), problem, self.scores)

    # -- the choice ---------------------------------------------------------------------------------------------------

    @override
    def for_choice(self, problem: Problem) -> Problem:
        return one_by_one(problem)

    @override
    def enough_rows(self, n: int, n_classes: int) -> str:
        return f"{n} distinct rows are fewer than 10 for each class" if n < 10 * n_classes else ""

    @override
    def deal_unlabelled(self, problem: Problem, labelled: np.ndarray, generator):
        """A quarter of the labelled rows is held out; of few rows three quarters in turn."""
        dealt = deal(problem.y, labelled, generator, 4, MAX_ROWS)
        return dealt, 3 if len(dealt.rows) < 600 else 1

    @override
    def plan(self, problem: Problem) -> Plan:
        pairs = TABLE_CANDIDATES if problem.model.table_prior else WORD_CANDIDATES
        settings = [Setting(*pair) for pair in pairs] if problem.loss.is_discriminative else []
        return Plan(candidates=(None, *settings))

    @override
    def fold_scores(self, problem: Problem, fold: Fold, setting):
        memory = fold.memory
        if "em" not in memory:
            memory["em"] = self.fitted_by_em(fold.problem, fold.generator, fold.watch.child("em")).moments
        moments = memory["em"]
        if setting is not None:
            moments = self.descended(fold.problem, moments, setting, TRIAL_STEPS, fold.watch.child("run")).moments
        return self.scores(problem.model, moments, problem.X[fold.held_out])

    @override
    def kept_of(self, fold: Fold) -> dict:
        return {"em": fold.memory["em"]}

    @override
    def verdict(self, held_out: HeldOut, setting, score: float) -> Choice:
        if setting is None:
            return Choice(None, 1.0, score, f"held-out log-loss {score:.4f} of EM is the lowest")
        return Choice(setting, held_out.temperature, score, f"held-out log-loss {score:.4f}")

    # -- the fit ------------------------------------------------------------------------------------------------------

    @override
    def settled(self, problem: Problem) -> Choice | None:
        if not problem.loss.is_discriminative or self.n_classes(problem) == 1 or self.options.algorithm == "em":
            return Choice(None, reason="the loss is the likelihood")
        if self.options.prior == "auto":
            return None
        return Choice(Setting(float(self.options.prior), 0.0), reason=f"prior={self.options.prior!r} was given")

    @override
    def trained(self, problem: Problem, choice: Choice, generator, watch: Watch, warm: Warm | None) -> Trained:
        start = None if warm is None else warm.moments
        return Trained(problem, self.fitted(problem, choice, generator, watch, start), choice)

    # -- rows without a label, streams --------------------------------------------------------------------------------

    @override
    def unlabelled_weights(self, labelled: float, unlabelled: float) -> list[float]:
        return [0.1, 1.0]

    @override
    def trial_seed(self, generator):
        seed = int(generator.integers(2**31))
        return lambda number: np.random.default_rng([seed, number])

    @override
    def trial_scores(self, problem: Problem, choice: Choice, X, generator, watch: Watch) -> np.ndarray:
        fit = self.fitted(problem, choice, generator, watch.child("unlabelled"), steps=TRIAL_STEPS)
        return self.scores(problem.model, fit.moments, X)

    def stream_prior(self, problem: Problem, em):
        return self.prior(problem, em, STREAM_TABLE if problem.model.table_prior else STREAM_WORDS)

    @override
    def stream_after(self, trained: Trained) -> Any:
        moments, problem = trained.fit.moments, trained.problem
        statistics = (float(problem.weights.sum()) / float(moments.mass.sum())) * moments
        return GroupStream.after_fit(problem.model, self.component_prior(problem.model, statistics), statistics)


def between(model: Joint, em, prior):
    """A start on the way from EM to the prior."""
    one, other = (1.0 / float(em.mass.sum())) * em, (1.0 / float(prior.mass.sum())) * prior
    if model.table_prior:
        one, other = model.at_masses(one, one.mass), model.at_masses(other, other.mass)
    return model.projected((1.0 / (1.0 + MIXED_START)) * (one + MIXED_START * other))
