r"""Gaussian columns some of which are levels of a number: whole numbers, grades, counts of few.

A level stands for the numbers nearest to it, so a column whose levels are `gap` apart has a variance of at least gap^2 / 12, that of a
number spread evenly about its level. Else rows of equal levels make a component that is sure of them. Statistics, moments and natural
parameters are those of the diagonal family; the M-step keeps variances at the floor: `projected`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import ndtr
from typing_extensions import override

from .gaussian_diagonal import GaussianDiagonal, Moments, from_parameters, mean_and_variance


@dataclass(frozen=True, eq=False)
class GaussianLevels(GaussianDiagonal):
    gaps: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of every column; 0 of numbers that are no levels

    stored_as: ClassVar[dict[str, str]] = {"location": "float[n_features]", "gaps": "float[n_features] 0.."}

    @override
    def projected(self, moments: Moments) -> Moments:
        mean, variance = mean_and_variance(moments)
        least = np.broadcast_to(self.gaps**2 / 12, variance.shape)
        floored = from_parameters(moments.weight, mean, np.maximum(variance, least))
        second = np.where(variance < least, floored.second, moments.second)  # others keep their bits
        return Moments(moments.weight, moments.first, second)


def level_shares(levels: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """(K, levels) array: probabilities that a number N(mean, variance) is nearest to each of the rising levels."""
    deviation = np.sqrt(np.maximum(variance, np.finfo(float).tiny))[:, None]
    below = ndtr((0.5 * (levels[1:] + levels[:-1]) - mean[:, None]) / deviation)
    return np.diff(below, axis=1, prepend=0.0, append=1.0)
