"""The form of a joint: those of its families side by side, and the masses of the outcomes (see `suffice.families.forms`).

Of one family it is that family's form with log pi_k in the constant, compiled loops included. Of several, phi, theta and buffers are
lists with an entry for every family, and the sums of all of them lie in one flat array.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .base import Moments, log_shares, side_by_side


class JointForm:
    """log p(x, k) = constant_k + <theta_k, phi(x)>."""

    def __init__(self, model, X, parts: list | None = None):
        self.model, self.X = model, X
        if parts is None:
            own = (
                [X]
                if len(model.families) == 1
                else [np.ascontiguousarray(part) for part in side_by_side(model.families, X)]
            )
            parts = [family.form_for(part)(family, part) for family, part in zip(model.families, own, strict=True)]
        self.parts, self.size = parts, sum(part.size for part in parts)
        self.is_single = len(parts) == 1
        self.shapes = [part.zeros().shape for part in parts]  # of the sums
        self.ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])

    def some(self, rows) -> JointForm:
        """The form of some of the rows, with the same columns of phi."""
        return JointForm(self.model, self.X[rows], [part.some(rows) for part in self.parts])

    @property
    def chunk(self) -> int:
        return min(part.chunk for part in self.parts)

    def buffers(self) -> list:
        return [part.buffers() for part in self.parts]

    def read(self, first: int, n: int, buffers: list) -> list:
        return [part.read(first, n, own) for part, own in zip(self.parts, buffers, strict=True)]

    def coefficients(self, moments: Moments) -> tuple[np.ndarray, Any]:
        found = [part.coefficients(own) for part, own in zip(self.parts, moments.columns, strict=True)]
        return self.with_masses(log_shares(moments.mass, moments.mass.sum()), found)

    def with_masses(self, log_mass: np.ndarray, found: list[tuple]) -> tuple[np.ndarray, Any]:
        """(constant, theta) of what the families' forms gave; theta of one family is its own, as compiled loops take it."""
        constant = log_mass + sum(own for own, _ in found)
        return constant, found[0][1] if self.is_single else [theta for _, theta in found]

    def _thetas(self, theta) -> list:
        return [theta] if self.is_single else theta

    def scores(self, phi: list, theta) -> np.ndarray:
        found = zip(self.parts, phi, self._thetas(theta), strict=True)
        first, *others = (part.scores(own, own_theta) for part, own, own_theta in found)
        for other in others:
            first = first + other
        return first

    def all_scores(self, coefficients, part: slice) -> np.ndarray:
        """(rows of the part, outcomes) array: log p(x_i, k), a cache-full of rows at a time."""
        (constant, theta), buffers = coefficients, self.buffers()
        result = np.empty((part.stop - part.start, self.model.n_outcomes))
        for first in range(part.start, part.stop, self.chunk):
            n = min(self.chunk, part.stop - first)
            phi = self.read(first, n, buffers)
            result[first - part.start : first - part.start + n] = self.scores(phi, theta) + constant
        return result

    def zeros(self) -> np.ndarray:
        if self.is_single:
            return self.parts[0].zeros()
        return np.zeros(self.ends[-1])

    def _outs(self, out: np.ndarray) -> list[np.ndarray]:
        """The sums of every family: views of `out`."""
        if self.is_single:
            return [out]
        return [out[a:b].reshape(shape) for (a, b), shape in zip(pairwise(self.ends), self.shapes, strict=True)]

    def add(self, phi: list, weights: np.ndarray, theta, out: np.ndarray) -> None:
        for part, own, own_theta, sums in zip(self.parts, phi, self._thetas(theta), self._outs(out), strict=True):
            part.add(own, weights, own_theta, sums)

    def record(self, mass: np.ndarray, out: np.ndarray) -> Moments:
        return Moments(
            mass, tuple(part.record(mass, own) for part, own in zip(self.parts, self._outs(out), strict=True))
        )

    def kernel(self) -> tuple[str, Any, np.ndarray] | None:
        """(kind, rows, extra) of `suffice.kernels.structures.mixture_sums`."""
        return self.parts[0].kernel() if self.is_single else None
