"""Dates in a file of text become days since 1970, as in data frames: 2024-03-01, 2024-03-01 12:30:00 and 01.03.2024.

Dates with slashes are left alone: 03/04/2024 is a day in March in one country and in April in another.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
DOTTED = re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?P<time> \d{2}:\d{2}(:\d{2})?)?")
DAY = 86_400.0  # seconds
FIRST, LAST = -719_162.0, 2_932_897.0  # days from 1970 to the years 1 and 10000


def are_dates(cells: Any, missing: Any = ()) -> bool:
    """Whether there are cells, and all that hold something are dates written alike."""
    texts = {str(cell).strip() for cell in cells} - {*missing, ""}
    return bool(texts) and any(all(form.fullmatch(text) for text in texts) for form in (ISO, DOTTED))


def days_of(texts: Any) -> np.ndarray:
    """(n,) array: days since 1970 (UTC) of a pandas Series of texts; NaN where a cell is no date."""
    import pandas as pd

    cells = texts.astype(object).map(_iso, na_action="ignore")
    found = pd.to_datetime(cells.where(cells.notna(), None), errors="coerce", utc=True, format="ISO8601")
    return ((found - pd.Timestamp(0, tz="UTC")).dt.total_seconds() / DAY).to_numpy(dtype="float64")


def clock_times(days: Any) -> np.ndarray:
    """(n,) array of datetime64[us]: days since 1970 as dates and times; NaT where one is missing or in no year from 1 to 9999."""
    days = np.asarray(days, dtype=np.float64)
    there = (days >= FIRST) & (days < LAST)
    microseconds = np.round(np.where(there, days, 0.0) * DAY * 1e6).astype(np.int64)
    return np.where(there, microseconds.astype("datetime64[us]"), np.datetime64("NaT", "us"))


def days_of_times(times: Any) -> np.ndarray:
    """(n,) array: days since 1970 of a pandas Series of dates and times, by their own clocks; NaN where one is missing."""
    if getattr(times.dtype, "tz", None) is not None:
        times = times.dt.tz_localize(None)
    clock = times.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(clock), np.nan, clock.astype(np.int64) / (DAY * 1e6))


def _iso(cell: object) -> str | None:
    """2019-08-04 of 04.08.2019; None where a cell is no date."""
    text = str(cell).strip()
    if match := DOTTED.fullmatch(text):
        return f"{match['year']}-{match['month']:0>2}-{match['day']:0>2}{match['time'] or ''}"
    return text if ISO.fullmatch(text) else None


def shown(day: float) -> str:
    """A day as a person writes it."""
    return str(np.datetime64(0, "D") + np.timedelta64(int(np.floor(day)), "D"))
