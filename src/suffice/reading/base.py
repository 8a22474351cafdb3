"""A reader turns what a person has into rows that a structure takes, and rows back into what the person knows.

    learn(X)           rows, after fixing what depends on the data: categories, kinds
    read(X)            rows of new data
    unread(rows)       rows as the person's values (draws, filled cells)
    filled(given, X)   the given table with its missing cells taken from X

Rows are checked tables: scikit-learn has seen their shape and dtype. `scaled` then puts rows into the units a structure is fitted
in, which may depend on labels (`settle`) or on what training chose; a reader is a value, and what was chosen is another reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..families.rows import dense


@dataclass
class Reader:
    """Numbers as they are."""

    takes_sparse: ClassVar[Any] = "csr"  # scikit-learn's accept_sparse
    takes_frames: ClassVar[bool] = False  # columns of several dtypes, texts among them
    takes_missing: ClassVar[bool] = True
    is_positive: ClassVar[bool] = False  # counts
    has_categories: ClassVar[bool] = False

    def learn(self, X, names: list[str] | None = None):
        """Rows of training data; `names` are the columns' names, where they have some."""
        return self.read(X)

    def read(self, X):
        return X

    def settle(self, rows, codes: np.ndarray, weights: np.ndarray, n_outcomes: int, *, is_plain: bool) -> None:
        """Learn the units from rows with labels (-1: none); `is_plain` for the likelihood, which takes rows as they are."""

    def scaled(self, rows):
        """Rows in the units that the structure is fitted in."""
        return rows

    def rows(self, X):
        """Rows of new data in the structure's units."""
        return self.scaled(self.read(X))

    def unread(self, rows: np.ndarray):
        return rows

    def unread_std(self, std: np.ndarray) -> np.ndarray:
        return std

    def in_columns(self, values: np.ndarray) -> np.ndarray:
        """(n, d) array: one number for each column of the rows, in the order of the person's columns."""
        return values

    def n_placed(self, n_columns: int) -> int:
        """Columns of rows in the structure's units, for a table of n_columns."""
        return n_columns

    def place_of(self, column: int) -> int:
        """Where rows in the structure's units hold one of the person's columns."""
        return column

    def values_of(self, column: int) -> np.ndarray | None:
        """What the codes of a column of categories stand for; None of a column of numbers."""
        return None

    def filled(self, given, X):
        return np.where(np.isnan(given), X, given)

    def cells(self, given) -> tuple[Any, np.ndarray]:
        """The given table (dense) and its rows in the structure's units (dense)."""
        return dense(given), dense(self.rows(given))

    def learned(self) -> dict[str, Any]:
        """What was learned of the columns: equal for two readers that mean the same by the same row."""
        return dict(vars(self))
