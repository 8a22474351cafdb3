"""A recipe says what "auto" means for a kind of data: which settings of the prior are tried, how a fit is made, and what is kept.

The straight line of every training is `suffice.choosing.train.train`; a recipe fills in

    plan(problem)                              the settings to try
    prior(problem, statistics, setting)        pseudo-statistics of a setting
    fold_scores(problem, fold, setting)        scores of the rows held out, after a short fit on the others
    verdict(held_out, setting, score)          the choice, calibrated; or maximum likelihood
    trained(problem, choice, generator, ...)   the fit on all rows with a label
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ...learners.problem import Problem
from ...learners.starts import copies_to_deal
from ...learners.state import Fit
from ...learners.stream import OutcomeStream
from ...learners.watch import Watch
from ...losses import LOSSES, loss_named
from ...structures.groups import Groups
from ..calibration import best_background, best_temperature, clipped_losses, shares
from ..folds import Deal
from ..priors import ENOUGH, Setting
from ..search import Plan, Walk, search

MAX_ROWS = 20_000  # rows that take part in a choice


@dataclass(frozen=True)
class Options:
    """What the user asked for."""

    prior: Any = "auto"
    algorithm: str = "auto"
    step_size: Any = None
    max_epochs: int = 100
    tol: float = 1e-3
    average: bool = True
    unlabelled_weight: Any = "auto"
    n_threads: int = 1
    has_class_weights: bool = False  # rows of some classes count more: weights that are no repetitions


@dataclass(frozen=True)
class Choice:
    setting: Setting | None  # None: keep maximum likelihood
    temperature: float = 1.0  # factor on the scores that calibrates held-out probabilities
    score: float = np.inf
    reason: str = ""
    background: float = 0.0  # share of the class frequencies that calibrates held-out probabilities
    rivalry: float = 1.0  # how much sharper the rivals of the best class are told apart
    multipliers: np.ndarray | None = None  # of the rows in the folds at the chosen setting: a warm start for all rows
    members: tuple = ()  # (setting, temperature) of all that answer together, this one first; empty: it answers alone

    stored_as: ClassVar[dict[str, str]] = {
        "temperature": "number (0..",
        "background": "number 0..1",
        "rivalry": "number 1..",
    }


@dataclass(frozen=True, eq=False)
class Warm:
    """The last fit, for a new one that begins there."""

    moments: Any
    multipliers: np.ndarray | None = None
    structure: Any = None  # that the moments are of, where a new one would mean other units


@dataclass
class Trained:
    """What training gives back: the problem that was solved in the end, its fit, and what was chosen on the way."""

    problem: Problem
    fit: Any  # a Fit
    choice: Choice
    statistics: Any = None  # of the labelled rows
    unlabelled_weight: float = 0.0
    reader: Any = None  # how the rows were read in the end, where that was chosen too
    members: tuple = ()  # the other models that answer with this one
    answering: Groups | None = None  # how it answers about classes, where that was found in training


@dataclass
class Fold:
    """Rows to train on and rows held out; `memory` is what a recipe keeps between two settings."""

    number: int
    problem: Problem
    held_out: np.ndarray
    generator: np.random.Generator  # its own, so that the order in which folds are fitted does not matter
    watch: Watch
    memory: dict = field(default_factory=dict)


@dataclass(frozen=True)
class HeldOut:
    """What the rows held out say of the best setting."""

    problem: Problem
    folds: list[Fold]
    scores: np.ndarray  # of the rows held out, fold after fold
    y: np.ndarray
    weights: np.ndarray  # they add up to one
    temperature: float
    class_counts: np.ndarray  # of all labelled rows
    best_memories: list[dict]  # of the folds of the search, at the setting with the lowest score
    trial: Any = None  # scores, temperatures and losses of all settings that were tried: dicts


def measured(fit: Fit, problem: Problem, scores: Callable[..., np.ndarray]) -> Fit:
    """The fit with the losses and the accuracy on the labelled rows, at the end; `scores(model, moments, X)` are those of classes."""
    labelled = problem.labelled()
    found, y = scores(problem.model, fit.moments, labelled.X), labelled.y
    weights = labelled.weights / labelled.weights.sum()
    for name in LOSSES:
        fit.history[name] = [float(weights @ loss_named(name).values(found, y))]
    fit.history["accuracy"] = [float(weights @ (found.argmax(axis=1) == y))]
    return fit


@dataclass(frozen=True)
class Recipe(ABC):
    options: Options

    width = 1  # outcomes of a class
    stream_kind: ClassVar[Any] = OutcomeStream  # has `begun(problem, recipe, generator)` and `moved(problem, recipe)`
    fits_labelled_first = True  # rows with a label are fitted before those without are looked at
    calibrates = False  # scores are judged at their best temperature
    counts_errors = False  # the share of errors is part of a score
    takes_blocks = False  # rows may lie in blocks, of which the problem's own are a sample

    def for_rows(self, problem: Problem) -> Recipe:
        """The recipe of these rows: this one, unless it takes others only."""
        return self

    def refuse(self, problem: Problem) -> None:
        """Raise where this recipe cannot learn from these rows."""
        self.refuse_unlabelled(problem)

    def refuse_unlabelled(self, problem: Problem) -> None:
        """Raise where it cannot learn from those without a label."""
        return

    # -- the choice ---------------------------------------------------------------------------------------------------

    def enough_rows(self, n: int, n_classes: int) -> str:
        """Why there are too few rows to choose on; "" if there are enough."""
        return f"{n} rows are fewer than 10 for each class" if n < 10 * n_classes else ""

    def for_choice(self, problem: Problem) -> Problem:
        """The problem as it is chosen on: the same one, or one with the same answer that costs less."""
        return problem

    def deal(self, problem: Problem, generator) -> tuple[Deal, int, int]:
        """Parts of the labelled rows; how many of them are held out in the search, and for the verdict."""
        dealt, n_folds = self.deal_unlabelled(problem, np.flatnonzero(problem.y >= 0), generator)
        return dealt, n_folds, n_folds

    @abstractmethod
    def plan(self, problem: Problem) -> Plan: ...

    @abstractmethod
    def prior(self, problem: Problem, statistics, setting: Setting | None, own=None):
        """Pseudo-statistics; `own` is the smoothed maximum-likelihood estimate, where it is known already."""

    def walk(self, problem: Problem, folds: list[Fold]) -> Walk:
        """A generator that asks for the scores of settings (`search.Tried`) and returns (the best one, its score)."""
        return search(self.plan(problem))

    def fold_problem(self, problem: Problem, rows: np.ndarray) -> Problem:
        """The problem of the rows that a fold trains on."""
        return problem.part(rows)

    @abstractmethod
    def fold_scores(self, problem: Problem, fold: Fold, setting: Setting | None) -> np.ndarray: ...

    def together(self, problem: Problem, folds: list[Fold]) -> list[list[Fold]]:
        """The folds in groups, each of which is fitted in one search."""
        return [[fold] for fold in folds]

    def group_scores(self, problem: Problem, folds: list[Fold], setting: Setting | None) -> np.ndarray:
        """Scores of the rows held out by such a group, fold after fold."""
        return self.fold_scores(problem, folds[0], setting)

    def losses(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What rows held out lose: settings are compared by it."""
        return clipped_losses(scores, y)

    def kept_of(self, fold: Fold) -> dict:
        """What of a fold's memory the next setting begins with, if it cannot be computed again."""
        return {name: fold.memory[name] for name in ("multipliers",) if name in fold.memory}

    @abstractmethod
    def verdict(self, held_out: HeldOut, setting: Setting | None, score: float) -> Choice: ...

    # -- the fit ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def settled(self, problem: Problem) -> Choice | None:
        """The choice where nothing is to be chosen; None: on held-out rows."""

    def prepared(self, problem: Problem) -> Problem:
        """The problem of rows with a label as the learner takes it."""
        return problem

    @abstractmethod
    def trained(self, problem: Problem, choice: Choice, generator, watch: Watch, warm: Warm | None) -> Trained:
        """The fit at a choice, on rows that all have a label."""

    @abstractmethod
    def fitted(self, problem: Problem, choice: Choice, generator, watch: Watch) -> Fit:
        """The fit at a choice, on rows of which some have no label."""

    def members(self, problem: Problem, choice: Choice, generator, watch: Watch) -> tuple:
        """The other models of a choice that has several, fitted to the same rows."""
        return ()

    def with_unlabelled(self, problem: Problem, trained: Trained) -> Problem:
        """The problem of all rows, read as was chosen for those with a label."""
        return problem

    # -- rows without a label -----------------------------------------------------------------------------------------

    unlabelled_evidence = 1.0  # standard errors that all but the smallest weight must gain
    checks_plain_loss = True  # whether the log-loss must not rise either (it is not clipped)

    smallest_weight = ""  # the smallest of the weights, in words

    @abstractmethod
    def n_classes(self, problem: Problem) -> int: ...

    @abstractmethod
    def deal_unlabelled(self, problem: Problem, labelled: np.ndarray, generator) -> tuple[Deal, int]:
        """Parts of the labelled rows, and how many of them are held out in turn."""

    def trial_seed(self, generator) -> Callable[[int], np.random.Generator]:
        """A function of a fold's number: the generator of its fits."""
        return lambda number: generator

    @abstractmethod
    def trial_scores(self, problem: Problem, choice: Choice, X, generator, watch: Watch) -> np.ndarray:
        """Scores of rows X after a fit of the problem at the choice."""

    @abstractmethod
    def unlabelled_weights(self, labelled: float, unlabelled: float) -> list[float]:
        """Weights of a row without a label to try, from small to large, given the total weights of the rows."""

    def answering(self, structure) -> Groups:
        """The structure as it answers about classes; training may score rows otherwise."""
        return Groups(structure)

    def with_class_prior(self, mass: np.ndarray, class_prior) -> np.ndarray:
        """Masses of the outcomes with the given shares of the classes in the place of the learned ones."""
        own = mass.reshape(-1, self.width)
        within = own / own.sum(axis=1, keepdims=True) if self.width > 1 else 1.0
        share = np.asarray(class_prior, dtype=float)[:, None] * within
        return np.asarray(share).ravel() * float(mass.sum())

    # -- streams ------------------------------------------------------------------------------------------------------

    @abstractmethod
    def stream_after(self, trained: Trained) -> Any:
        """The stream that goes on from a fit."""

    def stream_weight(self, is_discriminative: bool) -> float:
        """What a row without a label counts in a stream, of which nothing can be held out: a hundredth under a discriminative loss."""
        weight = self.options.unlabelled_weight
        if isinstance(weight, str):
            return 0.01 if is_discriminative else 1.0
        return float(weight)


