"""Tags of the steps of sequences, in the shape of the sequences, and columns whose rare values count as one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import column_or_1d
from typing_extensions import override

from ..saving.schema import require
from .frames import columns_of
from .labels import encoded, is_missing, split_labels
from .ordered import Ordered
from .sequences import Sequences

RARE = "<rare>"


def flat_tags(y: Any, steps: Sequences) -> list:
    """A tag for every step, in the order of the table; None where it is not known (in the place of a list: all of that sequence)."""
    if y is None:
        raise ValueError(
            "a tagger requires y to be passed, but the target y is None: give a tag for every step (None where it is not known)"
        )
    if steps.shape == "list":
        if isinstance(y, str) or not hasattr(y, "__len__") or len(y) != steps.n_sequences:
            n = len(y) if hasattr(y, "__len__") else 0
            raise ValueError(f"y has {n} entries and X has {steps.n_sequences} sequences: give a list of tags for each")
        values: list = []
        for k, (own, length) in enumerate(zip(y, steps.lengths, strict=True)):
            if own is None:
                values += [None] * int(length)
                continue
            if isinstance(own, str) or not hasattr(own, "__len__"):
                raise ValueError(f"y[{k}] is {own!r}: it must be a list of tags, one for each of the {length} steps")
            if len(own) != length:
                raise ValueError(f"y[{k}] has {len(own)} tags, and sequence {k} of X has {length} steps")
            values += list(own)
        return values
    array = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y, dtype=None if hasattr(y, "dtype") else object)
    if steps.padded is not None:
        if array.shape[:2] != steps.padded.shape:
            raise ValueError(
                f"y has shape {array.shape}; it must have that of X without its columns, {steps.padded.shape}"
            )
        array = array[steps.padded]
    if array.ndim == 2 and array.shape[1] == 1:
        array = column_or_1d(array, warn=True)
    if array.shape != (steps.n_steps,):
        raise ValueError(f"y has shape {array.shape}, and X has {steps.n_steps} steps: give a tag for every step")
    return (array if steps.order is None else array[steps.order]).tolist()


def coded_tags(y: Any, steps: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """The tags in order, and the code of every step's (-1: not known)."""
    values = flat_tags(y, steps)
    if not values:
        raise ValueError("X has no steps: at least one sequence needs one")
    labels, unlabelled = split_labels([None if is_missing(value) else value for value in values])
    return encoded(labels, unlabelled)


@dataclass
class Frequent(Ordered):
    """Columns of several kinds. In a category column, values that occur fewer than `min_count` times are one category (the last), and
    so are new values; where there is no rare value, a new one counts as missing."""

    min_count: int = 1
    has_rare: list[str] = field(default_factory=list)  # columns with such values

    stored_as: ClassVar[dict[str, str]] = {"min_count": "int 1..", "has_rare": "list of str"}

    @override
    def check_stored(self) -> None:
        super().check_stored()
        require(all(self.categories.get(name) for name in self.has_rare), "has_rare must be columns of categories")

    @override
    def learn(self, X, names=None):
        super().learn(X, names)
        if self.min_count == 1:
            return self.read(X)
        for name, column in zip(self.columns, columns_of(X), strict=True):
            values = self.categories.get(name, [])
            codes = column.coded(values)[0]
            counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64), minlength=len(values))
            kept = [value for value, count in zip(values, counts, strict=True) if count >= self.min_count]
            if len(kept) < len(values):
                self.categories[name] = [*kept, RARE]
                self.has_rare.append(name)
        return self.read(X)

    @override
    def _codes(self, column, name):
        if name not in self.has_rare:
            return super()._codes(column, name)
        *values, _ = self.categories[name]
        codes, _ = column.coded(values)
        return np.where(np.isnan(codes) & ~column.missing, float(len(values)), codes), 0
