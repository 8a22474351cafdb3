"""Files of labelled series, `.ts` (sktime, aeon, UCR and UEA archives).

After a header of lines `@name value` and `@data`, a series is a line: its dimensions separated by ":", their values by ",", and the
class last, if `@classLabel true`. "?" and NaN are missing values. `(time,value)` pairs are not read.

As a table it is long: a row is a step, with the columns "sequence" and "time" (both from 0) before those of the dimensions.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np

from .streams import Source
from .table import MISSING, DataError, Options, Table

SEQUENCE, TIME = "sequence", "time"
SERIES = 1024  # of a chunk, at most


def series(
    lines: Iterable[str], name: str, missing: Iterable[str] = MISSING
) -> Iterator[tuple[np.ndarray, str | None]]:
    """((T, D) array, label or None) of every series."""
    found = iter(lines)
    settings = header(found, name)
    labelled = settings.get("@classlabel", "true").lower().startswith("true")
    if settings.get("@timestamps", "false").lower() == "true":
        raise DataError(f"{name} has time stamps, which are not read: give a long table with a column of times (CSV)")
    n_dimensions, missing = None, frozenset(missing)
    for number, line in enumerate(found):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        *parts, last = text.split(":")
        label = last.strip() if labelled else None
        label = None if label in missing else label
        parts = parts if labelled else [*parts, last]
        if n_dimensions is None:
            n_dimensions = len(parts)
        if not parts or len(parts) != n_dimensions:
            raise DataError(
                f"{name}: series {number + 1} has {len(parts)} dimensions and the first one {n_dimensions}; dimensions and the class "
                "are separated by ':'"
            )
        yield steps_of(parts, f"{name}: series {number + 1}"), label


def header(lines: Iterator[str], name: str) -> dict[str, str]:
    """What the lines before the data say, by names in small letters."""
    settings: dict[str, str] = {}
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if not text.startswith("@"):
            break
        key, _, value = text.partition(" ")
        if key.lower() == "@data":
            return settings
        settings[key.lower()] = value.strip()
    raise DataError(f"{name} has no line @data: is it a .ts file?")


def steps_of(parts: list[str], place: str) -> np.ndarray:
    """(T, D) array; shorter dimensions end in missing values."""
    columns = []
    for part in parts:
        if "(" in part:
            raise DataError(
                f"{place} has pairs of time and value, which are not read: give a long table with a column of times"
            )
        try:
            cells = [np.nan if cell.strip() in MISSING else float(cell) for cell in part.split(",")]
        except ValueError as error:
            raise DataError(f"{place} has a value that is no number ({error})") from error
        columns.append(np.array(cells))
    found = np.full((max(map(len, columns)), len(columns)), np.nan)
    for j, column in enumerate(columns):
        found[: len(column), j] = column
    return found


def tables(source: Source, format: str, options: Options) -> Iterator[Table]:
    """Long tables of so many series that they have about `chunk_rows` steps."""
    import pandas as pd

    lines = io.TextIOWrapper(io.BufferedReader(source.start(), 1 << 20), encoding=options.encoding)
    given, first_row, number = series(lines, source.name, options.missing), 0, 0
    while chunk := list(islice(given, max(1, min(SERIES, options.chunk_rows)))):
        lengths = [len(steps) for steps, _ in chunk]
        names = [f"dim_{j}" for j in range(chunk[0][0].shape[1])]
        X = pd.DataFrame(np.concatenate([steps for steps, _ in chunk]), columns=names)
        X.insert(0, SEQUENCE, np.repeat(np.arange(number, number + len(chunk), dtype=float), lengths))
        X.insert(1, TIME, np.concatenate([np.arange(n, dtype=float) for n in lengths]))
        labels = np.empty(len(chunk), dtype=object)
        labels[:] = [label for _, label in chunk]
        y = np.repeat(labels, lengths) if any(label is not None for label in labels) else None
        yield Table(X, y, tuple(X.columns), dict.fromkeys(X.columns, "numeric"), first_row, "class")
        first_row, number = first_row + len(X), number + len(chunk)
    if number == 0:
        raise DataError(f"{source.name} has no series")
