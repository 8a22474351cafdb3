r"""Variables in which a search goes straight: parameters T and scaled variables x, one way and the other.

Diagonal   x = sqrt(h) T                         h: roughly the second derivatives
Chain      x = L' T,  L L' = diag(h) + the tridiagonal second derivatives of a prior that ties neighbouring cells
"""

from __future__ import annotations

import numpy as np

from ...kernels.loops.chain import backward, factor_chain, forward

LEAST = 1e-9
STEEPEST = 1e200


class Diagonal:
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


class Chain:
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
