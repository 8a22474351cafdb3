"""Rows beside a target: numbers in units of their deviations, texts as categories, counts where they are said to be; and targets."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from typing_extensions import override

from .guards import LARGEST
from .labels import is_missing
from .mixed import Mixed


@dataclass
class Inputs(Mixed):
    """`Mixed` in which every column of numbers is of numbers, however few values it has, and measured in standard units."""

    location: np.ndarray = field(default_factory=lambda: np.zeros(0))
    scale: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @override
    def _found(self, columns: list) -> list[str]:
        given = self.given_kinds
        if isinstance(given, str) and given == "auto":
            given = {}
        if isinstance(given, dict):
            given = {str(name): kind for name, kind in given.items()}
            numeric = {name for name, column in zip(self.columns, columns, strict=True) if column.is_numeric}
            plain = {name: "gaussian" for name in self.columns if name in numeric and given.get(name, "auto") == "auto"}
            given = {**given, **plain}
        return Mixed._found(replace(self, given_kinds=given), columns)

    @override
    def settle(self, rows, codes, weights, n_outcomes, *, is_plain):
        """Learn the units of the numbers from weighted rows."""
        numbers = rows[:, : len(self.named[0])]
        seen = ~np.isnan(numbers)
        total = np.maximum(weights @ seen, 1e-300)
        first = weights @ np.where(seen, numbers, 0.0) / total
        square = weights @ np.where(seen, numbers - first, 0.0) ** 2 / total
        varies = square > 1e-20 * first**2
        constant = np.maximum(1.0, 1e-10 * np.abs(first))  # what is lost in 1e99 - 1e99 must stay small in its units
        self.location, self.scale = first, np.where(varies & (square > 0), np.sqrt(square), constant)

    @override
    def scaled(self, rows):
        if not len(self.location):
            return rows
        rows = rows.copy()
        rows[:, : len(self.location)] = (rows[:, : len(self.location)] - self.location) / self.scale
        return rows

    def unscaled(self, rows: np.ndarray) -> np.ndarray:
        rows = rows.copy()
        rows[:, : len(self.location)] = self.location + self.scale * rows[:, : len(self.location)]
        return rows

    def log_scale(self, rows: np.ndarray) -> np.ndarray:
        """(n,) array: log of the volume of a standard unit, over the numbers a row has."""
        return (~np.isnan(rows[:, : len(self.scale)])) @ np.log(self.scale) if len(self.scale) else np.zeros(len(rows))


def read_targets(y, *, is_whole: bool, largest: float, family: str) -> np.ndarray:
    """(n,) float array of targets; NaN where there is none."""
    array = np.asarray(y)
    if array.dtype.kind == "O":
        values = [np.nan if is_missing(value) else value for value in array.ravel()]
        try:
            array = np.array(values, dtype=float).reshape(array.shape)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y holds values that are not numbers ({error}): a regressor needs numbers") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"y is of type {array.dtype}, but a regressor needs numbers; for labels use a classifier")
    array = array.astype(float)
    if np.isinf(array).any():
        raise ValueError("Input y contains infinity: only finite numbers and missing targets (NaN) are allowed")
    seen = array[~np.isnan(array)]
    if not len(seen):
        raise ValueError("y has no target in any row: every value is missing (NaN)")
    if np.abs(seen).max() > LARGEST:
        raise ValueError(f"y holds a number of size {np.abs(seen).max():g}, beyond {LARGEST:g}: give it in other units")
    if is_whole and not ((seen >= 0) & (seen == np.floor(seen)) & (seen <= largest)).all():
        bad = seen[(seen < 0) | (seen != np.floor(seen)) | (seen > largest)][0]
        allowed = "0 or 1" if largest == 1 else "whole numbers >= 0"
        raise ValueError(
            f"family={family!r} needs targets that are {allowed}, but y holds {bad:g}: try family='gaussian'"
        )
    return array
