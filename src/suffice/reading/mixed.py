"""Tables with columns of several kinds: which kind each is, codes of categories, and rows back to the table they came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from ..saving.schema import require
from .base import Reader
from .frames import Column, columns_of, is_frame
from .guards import naming, refuse_huge
from .labels import is_missing
from .tables import warn_of_unseen

KINDS = ("gaussian", "ordinal", "categorical", "bernoulli", "count", "histogram")
PLACES = {"gaussian": 0, "ordinal": 0, "histogram": 0, "categorical": 1, "bernoulli": 1, "count": 2}
MAX_INTEGERS = 20  # an integer column with at most so many distinct values is categorical


@dataclass
class Mixed(Reader):
    """Rows hold the columns in the order numbers | codes of categories | counts."""

    given_kinds: Any = "auto"
    columns: list[str] = field(default_factory=list)
    kinds: dict[str, str] = field(default_factory=dict)
    categories: dict[str, list] = field(default_factory=dict)
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    stored_as: ClassVar[dict[str, str]] = {"columns": "list of str", "order": "int[*] 0.."}

    def check_stored(self) -> None:
        """What a file must hold: a kind for every column, in an order of them (`saving.schema`)."""
        require(list(self.kinds) == self.columns, "kinds are not those of the columns")
        require(all(kind in KINDS for kind in self.kinds.values()), f"kinds must be of {', '.join(KINDS)}")
        require(
            np.array_equal(np.sort(self.order), np.arange(len(self.columns))), "order is not an order of the columns"
        )
        known = all(
            name in self.kinds and isinstance(values, list) and values for name, values in self.categories.items()
        )
        require(known, "categories must be lists of values, of the columns")
        plain = (str, int, float, bool, type(None))
        values = [value for found in self.categories.values() for value in found]
        require(
            all(isinstance(value, (*plain, np.generic)) for value in values),
            "categories must be plain values",
        )
        for name, values in self.categories.items():
            if self.kinds[name] == "ordinal":
                is_number = all(isinstance(value, (int, float, np.number)) for value in values)
                require(
                    is_number and (np.diff(np.array(values, dtype=float)) > 0).all(), "levels must be numbers that rise"
                )

    takes_sparse: ClassVar[Any] = False
    takes_frames: ClassVar[bool] = True
    has_categories: ClassVar[bool] = True

    @property
    def named(self) -> list[list[str]]:
        """Names of the numbers, of the categories and of the counts, as rows hold them."""
        names = [self.columns[j] for j in self.order]
        return [[name for name in names if PLACES[self.kinds[name]] == place] for place in range(3)]

    @property
    def n_categories(self) -> np.ndarray:
        return np.array([max(len(self.categories.get(name, [])), 1) for name in self.named[1]], dtype=np.int64)

    @override
    def learn(self, X, names=None):
        columns = columns_of(X)
        self.columns = [f"x{j}" for j in range(len(columns))] if names is None else names
        self.kinds = dict(zip(self.columns, self._found(columns), strict=True))
        self.order = np.argsort([PLACES[kind] for kind in self.kinds.values()], kind="stable")
        found = {
            name: column.distinct() if PLACES[kind] == 1 or kind == "ordinal" else []
            for (name, kind), column in zip(self.kinds.items(), columns, strict=True)
        }
        self.categories = {name: values for name, values in found.items() if values}
        return self.read(X)

    @override
    def read(self, X):
        columns = columns_of(X)
        rows = np.empty((X.shape[0], len(columns)))
        unseen = []
        for place, j in enumerate(self.order):
            name = self.columns[j]
            if self.kinds[name] in ("categorical", "bernoulli"):
                rows[:, place], n_unseen = self._codes(columns[j], name)
                unseen += [name] * bool(n_unseen)
            else:
                rows[:, place] = numbers(columns[j], name, self.kinds[name])
        warn_of_unseen(unseen)
        return rows

    def _codes(self, column: Column, name: str) -> tuple[np.ndarray, int]:
        """Codes of a category column, and how many values were unseen."""
        return column.coded(self.categories.get(name, []))

    def _found(self, columns: list) -> list[str]:
        """The kind of every column, given or inferred."""
        kinds, names = self.given_kinds, self.columns
        if isinstance(kinds, str):
            kinds = {} if kinds == "auto" else dict.fromkeys(names, kinds)
        elif not isinstance(kinds, dict):
            if len(kinds) != len(names):
                raise ValueError(f"kinds has {len(kinds)} entries, but X has {len(names)} columns")
            kinds = dict(zip(names, kinds, strict=True))
        kinds = {str(name): kind for name, kind in kinds.items()}
        for name, kind in kinds.items():
            if name not in names:
                raise ValueError(f"kinds names the column {name!r}, which X does not have: it has {names[:20]!r}")
            if kind not in (*KINDS, "auto"):
                raise ValueError(f"kinds[{name!r}]={kind!r} is not one of {', '.join(map(repr, KINDS))} or 'auto'")
        found = []
        for name, column in zip(names, columns, strict=True):
            kind = kinds.get(name, "auto")
            found.append(inferred(column) if kind == "auto" else kind)
            if kind == "bernoulli" and len(column.distinct()) > 2:
                raise ValueError(f"kinds[{name!r}]='bernoulli', but the column has more than two values")
        return found

    @override
    def unread(self, rows):
        """Columns in their own order; objects where one is categorical."""
        is_object = any(not isinstance(value, (int, float)) for values in self.categories.values() for value in values)
        result = np.empty(rows.shape, dtype=object if is_object else float)
        for place, j in enumerate(self.order):
            values = self.categories.get(self.columns[j])
            if values is None:
                result[:, j] = rows[:, place] if PLACES[self.kinds[self.columns[j]]] != 1 else np.nan
            else:
                codes = nearest(values, rows[:, place]) if self.kinds[self.columns[j]] == "ordinal" else rows[:, place]
                result[:, j] = np.array([*values, None], dtype=object)[:-1][codes.astype(int)]
        return result

    @override
    def unread_std(self, std):
        return self.in_columns(std)

    @override
    def in_columns(self, values):
        result = np.empty_like(values)
        result[:, self.order] = values
        return result

    @override
    def place_of(self, column):
        return int(np.flatnonzero(self.order == column)[0])

    @override
    def values_of(self, column):
        values = self.categories.get(self.columns[column])
        if values is None:
            return None
        try:
            return np.array(values)
        except ValueError:  # of several types
            return np.array([*values, None], dtype=object)[:-1]

    @override
    def cells(self, given):
        return given, self.read(given)

    @override
    def filled(self, given, X):
        if is_frame(given):
            return X
        missing = np.vectorize(is_missing, otypes=[bool])(given)
        return np.where(missing, X, given)


def nearest(levels: list, numbers: np.ndarray) -> np.ndarray:
    """(n,) array: places of the levels that are nearest to the numbers."""
    rising = np.array(levels, dtype=float)
    return np.searchsorted(0.5 * (rising[1:] + rising[:-1]), numbers)


def inferred(column: Column) -> str:
    """The kind of a column: numbers are Gaussian, also dates; few whole numbers and all else are categories."""
    if not column.is_numeric:
        return "categorical"
    if column.kind == "whole" and len(column.distinct()) <= MAX_INTEGERS:
        return "categorical"
    return "gaussian"


def numbers(column: Column, name: str, kind: str) -> np.ndarray:
    try:
        values = column.as_numbers(name, f"{kind} columns")
    except ValueError as error:
        raise ValueError(f"column {name!r} is {kind} but holds values that are not numbers ({error})") from None
    if np.isinf(values).any():
        raise ValueError(
            f"column {name!r} of X contains infinity: only finite numbers and missing cells (NaN) are allowed"
        )
    with naming(f"column {name!r} of X"):
        refuse_huge(values)
    if kind == "count" and (values < 0).any():
        raise ValueError(f"column {name!r} is of counts, but its smallest value is {np.nanmin(values)}")
    return values