def one_by_one(problem: Problem) -> Problem:
    """The problem with merged rows dealt out one by one where their columns have few values (`learners.starts.copies_to_deal`)."""
    copies = copies_to_deal(problem.X, problem.weights, MAX_ROWS)
    if (copies == 1).all():
        return problem
    dealt = problem.part(np.repeat(np.arange(len(copies)), copies))
    return replace(dealt, weights=dealt.weights / np.repeat(copies, copies))


def kept(reason: str, scores: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Choice:
    """Maximum likelihood, its probabilities calibrated where that lowers the held-out log-loss: it is too sure of itself."""
    frequency = shares(np.bincount(y, minlength=scores.shape[1]))
    start = best_temperature(scores, y, weights)
    background, temperature = best_background(scores, y, weights, start, frequency, free=True)
    before = float(weights @ clipped_losses(scores, y))
    rows = (1 - background) * softmax(temperature * scores, axis=1) + background * frequency
    after = -float(weights @ np.log(rows[np.arange(len(y)), y]))
    if (rows.argmax(axis=1) != scores.argmax(axis=1)).any():  # too few rows to tell what is background
        background, temperature = 0.0, start
        after = float(weights @ clipped_losses(temperature * scores, y))
    if after >= before * (1 - ENOUGH):
        background, temperature = 0.0, 1.0
    return Choice(None, temperature, min(before, after), reason, background)


def noted(fit: Fit) -> Fit:
    """The fit with a history of its one measure."""
    if fit.measure is not None:
        for name in ("objective", "nll", "ncll", "hinge", "accuracy"):
            fit.history[name] = [getattr(fit.measure, name)]
        fit.history["best"] = fit.history["objective"]
        fit.history["shortened"], fit.history["seconds"] = [0], [0.0]
    return fit
