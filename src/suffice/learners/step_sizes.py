"""Rates of stochastic learners, as arrays: `rates(first, count)` gives the rates of the steps first, first + 1, ..."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeGuard

import numpy as np


class StepSize(Protocol):
    def rates(self, first: int, count: int) -> np.ndarray: ...


@dataclass(frozen=True)
class InverseTime:
    """1 / (1 + decay t): the paper's (Masegosa 2014, Algorithm 1). With decay 1 one pass of `nll` ends at the closed form."""

    decay: float = 1.0

    def rates(self, first: int, count: int) -> np.ndarray:
        return 1.0 / (1.0 + self.decay * np.arange(first, first + count))


@dataclass(frozen=True)
class Power:
    """(t + offset)^-exponent, the usual choice of online EM (Cappé and Moulines 2009): exponent in (1/2, 1]."""

    exponent: float = 0.6
    offset: float = 2.0

    def rates(self, first: int, count: int) -> np.ndarray:
        return (np.arange(first, first + count) + self.offset) ** -self.exponent


@dataclass(frozen=True)
class Constant:
    rate: float = 0.01

    def rates(self, first: int, count: int) -> np.ndarray:
        return np.full(count, self.rate)


def is_schedule(value: object) -> TypeGuard[StepSize]:
    return hasattr(value, "rates")


def step_size_of(value) -> StepSize | float | None:
    """None (the learner's own), a number (a factor on the learner's own first rate) or a schedule."""
    if value is None or is_schedule(value):
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not 0 < value < np.inf
    ):
        raise ValueError(
            f"step_size={value!r} is neither None, a positive number (a factor on the default rate) nor a schedule such as "
            "suffice.learners.step_sizes.InverseTime()"
        )
    return float(value)
