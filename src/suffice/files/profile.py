"""What the columns of a table are, seen in its first rows: numbers, categories, identifiers, free text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .dates import shown
from .table import CATEGORICAL, NUMERIC, Table

LEAST_ROWS = 20  # below, nothing is told from how many values differ
ID_NAME = re.compile(
    r"(^|[_\s.-])(id|uuid|guid|index|key)$|^(id|index|row|rownames|unnamed: 0|passengerid)$", re.IGNORECASE
)
MANY = 0.9  # share of cells with a value of their own
WORDS = 3.0  # of a free text, in the mean


@dataclass(frozen=True)
class Profile:
    """A column: `role` is "numeric", "categorical", "identifier" or "text"."""

    name: str
    role: str
    n_values: int  # different ones, among categories
    missing: float  # share of the cells
    examples: tuple[str, ...]
    numbers: float = 0.0  # share of the cells of a categorical column that are numbers

    def line(self) -> str:
        """For a person."""
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        if self.role == NUMERIC:
            return f"numeric, {self.examples[0]} to {self.examples[1]}{holes}"
        few = ", ".join(text if len(text) <= 20 else text[:17] + "..." for text in self.examples[:4])
        return f"{self.role}, {self.n_values:,} values ({few}{', ...' if self.n_values > 4 else ''}){holes}"


def profiles(tables: Sequence[Table], set_kinds: Mapping[str, str]) -> list[Profile]:
    """Of every column; kinds that were set are not doubted."""
    return [_profile(name, tables, name in set_kinds) for name in tables[0].columns]


def _profile(name: str, tables: Sequence[Table], is_set: bool) -> Profile:
    import pandas as pd

    n = sum(table.n_rows for table in tables)
    if tables[0].kinds[name] == NUMERIC:
        values = np.concatenate([table.X[name].to_numpy() for table in tables])
        present = values[~np.isnan(values)]
        role = NUMERIC
        if not is_set and ID_NAME.search(name) and n >= LEAST_ROWS and len(present) == n:
            is_whole = bool((present == np.floor(present)).all()) and len(np.unique(present)) == n
            role = "identifier" if is_whole else NUMERIC
        if name in tables[0].dates and len(present):
            return Profile(
                name, NUMERIC, 0, 1 - len(present) / n, (f"dates, {shown(present.min())}", shown(present.max()))
            )
        ends = (f"{present.min():.6g}", f"{present.max():.6g}") if len(present) else ("none", "none")
        return Profile(name, role, len(np.unique(present)), 1 - len(present) / n, ends)
    column = pd.concat([table.X[name].astype(object) for table in tables], ignore_index=True).dropna()
    counts = column.value_counts()
    texts = [str(value) for value in counts.index]
    role, missing = CATEGORICAL, 1 - len(column) / n
    words = float(np.mean([text.count(" ") + 1 for text in texts])) if texts else 0.0
    if not is_set and len(column) >= LEAST_ROWS and len(texts) >= MANY * len(column):
        role = "text" if words >= WORDS else "identifier"
    numbers = float(pd.to_numeric(column, errors="coerce").notna().mean()) if len(column) and len(texts) > 20 else 0.0
    if role == "identifier" and numbers > 0.5:
        role = CATEGORICAL  # numbers with some odd cells; said apart
    return Profile(name, role, len(texts), missing, tuple(texts[:5]), numbers)


def without(tables: Iterable[Table], names: set[str]) -> list[Table]:
    """The tables without some columns."""
    return [without_columns(table, names) for table in tables]


def without_columns(table: Table, names: set[str]) -> Table:
    kept = tuple(name for name in table.columns if name not in names)
    if len(kept) == len(table.columns):
        return table
    return replace(table, X=table.X[list(kept)], columns=kept, kinds={name: table.kinds[name] for name in kept})
