r"""Several models in the place of one: candidates are fitted to parts of the rows, judged on the parts left out, and mixed.

    p(y | x) = sum_c weight_c  1/J sum_j p_cj(y | x)           p_cj: candidate c fitted to all rows but those of part j

The rows are dealt into parts once or several times, so that one or several fits of a candidate have not seen a row. Weights maximise
the held-out log density  sum_i log sum_c weight_c p_c(-i)(y_i | x_i),  a concave problem that EM solves. Every fit was made to
judge its candidate, and they answer together: a committee loses less to overfitting than one fit to all rows. It is wider than it
has to be, though; `best_width` is the factor at which held-out intervals cover what they say. Of few rows the fits are sure of more
than they know, and coverage cannot be counted: `likeliest_width` is the factor, at least 1, under which held-out targets are likeliest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..engines.threads import Engine

EM_STEPS, ENOUGH = 1000, 1e-7
LEAST = 0.02  # weight of a candidate: those below it after a deal are left out
LEVELS = np.array([0.5, 0.8, 0.9, 0.95])  # of central intervals
WIDTHS = np.exp(np.linspace(np.log(0.4), np.log(1.3), 37))
WIDE = np.exp(np.linspace(0.0, np.log(3.0), 23))
ENOUGH_ROWS = 50  # held-out rows with which coverage is counted


@dataclass(frozen=True, eq=False)
class Stack:
    fits: list  # of every candidate that is kept: its fits, deal after deal and part after part
    candidates: list  # those that are kept
    weights: np.ndarray  # of them, summing to one
    tried: list  # (candidate, mean held-out log density, weight)
    held_out: float  # mean held-out log density of the mixture


def stacked(
    candidates: Sequence[Any], parts: np.ndarray, row_weights: np.ndarray, fit: Callable[[int, int, int], Any],
    judge: Callable[[Any, np.ndarray], np.ndarray], counted: np.ndarray, n_threads: int = 1, needed: Any = True,
) -> Stack:  # fmt: skip
    """The stack of candidates.

    parts (deals, n) says which part a row is in. `fit(candidate, deal, part)` is given the numbers of all three and fits the rows
    of all other parts. `judge(fit, rows)` gives log densities of some rows. `counted` (n,) says which rows have a target. A candidate
    that a deal gives no weight is left out of the deals after it; of those that are `needed` (a mask) the heaviest stays.
    """
    found: dict[tuple[int, int, int], Any] = {}
    each = np.full((len(parts), len(candidates), parts.shape[1]), -np.inf)
    row_weights = row_weights[counted] / row_weights[counted].sum()
    going = np.arange(len(candidates))
    means, weights = np.full(len(candidates), -np.inf), np.zeros(len(candidates))
    for number, dealt in enumerate(parts):
        jobs = [(int(c), number, part) for c in going for part in range(int(dealt.max()) + 1)]
        for job, own in zip(jobs, Engine(n_threads).each(lambda job: fit(*job), jobs), strict=True):
            found[job] = own
            held = np.flatnonzero((dealt == job[2]) & counted)
            if len(held):
                each[number, job[0], held] = judge(own, held)
        log_density = logsumexp(each[: number + 1][:, going][:, :, counted], axis=0) - np.log(number + 1)
        means[going] = log_density @ row_weights
        weights[:] = 0.0
        weights[going] = mixture_weights(log_density, row_weights)
        keep = weights[going] >= min(LEAST, float(weights.max()))
        keep[np.argmax(np.where(needed, weights, -1.0)[going])] = True
        going, log_density = going[keep], log_density[keep]
    kept = mixture_weights(log_density, row_weights)
    tried = [(c, float(mean), float(weight)) for c, mean, weight in zip(candidates, means, weights, strict=True)]
    total = float(logsumexp(log_density + np.log(np.maximum(kept, 1e-300))[:, None], axis=0) @ row_weights)
    fits = [[own for (c, _, _), own in found.items() if c == place] for place in going]
    return Stack(fits, [candidates[int(place)] for place in going], kept, tried, total)


def mixture_weights(log_density: np.ndarray, row_weights: np.ndarray) -> np.ndarray:
    """(m,) array: the shares of m models that maximise the log density (m, n) of their mixture, by EM."""
    weights = np.full(len(log_density), 1.0 / len(log_density))
    scaled = np.exp(log_density - log_density.max(axis=0))
    for _ in range(EM_STEPS):
        share = weights[:, None] * scaled
        share /= share.sum(axis=0)
        before, weights = weights, share @ row_weights
        if np.abs(weights - before).max() < ENOUGH:
            break
    return weights / weights.sum()


def best_width(cdf_at: Callable[[float], np.ndarray], row_weights: np.ndarray) -> float:
    """The width at which central intervals of held-out rows come nearest to covering LEVELS of them.

    `cdf_at(width)` gives P(target <= y_i) of the held-out rows at a width.
    """
    share = row_weights / row_weights.sum()

    def miss(width: float) -> float:
        inside = np.abs(cdf_at(width) - 0.5)[None] < 0.5 * LEVELS[:, None]
        return float(((inside @ share - LEVELS) ** 2).sum())

    return float(WIDTHS[int(np.argmin([miss(width) for width in WIDTHS]))])


def likeliest_width(log_density_at: Callable[[float], np.ndarray], row_weights: np.ndarray) -> float:
    """The width, at least 1, at which held-out rows have the largest log density; `log_density_at(width)` gives theirs."""
    return float(WIDE[int(np.argmax([row_weights @ log_density_at(width) for width in WIDE]))])
