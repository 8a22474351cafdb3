"""Parts of dask collections as blocks: partitions of a dask.dataframe, chunks of rows of a dask.array, or a list of delayed parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .dataset import Blocks
from .pieces import Part
from .table import DataError


def is_collection(X: Any) -> bool:
    """Whether X is of dask, or a list of delayed values; dask is not imported for the answer."""
    if isinstance(X, (list, tuple)) and len(X):
        return all(_is_of(part, "dask.delayed") or _is_of(part, "distributed.client") for part in X)
    return _is_of(X, "dask.dataframe") or _is_of(X, "dask.array")


def _is_of(X: Any, module: str) -> bool:
    return any(kind.__module__.startswith(module) for kind in type(X).__mro__[:3])


@dataclass(frozen=True)
class Opener:
    """Rows of what a part holds: (X, y, weights), of which the last ones may be missing, or X alone."""

    number: int

    def __call__(self, raw: Any) -> Part:
        parts = tuple(raw) if isinstance(raw, (tuple, list)) else (raw,)
        X, y, weights = (*parts, None, None)[:3]
        X = X if hasattr(X, "shape") and len(X.shape) == 2 else list(X)
        return Part(X, y, None if weights is None else weights)


@dataclass(frozen=True)
class DelayedPart:
    """A part of a collection; a cluster computes it, and threads here do where there is no cluster."""

    delayed: Any
    opener: Opener

    def load(self) -> Part:
        import dask

        return self.opener(dask.compute(self.delayed, scheduler="synchronous")[0])


def collected(X: Any, y: Any = None, weights: Any = None, lengths: Any = None) -> Blocks:
    """The blocks of a collection, with those of its labels and weights; `lengths` are those of sequences in a dask.array."""
    import dask

    if lengths is not None:
        X = _lists(X, lengths)
    if isinstance(X, (list, tuple)):
        if y is not None:
            raise DataError("X is a list of delayed parts: each of them gives (X, y) together, so leave y out")
        values = list(X)
    else:
        parts = [_parts(each, X) for each in (X, y, weights) if each is not None]
        if y is None and weights is not None:
            parts.insert(1, [None] * len(parts[0]))
        if len({len(own) for own in parts}) > 1:
            raise DataError(f"X, y and weights have {[len(own) for own in parts]} parts: give them the same partitions")
        values = [dask.delayed(tuple)(list(own)) for own in zip(*parts, strict=True)]
    return Blocks([DelayedPart(value, Opener(number)) for number, value in enumerate(values)], type(X).__name__)


def _lists(X: Any, lengths: Any) -> list:
    """Delayed lists of the sequences that lie one after the other in a dask.array, each in the part where it ends."""
    import dask

    if not _is_of(X, "dask.array") or X.ndim != 2:
        raise DataError(
            "lengths are of sequences in a dask.array of two dimensions: name the column of others (sequence=)"
        )
    sizes = np.asarray(lengths)
    ends = np.cumsum(sizes)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 0).any() or not len(sizes) or ends[-1] != X.shape[0]:
        raise DataError(f"lengths must be whole numbers >= 0 that add up to the {X.shape[0]} rows of X")
    part = np.searchsorted(np.cumsum(X.chunks[0]), ends)
    groups = [sizes[part == number] for number in np.unique(part)]
    X = X.rechunk({0: tuple(int(own.sum()) for own in groups), 1: -1})
    return [dask.delayed(cut)(chunk, own.tolist()) for chunk, own in zip(X.to_delayed().ravel(), groups, strict=True)]


def cut(X: np.ndarray, lengths: list[int]) -> tuple[list]:
    """A part that is a list of sequences."""
    return (np.split(X, np.cumsum(lengths)[:-1]),)


def _parts(value: Any, X: Any) -> list:
    """Delayed parts: of rows, in their order."""
    if not hasattr(value, "to_delayed"):
        raise DataError(
            f"X is a dask collection and {type(value).__name__} is none: give labels and weights as dask collections too"
        )
    if _is_of(value, "dask.array"):
        if value.ndim == 2:
            value = value.rechunk({1: -1})
        elif hasattr(X, "chunks") and value.chunks[0] != X.chunks[0]:
            value = value.rechunk({0: X.chunks[0]})
    found = value.to_delayed()
    return list(found.ravel()) if hasattr(found, "ravel") else list(found)
