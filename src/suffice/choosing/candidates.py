"""Kinds of models compared on held-out rows: which one is kept, and whether it is averaged with another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

EVIDENCE = 0.5  # standard errors by which a model must beat naive Bayes, which explains itself better
GAIN = 1e-3  # share of the log-loss by which more components or the average must be better
PLENTY, LEAST_FITS = 1000.0, 10.0  # fits by maximum likelihood: there is time for all, and none for training
SAMPLE, LEAST_COMPARED = 1_000, 3.0  # rows that tell how long a default fit takes, and how many of them a comparison is


@dataclass
class Candidate:
    """A kind of model, and what it lost on the rows held out."""

    name: str
    kind: str  # "naive Bayes", "discriminant" or "mixture"
    setting: Any = None
    losses: np.ndarray = field(default_factory=lambda: np.zeros(0))
    probabilities: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    accuracy: float = np.nan
    seconds: float = 0.0

    @property
    def loss(self) -> float:
        return float(self.losses.mean()) if len(self.losses) else np.inf


def chosen(tried: list[Candidate]) -> tuple[Candidate, list[Candidate]]:
    """The best model, and one to average it with if that is better still."""
    if len(tried) == 1:
        return tried[0], []
    plain, best = tried[0], min(tried, key=lambda each: each.loss)
    gain = plain.losses - best.losses
    if gain.mean() <= EVIDENCE * gain.std() / np.sqrt(len(gain)):
        best = plain
    # the losses hold the labels only; the average is of the probabilities of the labels
    for other in sorted((each for each in tried if each is not best), key=lambda each: each.loss):
        together = -np.log(0.5 * np.exp(-best.losses) + 0.5 * np.exp(-other.losses))
        gain = best.losses - together
        if gain.mean() > max(GAIN * best.loss, EVIDENCE * gain.std() / np.sqrt(len(gain))):
            return best, [other]
        break
    return best, []


def hurried(fit: Callable[[Candidate, np.ndarray], Any], n: int, end: float) -> Candidate | None:
    """What to fit to n rows without a comparison where that would go on after `end`; None if there is time. `fit` fits some rows."""
    quick = Candidate("naive Bayes at maximum likelihood, for want of time", "naive Bayes", "nll")
    plain = Candidate("naive Bayes, not compared for want of time", "naive Bayes")

    def seconds(candidate: Candidate, rows: np.ndarray) -> float:
        start = time.monotonic()
        fit(candidate, rows)
        return time.monotonic() - start

    own = seconds(quick, np.arange(n))
    left = end - time.monotonic()
    if left > PLENTY * own or left < LEAST_FITS * own:
        return None if left > PLENTY * own else quick
    rows = np.random.default_rng(0).permutation(n)[: max(1, min(n // 4, SAMPLE))]
    for _ in range(2):  # the first may have compiled
        whole = seconds(plain, rows) * n / len(rows)
        if end - time.monotonic() > LEAST_COMPARED * whole:
            return None
    return plain if end - time.monotonic() > whole else quick
