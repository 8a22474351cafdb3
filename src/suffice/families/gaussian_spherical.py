r"""Gaussian columns with one variance for all columns of an outcome (spherical covariance).

    log p(x | k) = sum_j [ -1/2 log 2 pi v_k - (x_j - m_kj)^2 / 2 v_k ]

Statistics, moments and natural parameters are those of the diagonal family; the M-step averages the variances of an outcome's columns,
each with its weight (they differ where cells are missing): `projected`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from .gaussian_diagonal import GaussianDiagonal, Moments, from_parameters, mean_and_variance


@dataclass(frozen=True, eq=False)
class GaussianSpherical(GaussianDiagonal):
    is_spherical = True

    @override
    def projected(self, moments: Moments) -> Moments:
        mean, variance = mean_and_variance(moments)
        weight = np.maximum(moments.weight.sum(axis=1, keepdims=True), 1e-300)
        shared = (moments.weight * variance).sum(axis=1, keepdims=True) / weight
        return from_parameters(moments.weight, mean, np.broadcast_to(shared, variance.shape))
