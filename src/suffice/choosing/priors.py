"""Conjugate priors as pseudo-statistics, and how their strength is found.

A prior is a record in the shape of the moments (Assumption 2 of Masegosa 2014: pseudo-statistics alpha and their count nu), so it
is `sum of pseudo-examples`. It is the regulariser: what C is for a linear machine.

Tables (`blended`)   `pooled` pseudo-examples from a model in which all outcomes look alike, plus the share `own` of the maximum-
                     likelihood moments, which blends joint likelihood into the discriminative loss.
Words (`uniform`)    the same pseudo-count for every outcome, a flat prior of the outcomes; smaller for words that tell the outcomes
                     apart, optionally tilted towards naive Bayes, and larger (or smaller) for common words.

`Setting` names a point of either family; `search` walks from strong to weak and stops when it gets worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..families.base import Model
from ..families.words import column_sizes, row_sizes

ENOUGH = 1e-3  # relative differences of held-out log-loss below this do not count
FLAT_OUTCOMES = 10.0  # pseudo-counts of every outcome in the prior of words
DOUBT, LEAST_TOLD = 5.0, 0.01  # of `tellings`: flat on held-out training documents from 2 to 20, and to 0.1


@dataclass(frozen=True)
class Setting:
    strength: float  # tables: pooled pseudo-examples; words: pseudo-count of a word in units of the mean squared row
    second: float = 0.0  # tables: share of the maximum-likelihood moments; words: tilt towards naive Bayes
    common: float = 0.0  # words: the pseudo-count is as this power of the number of rows that have the word
    roots: int = 0  # words: how many times over the square root of the counts is taken
    telling: float = 0.0  # words: the pseudo-count is as this power of one over what the word tells of the outcome


PLAIN = Setting(0.0)


def interior(model: Model, statistics):
    """Maximum likelihood with just enough pseudo-counts to lie inside the domain; masses add up to one."""
    K = model.n_outcomes
    smooth = statistics + model.pseudo_counts(statistics, model.default_pseudo_counts)
    mass = (statistics.mass + 1.0 / K) / (statistics.mass.sum() + 1.0)
    if not model.table_prior:
        return replace(smooth * (1.0 / statistics.mass.sum()), mass=mass)
    return model.filled(smooth, mass, model.spread(mass))


def blended(model: Model, statistics, setting: Setting):
    """`strength` pooled pseudo-examples and `second` times the data, at maximum likelihood."""
    own = interior(model, statistics)
    return setting.strength * model.pooled(own) + (setting.second * float(statistics.mass.sum())) * own


def uniform(model: Model, statistics, setting: Setting, squared_row: float, leaning=None, common=None, told=None):
    """The same pseudo-count for every word and outcome, times exp(tilt * `leaning` + power * `common` - power * `told`).

    Words that tell something get less and the others more, such that a row of the data is as loose as before (a score gives way by
    the sum of x^2 / count).
    """
    count = np.full(statistics.count.shape, setting.strength * squared_row)
    if setting.telling and statistics.count.any():
        looser = np.exp(setting.telling * (tellings(model, statistics) if told is None else told))
        count *= (np.average(looser, weights=statistics.count.sum(axis=1)) / looser)[:, None]
    if setting.second:
        count *= np.exp(setting.second * (leanings(statistics) if leaning is None else leaning))
    if setting.common:
        count *= np.exp(setting.common * common)[:, None]
    return type(statistics)(np.full(model.n_outcomes, FLAT_OUTCOMES), count)


def leanings(statistics) -> np.ndarray:
    """Log naive Bayes probabilities of the words, centred over the outcomes."""
    logs = np.log(statistics.count + 1.0) - np.log(statistics.count.sum(axis=0) + len(statistics.count))
    return logs - logs.mean(axis=1, keepdims=True)


def tellings(model: Any, statistics) -> np.ndarray:
    """log of (almost) the root of twice the information that an occurrence of each word gives about the outcome.

    For small effects that is the typical distance of the outcomes' log probabilities of the word. Shares of the outcomes are those
    of the word's occurrences and of DOUBT more for every outcome that fell as all words do: a rare word tells little.
    """
    from ..kernels.words.tables import informations

    count, told = model.words_of_outcomes(statistics), np.empty(model.n_features)
    usual = np.maximum(count.sum(axis=0) / max(float(count.sum()), 1e-300), 1e-300)
    typical = model.squared_row / model.length  # value of a word, so that units do not matter
    informations(count, usual, DOUBT * model.n_outcomes * typical, told)
    return np.log(np.sqrt(2.0 * np.maximum(told, 0.0)) + LEAST_TOLD)


def commonness(X, weights: np.ndarray) -> np.ndarray:
    """log(1 + rows that have the word) of every word, centred over what is in the rows, so that a power of it leaves the strength
    its sense. Labels take no part."""
    n_rows, squares = column_sizes(X, weights)
    logs = np.log1p(n_rows)
    return logs - float(squares @ logs) / max(float(squares.sum()), 1e-300)


def mean_squared_row(X, weights: np.ndarray) -> float:
    squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else row_sizes(X)[1]
    return max(float(weights @ squares) / float(weights.sum()), 1e-12)


@dataclass(frozen=True)
class Axis:
    """Values of a part of a setting, tried one after the other as long as each is better than the best before.

    There may be two ways to go from zero: the second is tried where the first leads nowhere.
    """

    name: str
    ways: tuple[tuple[float, ...], ...]
    neighbours: bool = False  # whether a better value is tried with the neighbouring strengths too
    evidence: float = 0.0  # standard errors of the rows' differences by which a value must be better


def search(
    evaluate: Callable[[Setting, Setting | None], np.ndarray | None],
    strengths: Sequence[float],
    axes: Sequence[Axis],
    *,
    base: Setting = PLAIN,
    extend: float = 0.0,
    halve: bool = False,
) -> tuple[Setting, float]:
    """The setting with the lowest score along strong-to-weak `strengths` (all else as in `base`), then along each axis from the best.

    A score is the sum of what `evaluate` says of the held-out rows (None if it is clearly worse than that of the best so far, its
    second argument). The strengths end after two in a row that do not improve by the share ENOUGH. Where the strongest wins, stronger
    ones are tried (times `extend`) until they lose; with `halve` the one half-way to the better neighbour is tried at the end.
    """
    rows: dict[Setting, np.ndarray] = {}
    scores: dict[Setting, float] = {}

    def score(setting: Setting) -> float:
        if setting not in scores:
            found = evaluate(setting, best() if scores else None)
            scores[setting] = np.inf if found is None else float(found.sum())
            rows[setting] = np.array(np.inf) if found is None else found
        return scores[setting]

    def best() -> Setting:
        """The lowest score; among those that are as good, the strongest prior, which is easier to fit."""
        limit = min(scores.values()) * (1 + ENOUGH)
        return max(
            (setting for setting in scores if scores[setting] <= limit),
            key=lambda setting: (setting.strength, -setting.second),
        )

    def is_better(setting: Setting, before: Setting, evidence: float) -> bool:
        gain = scores[before] - score(setting)
        if gain > 0 and gain > evidence * float(np.linalg.norm(rows[before] - rows[setting])):
            return True
        scores[setting] = max(scores[setting], scores[before])
        return False

    idle = 0
    for strength in strengths:
        lowest = min(scores.values(), default=np.inf)
        idle = idle + 1 if score(replace(base, strength=strength)) > lowest * (1 - ENOUGH) else 0
        if idle == 2:
            break
    while extend and best().strength == max(setting.strength for setting in scores):
        lowest = min(scores.values())
        if score(replace(base, strength=best().strength * extend)) > lowest * (1 - ENOUGH):
            break
    tried = sorted({setting.strength for setting in scores})

    def beside(strength: float) -> list[float]:
        place = tried.index(strength)
        return tried[max(place - 1, 0) : place] + tried[place + 1 : place + 2]

    for axis in axes:
        for way in axis.ways:
            start = best()
            for value in way:
                before, changes = best(), dict[str, Any]({axis.name: value})
                if not is_better(replace(before, **changes), before, axis.evidence):
                    break
                for strength in beside(before.strength) if axis.neighbours else ():
                    score(replace(before, strength=strength, **changes))
                if best() == before:  # better by less than counts
                    break
            if best() != start:
                break
    if halve:
        middle = best()
        sides = [replace(base, strength=strength) for strength in beside(middle.strength)]
        if sides:
            better = min(sides, key=scores.__getitem__)
            score(replace(middle, strength=float(np.sqrt(middle.strength * better.strength))))
    return best(), scores[best()]


def table_strengths(n_rows: float, n_outcomes: int) -> list[float]:
    """From a tenth of the rows down by threes to a fraction of a pseudo-example for each outcome."""
    strongest, weakest = max(0.1 * n_rows, 3.0 * n_outcomes), max(0.2 * n_outcomes, 1e-4 * n_rows)
    count = max(2, int(np.ceil(np.log(strongest / weakest) / np.log(3.0))) + 1)
    return [float(value) for value in strongest * 3.0 ** -np.arange(count)]


TABLE_AXES = (Axis("second", ((0.03, 0.1, 0.3, 1.0),), neighbours=True),)
COARSE_TABLE_AXES = (Axis("second", ((0.1,),), neighbours=True),)
WORD_BASE = Setting(0.0, telling=0.5)
WORD_STRENGTHS = {"ncll": [0.3, 0.1, 0.03, 0.01, 0.003, 0.001], "hinge": [1.0, 0.3, 0.1]}


def word_axes(loss: str, max_roots: int = 0) -> tuple[Axis, ...]:
    tilts = np.arange(1, 21) * {"ncll": 0.1, "hinge": 0.02}[loss]
    powers = (0.2, 0.4, 0.6)
    return (
        Axis("telling", ((1.0, 1.5),), evidence=1.0),
        Axis("roots", (tuple(range(1, max_roots + 1)),), evidence=1.0),
        Axis("second", (tuple(float(tilt) for tilt in tilts),), neighbours=True),
        Axis("common", (powers, tuple(-power for power in powers)), evidence=1.0),
    )
