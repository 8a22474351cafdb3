"""Data frames of any library as columns that all look alike: pandas, polars, pyarrow and whatever else narwhals knows.

    numbers     float64, NaN where missing; dates are days since 1970 (UTC), durations are days
    categories  codes (-1 where missing) into a list of Python values

What a column is depends on its values and dtype, never on the library that holds it: booleans with holes are booleans in a column of
objects, too, and whole numbers with holes, which pandas stores as floats, are whole numbers.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from ..families.rows import as_read
from .labels import is_missing

DAY = 86_400_000_000.0  # microseconds
UTC = datetime.UTC
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
PLAIN = (str, bool, int, float)
CACHED = 1024  # rows
MANY, WIDTH = 20_000, 8  # rows from which compiled copies pay, and the columns that they take
MOST_IDS = 0.9  # share of distinct values above which a column of categories is an id


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns in memory."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return False
    return bool(nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_into_dataframe(X))  # the first is quick


def names_of(X: Any) -> list:
    return list(_opened(X).columns)


def taken(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, a sparse matrix or a frame."""
    return _opened(X)[rows].to_native() if is_frame(X) else X[rows]


def without(X: Any, names: list) -> Any:
    """A frame without some of its columns."""
    return _opened(X).drop(names).to_native()


def columns_of(X: Any) -> list[Column]:
    """The columns of a frame or of a two-dimensional array."""
    if is_frame(X):
        return [of_series(series) for series in _opened(X).iter_columns()]
    if X.dtype == object:
        return [of_values(X[:, j].tolist()) for j in range(X.shape[1])]
    return [of_array(X[:, j]) for j in range(X.shape[1])]


def numbers_of(X: Any, owner: str) -> np.ndarray:
    """(n, d) array of float64: a frame for those who take numbers only. Booleans are 0 and 1, dates are days."""
    frame = _opened(X)
    return side_by_side([_numbers(series, owner) for series in frame.iter_columns()], len(frame))


def _numbers(series: Any, owner: str) -> np.ndarray:
    dtype = series.dtype
    is_number = dtype.is_integer() or dtype.is_float()
    return _floats(series) if is_number else of_series(series).as_numbers(series.name, owner)


def side_by_side(columns: list[np.ndarray], n_rows: int) -> np.ndarray:
    """(n, d) array of the columns, by rows that stay in cache: a column at a time takes three times as long."""
    found = np.empty((n_rows, len(columns)))
    if n_rows >= MANY and len(columns) >= WIDTH:
        return _side_by_side_compiled(columns, found)
    for first in range(0, n_rows, CACHED):
        rows = slice(first, first + CACHED)
        for j, column in enumerate(columns):
            found[rows, j] = column[rows]
    return found


def _side_by_side_compiled(columns: list[np.ndarray], found: np.ndarray) -> np.ndarray:
    """Some columns at once, so that whole lines of the cache are written; the last ones may be written twice."""
    from ..kernels.rows import place_columns  # compiled: not before it is needed

    own = [as_read(column) for column in columns]
    starts = [*range(0, len(own) - WIDTH, WIDTH), len(own) - WIDTH]
    for first in range(0, len(found), 8 * CACHED):
        for j in starts:
            place_columns(found, j, first, min(first + 8 * CACHED, len(found)), *own[j : j + WIDTH])
    return found


