"""How much rows without a label count.

They enter every loss through their marginal likelihood (EM's posterior weights), times a weight. A model that is wrong can be led
astray by many of them, so "auto" decides on held-out labelled rows: candidates are .1 and .3 of the labelled rows' total weight,
as much as it, and one a row; the best is taken only if it beats leaving the rows out in clipped log-loss (all but the smallest by
a standard error), and does not lose in plain log-loss. With fewer than MIN_LABELS labelled rows in a class nothing can be held out:
then they count a tenth of the labelled rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..learners.driver import Problem
from .selection import clipped_losses

SHARES = (0.1, 0.3, 1.0)  # of the labelled rows' weight
EVIDENCE = 1.0  # standard errors
MIN_LABELS = 3
MAX_ROWS = 20_000  # rows without a label that take part in the choice


def weighted(problem: Problem, weight: float) -> Problem:
    """The problem in which rows without a label count `weight` times; without them if it is 0."""
    unlabelled = problem.y < 0
    if weight == 0:
        return rows_of(problem, np.flatnonzero(~unlabelled))
    return replace(problem, weights=np.where(unlabelled, weight * problem.weights, problem.weights))


def rows_of(problem: Problem, rows: np.ndarray) -> Problem:
    return replace(problem, X=problem.X[rows], y=problem.y[rows], weights=problem.weights[rows])


def choose_weight(
    problem: Problem, fitted: Callable[[Problem], Any], temperature: float, generator: np.random.Generator
) -> tuple[float, str]:
    """The weight of a row without a label, and why. `fitted(problem)` gives moments."""
    labelled = np.flatnonzero((problem.y >= 0) & (problem.weights > 0))
    unlabelled = np.flatnonzero((problem.y < 0) & (problem.weights > 0))
    ratio = float(problem.weights[labelled].sum() / problem.weights[unlabelled].sum())
    candidates = sorted({min(1.0, share * ratio) for share in SHARES} | {1.0})
    counts = np.bincount(problem.y[labelled], minlength=problem.model.n_outcomes)
    if counts.min() < MIN_LABELS:
        return candidates[0], f"a class has fewer than {MIN_LABELS} labels: a tenth of the labelled rows' weight"
    shuffled = generator.permutation(labelled)
    dealt = shuffled[np.argsort(problem.y[shuffled], kind="stable")]
    part = np.arange(len(dealt)) % 5
    some = np.sort(generator.permutation(unlabelled)[:MAX_ROWS])
    scores: dict[float, list[np.ndarray]] = {weight: [] for weight in (0.0, *candidates)}
    held_out = []
    for held in range(5 if len(dealt) < 1000 else 1):
        train = rows_of(problem, np.sort(np.concatenate([dealt[part != held], some])))
        held_out.append(dealt[part == held])
        for weight in scores:
            factor = weight * len(unlabelled) / len(some)  # a sample of them stands for all
            moments = fitted(weighted(train, factor))
            scores[weight].append(temperature * problem.model.scores(moments, problem.X[held_out[-1]]))
    rows = np.concatenate(held_out)
    y, shares = problem.y[rows], problem.weights[rows] / problem.weights[rows].sum()

    def losses(weight: float) -> tuple[np.ndarray, float]:
        joined = np.concatenate(scores[weight])
        plain = logsumexp(joined, axis=1) - joined[np.arange(len(y)), y]
        return clipped_losses(joined, y), float(shares @ plain)

    without, plain_without = losses(0.0)
    best, gained = 0.0, 0.0
    for weight in candidates:
        clipped, plain = losses(weight)
        gain = without - clipped
        mean = float(shares @ gain)
        spread = float(np.sqrt(shares @ (gain - mean) ** 2 / len(gain)))
        evidence = 0.0 if weight == candidates[0] else EVIDENCE
        if mean > max(gained, evidence * spread) and plain <= plain_without:
            best, gained = weight, mean
    return best, f"rows without a label change held-out log-loss by {-gained:.4f}"
