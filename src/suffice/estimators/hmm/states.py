"""What is known beforehand: cells of the transitions, and states of the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...reading.sequences import Sequences


def checked_cells(name: str, given: Any, shape: tuple[int, ...], leaves_room: bool) -> np.ndarray:
    """Fixed probabilities and NaN where they are learned; every row can add up to 1 (or less, where a sequence can end)."""
    cells = np.array(given, dtype=float)
    if cells.shape != shape:
        raise ValueError(f"{name} has shape {cells.shape}; it must have {shape}")
    free = np.isnan(cells)
    if ((cells < 0) | (cells > 1)).any():
        raise ValueError(
            f"{name} holds {cells[(cells < 0) | (cells > 1)][0]}: cells are probabilities, or NaN to learn them"
        )
    total = np.atleast_1d(np.where(free, 0.0, cells).sum(axis=-1))
    open_rows = np.atleast_1d(free.any(axis=-1)) | leaves_room
    wrong = np.where(open_rows, total > 1 + 1e-9, np.abs(total - 1) > 1e-9)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"row {row} of {name} adds up to {total[row]:g}: fixed cells of a row must add up to 1, or to less where others are NaN"
        )
    return cells


def checked_ties(
    ties: Any, n_states: int, cells: np.ndarray | None = None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(S,) numbers of the emissions and of the rows of transitions, those that states share being equal; None: every state its own."""
    found: dict[str, np.ndarray | None] = {"emissions": None, "transitions": None}
    for name, given in (ties or {}).items():
        if name not in found:
            raise ValueError(f"ties has the key {name!r}; it must be 'emissions' or 'transitions'")
        if np.shape(given) != (n_states,):
            raise ValueError(f"ties[{name!r}]={given!r} must name a group for each of the {n_states} states")
        found[name] = np.unique(np.asarray(given), return_inverse=True)[1]
    rows = found["transitions"]
    if rows is not None and cells is not None:
        first = np.unique(rows, return_index=True)[1][rows]
        if not np.array_equal(cells, cells[first], equal_nan=True):
            raise ValueError(
                "ties['transitions'] joins states whose transitions are fixed or forbidden in other places"
            )
    return found["emissions"], rows


def evidence_of(states: Any, steps: Sequences, n_states: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(n,) known states (-1: not known), and (n, S) logarithms of what is known; None where nothing is."""
    if states is None:
        return None, None
    values = steps.read(states, "states")
    if values.ndim == 2 and values.shape[1] == n_states and steps.n_steps:
        unknown = np.isnan(values).any(axis=1)
        values = np.where(unknown[:, None], 1.0, values)
        if (values < 0).any() or not (values.sum(axis=1) > 0).all() or not np.isfinite(values).all():
            raise ValueError("states holds weights that are negative, infinite or zero for all states of a step")
        sure = (values > 0).sum(axis=1) == 1
        with np.errstate(divide="ignore"):
            return np.where(sure, values.argmax(axis=1), -1), np.log(values)
    if values.ndim != 1:
        raise ValueError(
            f"states has {values.shape[1:]} numbers for every step; it must have one state, or weights of {n_states} states"
        )
    values = np.where(np.isnan(values), -1, values)
    wrong = (values != np.floor(values)) | (values < -1) | (values >= n_states)
    if wrong.any():
        raise ValueError(
            f"states has the value {values[wrong][0]:g}; states are 0 to {n_states - 1}, and -1 or NaN: unknown"
        )
    labels = values.astype(np.int64)
    if not (labels >= 0).any():
        return None, None
    known = labels[:, None] >= 0
    return labels, np.where(known & (labels[:, None] != np.arange(n_states)), -np.inf, 0.0)
