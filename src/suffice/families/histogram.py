r"""Numbers as bins, independent given the outcome: `categorical` cells with a density in the units of the data.

    log p(x | k) = sum_j log q_kj(bin of x_j) - log width_j(bin)

A bin is an interval, over which the density is level, or a single value that is frequent (an atom: left = right, a probability and no
density). The widths are the base measure, which no outcome depends on.

Rows hold positions, bin + the share of its width that lies below the value: `reading.bins` has the maps of values to positions and
back, and compiled loops read the whole part only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from typing_extensions import override

from ..saving.schema import require
from .categorical import Categorical, Moments
from .rows import dense

WITHIN = 1.0 - 1e-9  # a position stays inside of its bin


@dataclass(frozen=True, eq=False)
class Histogram(Categorical):
    left: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (cells,) edges in the units of the data
    right: np.ndarray = field(default_factory=lambda: np.zeros(0))

    stored_as: ClassVar[dict[str, str]] = {"left": "float[*]", "right": "float[*]"}

    def check_stored(self) -> None:
        cells = int(self.n_categories.sum())
        require(len(self.left) == len(self.right) == cells, f"left and right must be edges of {cells} cells")

    conditional = "bins"

    @cached_property
    def middle(self) -> np.ndarray:
        return 0.5 * (self.left + self.right)

    @cached_property
    def log_width(self) -> np.ndarray:
        """(cells,) array: 0 for an atom."""
        width = self.right - self.left
        return np.log(np.where(width > 0, width, 1.0))

    @override
    def log_base_measure(self, X):
        return -(self.one_hot(X) @ self.log_width)

    @override
    def one_hot(self, X):
        return super().one_hot(np.floor(dense(X)))

    @override
    def points(self, X, weights):
        return super().points(np.floor(dense(X)), weights)

    def position(self, j: int, value: np.ndarray) -> np.ndarray:
        """Positions of values of a column."""
        cells = slice(self.offset[j], self.offset[j] + self.n_categories[j])
        left, right = self.left[cells], self.right[cells]
        place = np.clip(np.searchsorted(left, value, side="right") - 1, 0, len(left) - 1)
        width = right[place] - left[place]
        share = np.where(width > 0, (value - left[place]) / np.where(width > 0, width, 1.0), 0.5)
        return place + np.clip(share, 0.0, WITHIN)

    @cached_property
    def squares(self) -> np.ndarray:
        """(cells,) array: the mean square of a value in the cell."""
        return self.middle**2 + (self.right - self.left) ** 2 / 12.0

    @override
    def cell_shares(self, moments: Moments, j) -> None:
        return None

    @override
    def cell_prediction(self, moments: Moments, X, j):
        """In the units of the data."""
        cells = slice(self.offset[j], self.offset[j] + self.n_categories[j])
        shares = self.probabilities(moments)[cells].T
        mean = shares @ self.middle[cells]
        return mean[None], np.maximum(shares @ self.squares[cells] - mean**2, 0.0)[None]

    @override
    def imputed(self, moments: Moments, X, responsibilities):
        """Positions of the expectations, and standard deviations in the units of the data."""
        shares, squares = self.probabilities(moments), self.squares
        filled, spread = X.copy(), np.zeros(X.shape)
        for j, (start, size) in enumerate(zip(self.offset, self.n_categories, strict=True)):
            rows, cells = np.flatnonzero(np.isnan(X[:, j])), slice(start, start + size)
            own = responsibilities[rows] @ shares[cells].T
            centre = own @ self.middle[cells]
            filled[rows, j] = self.position(j, centre)
            spread[rows, j] = np.sqrt(np.maximum(own @ squares[cells] - centre**2, 0.0))
        return filled, spread

    @override
    def sample(self, moments: Moments, outcomes, generator) -> np.ndarray:
        return super().sample(moments, outcomes, generator) + WITHIN * generator.random(
            (len(outcomes), self.n_features)
        )
