"""The recipe for words: the same pseudo-count for every outcome, smaller for words that tell the outcomes apart; counts to a power.

Folds share the rows (a weight of zero holds a row out), so nothing is copied; they are runs of each class, as documents stand in
the data. Maximum likelihood reads rows as they are, in units of the smallest count. The share of errors is part of a setting's score.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from typing_extensions import override

from ...families.lone_words import Join, share_of_lone_words
from ...families.words import row_sizes
from ...learners.driver import run
from ...learners.incremental import Incremental
from ...learners.incremental import Warm as WarmDual
from ...learners.problem import Problem
from ...reading.words import Words as Reader
from ...reading.words import counts_of, in_units
from .. import priors
from ..calibration import best_background, best_rivalry, shares
from ..folds import deal_in_runs
from ..priors import Setting
from ..search import Axis, Plan
from .base import MAX_ROWS, Choice, Fold, HeldOut, Trained
from .tables import Tables

# scores under the hinge grow with the number of documents: the best temperature falls as its power -SHARPER
# (fitted on half and on all of four fifths of the training documents of four sets, judged on the rest: 0.05 to 0.25)
SHARPER = 0.14
FIRST_EPOCHS, NEXT_EPOCHS = 6, 4  # of a fold's fit: at its first setting, and at later ones
COARSE, CORNER_COARSE = 2e-3, 5e-3  # tolerance of a fold's fit; of losses with a corner
BASE = Setting(0.0, telling=0.5)
STRENGTHS = {"ncll": [0.3, 0.1, 0.03, 0.01, 0.003, 0.001], "hinge": [1.0, 0.3, 0.1]}
ALL_STRENGTHS = [1.0, *STRENGTHS["ncll"]]  # for a loss that nobody has tried
TILTS, TILT = {"hinge": 0.02}, 0.1  # steps of the tilt; for other losses
WORTH_JOINING = 0.25  # share of words that only one row has (or none): from here on to join them pays
STREAM = Setting(0.1)  # prior of a stream that no fit has chosen one for
POWERS = (0.2, 0.4, 0.6)
FEW_DOCUMENTS = 500  # below, all five folds take part in the search; from here on two choose as well


def axes(loss: str, max_roots: int = 0) -> tuple[Axis, ...]:
    tilts = np.arange(1, 21) * TILTS.get(loss, TILT)
    return (
        Axis("telling", ((1.0, 1.5),), evidence=1.0),
        Axis("roots", (tuple(range(1, max_roots + 1)),), evidence=1.0),
        Axis("second", (tuple(float(tilt) for tilt in tilts),), neighbours=True),
        Axis("common", (POWERS, tuple(-power for power in POWERS)), evidence=1.0),
    )


@dataclass(frozen=True)
class Words(Tables):
    """`reader` is how rows are read at first; `structure(rows, n_outcomes, weights, reader)` makes the structure of rows."""

    reader: Any = None
    structure: Any = None
    max_roots: int = 0  # how often the square root of the counts may be taken
    reads_freely: bool = True  # maximum likelihood may read rows otherwise (no length was asked for)
    calibrates: bool = True
    counts_errors: bool = True
    learns_unlabelled: bool = True
    memo: dict = field(default_factory=dict, repr=False)  # how common words are in the rows of the choice

    @override
    def refuse(self, problem: Problem) -> None:
        super().refuse(problem)
        self.refuse_unlabelled(problem)

    @override
    def refuse_unlabelled(self, problem: Problem) -> None:
        unlabelled = int((problem.y < 0).sum())
        if unlabelled and not self.learns_unlabelled and self.options.unlabelled_weight != 0:
            raise ValueError(
                f"y has {unlabelled} rows without a label, and {self.reader.owner}, which is no model of the rows, can learn nothing "
                "from them: leave them out (unlabelled_weight=0), or use MultinomialNB"
            )

    # -- rows ---------------------------------------------------------------------------------------------------------

    def reader_at(self, setting: Setting | None) -> Reader:
        return self.reader if setting is None or not setting.roots else replace(self.reader, power=0.5**setting.roots)

    @override
    def rows_as(self, problem: Problem, setting: Setting) -> Problem:
        if not setting.roots:
            return problem
        return self.read_by(self.reader_at(setting), problem)

    @override
    def for_choice(self, problem: Problem) -> Problem:
        """Words that only one row has, joined, where they are many."""
        if share_of_lone_words(counts_of(problem.X)) < WORTH_JOINING:
            return problem
        return self.joined(problem, Join.of(counts_of(problem.X)))

    def joined(self, problem: Problem, join: Join) -> Problem:
        self.memo["join"] = join
        return replace(problem, X=join.joined(problem.X), model=cast(Any, problem.model).joined(join))

    def read_by(self, reader: Reader, problem: Problem) -> Problem:
        """The problem with its rows as a reader gives them."""
        join = getattr(problem.X, "join", None)
        whole, rows = self.rows_by(reader, problem.X, join)
        model = self.structure(whole, problem.model.n_outcomes, problem.weights, reader)
        model = model if join is None else model.joined(join)
        return replace(problem, X=rows, model=model, blocks=problem.blocks and problem.blocks.read_by(reader, model))

    def rows_by(self, reader: Reader, X, join: Join | None) -> tuple[Any, Any]:
        """Rows as a reader gives them, and with their words joined; the folds of a choice share the last ones."""
        known = self.memo.get("rows")
        if known is None or known[:2] != (reader, join) or join is None:
            rows = reader.scaled(X)
            known = self.memo["rows"] = reader, join, rows, rows if join is None else join.joined(rows)
        return known[2:]

    @override
    def plain_reader(self, problem: Problem) -> Reader:
        """Rows as they are, in units of the smallest count (1 for counts), so that the units of X do not matter."""
        if not self.reads_freely:
            return self.reader
        unit = row_sizes(in_units(counts_of(problem.X), 1.0, self.reader.power))[2]
        return replace(self.reader, norm=None, unit=unit if np.isfinite(unit) else 1.0)

    @override
    def plain(self, problem: Problem) -> Problem:
        return self.read_by(self.plain_reader(problem), problem) if self.reads_freely else problem

    @override
    def fold_problem(self, problem: Problem, rows: np.ndarray) -> Problem:
        weights = np.zeros_like(problem.weights)
        weights[rows] = problem.weights[rows]
        return replace(problem, weights=weights)

    # -- priors -------------------------------------------------------------------------------------------------------

    @override
    def prior(self, problem: Problem, statistics, setting: Setting | None, own=None):
        if setting is None:
            return self.given_prior(problem.model, statistics, is_discriminative=True)
        common = self.commonness(problem) if setting.common else None
        model: Any = problem.model
        return priors.uniform(model, statistics, setting, model.squared_row, None, common)

    def commonness(self, problem: Problem) -> np.ndarray:
        """How common words are in the rows of the choice, or in these where nothing was chosen."""
        model: Any = problem.model
        if "common" not in self.memo:
            self.memo["common"] = priors.commonness(problem.X, problem.weights, model.family.alike)
        found = self.memo["common"]
        return found if len(found) == model.n_features else found[self.memo["join"].place]

    def fold_prior(self, problem: Problem, view: View, setting: Setting):
        """As `prior`, with what the settings of a fold share computed once. How common a word is, is a matter of all rows."""
        leaning = view.leaning if setting.second else None
        told = view.told if setting.telling else None
        common = self.commonness(problem) if setting.common else None
        model: Any = view.problem.model
        return priors.uniform(
            model, view.statistics, setting, model.squared_row, leaning, common, told, view.occurrences
        )

    # -- the choice ---------------------------------------------------------------------------------------------------

    @override
    def deal(self, problem: Problem, generator):
        rows = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
        dealt = deal_in_runs(problem.y, rows, generator, 5, 2 * MAX_ROWS)
        n = len(dealt.rows)
        n_searched = 5 if n < FEW_DOCUMENTS else 2
        return dealt, n_searched, 2  # one run of documents says too little of the next ones

    @override
    def plan(self, problem: Problem) -> Plan:
        name = problem.loss.name
        return Plan(STRENGTHS.get(name, ALL_STRENGTHS), axes(name, self.max_roots), base=BASE, extend=3.0, halve=True)

    def view(self, fold: Fold, setting: Setting) -> View:
        """The fold's training part as the setting reads its rows; only the last one is kept."""
        view = fold.memory.get("view")
        if view is None or view.roots != setting.roots:
            problem = self.rows_as(fold.problem, setting)
            view = fold.memory["view"] = View(setting.roots, problem)
        return view

    @override
    def fold_scores(self, problem: Problem, fold: Fold, setting):
        view, memory = self.view(fold, setting), fold.memory
        part = replace(view.problem, prior=self.fold_prior(problem, view, setting))
        learner = self.learner(problem)
        if isinstance(learner, Incremental):
            coarse = CORNER_COARSE if part.loss.has_corner else COARSE
            learner = Incremental(max(coarse, learner.tolerance), watch=False)
        warm = memory.get("multipliers")
        collected = memory.get("collected") if memory.get("collected_at") == setting.roots else None
        fit = run(
            learner, part, view.own, fold.generator, max_epochs=FIRST_EPOCHS if warm is None else NEXT_EPOCHS, tol=1e-2,
            warm=None if warm is None else WarmDual(warm, collected), watch=fold.watch.child("run"),
        )  # fmt: skip
        memory["multipliers"] = fit.multipliers
        if fit.arrays is not None and (part.y >= 0).all():
            memory["collected"], memory["collected_at"] = fit.moments - part.prior, setting.roots
        return part.model.scores(fit.moments, part.X, fit.arrays, which=fold.held_out)

    @override
    def kept_of(self, fold: Fold) -> dict:
        names = ("multipliers", "collected", "collected_at")
        return {name: fold.memory[name] for name in names if name in fold.memory}

    @override
    def likelihood_scores(self, held_out: HeldOut) -> np.ndarray:
        """As of rows in units of the smallest count, without making them: words speak 1 / unit times as loud."""
        problem = held_out.problem
        if not self.reads_freely or self.reader.power != 1.0:
            plain = self.plain(problem)
            folds = [replace(plain, weights=fold.problem.weights) for fold in held_out.folds]
            owns = [priors.interior(fold.model, fold.statistics()) for fold in folds]
            pairs = zip(owns, held_out.folds, strict=True)
            return np.concatenate([plain.model.scores(own, plain.X, which=fold.held_out) for own, fold in pairs])
        raw = self.read_by(replace(self.reader, norm=None, unit=1.0), problem)
        X, model = raw.X, cast(Any, raw.model)
        parts = []
        for fold in held_out.folds:
            moments = priors.interior(model, model.statistics(X, problem.y, fold.problem.weights))
            logs = model.log_masses(moments)
            parts.append(logs + (model.scores(moments, X, which=fold.held_out) - logs) / model.unit)
        return np.concatenate(parts)

    @override
    def calibrated(self, held_out: HeldOut, setting, score: float) -> Choice:
        rows = held_out.scores, held_out.y, held_out.weights
        frequency, rivalry = shares(held_out.class_counts), 1.0
        background, temperature = best_background(*rows, held_out.temperature, frequency, free=True)
        if held_out.problem.loss.has_corner:
            temperature, rivalry, background = best_rivalry(*rows, temperature, background, frequency)
            trained = float(np.mean([np.count_nonzero(fold.problem.weights) for fold in held_out.folds]))
            temperature *= max(trained / int(held_out.class_counts.sum()), 0.5) ** SHARPER
        reason = f"held-out log-loss plus errors {score:.4f}"
        return Choice(setting, temperature, score, reason, background, rivalry, mean_multipliers(held_out))

    @override
    def trained(self, problem: Problem, choice, generator, watch, warm):
        join = self.memo.get("join")
        if join is None or choice.setting is None or problem.blocks is not None:
            trained = super().trained(problem, choice, generator, watch, warm)
        else:
            start = warm and replace(warm, moments=self.with_words(problem.model, warm.moments, join.summed))
            own = super().trained(self.joined(problem, join), choice, generator, watch, start)
            trained = self.of_all_words(own, problem, join)
        trained.reader = trained.reader or self.reader_at(trained.choice.setting)
        return trained

    def of_all_words(self, trained: Trained, problem: Problem, join: Join) -> Trained:
        """What was trained on joined words (the same passes), for the words themselves."""
        setting = trained.choice.setting
        whole = self.plain(problem) if setting is None else self.rows_as(problem, setting)

        def of(moments):
            return self.with_words(whole.model, moments, join.of_words)

        fit = replace(trained.fit, moments=of(trained.fit.moments), arrays=None, memory=None)
        whole = replace(whole, prior=of(trained.problem.prior))
        return replace(trained, problem=whole, fit=fit, statistics=of(trained.statistics))

    @staticmethod
    def with_words(model: Any, moments, change):
        """Moments with another table of words."""
        return model.of_counts(moments.mass, change(model.counts_of(moments)))

    @override
    def stream_prior(self, problem: Problem, statistics):
        if self.options.prior != "auto":
            return self.given_prior(problem.model, statistics, is_discriminative=True)
        squared_row = priors.mean_squared_row(problem.X, problem.weights)
        return priors.uniform(problem.model, statistics, STREAM, squared_row)


class View:
    """A fold's training part as some settings read its rows, and what those settings share."""

    def __init__(self, roots: int, problem: Problem):
        self.roots, self.problem = roots, problem
        self.statistics = problem.statistics()

    @cached_property
    def own(self) -> Any:
        return priors.interior(self.problem.model, self.statistics)

    @cached_property
    def leaning(self) -> np.ndarray:
        return priors.leanings(self.problem.model, self.statistics)

    @cached_property
    def occurrences(self) -> np.ndarray:
        return priors.occurrences_of(self.problem.model, self.statistics)

    @cached_property
    def told(self) -> np.ndarray:
        return priors.tellings(self.problem.model, self.statistics)


def mean_multipliers(held_out: HeldOut) -> np.ndarray | None:
    """Every row's multipliers at the best setting, averaged over the folds that trained on it."""
    found = [memory.get("multipliers") for memory in held_out.best_memories]
    if not found or any(multipliers is None for multipliers in found):
        return None
    times = sum((fold.problem.weights > 0).astype(float) for fold in held_out.folds[: len(found)])
    total: Any = sum(found)
    return total / np.maximum(times, 1.0)[:, None]
