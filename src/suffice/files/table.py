"""What the readers of all formats share: the chunk, the options, the choice of columns, dictionaries of categories."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .dates import days_of

MISSING = (
    "",
    "?",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "<NA>",
    "NaN",
    "nan",
    "NULL",
    "Null",
    "null",
    "None",
)  # cells that hold no value
NO_NUMBER = (
    "-",
    "--",
    ".",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NUM!",
)  # and among numbers; elsewhere they may be categories
MAX_CATEGORIES = 100_000  # of one column: more is an identifier or a text
CHUNK_CELLS = 1 << 21  # of a chunk
NUMERIC, CATEGORICAL = "numeric", "categorical"


def numbers_of_texts(texts: Any, name: str, file: str, first_line: int, bad_cells: str) -> np.ndarray:
    """(n,) array: the numbers that texts spell; others are refused by their line, or missing with a warning."""
    import pandas as pd

    numbers = pd.to_numeric(texts.astype(object), errors="coerce") if texts.dtype != bool else texts * float("nan")
    if len(numbers) and numbers.isna().all():  # no number among them: dates, where they are some
        numbers = pd.Series(days_of(texts), index=texts.index)
    bad = (numbers.isna() & texts.notna()).to_numpy()
    if bad.any():
        i = int(bad.argmax())
        place = f"{file}: line {first_line + i}, column {name!r} holds {texts.iloc[i]!r:.40}"
        if bad_cells == "refuse":
            raise DataError(
                f"{place}, but the column is read as numeric; give kinds={{{name!r}: 'categorical'}} (--kind {name}=categorical), "
                f"or name it in missing= (--na)"
            )
        more = "" if bad.sum() == 1 else f", and {int(bad.sum()) - 1:,} more cells are not numbers"
        warnings.warn(f"{place}{more}: taken as missing", stacklevel=3)
    return numbers.to_numpy(dtype="float64")


class DataError(ValueError):
    """A data file that cannot be read as asked; the message names the file, the place, and what to try."""


@dataclass(frozen=True)
class Table:
    """Some consecutive rows of a file."""

    X: Any  # DataFrame, or CSR for svmlight
    y: np.ndarray | None  # object array of str, None for a missing label; None if there is no target
    columns: tuple[str, ...]
    kinds: Mapping[str, str]  # of every column: "numeric" or "categorical"; empty for svmlight and text
    first_row: int  # of the file's rows, from 0
    target: str | None = None  # the name of the label's column
    kept: Mapping[str, list[str]] = field(default_factory=dict)  # columns to copy, as text

    zero_based: bool | None = None  # of svmlight: the index of the first column is 0
    dates: tuple[str, ...] = ()  # numeric columns that hold days since 1970

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Options:
    """How to read; see `read`."""

    target: str | int | None = None
    chunk_rows: int = 1 << 16
    kinds: Mapping[str, str] = field(default_factory=dict)
    every_kind: str | None = None
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    columns: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    header: bool | None = None
    delimiter: str | None = None
    missing: Sequence[str] = MISSING
    encoding: str | None = None  # None: found in the first bytes
    decimal: str | None = None  # None: found in the first rows
    keep: Sequence[str] = ()
    text: str | None = None  # the column of texts
    bad_cells: str = "refuse"  # or "missing"
    n_features: int | None = None
    zero_based: bool | None = None
    row_groups: Sequence[int] | None = None  # of Parquet: those to read
    whole: bool = False  # one chunk, however many cells it has; labels are a pandas Categorical

    def rows_of_chunk(self, n_columns: int) -> int:
        """At most `chunk_rows`, and fewer where rows are long: a chunk has a bounded number of cells, so memory is kept."""
        if self.whole:
            return self.chunk_rows
        return max(1, min(self.chunk_rows, CHUNK_CELLS // max(n_columns, 1)))


@dataclass(frozen=True)
class Columns:
    """Which columns of a file are features, and which is the target."""

    features: tuple[str, ...]
    target: str | None

    @classmethod
    def chosen(cls, names: Sequence[str], options: Options, file: str) -> Columns:
        target = None if options.target is None else _found(options.target, names, file)
        ignored = {_found(name, names, file) for name in options.ignore}
        for name in options.keep:
            _found(name, names, file)
        if options.columns is None:
            features = tuple(name for name in names if name != target and name not in ignored)
        else:
            features = tuple(options.columns)
            if missing := [name for name in features if name not in names]:
                raise DataError(
                    f"{file}: there is no column {', '.join(map(repr, missing[:5]))}; the columns are {_list(names)}"
                )
        if not features:
            raise DataError(f"{file}: no column is left beside the target; is the delimiter right? give delimiter=")
        for name in options.kinds:
            if options.columns is None:
                _found(name, names, file)
        for kind in {*options.kinds.values(), options.every_kind or NUMERIC}:
            if kind not in (NUMERIC, CATEGORICAL):
                raise DataError(f"kinds: {kind!r} is not one of 'numeric', 'categorical'")
        return cls(features, target)

    def set_kinds(self, options: Options) -> dict[str, str]:
        """The kinds that the caller has set."""
        every = dict.fromkeys(self.features, options.every_kind) if options.every_kind else {}
        return {name: kind for name, kind in (every | dict(options.kinds)).items() if name in self.features and kind}

    @property
    def all(self) -> list[str]:
        return [*self.features] if self.target is None else [*self.features, self.target]


def _found(name: str | int, names: Sequence[str], file: str) -> str:
    """A column by its name, or by its position from 0 (negative: from the end)."""
    if name in names:
        return str(name)
    if name in ("first", "last"):
        return names[0 if name == "first" else -1]
    try:
        return names[int(name)]
    except (ValueError, IndexError):
        raise DataError(f"{file}: there is no column {name!r}; the columns are {_list(names)}") from None


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


class Dictionary:
    """The categories of one column, in the order in which they were met; a code, once given, keeps its meaning."""

    def __init__(self, column: str, file: str, known: Sequence[str] = (), missing: Sequence[str] = MISSING) -> None:
        self.column, self.file = column, file
        self.codes: dict[str, int] = {category: code for code, category in enumerate(known)}
        self.missing = frozenset(missing)

    def encode(self, local_codes: np.ndarray, local_categories: Sequence[str]) -> Any:
        """A pandas Categorical from a chunk's own codes (-1: missing) and categories."""
        import pandas as pd

        to_own = np.empty(len(local_categories) + 1, dtype=np.int32)
        to_own[-1] = -1
        for local, category in enumerate(local_categories):
            to_own[local] = -1 if category in self.missing else self.codes.setdefault(str(category), len(self.codes))
        if len(self.codes) > MAX_CATEGORIES:
            raise DataError(
                f"{self.file}: column {self.column!r} has more than {MAX_CATEGORIES:,} different values: an identifier "
                f"or a text? leave it out with ignore=[{self.column!r}] (--drop), or read it as numeric"
            )
        return pd.Categorical.from_codes(to_own[local_codes], categories=list(self.codes))


def labels_of(local_codes: np.ndarray, local_categories: Sequence[str], options: Options) -> Any:
    """Labels as text, None where missing."""
    texts = np.empty(len(local_categories) + 1, dtype=object)
    for code, label in enumerate(local_categories):
        texts[code] = None if label is None or label in options.missing else str(label)
    if not options.whole:
        return texts[local_codes]
    import pandas as pd

    codes, labels = pd.factorize(texts)
    return pd.Categorical.from_codes(codes[local_codes], categories=labels)
