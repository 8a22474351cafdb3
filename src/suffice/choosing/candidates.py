"""Kinds of models compared on held-out rows: which one is kept, and whether it is averaged with another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

EVIDENCE = 0.5  # standard errors by which a model must beat naive Bayes, which explains itself better
GAIN = 1e-3  # share of the log-loss by which more components or the average must be better


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
