"""What chains of classes look like, and the way through the settings.

The search goes along one part after the other: topologies, ends and changes at a usual number of states and a usual prior; the number
of states up and down from the best of them as long as it gains; then the prior. EM takes part at every shape. Of much data the
trials see a part, and EM needs less data than training for classification does: the last two are compared on all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...learners.problem import Problem
from ...structures.chain_classes import ONE_STATE, Shape
from ..priors import ENOUGH, Setting
from ..search import Walk

AUTO = "auto"
FEW_ROWS = 600  # sequences: fewer are held out in turn, a quarter each time
LARGE = 300_000  # steps times classes: of more, trials are shorter and fewer, on at most one and a half times as much
TRIAL_STEPS, SHORT_TRIAL = 60, 30  # of the minimiser for a setting
NUMBERS = ((1.0, 0.03), (3.0, 0.0), (1.0, 0.0), (0.3, 0.0), (0.01, 0.1))  # (strength, second), the usual one first
SYMBOLS = ((1.0, 0.0), (0.3, 0.0), (0.1, 0.0), (3.0, 0.0), (1.0, 0.03))
FEW_SYMBOLS = ((1.0, 0.0), (3.0, 0.0), (0.3, 0.0))
SIZES = (1, 2, 3, 5, 8, 12, 16, 24, 32)  # of states
LARGE_SIZES = (1, 2, 4, 8, 16, 32)
STRONGER, MOST_STRONGER = 3.0, 2  # times
MOST_NUMBERS, MOST_SYMBOLS = 24, 32  # states


@dataclass(frozen=True)
class ChainSetting(Setting):
    shape: Shape = ONE_STATE
    is_likelihood: bool = False  # EM, and nothing after it
    is_whole: bool = False  # tried on all sequences of a fold, not on a part


class Wanted(NamedTuple):
    """What the user asked for: values, or "auto"."""

    n_states: Any = AUTO
    topology: Any = AUTO
    has_end: Any = AUTO
    has_changes: Any = AUTO

    def shapes(self, problem: Problem) -> list[Shape]:
        """Shapes to begin with; the first is taken where nothing can be held out."""
        is_symbols, lengths = is_of_symbols(problem), problem.X.lengths
        typical = max(int(np.median(lengths)), 1) if len(lengths) else 1
        topologies = ("ergodic",) if is_symbols else ("left-right", "ergodic")
        varies = is_symbols and len(lengths) and lengths.min() < lengths.max()
        ends, changes = (True, False) if varies else (False,), (False,) if is_symbols or typical < 3 else (True, False)
        found = []
        for topology in topologies if self.topology == AUTO else (self.topology,):
            usual = min(max(typical // 3, 2), 8) if topology == "left-right" else 8 if is_symbols else 4
            n_states = usual if self.n_states == AUTO else self.n_states
            for has_changes in changes if self.has_changes == AUTO else (bool(self.has_changes),):
                for has_end in ends if self.has_end == AUTO else (bool(self.has_end),):
                    found.append(Shape(int(n_states), topology, has_end, has_changes))
        return found


ALL_AUTO = Wanted()


def is_of_symbols(problem: Problem) -> bool:
    """Whether steps are anything but numbers, of which changes mean nothing."""
    model: Any = problem.model
    return model.changed is None


def is_large(problem: Problem) -> bool:
    return float(problem.X.offsets[-1]) * problem.model.n_outcomes > LARGE


def most_rows(problem: Problem) -> int:
    """Sequences that a trial is fitted to."""
    work = max(float(problem.X.offsets[-1]) * problem.model.n_outcomes, 1.0)
    return max(int(1.5 * LARGE * len(problem.y) / work), FEW_ROWS)


def trial_steps(problem: Problem) -> int:
    return SHORT_TRIAL if is_large(problem) else TRIAL_STEPS


def usual_pair(problem: Problem) -> tuple[float, float]:
    return SYMBOLS[0] if is_of_symbols(problem) else NUMBERS[0]


def settings_at(problem: Problem, shape: Shape, prior: Any, only_em: bool, first: bool) -> list[ChainSetting]:
    """EM, and the usual prior or (not `first`) all of them."""
    em = ChainSetting(0.0, 0.0, shape=shape, is_likelihood=True)
    if only_em:
        return [em]
    pairs: tuple = NUMBERS
    if is_of_symbols(problem):
        pairs = FEW_SYMBOLS if is_large(problem) else SYMBOLS
    if prior != AUTO:
        pairs = ((float(prior), 0.0),)
    return [em, *(ChainSetting(pair[0], pair[1], shape=shape) for pair in (pairs[:1] if first else pairs))]


def neighbour(problem: Problem, shape: Shape, way: int) -> Shape | None:
    """The next number of states; no more than there are steps where states only go forward."""
    most = MOST_SYMBOLS if is_of_symbols(problem) else MOST_NUMBERS
    if shape.topology == "left-right":
        most = min(most, int(np.median(problem.X.lengths)))
    sizes = [
        size
        for size in (LARGE_SIZES if is_large(problem) else SIZES)
        if (size - shape.n_states) * way > 0 and size <= most
    ]
    return shape._replace(n_states=min(sizes) if way > 0 else max(sizes)) if sizes else None


class Tried:
    """Scores of the settings so far; its methods are generators as `choosing.search.search`."""

    def __init__(self, problem: Problem, prior: Any, only_em: bool) -> None:
        self.problem, self.prior, self.only_em = problem, prior, only_em
        self.scores: dict[ChainSetting, float] = {}

    def best(self) -> ChainSetting:
        return min(self.scores, key=lambda setting: self.scores[setting])

    def lowest(self, shape: Shape) -> float:
        return min(score for setting, score in self.scores.items() if setting.shape == shape)

    def all_of(self, settings: list[ChainSetting]) -> Walk:
        for setting in settings:
            if setting not in self.scores:
                found = yield setting, None
                self.scores[setting] = float(found.sum())

    def at(self, shape: Shape, first: bool = True) -> Walk:
        yield from self.all_of(settings_at(self.problem, shape, self.prior, self.only_em, first))

    def along_sizes(self, start: Shape) -> Walk:
        """More states and fewer, each way as long as it gains; of much data fewer only where more do not gain."""
        for way in (1, -1):
            shape, last = start, self.lowest(start)
            while (more := neighbour(self.problem, shape, way)) is not None:
                yield from self.at(more)
                if self.lowest(more) > last * (1 - ENOUGH):
                    break
                shape, last = more, self.lowest(more)
            if shape != start and is_large(self.problem):
                break

    def of_kind(self, shape: Shape, is_likelihood: bool) -> list[ChainSetting]:
        """EM, or the trained settings, at a shape; the best one first."""
        own = [setting for setting in self.scores if setting.shape == shape and setting.is_likelihood is is_likelihood]
        return sorted(own, key=self.scores.__getitem__)

    def stronger(self, shape: Shape) -> Walk:
        """Where the strongest prior is the best of the trained, stronger ones as long as they are."""
        for _ in range(MOST_STRONGER):
            found, *others = self.of_kind(shape, False)
            if found.strength < max((setting.strength for setting in others), default=0.0):
                break
            yield from self.all_of([replace(found, strength=STRONGER * found.strength)])

    def on_all_rows(self, shape: Shape) -> Walk:
        """EM and the best of the others at a shape again, on all sequences: only these are left."""
        last = [replace(own[0], is_whole=True) for kind in (True, False) if (own := self.of_kind(shape, kind))]
        self.scores = {}
        yield from self.all_of(last)


def walk(problem: Problem, wanted: Wanted, prior: Any, only_em: bool, notes: dict[str, float]) -> Walk:
    """A generator as `choosing.search.search`; `notes` gets the best score of the other kind (EM, or trained) and the number tried."""
    tried = Tried(problem, prior, only_em)
    for shape in wanted.shapes(problem):
        yield from tried.at(shape)
    if wanted.n_states == AUTO:
        yield from tried.along_sizes(tried.best().shape)
    yield from tried.at(tried.best().shape, first=False)
    if prior == AUTO and not only_em:
        yield from tried.stronger(tried.best().shape)
    n_tried = len(tried.scores)
    if is_large(problem):
        yield from tried.on_all_rows(tried.best().shape)
        n_tried += len(tried.scores)
    found = tried.best()
    others = [score for setting, score in tried.scores.items() if setting.is_likelihood != found.is_likelihood]
    notes.update({"other": min(others, default=np.nan), "n_tried": n_tried})
    return found, tried.scores[found]
