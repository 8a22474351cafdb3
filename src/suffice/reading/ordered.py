"""Tables whose numbers may be read as bins, and whose gaps may be told of: what training chooses between.

Raw rows are those of `Mixed`, numbers | codes of categories | counts. As the structure takes them, rows are

    numbers that are not binned | codes of categories | was it seen (0: a gap, 1: seen) of told columns | counts | positions among bins
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from typing_extensions import override

from ..saving.schema import require
from .bins import Cuts, cuts_of, n_bins_for
from .mixed import PLACES, Mixed, inferred

FEWEST_BINNED = 3  # distinct values of a column of numbers that may be read as bins


@dataclass
class Ordered(Mixed):
    orders: bool = False  # few whole numbers are numbers too, not categories (training decides)
    bins: dict[str, Cuts] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)  # columns whose gaps say something
    is_silent = False  # told columns are missing themselves; of a copy that is never stored

    @override
    def check_stored(self) -> None:
        super().check_stored()
        require(all(name in self.named[0] for name in self.bins), "bins must be of columns of numbers")
        require(all(isinstance(cuts, Cuts) for cuts in self.bins.values()), "bins must be cuts")
        require(
            len(set(self.told)) == len(self.told) and all(name in self.columns for name in self.told),
            "told must be columns",
        )

    # -- kinds --------------------------------------------------------------------------------------------------------

    @override
    def _found(self, columns):
        found = super()._found(columns)
        given = self._given()
        for place, (name, column) in enumerate(zip(self.columns, columns, strict=True)):
            is_open = self.orders and given.get(name, "auto") == "auto" and column.kind == "whole"
            if is_open and inferred(column) == "categorical" and len(column.distinct()) >= FEWEST_BINNED:
                found[place] = "gaussian"
        return found

    def orderable(self) -> list[str]:
        """Columns of categories that are few whole numbers, of a kind that was not given: they may be in order."""
        given = self._given()
        return [
            name for name in self.named[1]
            if given.get(name, "auto") == "auto" and len(self.categories.get(name, [])) >= FEWEST_BINNED
            and all(type(value) is int for value in self.categories[name])
        ]  # fmt: skip

    def in_order(self, names: list[str]) -> Ordered:
        """The same reading with these columns of categories as levels of a number."""
        kinds = {name: "ordinal" if name in names else kind for name, kind in self.kinds.items()}
        order = np.argsort([PLACES[kind] for kind in kinds.values()], kind="stable")
        return replace(self, kinds=kinds, order=order)

    def rows_in_order(self, rows: np.ndarray, names: list[str]) -> np.ndarray:
        """Raw rows of this reading as `in_order(names)` reads them."""
        columns = {self.columns[j]: rows[:, place] for place, j in enumerate(self.order)}
        for name in names:
            codes, levels = columns[name], np.array(self.categories[name], dtype=float)
            seen = ~np.isnan(codes)
            columns[name] = np.full(len(codes), np.nan)
            columns[name][seen] = levels[codes[seen].astype(int)]
        return np.stack([columns[self.columns[j]] for j in self.in_order(names).order], axis=1)

    def level_gaps(self, names: list[str]) -> np.ndarray:
        """(names,) array: the smallest distance between two levels of each column; 0 of columns that have no levels."""
        found = np.zeros(len(names))
        for place, name in enumerate(names):
            levels = self.categories.get(name, []) if self.kinds[name] == "ordinal" else []
            found[place] = np.diff(np.array(levels, dtype=float)).min(initial=np.inf) if len(levels) > 1 else 0.0
        return found

    def _given(self) -> dict[str, str]:
        kinds = self.given_kinds
        if isinstance(kinds, str):
            return {} if kinds == "auto" else dict.fromkeys(self.columns, kinds)
        pairs = kinds.items() if isinstance(kinds, dict) else zip(self.columns, kinds, strict=True)
        return {str(name): kind for name, kind in pairs}

    @property
    def shown_kinds(self) -> dict[str, str]:
        """Kinds as training chose them."""
        return {name: "histogram" if name in self.bins else kind for name, kind in self.kinds.items()}

    @override
    def learn(self, X, names=None):
        rows = super().learn(X, names)
        asked = [name for name, kind in self.kinds.items() if kind == "histogram"]
        self.bins = self.cuts_for(rows, asked)
        return rows

    # -- readings -----------------------------------------------------------------------------------------------------

    @property
    def numbers(self) -> list[str]:
        return self.named[0]

    def could_bin(self, rows: np.ndarray) -> list[str]:
        """Columns of raw numbers with enough values to be cut into bins, beyond those that are."""
        some = rows[:5_000]
        return [
            name
            for place, name in enumerate(self.numbers)
            if name not in self.bins and len(np.unique(some[~np.isnan(some[:, place]), place])) >= FEWEST_BINNED
        ]

    def cuts_for(self, rows: np.ndarray, names: list[str]) -> dict[str, Cuts]:
        """Cuts of some columns of raw rows."""
        places, n_bins = {name: place for place, name in enumerate(self.numbers)}, n_bins_for(len(rows))
        return {name: cuts_of(rows[:, places[name]], n_bins) for name in names}

    def gaps_of(self, rows: np.ndarray) -> list[str]:
        """Columns of raw rows that have missing cells, but not only those."""
        missing = np.isnan(rows)
        is_some = missing.any(axis=0) & ~missing.all(axis=0)
        return [self.columns[j] for place, j in enumerate(self.order) if is_some[place]]

    def reading(self, bins: dict[str, Cuts], told: list[str]) -> Ordered:
        return replace(self, bins={**self.bins, **bins}, told=list(told))

    @property
    def is_raw(self) -> bool:
        return not self.bins and not self.told

    @property
    def sections(self) -> list[list[str]]:
        """Names of numbers, categories (then told columns), counts and binned columns, as the structure takes them."""
        numbers, categories, counts = self.named
        return [[n for n in numbers if n not in self.bins], categories, counts, [n for n in numbers if n in self.bins]]

    @property
    def cell_sizes(self) -> np.ndarray:
        """Cells of every column of categories, told columns among them."""
        return np.concatenate([self.n_categories, np.full(len(self.told), 2, dtype=np.int64)])

    @property
    def tellers(self) -> tuple[np.ndarray, np.ndarray]:
        """(told,) arrays: places of told columns, and of the columns that tell of them."""
        first, names = sum(len(part) for part in self.sections[:2]), self.placed
        return np.array([names.index(name) for name in self.told], dtype=np.int64), first + np.arange(len(self.told))

    @property
    def placed(self) -> list[str]:
        """Names as the structure's rows hold the columns; "" for those that tell of a gap."""
        numbers, categories, counts, bins = self.sections
        return [*numbers, *categories, *([""] * len(self.told)), *counts, *bins]

    @override
    def n_placed(self, n_columns):
        return n_columns + len(self.told)

    @override
    def place_of(self, column):
        return self.placed.index(self.columns[column])

    @override
    def scaled(self, rows):
        if self.is_raw:
            return rows
        raw = [self.columns[j] for j in self.order]
        place = {name: at for at, name in enumerate(raw)}
        numbers, categories, counts, bins = self.sections
        told = np.where(self.is_silent, np.nan, ~np.isnan(rows[:, [place[name] for name in self.told]]))
        return np.hstack(
            [
                rows[:, [place[name] for name in numbers + categories]], told,
                rows[:, [place[name] for name in counts]],
                *(self.bins[name].positions(rows[:, place[name]])[:, None] for name in bins),
            ]
        )  # fmt: skip

    def without_told(self) -> Ordered:
        """The same reading with every told gap summed out: to look at a column alone, others are missing without saying anything."""
        silent = copy(self)
        silent.is_silent = True
        return silent

    def raw(self, rows: np.ndarray) -> np.ndarray:
        """Raw rows, of those that the structure takes."""
        if self.is_raw:
            return rows
        numbers, categories, counts, bins = self.sections
        columns: dict[str, np.ndarray] = dict(zip(numbers + categories, rows.T, strict=False))
        after = len(numbers) + len(categories) + len(self.told)
        columns.update(zip(counts, rows.T[after:], strict=False))
        for name, own in zip(bins, rows.T[after + len(counts) :], strict=True):
            columns[name] = self.bins[name].values(own)
        return np.stack([columns[self.columns[j]] for j in self.order], axis=1)

    @override
    def unread(self, rows):
        return super().unread(self.raw(rows))

    @override
    def in_columns(self, values):
        """By column; what is of a column that tells of a gap belongs to the column it tells of."""
        numbers, categories, counts, bins = self.sections
        first = len(numbers) + len(categories)
        after = first + len(self.told)
        columns: dict[str, np.ndarray] = dict(zip(numbers + categories, values.T, strict=False))
        columns.update(zip(counts + bins, values.T[after:], strict=True))
        for name, own in zip(self.told, values.T[first:after], strict=True):
            columns[name] = columns[name] + own
        return np.stack([columns[name] for name in self.columns], axis=1)

    @override
    def cells(self, given) -> tuple[Any, np.ndarray]:
        return given, self.rows(given)

    @override
    def learned(self) -> dict[str, Any]:
        own = dict(vars(self))
        own["bins"] = {name: cuts.cuts.tolist() for name, cuts in self.bins.items()}
        return own
