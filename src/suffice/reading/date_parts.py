"""Dates of a frame into parts: the month, the day of the week and the hour as columns of categories beside the date.

A date alone is a number of days, a line that says nothing of seasons. A part is a column where its cycle comes round at least twice
in the rows of training (months in two years, days of the week in two weeks, hours in two days); dates without a time have no hour.
Dates of a time zone are read by its clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals as nw
import numpy as np

from .frames import Column, is_frame, names_of, of_series

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
THURSDAY = 3  # 1 January 1970


def month(days: np.ndarray) -> list[str]:
    return [MONTHS[place] for place in days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12]


def weekday(days: np.ndarray) -> list[str]:
    return [DAYS[place] for place in (np.floor(days).astype(np.int64) + THURSDAY) % 7]


def hour(days: np.ndarray) -> list[str]:
    shares = days - np.floor(days)  # exact to a microsecond
    minutes = np.floor(shares * 1440.0 + 1e-6).astype(np.int64)
    return [f"{place:02d}" for place in minutes // 60 % 24]


PARTS: dict[str, tuple[Callable[[np.ndarray], list[str]], float]] = {  # and days of two cycles
    "month": (month, 730.0),
    "day of the week": (weekday, 14.0),
    "hour": (hour, 2.0),
}


def parts_for(X: Any) -> dict[str, list[str]]:
    """By column of dates, the parts of it that repeat; nothing where columns have no names that are texts."""
    if not is_frame(X) or not all(isinstance(name, str) for name in names_of(X)):
        return {}
    found = {}
    for name in names_of(X):
        column = _clock(nw.from_native(X, eager_only=True)[name])
        if column is not None and len(days := _there(column)):
            span, has_times = float(np.ptp(days)), bool((days != np.floor(days)).any())
            own = [part for part, (_, least) in PARTS.items() if span >= least and (part != "hour" or has_times)]
            if own:
                found[name] = own
    taken = set(names_of(X))
    return {name: own for name, own in found.items() if not taken & {named(name, part) for part in own}}


def named(column: str, part: str) -> str:
    """What the column of a part is called."""
    return f"{column}: {part}"


def with_parts(X: Any, parts: dict[str, list[str]]) -> Any:
    """The frame with the parts as columns after all others."""
    if not parts or not is_frame(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    found = []
    for name, own in parts.items():
        column = _clock(frame[name]) if name in frame.columns else None
        days = np.full(len(frame), np.nan) if column is None else np.asarray(column.numbers)
        there = np.isfinite(days)
        for part in own:
            values = np.full(len(frame), None, dtype=object)
            values[there] = PARTS[part][0](days[there])
            found.append(nw.new_series(named(name, part), values.tolist(), nw.String, backend=frame.implementation))
    return frame.with_columns(*_aligned(frame, found)).to_native()


def _aligned(frame: Any, columns: list[Any]) -> list[Any]:
    """The columns with the index of the frame, where it has one."""
    index = nw.maybe_get_index(frame)
    return columns if index is None else [nw.maybe_set_index(column, index=index) for column in columns]


def _clock(series: Any) -> Column | None:
    """The column of a series of dates as its clocks show them; None of any other."""
    stored = getattr(series.to_native(), "dtype", None)  # narwhals does not know every time zone of pandas
    if getattr(series.dtype, "time_zone", None) or getattr(stored, "tz", None):
        series = series.dt.replace_time_zone(None)
    if not any(series.dtype == dtype for dtype in (nw.Date, nw.Datetime, nw.Object)):
        return None
    column = of_series(series)
    return column if column.kind == "date" else None


def _there(column: Column) -> np.ndarray:
    days = np.asarray(column.numbers)
    return days[np.isfinite(days)]
