"""Conjugate priors as pseudo-statistics, and how their strength is found.

A prior is a record in the shape of the moments (Assumption 2 of Masegosa 2014: pseudo-statistics alpha and their count nu), so it
is `sum of pseudo-examples`. It is the regulariser: what C is for a linear machine.

Tables (`blended`)   `pooled` pseudo-examples from a model in which all outcomes look alike, plus the share `own` of the maximum-
                     likelihood moments, which blends joint likelihood into the discriminative loss.
Words (`uniform`)    the same pseudo-count for every word and outcome, a flat prior of the outcomes, optionally tilted towards
                     naive Bayes by `tilt`.

`Setting(strength, second)` names a point of either family; `search` walks from strong to weak and stops when it gets worse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from .models.base import Model
from .models.words import row_sizes

ENOUGH = 1e-3  # relative differences of held-out log-loss below this do not count
FLAT_OUTCOMES = 10.0  # pseudo-counts of every outcome in the prior of words


@dataclass(frozen=True)
class Setting:
    strength: float  # tables: pooled pseudo-examples; words: pseudo-count of a word in units of the mean squared row
    second: float = 0.0  # tables: share of the maximum-likelihood moments; words: tilt towards naive Bayes


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


def uniform(model: Model, statistics, setting: Setting, squared_row: float, leaning=None):
    """The same pseudo-count for every word and outcome, times exp(tilt * `leaning`)."""
    if setting.second:
        count = np.exp(setting.second * (leanings(statistics) if leaning is None else leaning))
        count *= setting.strength * squared_row
    else:
        count = np.full(statistics.count.shape, setting.strength * squared_row)
    return type(statistics)(np.full(model.n_outcomes, FLAT_OUTCOMES), count)


def leanings(statistics) -> np.ndarray:
    """Log naive Bayes probabilities of the words, centred over the outcomes."""
    logs = np.log(statistics.count + 1.0) - np.log(statistics.count.sum(axis=0) + len(statistics.count))
    return logs - logs.mean(axis=1, keepdims=True)


def mean_squared_row(X, weights: np.ndarray) -> float:
    squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else row_sizes(X)[1]
    return max(float(weights @ squares) / float(weights.sum()), 1e-12)


def search(
    evaluate: Callable[[Setting], float],
    strengths: list[float],
    seconds: list[float],
    *,
    extend: float = 0.0,
    step: float = 0.0,
    patience: int = 1,
) -> tuple[Setting, float]:
    """The setting with the lowest score along strong-to-weak `strengths` (second = 0), then along `seconds` near the best.

    Stops a path after two settings in a row that do not improve by the share ENOUGH. Where the strongest wins, stronger ones are
    tried (times `extend`); where the last of `seconds` wins, larger ones (plus `step`), until they lose. With
    `patience` 2 the strengths half-way to the best one's neighbours are tried too, and one of `seconds` that loses is forgiven.
    """
    scores: dict[Setting, float] = {}

    def score(strength: float, second: float = 0.0) -> float:
        setting = Setting(strength, second)
        if setting not in scores:
            scores[setting] = evaluate(setting)
        return scores[setting]

    def best() -> Setting:
        """The lowest score; among those that are as good, the strongest prior, which is easier to fit."""
        limit = min(scores.values()) * (1 + ENOUGH)
        return max(
            (setting for setting in scores if scores[setting] <= limit),
            key=lambda setting: (setting.strength, -setting.second),
        )

    idle = 0
    for strength in strengths:
        lowest = min(scores.values(), default=np.inf)
        idle = idle + 1 if score(strength) > lowest * (1 - ENOUGH) else 0
        if idle == 2:
            break
    while extend and best().strength == max(setting.strength for setting in scores):
        lowest = min(scores.values())
        if score(best().strength * extend) > lowest * (1 - ENOUGH):
            break
    tried = sorted({setting.strength for setting in scores})
    if patience > 1:  # half-way to the neighbours
        place = tried.index(best().strength)
        for low, high in zip(
            tried[max(place - 1, 0) : place + 1], tried[max(place - 1, 0) + 1 : place + 2], strict=False
        ):
            score(float(np.sqrt(low * high)))
        tried = sorted({setting.strength for setting in scores})
    idle = 0
    for second in seconds:
        before = best()
        if score(before.strength, second) >= scores[before]:
            idle += 1
            if idle == patience:
                break
            continue
        place = tried.index(before.strength)
        for neighbour in tried[max(place - 1, 0) : place + 2]:
            score(neighbour, second)
    while step and seconds and best().second >= seconds[-1] - 1e-9 and best().second < 10 * seconds[-1]:
        before = best()
        score(before.strength, before.second + step)
        if best() == before:  # worse, or better by less than counts
            break
    return best(), scores[best()]


def table_strengths(n_rows: float, n_outcomes: int) -> list[float]:
    """From a tenth of the rows down by threes to a fraction of a pseudo-example for each outcome."""
    strongest, weakest = max(0.1 * n_rows, 3.0 * n_outcomes), max(0.2 * n_outcomes, 1e-4 * n_rows)
    count = max(2, int(np.ceil(np.log(strongest / weakest) / np.log(3.0))) + 1)
    return [float(value) for value in strongest * 3.0 ** -np.arange(count)]


TABLE_SECONDS = [0.03, 0.1, 0.3, 1.0]
WORD_STRENGTHS = {"ncll": [0.3, 0.1, 0.03, 0.01, 0.003, 0.001], "hinge": [1.0, 0.3, 0.1]}
WORD_TILTS = {"ncll": [0.1, 0.2, 0.3], "hinge": [0.02, 0.04, 0.06]}
