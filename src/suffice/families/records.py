"""Records of arrays that add, scale and average: statistics, moments, pseudo-counts and natural parameters."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np


@dataclass(frozen=True, eq=False)
class Record:
    """A bundle of arrays with the arithmetic of a vector space. Subclasses only name the arrays."""

    def arrays(self) -> tuple[np.ndarray, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def copy(self) -> Self:
        return type(self)(*(np.array(array, dtype=float) for array in self.arrays()))

    def is_finite(self) -> bool:
        return all(bool(np.isfinite(array).all()) for array in self.arrays())

    def flat(self) -> np.ndarray:
        return np.concatenate([np.ravel(array) for array in self.arrays()])

    def __add__(self, other: Self) -> Self:
        return type(self)(*(a + b for a, b in zip(self.arrays(), other.arrays(), strict=True)))

    def __sub__(self, other: Self) -> Self:
        return type(self)(*(a - b for a, b in zip(self.arrays(), other.arrays(), strict=True)))

    def __mul__(self, factor: float) -> Self:
        return type(self)(*(factor * array for array in self.arrays()))

    __rmul__ = __mul__
