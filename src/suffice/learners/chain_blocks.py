"""Sequences that lie in blocks, each sequence in one of them: the E-step of a hidden Markov chain as sums over the blocks.

A `BlockSteps` stands in the place of `chain_steps.ChainSteps` in a `chain_em.ChainProblem`: moments go out, records come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .blocks import Placing, Sums
from .chain_steps import ChainSteps, ExpectedSteps


@dataclass
class SequenceBlock:
    """Steps of sequences one after the other, where each begins, and their weights."""

    X: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray

    def steps(self, chain: Any) -> ChainSteps:
        return ChainSteps(chain, chain.emissions.form(self.X), self.offsets, self.weights)


# -- what is done where the steps are ----------------------------------------------------------------------------------


def expected_steps(block: SequenceBlock, chain: Any, moments: Any) -> Sums:
    """The E-step."""
    if not len(block.X):
        return Sums(0.0, chain.no_statistics())
    steps = block.steps(chain)
    found = steps.expected(steps.parameters(moments))
    return Sums(found.log_likelihood, found.statistics)


def worst_step(block: SequenceBlock, chain: Any, moments: Any) -> Sums:
    if not len(block.X):
        return Sums(0.0, 0.0)
    steps = block.steps(chain)
    return Sums(0.0, 0.0, *steps.worst(steps.parameters(moments)))


def sizes(block: SequenceBlock, chain: Any) -> np.ndarray:
    """The weight of the sequences, of their steps, and the sum of the steps' base measures."""
    if not len(block.X):
        return np.array([block.weights.sum(), 0.0, 0.0])
    steps = block.steps(chain)
    return np.array([block.weights.sum(), steps.total, steps.total * steps.mean_base_measure()])


# -- what stands in the place of steps ---------------------------------------------------------------------------------


@dataclass(eq=False)
class BlockSteps(Placing):
    evidence = None  # what is known of the states

    @property
    def chain(self) -> Any:
        return self.model

    def parameters(self, moments: Any) -> Any:
        """The moments: what steps need of them is made where they are."""
        return moments

    def expected(self, moments: Any) -> ExpectedSteps:
        found = self.sum(expected_steps, self._model, moments)
        return ExpectedSteps(found.record, found.total)

    def worst(self, moments: Any) -> tuple[float, np.ndarray]:
        found = self.sum(worst_step, self._model, moments)
        return found.worst, found.row

    @cached_property
    def _sizes(self) -> np.ndarray:
        return self.sum(sizes, self._model)

    @property
    def weights(self) -> np.ndarray:
        """The weight of all sequences, as an array that adds up to it."""
        return self._sizes[:1]

    @property
    def total(self) -> float:
        return float(self._sizes[1])

    def mean_base_measure(self) -> float:
        return float(self._sizes[2]) / max(self.total, 1e-300)
