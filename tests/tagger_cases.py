"""Small sequences with tags for the oracles of the taggers, and their conditional likelihood by enumeration of all paths."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.poisson import Poisson
from suffice.families.records import mapped
from suffice.learners.tag_problem import TagSteps
from suffice.structures.joint import Joint
from suffice.structures.tag_weights import Tagging, TagWeights

S, CATEGORIES = 3, np.array([4, 3])
LENGTHS = np.array([3, 1, 0, 4, 2])


def rows_and_tags(seed: int = 0, has_gaps: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(n, 5) rows of two numbers, two categories and a count, and the tags; with gaps some cells are NaN."""
    generator, n = np.random.default_rng(seed), int(LENGTHS.sum())
    numbers = generator.normal(size=(n, 2)) * [1.0, 3.0] + [0.0, 5.0]
    categories = [generator.integers(0, size, n) for size in CATEGORIES]
    rows = np.column_stack([numbers, *categories, generator.poisson(2.0, n)]).astype(float)
    if has_gaps:
        rows[generator.random(rows.shape) < 0.25] = np.nan
    return rows, generator.integers(0, S, n)


def joint() -> Joint:
    return Joint.of(GaussianDiagonal(S, 2, np.array([0.0, 5.0])), Categorical(S, 2, CATEGORIES), Poisson(S, 1))


def tag_steps(rows: np.ndarray, tags: np.ndarray, known: np.ndarray | None = None, weights: Any = None) -> TagSteps:
    """The steps of a problem; `known` (n,) says which tags are."""
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    weights = np.ones(len(LENGTHS)) if weights is None else weights
    tagging = Tagging.of(joint(), rows, np.ones(len(rows)))
    labels = tags if known is None else np.where(known, tags, -1)
    return TagSteps.of(tagging, rows, offsets, weights, labels)


def some_weights(tagging: Tagging, seed: int = 1, size: float = 0.3) -> TagWeights:
    generator = np.random.default_rng(seed)
    found = mapped(lambda array: size * generator.normal(size=array.shape), tagging.zeros())
    gaussian = found.columns[0]
    small = type(gaussian)(gaussian.linear, 0.05 * gaussian.quadratic)
    return TagWeights(found.start, found.transitions, found.end, (small, *found.columns[1:]))


def cell_scores(tagging: Tagging, weights: TagWeights, rows: np.ndarray) -> np.ndarray:
    """(n, S) array: sum_m <w_m(k), phi_m(x)>, and Z_m(k) of a missing cell, one cell after the other."""
    gaussian, categorical, poisson = tagging.emissions.families
    numbers, categories, counts = weights.columns
    scores = np.zeros((len(rows), S))
    naturals = tagging.naturals(weights)
    with np.errstate(invalid="ignore"):  # outside the domain, where no cell may be missing
        norms = gaussian.log_norm(*naturals[0].arrays()), categorical.log_norms(naturals[1])
    norms = *norms, poisson.log_norm(*naturals[2].arrays())
    for t, row in enumerate(rows):
        for k in range(S):
            for j in range(2):
                z = row[j] - gaussian.location[j]
                own = numbers.linear[k, j] * z + numbers.quadratic[k, j] * z * z
                scores[t, k] += norms[0][k, j] if np.isnan(z) else own
                code = row[2 + j]
                scores[t, k] += (
                    norms[1][j, k] if np.isnan(code) else categories.logit[categorical.offset[j] + int(code), k]
                )
            scores[t, k] += norms[2][k, 0] if np.isnan(row[4]) else counts.log_rate[k, 0] * row[4]
    return scores


def path_scores(weights: TagWeights, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All paths (m, T) of one sequence, and their scores."""
    T = len(scores)
    paths = np.array(list(product(range(S), repeat=T)))
    found = weights.start[paths[:, 0]] + weights.end[paths[:, -1]] + sum(scores[t, paths[:, t]] for t in range(T))
    for t in range(1, T):
        found = found + weights.transitions[paths[:, t - 1], paths[:, t]]
    return paths, found


def logsum(values: np.ndarray) -> float:
    return float(values.max() + np.log(np.exp(values - values.max()).sum()))


def conditional_loss(tagging, weights, rows, tags, known, sequence_weights) -> float:
    """Minus log p(known tags | x), summed over the sequences."""
    total, at = 0.0, 0
    scores = cell_scores(tagging, weights, rows)
    for length, weight in zip(LENGTHS, sequence_weights, strict=True):
        if length:
            own = slice(at, at + length)
            paths, found = path_scores(weights, scores[own])
            fits = ((paths == tags[own]) | ~known[own]).all(axis=1)
            total += weight * (logsum(found) - logsum(found[fits]))
        at += length
    return total
