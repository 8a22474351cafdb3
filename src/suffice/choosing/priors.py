"""Conjugate priors as pseudo-statistics, and how their strength is found.

A prior is a record in the shape of the moments (Assumption 2 of Masegosa 2014: pseudo-statistics alpha and their count nu), so it
is `sum of pseudo-examples`. It is the regulariser: what C is for a linear machine.

Tables (`blended`)   `pooled` pseudo-examples from a model in which all outcomes look alike, plus the share `own` of the maximum-
                     likelihood moments, which blends joint likelihood into the discriminative loss.
Words (`uniform`)    the same pseudo-count for every outcome, a flat prior of the outcomes; smaller for words that tell the outcomes
                     apart, optionally tilted towards naive Bayes, and larger (or smaller) for common words.

`Setting` names a point of either family.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..families.words import column_sizes, row_sizes
from ..structures.base import Enumerable

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


def interior(model: Enumerable, statistics):
    """Maximum likelihood with just enough pseudo-counts to lie inside the domain; masses add up to one."""
    return model.smoothed_maximum_likelihood(statistics)


def blended(model: Enumerable, statistics, setting: Setting, own=None):
    """`strength` pooled pseudo-examples and `second` times the data, at maximum likelihood (`own`, if it is known already)."""
    own = interior(model, statistics) if own is None else own
    return setting.strength * model.pooled(own) + (setting.second * float(statistics.mass.sum())) * own


def given(model: Enumerable, statistics, amount: float | str, is_discriminative: bool):
    """Pseudo-counts of `amount` (a number, "auto", "laplace", "log"), also of the outcomes under a discriminative loss."""
    if amount in ("auto", "laplace"):
        amount = model.default_pseudo_counts if amount == "auto" else 1.0
    elif amount == "log":
        amount = float(np.log(max(model.n_features, 2)))  # ln |W| of the paper's prior P2
    prior = model.pseudo_counts(statistics, float(amount))
    if is_discriminative:
        prior = replace(prior, mass=np.full(model.n_outcomes, max(float(amount), 1e-3)))
    return prior


def uniform(
    model: Any, statistics, setting: Setting, squared_row: float, leaning=None, common=None, told=None, occurrences=None
):
    """The same pseudo-count for every word and outcome, times exp(tilt * `leaning` + power * `common` - power * `told`).

    Words that tell something get less and the others more, such that a row of the data is as loose as before (a score gives way by
    the sum of x^2 / count). `leaning`, `told` and `occurrences` are given where they are known already.
    """
    family, occurrences = model.family, occurrences_of(model, statistics) if occurrences is None else occurrences
    each = np.full(len(occurrences), setting.strength * squared_row)
    total = float(occurrences.sum())
    if setting.telling and total > 0.0:
        looser = np.exp(setting.telling * (tellings(model, statistics) if told is None else told))
        each *= float(occurrences @ looser) / total / looser
    if setting.common:
        each *= np.exp(setting.common * common)
    if family.alike is not None:
        each *= family.alike
    if setting.second:
        count = np.exp(setting.second * (leanings(model, statistics) if leaning is None else leaning)) * each[:, None]
    else:
        count = np.repeat(each, model.n_outcomes).reshape(-1, model.n_outcomes)
    return model.of_counts(np.full(model.n_outcomes, FLAT_OUTCOMES), count)


def occurrences_of(model: Any, statistics) -> np.ndarray:
    """(n_features,) array: how often each word was seen, with any outcome."""
    return model.counts_of(statistics) @ np.ones(model.n_outcomes)


def leanings(model: Any, statistics) -> np.ndarray:
    """Log naive Bayes probabilities of the words, centred over the outcomes."""
    count = model.counts_of(statistics)
    logs = np.log(model.family.of_each_word(count) + 1.0) - np.log(count.sum(axis=0) + model.n_words)
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
    informations(model.family.of_each_word(count), usual, DOUBT * model.n_outcomes * typical, told)
    return np.log(np.sqrt(2.0 * np.maximum(told, 0.0)) + LEAST_TOLD)


def commonness(X, weights: np.ndarray, alike: np.ndarray | None = None) -> np.ndarray:
    """log(1 + rows that have the word) of every word, centred over what is in the rows, so that a power of it leaves the strength
    its sense. Labels take no part."""
    n_rows, squares = column_sizes(X, weights)
    squares = squares if alike is None else squares / alike
    logs = np.log1p(n_rows)
    return logs - float(squares @ logs) / max(float(squares.sum()), 1e-300)


def mean_squared_row(X, weights: np.ndarray) -> float:
    squares = np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else row_sizes(X)[1]
    return max(float(weights @ squares) / float(weights.sum()), 1e-12)


def strengths(n_rows: float, n_outcomes: int) -> list[float]:
    """From a tenth of the rows down by threes to a fraction of a pseudo-example for each outcome."""
    strongest, weakest = max(0.1 * n_rows, 3.0 * n_outcomes), max(0.2 * n_outcomes, 1e-4 * n_rows)
    count = max(2, int(np.ceil(np.log(strongest / weakest) / np.log(3.0))) + 1)
    return [float(value) for value in strongest * 3.0 ** -np.arange(count)]
