"""Outcomes in groups: the outcomes of a structure are classes, or the components of classes, `width` of them side by side.

    log p(x, c) = log sum over the components z of class c of exp(log p(x, c, z))

What a fitted structure answers about classes: scores, posteriors of outcomes, draws. With width 1 an outcome is a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp

from ..engines.threads import Engine, shards
from ..losses.base import posteriors

PART = 8192  # rows a thread scores at a time


@dataclass(frozen=True)
class Groups:
    structure: Any
    width: int = 1

    stored_as: ClassVar[dict[str, str]] = {"width": "int 1.."}

    def outcome_scores(self, moments, X, n_threads: int = 1) -> np.ndarray:
        """(n, outcomes) array: log p(x_i, outcome); of many outcomes by products of matrices."""
        if self.width == 1:
            return self.structure.joint_scores(moments, X)
        form = self.structure.form(X)
        with np.errstate(divide="ignore"):
            coefficients = form.coefficients(moments)
        parts = shards(X.shape[0], PART) or [slice(0, 0)]
        return np.concatenate(list(Engine(n_threads).each(lambda part: form.all_scores(coefficients, part), parts)))

    def class_scores(self, moments, X, n_threads: int = 1) -> np.ndarray:
        """(n, classes) array: log p(x_i, class)."""
        scores = self.outcome_scores(moments, X, n_threads)
        if self.width == 1:
            return scores
        return logsumexp(scores.reshape(len(scores), -1, self.width), axis=2)

    def shares(self, moments, X, classes: np.ndarray | None, n_threads: int = 1) -> np.ndarray:
        """(n, outcomes) array: posteriors of the outcomes given the rows, and their classes if they are known."""
        if classes is not None and self.width == 1:
            shares = np.zeros((len(classes), self.structure.n_outcomes))
            shares[np.arange(len(classes)), classes] = 1.0
            return shares
        scores = self.outcome_scores(moments, X, n_threads)
        if classes is not None:
            scores = np.where(self.of_class(classes), scores, -np.inf)
        return posteriors(scores, moments.mass)

    def of_class(self, classes: np.ndarray) -> np.ndarray:
        """(n, outcomes) array: whether an outcome belongs to the row's class."""
        return np.arange(self.structure.n_outcomes)[None] // self.width == classes[:, None]

    def sampled(self, moments, n: int, classes: np.ndarray | None, generator) -> tuple[np.ndarray, np.ndarray]:
        """(rows, classes) drawn from the structure; classes may be given."""
        mass = moments.mass / moments.mass.sum()
        if self.width == 1:
            outcomes = generator.choice(len(mass), size=n, p=mass) if classes is None else classes
        else:
            shares = np.tile(mass, (n, 1))
            outcomes = drawn(shares if classes is None else np.where(self.of_class(classes), shares, 0.0), generator)
        return self.structure.sample(moments, outcomes, generator), outcomes // self.width


def drawn(shares: np.ndarray, generator) -> np.ndarray:
    """An outcome of every row, by its shares."""
    steps = np.cumsum(shares, axis=1)
    draws = generator.random((len(shares), 1)) * steps[:, -1:]
    return np.minimum((draws > steps).sum(axis=1), shares.shape[1] - 1)
