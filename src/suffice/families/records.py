"""Records of arrays that add, scale and average: statistics, moments, pseudo-counts and natural parameters.

A field is an array, a record, or a tuple of records, so the record of a structure holds those of its families.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Self

import numpy as np


@cache
def names_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def mapped(function: Callable, first: Any, *others: Any) -> Any:
    """`function` of every array of a value, or of the arrays that stand in the same place of two."""
    if isinstance(first, np.ndarray):
        return function(first, *others)
    kind: Any = type(first)
    if kind is tuple:
        return tuple([mapped(function, *parts) for parts in zip(first, *others, strict=True)])
    if not isinstance(first, Record):
        return function(first, *others)
    if others:
        (other,) = others
        return kind(*[mapped(function, getattr(first, name), getattr(other, name)) for name in names_of(kind)])
    return kind(*[mapped(function, getattr(first, name)) for name in names_of(kind)])


def leaves(value: Any) -> Iterator[np.ndarray]:
    """The arrays of a value, from the first field to the last."""
    if isinstance(value, Record):
        value = tuple(getattr(value, name) for name in names_of(type(value)))  # type: ignore[arg-type]
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


@dataclass(frozen=True, eq=False)
class Record:
    """A bundle of arrays with the arithmetic of a vector space. Subclasses only name the fields."""

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Every array, also those of records inside, in the order of the fields."""
        return tuple(leaves(self))

    def copy(self) -> Self:
        return mapped(lambda array: np.array(array, dtype=float), self)

    def is_finite(self) -> bool:
        return all(bool(np.isfinite(array).all()) for array in self.arrays())

    def flat(self) -> np.ndarray:
        return np.concatenate([np.ravel(array) for array in self.arrays()])

    def __add__(self, other: Self) -> Self:
        return mapped(operator.add, self, other)

    def __sub__(self, other: Self) -> Self:
        return mapped(operator.sub, self, other)

    def __mul__(self, factor: float) -> Self:
        return mapped(lambda array: factor * array, self)

    __rmul__ = __mul__
