"""Posterior sampling of the weights ("gibbs"; Gan et al. 2015): the fourth baseline of the paper's Table 1.

One pass draws every hidden unit given the weights, omega ~ PG(1, psi) for every cell, and then the weights of every
unit below from their Gaussian conditional, N(P^-1 sum kappa h, P^-1) with P = sum omega h h' + the prior's precision.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from .m_step import LayerStatistics, Limits


class WeightSampler:
    keeps_samples = True

    def __init__(self, penalty: float, n_total: int, limits: Limits, seed: int, prior_precision: float = 1.0):
        self.penalty, self.n_total, self.limits = penalty, n_total, limits
        self.seed, self.prior_precision = seed, prior_precision

    def initial(self, parameters: np.ndarray) -> dict[str, np.ndarray]:
        size = len(parameters)
        pairs = np.zeros((size * (size + 1) // 2, parameters.shape[1]))
        return {"pairs": pairs, "moments": np.zeros(parameters.shape), "seen": np.zeros((), np.int64),
                "steps": np.zeros((), np.int64)}  # fmt: skip

    def update(self, state: dict, parameters: np.ndarray, statistics: LayerStatistics, rate: float) -> np.ndarray:
        from ...kernels.structures.network import add_pairs

        for h, kappa, omega in statistics.samples:
            add_pairs(state["pairs"], h, omega)
            state["moments"] += np.vstack([h.T.astype(np.float32) @ kappa, kappa.sum(0)])
        state["seen"] += statistics.n_rows
        if state["seen"] < self.n_total:
            return parameters
        new = self._draw(state, parameters)
        state["pairs"][:], state["moments"][:] = 0, 0
        state["seen"] -= state["seen"]
        state["steps"] += 1
        return self.limits.apply(parameters, new)

    def _draw(self, state: dict, parameters: np.ndarray) -> np.ndarray:
        size, n_below = parameters.shape
        rng = np.random.default_rng([self.seed, 13, size, n_below, int(state["steps"])])
        lower, new = np.tril_indices(size), np.empty_like(parameters)
        precisions = self._prior(parameters, rng)
        for i in range(n_below):
            precision = np.zeros((size, size))
            precision[lower] = state["pairs"][:, i]
            precision[np.arange(size), np.arange(size)] += precisions[:, i]
            root = cholesky(precision, lower=True, check_finite=False)
            right = solve_triangular(root, state["moments"][:, i], lower=True, check_finite=False)
            new[:, i] = solve_triangular(
                root, right + rng.standard_normal(size), lower=True, trans=1, check_finite=False
            )
        return new

    def _prior(self, parameters: np.ndarray, rng) -> np.ndarray:
        """Gaussian, or the Bayesian lasso: 1/tau ~ InverseGaussian(sqrt(lambda) / |w|, lambda)."""
        precision = np.full(parameters.shape, self.prior_precision)
        precision[-1] = 1e-2
        if self.penalty:
            mean = np.sqrt(self.penalty) / np.maximum(np.abs(parameters[:-1]), 1e-6)
            precision[:-1] = rng.wald(mean, self.penalty)
        return precision
