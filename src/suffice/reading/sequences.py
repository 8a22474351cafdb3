"""Sequences in every shape that people keep them in -> one table of steps plus offsets; answers go back in the shape of the input.

    list of (T_i, D) arrays, of strings, of lists of symbols      answers: a list
    (N, T, D) array, tails of NaN are padding                     answers: (N, T, ...), padded with NaN (whole numbers: -1)
    DataFrame with `sequence` (and `time`) columns                answers: in the order of its rows
    (n, D) array with `lengths`                                   answers: (n, ...)
    (n, D) array alone: one sequence                              answers: (n, ...)

Sequence i is rows offsets[i] .. offsets[i + 1] of the table. Rows of a DataFrame need no order: `order` has their places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .frames import columns_of, is_frame, names_of, taken, without
from .labels import is_missing


@dataclass(eq=False)
class Sequences:
    """A table of steps, cut at `offsets`."""

    table: Any  # (n, D) array or DataFrame
    offsets: np.ndarray
    shape: str = "flat"  # "flat", "list" or "padded"
    padded: np.ndarray | None = None  # (N, T) of bool: which steps of the padded array there are
    order: np.ndarray | None = None  # rows of the DataFrame, in the order of the table
    keys: np.ndarray | None = None  # what the DataFrame calls the sequences

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_steps(self) -> int:
        return int(self.offsets[-1])

    def unread(self, values: np.ndarray) -> Any:
        """Values of the steps (n, ...) in the shape of the input."""
        if self.shape == "list":
            return [values[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]
        if self.padded is not None:
            empty: Any = -1 if values.dtype.kind in "iu" else np.nan
            result = np.full(self.padded.shape + values.shape[1:], empty, dtype=values.dtype)
            result[self.padded] = values
            return result
        if self.order is not None:
            result = np.empty_like(values)
            result[self.order] = values
            return result
        return values

    def read(self, values: Any, name: str) -> np.ndarray:
        """(n, ...) array: values of the steps that were given in the shape of the input (states, shares of states)."""
        if self.shape == "list":
            parts = [np.asarray(part, dtype=float) for part in values]
            wrong = (
                [k for k, part in enumerate(parts) if len(part) != self.lengths[k]]
                if len(parts) == self.n_sequences
                else [0]
            )
            if wrong:
                raise ValueError(
                    f"{name} must have one array for each sequence of X, as long as that; number {wrong[0]} has not"
                )
            parts = [part for part in parts if len(part)]
            flat = np.concatenate(parts) if parts else np.zeros(0)
        else:
            flat = np.asarray(values, dtype=float)
            if self.padded is not None:
                if flat.shape[:2] != self.padded.shape:
                    raise ValueError(
                        f"{name} has shape {flat.shape}; it must begin with that of X, {self.padded.shape}"
                    )
                flat = flat[self.padded]
            elif len(flat) == self.n_steps and self.order is not None:
                flat = flat[self.order]
        if len(flat) != self.n_steps:
            raise ValueError(f"{name} has {len(flat)} steps and X has {self.n_steps}")
        return flat


def sequences_of(X: Any, lengths: Any = None, sequence: Any = None, time: Any = None) -> Sequences:
    """X in any of the shapes above."""
    if is_frame(X):
        return of_frame(X, lengths, sequence, time)
    if sequence is not None or time is not None:
        raise ValueError(f"sequence={sequence!r} and time={time!r} name columns, but X is no DataFrame")
    if lengths is not None:
        table = np.asarray(X)
        if table.ndim != 2:
            raise ValueError(f"X has {table.ndim} dimensions; with lengths= it must have 2: steps and columns")
        return Sequences(table, checked_offsets(lengths, len(table)))
    if isinstance(X, (list, tuple)):
        return of_list(X)
    if hasattr(X, "toarray"):
        raise TypeError("X is a sparse matrix: sequences are dense, give X.toarray()")
    table = np.asarray(X)
    if table.ndim == 3:
        return of_padded(table)
    if table.ndim == 1 and table.dtype == object:
        return of_list(list(table))
    return Sequences(table, np.array([0, len(table) if table.ndim else 0]))


def checked_offsets(lengths: Any, n: int) -> np.ndarray:
    """Where sequences of these lengths begin and end."""
    found = np.asarray(lengths)
    if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
        raise ValueError(f"lengths={lengths!r} must be whole numbers >= 0, one for each sequence")
    if found.sum() != n:
        raise ValueError(f"lengths add up to {found.sum()}, but X has {n} rows")
    return np.concatenate([[0], np.cumsum(found)]).astype(np.int64)


def of_list(X: Any) -> Sequences:
    """Of a list of sequences, each an array, a string or a list of symbols."""
    if not len(X):
        raise ValueError("X is an empty list: it needs at least one sequence")
    parts = [steps_of(part, k) for k, part in enumerate(X)]
    widths = {part.shape[1] for part in parts if len(part)}
    if len(widths) > 1:
        raise ValueError(f"sequences of X have {' and '.join(map(str, sorted(widths)))} columns: all need the same")
    width = widths.pop() if widths else 1
    kept = [part for part in parts if len(part)]
    is_object = any(part.dtype == object for part in kept)
    kept = [part.astype(object) if is_object else part for part in kept]
    table = np.concatenate(kept) if kept else np.zeros((0, width))
    return Sequences(table, np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64), "list")


def steps_of(part: Any, number: int) -> np.ndarray:
    """(T, D) array of one sequence."""
    if isinstance(part, str):
        return np.array([*part, None], dtype=object)[:-1, None]
    if is_frame(part):
        part = np.asarray(part)
    if not np.ndim(part) and not hasattr(part, "__len__"):
        raise ValueError(
            f"X is a list whose entry {number} is {part!r}: a list has one entry for each sequence (an array, string or list of "
            "symbols); give a single sequence as an array of shape (steps, columns)"
        )
    found = part if isinstance(part, np.ndarray) else of_symbols(part)
    if found.dtype.kind in "US":
        found = found.astype(object)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2:
        raise ValueError(f"sequence {number} of X has {found.ndim} dimensions; it must have 2: steps and columns")
    return found


def of_symbols(part: Any) -> np.ndarray:
    """An array of a list of numbers, of symbols, or of rows of them."""
    values = list(part)
    if any(isinstance(value, str) or value is None for value in values):
        return np.array([*values, None], dtype=object)[:-1]
    if (
        values
        and isinstance(values[0], (list, tuple))
        and any(isinstance(v, str) or v is None for row in values for v in row)
    ):
        return np.array(values, dtype=object)
    return np.asarray(values)


def of_padded(X: np.ndarray) -> Sequences:
    """Of an (N, T, D) array; steps after the last one with a cell are padding."""
    missing = (
        np.vectorize(is_missing, otypes=[bool])(X)
        if X.dtype == object
        else np.isnan(X)
        if X.dtype.kind == "f"
        else None
    )
    N, T = X.shape[:2]
    if missing is None or not X.size:
        there = np.ones((N, T), dtype=bool)
    else:
        seen = ~missing.all(axis=2)
        there = np.cumsum(seen[:, ::-1], axis=1)[:, ::-1] > 0
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    return Sequences(X[there], offsets, "padded", padded=there)


def of_frame(X: Any, lengths: Any, sequence: Any, time: Any) -> Sequences:
    """Of a DataFrame whose column `sequence` says which sequence a row is of, and `time` in which order."""
    names = names_of(X)
    for name, column in (("sequence", sequence), ("time", time)):
        if column is not None and column not in names:
            raise ValueError(f"{name}={column!r} is not a column of X: it has {names[:20]!r}")
    columns = dict(zip(names, columns_of(X), strict=True))
    times = None if time is None else columns[time].in_order()
    if sequence is None:
        n = X.shape[0]
        order = None if times is None else np.argsort(times, kind="stable")
        offsets = np.array([0, n]) if lengths is None else checked_offsets(lengths, n)
        if order is not None and len(offsets) > 2:
            raise ValueError("time= with lengths= is not clear: name the column of the sequences (sequence=)")
        return Sequences(X if order is None else taken(without(X, [time]), order), offsets, order=order)
    if columns[sequence].missing.any():
        raise ValueError(f"the column {sequence!r} of X has missing cells: every row needs its sequence")
    codes, keys = columns[sequence].factorized()
    order = np.lexsort((times, codes)) if times is not None else np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=len(keys))
    table = taken(without(X, [sequence] if time is None else [sequence, time]), order)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Sequences(table, offsets, order=order, keys=keys)
