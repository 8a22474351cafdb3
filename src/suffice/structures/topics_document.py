"""Topics of one document by their fixed point, in readable form: the twin of `suffice.kernels.structures.topics`.

What is maximised, "map" and "variational", is in `suffice.structures.topics`; shape_z = a + sum_w x_w r_wz is its fixed point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

FULL_STEPS = 200  # of the fixed point


@dataclass(frozen=True)
class Document:
    """`values` are counts of the document's words, `beta` their probabilities [words, topics]."""

    concentration: float
    is_map: bool

    def theta(self, shape: np.ndarray) -> np.ndarray:
        """phi (map) or exp(E log phi) (variational); topics run along the first axis."""
        total = shape.sum(axis=0)
        return shape / total if self.is_map else np.exp(digamma(shape) - digamma(total))

    def shares(self, shape: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """r[words, topics]."""
        joint = self.theta(shape) * beta
        return joint / joint.sum(axis=1, keepdims=True)

    def inferred(self, values, beta, n_steps: int = FULL_STEPS, shape=None) -> tuple[np.ndarray, np.ndarray]:
        """The fixed point: (shape[topics], r[words, topics])."""
        if shape is None:
            shape = np.full(beta.shape[1], self.concentration + values.sum() / beta.shape[1])
        for _ in range(n_steps):
            shape = self.concentration + values @ self.shares(shape, beta)
        return shape, self.shares(shape, beta)

    def score(self, values, beta, shape) -> float:
        """l(x) at the given shape: the maximum where `shape` is the fixed point, a lower value elsewhere."""
        a, Z = self.concentration, len(shape)
        words = float(values @ np.log(beta @ self.theta(shape)))
        if self.is_map:
            return words + a * float(np.log(Z * shape / shape.sum()).sum())
        logs = digamma(shape) - digamma(shape.sum())
        prior = gammaln(Z * a) - Z * gammaln(a) + (a - 1.0) * logs.sum()
        posterior = gammaln(shape.sum()) - gammaln(shape).sum() + ((shape - 1.0) * logs).sum()
        return words + float(prior - posterior)
