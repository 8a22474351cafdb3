"""The one search: settings of a prior compared by what held-out rows lose under them.

A plan names the settings: a path of strengths from strong to weak with axes that leave it, or a plain list of candidates.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .priors import ENOUGH, Setting

PLAIN = Setting(0.0)
Walk = Generator[tuple[Any, Any], Any, Any]


@dataclass(frozen=True)
class Axis:
    """Values of a part of a setting, tried one after the other as long as each is better than the best before.

    There may be two ways to go from zero: the second is tried where the first leads nowhere.
    """

    name: str
    ways: tuple[tuple[float, ...], ...]
    neighbours: bool = False  # whether a better value is tried with the neighbouring strengths too
    evidence: float = 0.0  # standard errors of the rows' differences by which a value must be better


@dataclass(frozen=True)
class Plan:
    """Settings to try. The strengths end after two in a row that do not improve by the share ENOUGH. Where the strongest wins, stronger
    ones are tried (times `extend`) until they lose; with `halve` the one half-way to the better neighbour is tried at the end."""

    strengths: Sequence[float] = ()
    axes: Sequence[Axis] = ()
    base: Setting = PLAIN
    extend: float = 0.0
    halve: bool = False
    candidates: Sequence[
        Setting | None
    ] = ()  # in the place of all else: the lowest score wins (None: maximum likelihood)


class Tried:
    """Scores of the settings so far: sums over the rows held out. `score` and what calls it are generators: they give (a setting, the
    best so far) and are sent what every row held out adds to its score, or None if it is clearly worse than the best."""

    def __init__(self, tolerated: float = 0.0) -> None:
        self.tolerated = tolerated  # standard errors that a stronger prior may lose
        self.rows: dict[Any, np.ndarray] = {}
        self.scores: dict[Any, float] = {}

    def score(self, setting) -> Walk:
        if setting not in self.scores:
            found = yield setting, self.best() if self.scores else None
            self.scores[setting] = np.inf if found is None else float(found.sum())
            self.rows[setting] = np.array(np.inf) if found is None else found
        return self.scores[setting]

    def best(self) -> Any:
        """The lowest score; among those that are as good, the strongest prior, which is easier to fit."""
        limit = min(self.scores.values()) * (1 + ENOUGH)
        as_good = [setting for setting in self.scores if self.scores[setting] <= limit]
        if self.tolerated:
            lowest = min(self.scores, key=self.scores.__getitem__)
            as_good = [setting for setting in self.scores if setting == lowest or self._is_tolerable(setting, lowest)]
        return max(as_good, key=lambda setting: (setting.strength, -setting.second))

    def _is_tolerable(self, setting, lowest) -> bool:
        """Whether a setting that differs in its strength only loses less than `tolerated` standard errors."""
        if replace(setting, strength=lowest.strength) != lowest or not np.isfinite(self.scores[setting]):
            return False
        return self.scores[setting] - self.scores[lowest] <= self.tolerated * self.error(setting, lowest)

    def error(self, one, other) -> float:
        """The standard error of the difference of two scores."""
        gain = self.rows[one] - self.rows[other]
        return float(np.linalg.norm(gain - gain.mean()))

    def along_path(self, base: Setting, strengths: Sequence[float], first: int = 0) -> Walk:
        """The strengths from the one at `first` on, until two in a row are no better; where it is the best, those before it too."""
        found = dict[int, float]()
        for way in (range(first, len(strengths)), range(first - 1, -1, -1)):
            idle = 0
            for place in way:
                lowest = min(found.values(), default=np.inf)
                found[place] = yield from self.score(replace(base, strength=strengths[place]))
                idle = idle + 1 if found[place] > lowest * (1 - 0.1 * ENOUGH) else 0
                if idle == 2:
                    break
            if min(found, key=found.__getitem__) != first:
                break

    def against(self, setting: Setting, strengths: Sequence[float], reach: int, evidence: float) -> Walk:
        """Whether a richer setting beats the best so far by `evidence` standard errors, at the same strength or, where it is better
        there, at one within `reach` steps of the path; if not, it is as if it had not been tried."""
        before = self.best()
        place, found = list(strengths).index(setting.strength), [setting]
        loses = (yield from self.score(setting)) > self.scores[before]
        for way in () if loses else (1, -1):
            for step in range(1, reach + 1):
                if not 0 <= place + way * step < len(strengths):
                    break
                new = replace(setting, strength=strengths[place + way * step])
                lowest = min(self.scores[each] for each in found)
                found.append(new)
                if not (yield from self.score(new)) < lowest:
                    break
            if way == 1 and len(found) > 2:
                break  # weaker ones were better
        best = min(found, key=self.scores.__getitem__)
        gain = self.scores[before] - self.scores[best]
        if np.isfinite(gain) and gain > 0 and gain > evidence * self.error(before, best):
            return True
        for each in found:
            self.scores[each] = np.inf
        return False

    def is_better(self, setting: Setting, before: Setting, evidence: float) -> Walk:
        gain = self.scores[before] - (yield from self.score(setting))
        if gain > 0 and gain > evidence * float(np.linalg.norm(self.rows[before] - self.rows[setting])):
            return True
        self.scores[setting] = max(self.scores[setting], self.scores[before])
        return False

    def along_strengths(self, plan: Plan) -> Walk:
        idle = 0
        for strength in plan.strengths:
            lowest = min(self.scores.values(), default=np.inf)
            found = yield from self.score(replace(plan.base, strength=strength))
            idle = idle + 1 if found > lowest * (1 - ENOUGH) else 0
            if idle == 2 or found == np.inf:  # weaker ones are worse still
                break
        while plan.extend and self.best().strength == max(setting.strength for setting in self.scores):
            lowest = min(self.scores.values())
            stronger = replace(plan.base, strength=self.best().strength * plan.extend)
            if (yield from self.score(stronger)) >= lowest * (1 - ENOUGH):  # also where all scores are 0
                break

    def along_axis(self, axis: Axis, strengths: list[float]) -> Walk:
        for way in axis.ways:
            start = self.best()
            for value in way:
                before, changes = self.best(), dict[str, Any]({axis.name: value})
                if not (yield from self.is_better(replace(before, **changes), before, axis.evidence)):
                    break
                for strength in beside(before.strength, strengths) if axis.neighbours else ():
                    yield from self.score(replace(before, strength=strength, **changes))
                if self.best() == before:  # better by less than counts
                    break
            if self.best() != start:
                break


def beside(strength: float, strengths: list[float]) -> list[float]:
    """The neighbours of a strength among those that were tried."""
    place = strengths.index(strength)
    return strengths[max(place - 1, 0) : place] + strengths[place + 1 : place + 2]


def search(plan: Plan) -> Walk:
    """A generator that asks for the scores of settings (see `Tried`) and returns (the setting with the lowest one, the score)."""
    tried = Tried()
    if plan.candidates:
        for candidate in plan.candidates:
            found = yield candidate, None
            tried.scores[candidate] = np.inf if found is None else float(found.sum())
        best = min(plan.candidates, key=lambda candidate: tried.scores[candidate])
        return best, tried.scores[best]
    yield from tried.along_strengths(plan)
    strengths = sorted({setting.strength for setting in tried.scores})
    for axis in plan.axes:
        yield from tried.along_axis(axis, strengths)
    if plan.halve:
        middle = tried.best()
        sides = [replace(plan.base, strength=strength) for strength in beside(middle.strength, strengths)]
        if sides:
            better = min(sides, key=tried.scores.__getitem__)
            yield from tried.score(replace(middle, strength=float(np.sqrt(middle.strength * better.strength))))
    return tried.best(), tried.scores[tried.best()]
