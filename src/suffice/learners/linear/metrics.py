r"""Variables in which a search goes straight: parameters T and scaled variables x, one way and the other.

Diagonal   x = sqrt(h) T                         h: roughly the second derivatives
Chain      x = L' T,  L L' = diag(h) + the tridiagonal second derivatives of a prior that ties neighbouring cells
Products   x = L' T sqrt(v),  L L' = sums of products of the statistics + prior,  v_k = p_k (1 - p_k): columns may be correlated
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ...kernels.loops.chain import backward, factor_chain, forward

LEAST = 1e-9
STEEPEST = 1e200
ALIKE = 1e-8  # added to the squares of correlated statistics, which may be equal


class Diagonal:
    knows_products = False  # whether correlated columns are seen

    def __init__(self, h: np.ndarray):
        steep = np.clip(np.nan_to_num(h, nan=STEEPEST), 0.0, STEEPEST)  # scales stay numbers that can be divided by
        self.scale = 1.0 / np.sqrt(steep + LEAST)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        return x * self.scale

    def variables(self, T: np.ndarray) -> np.ndarray:
        return T / self.scale

    def pulled(self, g: np.ndarray) -> np.ndarray:
        """The gradient in x, of that in T."""
        return g * self.scale


class Products:
    knows_products = True

    def __init__(self, products: np.ndarray, spread: np.ndarray, prior: np.ndarray):
        """Of sums of products (p, p) and the second derivatives (p, K) of a prior. LinAlgError where numbers cannot hold them."""
        self.spread = np.sqrt(spread)
        whole = products + np.diag((prior / spread).mean(axis=1) + LEAST)
        own = np.diagonal(whole)
        if not (np.isfinite(whole).all() and own.max() < STEEPEST):
            raise np.linalg.LinAlgError("beyond all numbers")
        unit = np.sqrt(own)
        root = np.linalg.cholesky(whole / np.outer(unit, unit) + ALIKE * np.eye(len(whole)))
        self.root = unit[:, None] * root
        self.inverse = solve_triangular(root, np.diag(1.0 / unit), lower=True, check_finite=False)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        return (self.inverse.T @ x) / self.spread

    def variables(self, T: np.ndarray) -> np.ndarray:
        return self.root.T @ (T * self.spread)

    def pulled(self, g: np.ndarray) -> np.ndarray:
        return self.inverse @ (g / self.spread)


class Chain:
    knows_products = False

    def __init__(self, h: np.ndarray, stiffness: np.ndarray):
        """`stiffness` (cells, K): what ties every cell to the one before it, 0 for the first of a column."""
        self.below = np.zeros_like(h)  # L below its diagonal: of every cell with the next
        self.below[:-1] = -stiffness[1:]
        self.root = h + LEAST + stiffness - self.below
        factor_chain(self.root, self.below)

    def parameters(self, x: np.ndarray) -> np.ndarray:
        T = np.empty_like(self.root)
        backward(self.root, self.below, np.ascontiguousarray(x), T)
        return T

    def variables(self, T: np.ndarray) -> np.ndarray:
        x = self.root * T
        x[:-1] += self.below[:-1] * T[1:]
        return x

    def pulled(self, g: np.ndarray) -> np.ndarray:
        x = np.empty_like(self.root)
        forward(self.root, self.below, np.ascontiguousarray(g), x)
        return x