def of_values_and_places(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (NaN last), and for every number its place among them; whole numbers of a small range need no sorting."""
    missing = np.isnan(numbers)
    there = numbers[~missing] if missing.any() else numbers
    if len(there):
        low, high = there.min(), there.max()
        if max(-low, high) < 2**53 and high - low < max(len(there), CACHED) and (np.rint(there) == there).all():
            places = np.where(missing, high - low + 1, numbers - low).astype(np.int64)
            return np.append(np.arange(low, high + 1), np.nan), places
    return np.unique(numbers, return_inverse=True)


def _opened(X: Any) -> Any:
    try:
        return nw.from_native(X, eager_only=True)
    except nw.exceptions.NarwhalsError as error:
        raise ValueError(f"X: {' '.join(str(error).split())}; give every column a name of its own") from error


@dataclass(eq=False)
class Column:
    """`kind` is "number", "whole", "truth", "date", "duration" or "category"."""

    kind: str
    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    values: list | None = None

    @property
    def is_numeric(self) -> bool:
        return self.numbers is not None

    @cached_property
    def missing(self) -> np.ndarray:
        return np.isnan(self.numbers) if self.numbers is not None else np.asarray(self.codes) < 0

    def distinct(self) -> list:
        """Categories that occur, sorted (by their text if they are of several types)."""
        if self.numbers is not None:
            found = np.unique(self.numbers[~self.missing]).tolist()
            return [int(value) for value in found] if self.kind == "whole" else found
        assert self.codes is not None and self.values is not None
        present = {self.values[code] for code in np.unique(self.codes[self.codes >= 0])}
        try:
            return sorted(present)
        except TypeError:
            return sorted(present, key=lambda value: (type(value).__name__, str(value)))

    def coded(self, categories: list) -> tuple[np.ndarray, int]:
        """Places among the categories (NaN where missing or unseen), and how many were unseen."""
        place = {value: float(code) for code, value in enumerate(categories)}
        if self.numbers is None:
            assert self.codes is not None and self.values is not None
            codes = np.array([*(place.get(value, -1.0) for value in self.values), np.nan])[self.codes]
        else:
            distinct, inverse = of_values_and_places(self.numbers)
            places = [np.nan if np.isnan(value) else place.get(value, -1.0) for value in distinct.tolist()]
            codes = np.array(places, dtype=float)[inverse]
        unseen = codes < 0
        return np.where(unseen, np.nan, codes), int(unseen.sum())

    def in_order(self) -> np.ndarray:
        """(n,) array of numbers that are in the order of the values; missing ones come last."""
        if self.numbers is not None:
            return self.numbers
        return self.coded(self.distinct())[0]

    def factorized(self) -> tuple[np.ndarray, np.ndarray]:
        """Codes in the order in which values are met first, and the values."""
        values = self.distinct()
        codes = self.coded(values)[0].astype(np.int64)
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return place[inverse], np.array([values[code] for code in np.unique(codes)])[order]

    def as_numbers(self, name: Any, owner: str) -> np.ndarray:
        """(n,) array of floats: of truth values 0 and 1, of texts the numbers that they spell."""
        if self.numbers is not None:
            return self.numbers
        assert self.codes is not None and self.values is not None
        try:
            return np.array([*(float(value) for value in self.values), np.nan])[self.codes]
        except (TypeError, ValueError) as error:
            wrong = next(value for value in self.values if not _is_float(value))
            raise ValueError(
                f"column {name!r} of X: could not convert {wrong!r} to float: {owner} takes numbers only; MixedNB takes "
                "columns of several kinds"
            ) from error


def _is_float(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def of_series(series: Any) -> Column:
    """The column of a narwhals series."""
    dtype = series.dtype
    if dtype.is_integer() or dtype.is_float():
        return of_array(_floats(series), dtype.is_integer(), is_stored_so=True)
    if dtype == nw.Boolean or dtype == nw.String:
        return of_values(series.to_list())
    if dtype == nw.Date or dtype == nw.Datetime:
        return Column("date", _floats(series.dt.timestamp("us")) / DAY)
    if dtype == nw.Duration:
        return Column("duration", _floats(series.dt.total_microseconds()) / DAY + 0.0)  # no -0
    native = series.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "codes"):  # pandas: many rows, few values
        return Column("category", None, np.asarray(native.cat.codes, dtype=np.int64), plain(native.cat.categories))
    values = series.to_list()
    if dtype == nw.Categorical or dtype == nw.Enum:
        return of_categories(values)
    return of_values(values)


def _floats(series: Any) -> np.ndarray:
    found = series.to_numpy()
    if found.dtype == object:
        found = np.array([np.nan if is_missing(value) else value for value in found], dtype=float)
    return np.asarray(found, dtype=np.float64)


def of_array(numbers: np.ndarray, is_whole: bool | None = None, is_stored_so: bool = False) -> Column:
    """A column of an array of one dtype; floats are whole numbers only in a frame, beside holes (as pandas stores them)."""
    if numbers.dtype.kind in "US":
        return of_categories(numbers.tolist())
    if numbers.dtype.kind == "b":
        return of_values(numbers.tolist())
    is_whole = numbers.dtype.kind in "iu" if is_whole is None else is_whole
    found = np.asarray(numbers, dtype=np.float64)
    if is_stored_so and not is_whole:
        missing = np.isnan(found)
        if missing.any():
            present = found[~missing]
            is_whole = bool(len(present) and (present == np.floor(present)).all())
    return Column("whole" if is_whole and np.isfinite(found).any() else "number", found)


def of_values(values: list) -> Column:
    """A column of Python objects."""
    present = [value for value in values if not is_missing(value)]
    kinds = {type(value) for value in present}
    if kinds and kinds <= {bool, np.bool_}:
        return of_categories(values, "truth")
    if kinds and all(issubclass(kind, (int, float, Decimal, np.number)) for kind in kinds) and bool not in kinds:
        numbers = np.array([np.nan if is_missing(value) else float(value) for value in values])
        return of_array(numbers, all(issubclass(kind, (int, np.integer)) for kind in kinds))
    if kinds and all(issubclass(kind, datetime.date) for kind in kinds):
        return Column("date", np.array([np.nan if is_missing(value) else _days(value) for value in values]))
    return of_categories(values)


def of_categories(values: list, kind: str = "category") -> Column:
    place: dict[Any, int] = {}
    try:
        codes = [-1 if is_missing(value) else place.setdefault(_plain(value), len(place)) for value in values]
    except TypeError as error:
        raise ValueError(f"X has a cell that is neither a number, a text nor a date ({error})") from error
    return Column(kind, None, np.array(codes, dtype=np.int64), list(place))


def plain(values: Any) -> list:
    """Python values that model files can hold; of other types (intervals, times) their text."""
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, PLAIN):
        return value
    hash(value)
    return str(value)


def _days(value: Any) -> float:
    """Days since 1970 of a date or a time."""
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    value = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (value - EPOCH) // datetime.timedelta(microseconds=1) / DAY


def ids_of(X: Any) -> list[Any]:
    """Columns of categories in which (nearly) every row has a value of its own: they name the rows and say nothing of new ones."""
    if not is_frame(X):
        return []
    found = []
    for name, column in zip(names_of(X), columns_of(X), strict=True):
        n_seen = int((~column.missing).sum())
        if column.kind == "category" and n_seen > 20 and len(column.distinct()) > MOST_IDS * n_seen:
            found.append(name)
    return found if len(found) < X.shape[1] else []
