"""Numbers as bins: where a column is cut, and values as positions among the bins and back.

A value that more than one row in `n_bins` has is a bin of its own (an atom); what lies between atoms is cut at quantiles, half-way
between two neighbouring values. A position is the number of the bin plus the share of its width below the value (1/2 for an atom);
a value beyond all others belongs to the outermost bin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..saving.schema import require

WITHIN = 1.0 - 1e-9  # a position stays inside of its bin
LEAST_HEAVY = 3  # rows that make a value heavy, at the least


@dataclass(frozen=True, eq=False)
class Cuts:
    """cuts[b] lies between bin b and bin b + 1; left and right are the edges of the bins (the same for an atom)."""

    cuts: np.ndarray
    left: np.ndarray
    right: np.ndarray

    stored_as: ClassVar[dict[str, str]] = {"cuts": "float[*]", "left": "float[*]", "right": "float[*]"}

    def check_stored(self) -> None:
        """What a file must hold: edges of one bin more than there are cuts, in order (`saving.schema`)."""
        n = len(self.cuts) + 1
        require(len(self.left) == n and len(self.right) == n, f"left and right must be the edges of {n} bins")
        require((np.diff(self.cuts) >= 0).all() and (self.right >= self.left).all(), "cuts and edges must be in order")

    def __len__(self) -> int:
        return len(self.left)

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Positions of values; NaN stays NaN."""
        missing = np.isnan(values)
        given = np.where(missing, 0.0, values)
        place = np.searchsorted(self.cuts, given, side="right")
        left, width = self.left[place], self.right[place] - self.left[place]
        share = np.where(width > 0, (given - left) / np.where(width > 0, width, 1.0), 0.5)
        return np.where(missing, np.nan, place + np.clip(share, 0.0, WITHIN))

    def values(self, positions: np.ndarray) -> np.ndarray:
        missing = np.isnan(positions)
        given = np.where(missing, 0.0, positions)
        place = np.clip(given.astype(np.int64), 0, len(self.left) - 1)
        found = self.left[place] + (given - place) * (self.right[place] - self.left[place])
        return np.where(missing, np.nan, found)


def n_bins_for(n_rows: int) -> int:
    """A random walk shares strength between neighbours, so bins may be narrow: about two times the root of the rows."""
    return int(np.clip(2.0 * np.sqrt(n_rows), 16, 64 if n_rows < 5_000 else 128 if n_rows < 100_000 else 255))


def cuts_of(values: np.ndarray, n_bins: int) -> Cuts:
    """Cuts of a column (NaN: missing)."""
    values, counts = np.unique(values[~np.isnan(values)], return_counts=True)
    if not len(values):
        return Cuts(np.zeros(0), np.zeros(1), np.zeros(1))
    n = int(counts.sum())
    is_heavy = counts > max(n / n_bins, LEAST_HEAVY)
    light = np.where(is_heavy, 0, counts)
    size = max(light.sum() / n_bins, 1.0)
    run = np.floor((np.cumsum(light) - 0.5 * light) / size).astype(np.int64)  # equal parts of what is not heavy
    starts = np.ones(len(values), dtype=bool)
    starts[1:] = is_heavy[1:] | is_heavy[:-1] | (run[1:] != run[:-1])
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(values)) - 1
    cuts = 0.5 * values[last[:-1]] + 0.5 * values[first[1:]]
    left, right = np.append(values[0], cuts), np.append(cuts, values[-1])
    single = first == last
    is_atom = is_heavy[first] | (single & (len(values) <= n_bins)) | (left >= right)
    return Cuts(cuts, np.where(is_atom, values[first], left), np.where(is_atom, values[first], right))
