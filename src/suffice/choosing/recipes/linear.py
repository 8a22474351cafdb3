"""The recipe for dense tables under the conditional likelihood: flat pseudo-counts, quasi-Newton, columns read in several ways.

What is chosen on held-out rows, from the plain to the rich, each against the best so far:

    strength      pseudo-rows in all, from 1e5 down by sqrt(10); of those that lose less than TOLERATED standard errors the strongest
    own           correlated columns: the share of their own variances in the covariance that coefficients are measured by
    gaps          whether a missing cell says something (`told`) or is integrated out; whether numbers are `filled` in by the others
    bins          numbers as bins with a random-walk prior, all of them, then without those that are no better than a line
    per_class     variances of every class in the place of common ones
    second        the share of joint likelihood that is blended in

Settings are compared by what rows held out lose, and up to one more that is wrong (`calibration.doubted_losses`). A richer one must
gain EVIDENCE standard errors of the differences; so must maximum likelihood, which takes part at the end (a true model, few rows).
Every fit ends at its optimum, with a certificate (`learners.linear.conditional`), and its joint density is settled by moment matching
(`learners.linear.settle`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from typing_extensions import override

from ...families.rows import dense
from ...learners.linear.blocks import BlockClassSums, BlockConditional
from ...learners.linear.conditional import Conditional, straightened
from ...learners.linear.design import Design
from ...learners.linear.filling import filled
from ...learners.linear.search import keeps_posteriors, searched
from ...learners.linear.settle import Tellers, settled
from ...learners.linear.sums import ClassSums
from ...learners.problem import Problem
from ...learners.starts import distinct
from ...learners.watch import Watch
from ...structures.gaps import CorrelatedGaps
from .. import priors
from ..calibration import clipped_losses, doubted_losses
from ..folds import deal
from ..priors import Setting
from ..search import Tried, Walk
from . import in_blocks
from .base import MAX_ROWS, Choice, Fold, HeldOut, Trained, Warm, kept, one_by_one
from .table_setting import TableSetting, name_of, said
from .tables import Tables
from .views import Reading, View

STRENGTHS = [float(10.0**power) for power in np.arange(5.0, -4.1, -0.5)]
FIRST = STRENGTHS.index(10.0)  # of the path: most tables want less, few more
SMALL, LARGE = 300, 5_000  # rows: ten folds below the first, one fifth held out above the second
TOLERATED = 0.1
EVIDENCE = {"told": 0.0, "filled": 0.0, "bins": 0.5, "fewer": 0.0, "per_class": 2.0, "second": 1.0, "likelihood": 1.0}
MOST_UNLIKE = 2.0  # times that weights may have the squares of equal ones: the gain may be that of a few heavy rows
FEW = 100  # the evidence grows by the factor 1 + FEW / rows: the best of several settings always looks good
OWN = (0.3, 0.1, 0.0)  # beside 1, that of independent columns
REACH = {"told": 1, "filled": 2, "bins": 3, "fewer": 0, "per_class": 3, "second": 3}  # steps of the path to either side
TRIAL_TOL, TRIAL_STEPS = 1e-6, 200  # small: settings differ by less than what a search that ends early leaves
LEAST_FULL = 0.1  # share of the cells of sparse rows that are stored, from which on they are a table


@dataclass(frozen=True)
class Linear(Tables):
    reader: Any = None
    structure: Callable[..., Any] | None = None  # of (reader, rows, n_outcomes), where the reader has readings
    memo: dict = field(default_factory=dict, repr=False)

    # -- which rows ---------------------------------------------------------------------------------------------------

    @override
    def for_rows(self, problem: Problem) -> Tables:
        X = problem.X
        is_table = isinstance(X, np.ndarray) or X.nnz >= LEAST_FULL * X.shape[0] * X.shape[1]
        is_ours = is_table and not problem.model.is_latent(X)
        return self if is_ours else Tables(self.options, self.calibrates, self.is_discriminative)

    @property
    def has_readings(self) -> bool:
        return self.structure is not None

    def reader_at(self, setting: TableSetting | None) -> Any:
        """The reader of a setting; cuts are of the rows that the memo has seen last."""
        if setting is None or not self.has_readings:
            return self.reader
        bins = {name: self.memo["cuts"][name] for name in setting.bins}
        told = self.memo["gaps"] if setting.told else []
        known = self.reader.numbers if setting.filled else []
        return self.reader.reading(bins, [name for name in told if name not in known])

    def read_by(self, reader, problem: Problem, is_filled: bool = False) -> Problem:
        if (reader is self.reader and not is_filled) or self.structure is None:
            return problem
        raw = self.reader.raw(problem.X)
        rows = reader.scaled(self.filled(raw) if is_filled else raw)
        model = self.structure(reader, rows, problem.model.n_outcomes)
        return replace(problem, X=rows, model=model, blocks=problem.blocks and problem.blocks.read_by(reader, model))

    def filled(self, raw: np.ndarray) -> np.ndarray:
        """Raw rows in which no number is missing; the last ones are kept, because many settings and the fit ask for the same."""
        if "filled" not in self.memo or not np.array_equal(self.memo["filled"][0], raw, equal_nan=True):
            self.memo["filled"] = raw, filled(raw, *map(len, self.reader.named[:2]))
        return self.memo["filled"][1]

    @override
    def rows_as(self, problem: Problem, setting) -> Problem:
        return self.read_by(self.reader_at(setting), problem, setting is not None and setting.filled)

    @override
    def prepared(self, problem: Problem) -> Problem:
        """Equal rows are merged: a weight of 2 is the row twice to the last bit, also for what is held out."""
        if self.is_likelihood(problem):
            return problem
        X, y, weights = distinct(dense(problem.X), problem.y, problem.weights)
        return problem if X is problem.X else replace(problem, X=X, y=y, weights=weights)

    @override
    def for_choice(self, problem: Problem) -> Problem:
        return one_by_one(problem)

    @override
    def settled(self, problem: Problem) -> Choice | None:
        self.memo["is_in_blocks"] = problem.blocks is not None
        if len(np.unique(problem.y[problem.weights > 0])) < 2:
            return Choice(None, reason="all rows are of one class")
        return super().settled(problem)

    def prepare(self, problem: Problem) -> None:
        """Learn of the rows what readings need: which columns have gaps, where numbers would be cut."""
        if not self.has_readings or "gaps" in self.memo:
            return
        raw = self.reader.raw(problem.X)
        self.memo["gaps"] = self.reader.gaps_of(raw)
        self.memo["cuts"] = self.reader.cuts_for(raw, self.reader.could_bin(raw))

    def design(self, problem: Problem, reader, setting: TableSetting) -> tuple[Design, Tellers]:
        told, by = reader.tellers if self.has_readings else (np.zeros(0, dtype=np.int64),) * 2
        is_told = np.zeros(problem.model.n_features, dtype=bool)
        is_told[told] = True
        rows = problem.X, problem.y, problem.weights
        made = Design.of(problem.model, *rows, is_told, squares=setting.per_class, own=setting.own)
        return made, Tellers(told, by)

    # -- the choice ---------------------------------------------------------------------------------------------------

    @override
    def enough_rows(self, n: int, n_classes: int) -> str:
        return "" if n > n_classes else f"{n} rows are no more than one for each class"

    @override
    def deal(self, problem: Problem, generator):
        rows = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
        n = min(len(rows), MAX_ROWS)
        n_parts = min(10, n) if n < SMALL else 5
        dealt = deal(problem.y, rows, generator, n_parts, MAX_ROWS)
        n_folds = n_parts if n < LARGE else 1
        return dealt, n_folds, n_folds

    @override
    def fold_problem(self, problem: Problem, rows: np.ndarray) -> Problem:
        weights = np.zeros_like(problem.weights)
        weights[rows] = problem.weights[rows]
        return replace(problem, weights=weights)

    @override
    def walk(self, problem: Problem, folds: list[Fold]) -> Walk:
        self.prepare(problem)
        self.memo["rows"] = np.union1d(np.flatnonzero(folds[0].problem.weights > 0), folds[0].held_out)
        return self.settings(problem, folds)

    def settings(self, problem: Problem, folds: list[Fold]) -> Walk:
        doubt = 1.0 + FEW / len(self.memo["rows"])
        tried = Tried(TOLERATED * doubt)

        def against(setting, name):
            return tried.against(setting, STRENGTHS, REACH[name], doubt * EVIDENCE[name])

        gaps, cuts = self.memo.get("gaps", []), self.memo.get("cuts", {})
        yield from tried.along_path(TableSetting(0.0, told=bool(gaps)), STRENGTHS, FIRST)
        if any(family.conditional == "correlated" for family in cast(Any, problem.model).families):
            for own in OWN:
                yield from tried.along_path(TableSetting(0.0, own=own), STRENGTHS, FIRST)
        if gaps:
            yield from against(replace(tried.best(), told=False), "told")
        numbers = set(self.reader.numbers) if gaps else set()
        if numbers & set(gaps) and not self.memo["is_in_blocks"]:
            is_told = tried.best().told and not numbers >= set(gaps)
            yield from against(replace(tried.best(), told=is_told, filled=True), "filled")
        plain, families = tried.best(), cast(Any, problem.model).families
        if any(family.n_features and family.conditional == "numbers" for family in families):
            yield from against(replace(plain, per_class=True), "per_class")
        if cuts and (yield from against(replace(plain, bins=tuple(sorted(cuts))), "bins")):
            fewer = self.better_as_bins(self.together(problem, folds), tried.best())
            if 0 < len(fewer) < len(cuts):
                yield from against(replace(tried.best(), bins=fewer), "fewer")
        has_counts = any(family.n_features and family.conditional == "counts" for family in families)
        # the likelihood of counts depends on their unit, predictions must not
        for share in () if has_counts else (0.03, 0.3):
            if not (yield from against(replace(tried.best(), second=share), "second")):
                break
        best = tried.best()
        return best, tried.scores[best]

    def better_as_bins(self, groups: list[list[Fold]], setting: TableSetting) -> tuple[str, ...]:
        """Columns that lose on the rows held out if the line through their bins takes the place of the bins."""
        lost: dict[str, float] = {}
        names = self.reader_at(setting).sections[3]  # as the design has them
        for fold, *_ in groups:
            view, T = fold.memory["view"], fold.memory[name_of(setting)]
            goal = view.goal(setting.strength, setting.second, is_tied=True)
            before = view.weights @ clipped_losses(view.scores(goal, T), view.y)
            for name, straight in zip(names, straightened(goal, T), strict=True):
                after = view.weights @ clipped_losses(view.scores(goal, straight), view.y)
                lost[name] = lost.get(name, 0.0) + float(after - before)
        return tuple(name for name in setting.bins if lost[name] > 0)

    def reading(self, problem: Problem, setting: TableSetting) -> Reading:
        """The rows of the choice as a setting reads them; only the last one is kept."""
        key = (setting.bins, setting.told, setting.filled, setting.per_class, setting.own)
        if self.memo.get("key") != key:
            reader, rows = self.reader_at(setting), self.memo["rows"]
            part = self.read_by(reader, problem.part(rows), setting.filled)
            design, _ = self.design(part, reader, setting)
            self.memo["reading"], self.memo["key"] = Reading(part, design, reader), key
        return self.memo["reading"]

    def view(self, problem: Problem, folds: list[Fold], setting: TableSetting) -> View:
        """What the folds train on and hold out; that of the last reading is kept."""
        reading, memory = self.reading(problem, setting), folds[0].memory
        if "view" not in memory or memory["view"].reading is not reading:
            memory["view"] = View.of(reading, folds, self.memo["rows"], problem, setting.own)
        return memory["view"]

    @override
    def together(self, problem: Problem, folds: list[Fold]) -> list[list[Fold]]:
        """All folds, unless their rows are measured in units of their own."""
        if any(family.conditional == "correlated" for family in cast(Any, problem.model).families):
            return super().together(problem, folds)
        return [folds]

    @override
    def group_scores(self, problem: Problem, folds: list[Fold], setting):
        view, memory, name = self.view(problem, folds, setting), folds[0].memory, name_of(setting)
        goal = view.goal(setting.strength, setting.second, not setting.per_class)
        memory[name] = goal.solved(memory.get(name), TRIAL_TOL, TRIAL_STEPS)
        return view.scores(goal, memory[name])

    @override
    def losses(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return doubted_losses(scores, y)

    @override
    def kept_of(self, fold: Fold) -> dict:
        return {name: value for name, value in fold.memory.items() if name.startswith("T")}

    @override
    def verdict(self, held_out: HeldOut, setting, score: float) -> Choice:
        y, weights = held_out.y, held_out.weights
        baseline = self.likelihood_scores(held_out)
        own = kept("", baseline, y, weights)
        if own.temperature > 1.0:  # sharper than the model says: rows that are held out and all right prove nothing
            own = replace(own, temperature=1.0, background=0.0)
        asked, losses = self.asked_of_likelihood(held_out)
        gain = losses(held_out.scores, y) - losses(own.temperature * baseline, y)
        mean = float(weights @ gain)
        error = float(np.sqrt(weights @ (gain - mean) ** 2 / len(gain)))
        if self.options.has_class_weights:
            error = float(np.linalg.norm(weights * (gain - mean)))
        if mean > asked * error:
            return replace(own, reason=f"held-out log-loss of maximum likelihood is lower by {mean:.4f} +- {error:.4f}")
        choice = self.calibrated(held_out, setting, score)
        trial, n_classes = held_out.folds[0].memory.get(name_of(setting)), len(held_out.class_counts)
        self.memo["start"] = trial and [T.reshape(len(T), -1, n_classes).mean(axis=1) for T in trial]  # of all folds
        return replace(choice, reason=f"held-out log-loss {score:.4f} at {said(setting)}")

    def asked_of_likelihood(self, held_out: HeldOut) -> tuple[float, Callable[..., np.ndarray]]:
        """Standard errors that maximum likelihood must gain, and in which losses: none where there are fewer rows than parameters
        (it needs fewer rows) and all count about alike; else in losses with a doubt, as settings (it looks certain until a row held
        out is wrong)."""
        own, n = self.likelihood_of(held_out.folds[0]), len(held_out.y)
        is_alike = float(held_out.weights @ held_out.weights) * n < MOST_UNLIKE
        if (is_alike or not self.options.has_class_weights) and n < len(
            cast(Any, held_out.problem.model).chart(own).vector(own)
        ):
            return 0.0, clipped_losses
        return EVIDENCE["likelihood"] * (1 + FEW / n), self.losses

    # -- the fit ------------------------------------------------------------------------------------------------------

    @override
    def prior(self, problem: Problem, statistics, setting: Setting | None, own=None):
        if setting is None:
            return self.given_prior(problem.model, statistics, is_discriminative=True)
        strength = max(setting.strength, 0.2 * problem.model.n_outcomes)  # what a dual learner needs
        return priors.blended(problem.model, statistics, Setting(strength, setting.second), own)

    @override
    def trained(self, problem: Problem, choice: Choice, generator, watch: Watch, warm: Warm | None) -> Trained:
        is_one = len(np.unique(problem.y)) < 2
        if self.is_likelihood(problem) or (choice.setting is None and (is_one or self.options.prior == "auto")):
            return super().trained(problem, choice, generator, watch, warm)
        self.prepare(problem)
        base = problem
        setting, given = cast(Any, choice.setting or TableSetting(0.0, per_class=True, own=0.0)), None
        reader = self.reader_at(setting)
        problem = self.read_by(reader, base, setting.filled)
        design, tellers = self.design(problem, reader, setting)
        statistics = problem.statistics()
        problem = replace(problem, prior=self.prior(problem, statistics, choice.setting))
        if choice.setting is None:
            given = replace(problem.prior, mass=np.zeros(problem.model.n_outcomes))
            problem = replace(problem, prior=given)
        kind: type[Conditional] = Conditional
        if problem.blocks is None:
            sums = ClassSums(design, problem.y, problem.weights, problem.model.n_outcomes)
        else:
            sums, kind = BlockClassSums(design, problem.blocks, problem.weights), BlockConditional
        goal = kind.of(design, sums, setting.strength, setting.second, not setting.per_class, given)
        start = goal.start(warm_start(goal, warm) or self.memo.get("start"))
        if isinstance(goal, BlockConditional):
            start = in_blocks.nearer(goal, goal.local(problem.y, problem.weights), start, generator, watch)
        fit, T = searched(goal, start, generator, watch, goal.steps * self.options.max_epochs)
        moments = settled(problem.model, goal, T, tellers)
        if not keeps_posteriors(problem, moments, goal, T):
            return self._kept(base, Choice(None, reason="numbers cannot hold the density of the trained scores"))
        measure = problem.measure(moments)
        fit.moments, fit.measure = moments, measure
        for name in ("nll", "ncll", "hinge", "accuracy"):
            fit.history[name] = [getattr(measure, name)] * len(fit.history["objective"])  # of the optimum
        fit.multipliers = np.concatenate(T)  # a warm start for the same rows
        answering = None
        if self.has_readings:
            X = self.read_by(reader, base).X if setting.filled else problem.X
            answering = CorrelatedGaps.of(problem.model, moments, X, problem.X)
        return Trained(problem, fit, choice, statistics, reader=reader, answering=answering)


def warm_start(goal: Conditional, warm: Warm | None) -> list[np.ndarray] | None:
    """The parameters of the last fit, where they are of the same shape."""
    known = None if warm is None else warm.multipliers
    return None if known is None or known.shape != goal.shape else np.split(known, goal.cuts)
