"""A first pass over blocks: how many rows, which labels, kinds of columns, words; and a sample of the rows, the same for the same data.

The sample is of one rate in all blocks, drawn by a generator of the block's number. A row is added for every label, for every category,
and for every column that has gaps, so that whoever learns from the sample knows them all, also those of the last block only. Where
rows are steps of sequences, whole sequences are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from .pieces import Part
from .table import CATEGORICAL, NUMERIC, DataError

ROWS = 20_000  # of a sample
SPARE = 1.5  # times its share that a block draws: blocks are not of equal size
FEW = 20  # distinct whole numbers up to which a column may be of categories


@dataclass(frozen=True)
class Question:
    """What the survey is to find out."""

    quota: int  # rows of the sample that a block draws
    cells: str = (
        "gaps"  # which rows are added: of columns with gaps ("gaps"), of categories too ("categories"), or none ("")
    )
    seed: int = 0
    of_sequences: bool = False  # whole sequences are drawn: entries of lists, or rows that share a value of the column
    sequence: str | None = None


@dataclass
class Drawn:
    """What a block gives to the sample. A unit is a row, or the rows of a sequence; its number is its place in a random order."""

    n_units: int
    n_drawn: int  # units 0 .. n_drawn - 1; the others are there for what they hold
    rows: Part  # in the block's order
    units: np.ndarray  # of the rows
    keys: dict[tuple, int]  # labels, categories and gaps, and the unit that holds them


@dataclass
class Survey:
    n_rows: int = 0
    n_bytes: int = 0  # of the rows as arrays
    labels: dict[Any, float] = field(default_factory=dict)  # and their total weights
    n_unlabelled: int = 0
    weight: float = 0.0
    columns: tuple = ()
    kinds: dict[str, set[str]] = field(default_factory=dict)
    words: Counter | None = None
    width: int = 0
    lowest: int = 1  # index of sparse rows
    drawn: list[Drawn] = field(default_factory=list)
    sequences: list[list] = field(default_factory=list)  # of every block: the names of its sequences
    foreseen: frozenset[int] | None = None  # columns that may have gaps, where not every cell was looked at

    def __add__(self, other: Survey) -> Survey:
        if self.columns != other.columns:
            raise DataError(f"blocks have other columns: {list(self.columns)[:10]} and {list(other.columns)[:10]}")
        labels = dict(self.labels)
        for label, mass in other.labels.items():
            labels[label] = labels.get(label, 0.0) + mass
        return Survey(
            self.n_rows + other.n_rows, self.n_bytes + other.n_bytes, labels, self.n_unlabelled + other.n_unlabelled,
            self.weight + other.weight, self.columns,
            {name: self.kinds[name] | other.kinds[name] for name in self.kinds},
            None if self.words is None or other.words is None else self.words + other.words,
            max(self.width, other.width), min(self.lowest, other.lowest), [*self.drawn, *other.drawn],
            [*self.sequences, *other.sequences],
        )  # fmt: skip

    def sample(self) -> Part:
        """The rows of the sample, block after block, each in its order."""
        rate = min([own.n_drawn / own.n_units for own in self.drawn if own.n_drawn < own.n_units] or [1.0])
        seen: set[Hashable] = set()
        parts = []
        for own in self.drawn:
            n = int(np.ceil(rate * own.n_units)) if rate < 1.0 else own.n_units
            new = [unit for key, unit in own.keys.items() if key not in seen]
            seen.update(own.keys)
            parts.append(taken(own.rows, np.flatnonzero((own.units < n) | np.isin(own.units, new))))
        return joined(parts)


def survey(part: Part, question: Question, numbered: int) -> Survey:
    """What one block holds."""
    n = part.n_rows
    weights = np.ones(n) if part.weights is None else np.asarray(part.weights, dtype=float)
    found = Survey(n_rows=n, weight=float(weights.sum()))
    keys: dict[tuple, int] = {}
    if part.y is not None:
        _labels(part.y, weights, found, keys)
    X, units, sizes = part.X, np.arange(n), np.ones(n)
    steps: np.ndarray | None = None  # places of the table's rows in the part, where they are not the part's own
    if question.of_sequences:
        X, units, sizes, steps = _of_sequences(X, question, found)
    if isinstance(X, list):
        found.words, found.n_bytes = words_of(X), sum(map(len, X))
    elif sp.issparse(X):
        found.width, found.n_bytes = X.shape[1], X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        found.lowest = int(X.indices.min(initial=1))
    else:
        found.n_bytes, found.width = 8 * X.shape[0] * X.shape[1], X.shape[1]
        if hasattr(X, "dtypes"):
            found.columns = tuple(map(str, X.columns))
            found.kinds = {name: {kind_of(dtype)} for name, dtype in zip(found.columns, X.dtypes, strict=True)}
        if question.cells:
            _cells(X, question.cells, keys)
    order = np.random.default_rng([question.seed, numbered]).permutation(len(sizes))
    n_drawn = min(len(sizes), int(np.searchsorted(np.cumsum(sizes[order]), question.quota)) + 1)
    number = np.empty(len(sizes), dtype=np.int64)
    number[order] = np.arange(len(sizes))
    units = number[units]
    places = {key: int(units[place if steps is None else steps[place]]) for key, place in keys.items()}
    rows = np.flatnonzero((units < n_drawn) | np.isin(units, list(places.values())))
    found.drawn = [Drawn(len(sizes), n_drawn, taken(part, rows), units[rows], places)]
    return found


def _of_sequences(X: Any, question: Question, found: Survey) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray | None]:
    """(table of steps, units of the part's rows, steps of the units, rows of the part that the table's steps are of)."""
    import pandas as pd

    if isinstance(X, list):
        table, sizes = steps_of(X)
        return table, np.arange(len(X)), sizes, np.repeat(np.arange(len(X)), sizes)
    if question.sequence is None or not hasattr(X, "columns"):
        raise DataError(
            "rows in blocks do not say where sequences begin: name the column that tells them apart (sequence=), give lengths= with a "
            "dask.array, or delayed lists of sequences"
        )
    if question.sequence not in X.columns:
        raise DataError(f"sequence={question.sequence!r} is not a column: there are {list(X.columns)[:20]}")
    units, names = pd.factorize(X[question.sequence])
    if (units < 0).any():
        raise DataError(f"the column {question.sequence!r} has missing cells: every row needs its sequence")
    found.sequences = [names.tolist()]
    return X, units, np.bincount(units, minlength=len(names)), None


def steps_of(sequences: Sequence) -> tuple[np.ndarray, np.ndarray]:
    """(steps, columns) array of sequences one after the other, and how long each is."""
    found = [
        np.array([*own, None], dtype=object)[:-1] if isinstance(own, str) else np.asarray(own) for own in sequences
    ]
    found = [own if own.ndim == 2 else own.reshape(len(own), -1) for own in found]
    sizes = np.array([len(own) for own in found], dtype=np.int64)
    kept = [own for own in found if len(own)]
    return np.concatenate(kept) if kept else np.zeros((0, 1)), sizes


def _labels(y: Any, weights: np.ndarray, found: Survey, keys: dict) -> None:
    codes, labels = coded(y)
    mass = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(labels))
    found.labels = dict(zip(labels.tolist(), mass.tolist(), strict=True))
    found.n_unlabelled = int((codes < 0).sum())
    first = np.full(len(labels), -1)
    first[codes[codes >= 0][::-1]] = np.flatnonzero(codes >= 0)[::-1]
    keys.update({("label", label): int(place) for label, place in zip(labels.tolist(), first, strict=True)})


def coded(y: Any) -> tuple[np.ndarray, Any]:
    """Codes of the labels (-1: none), and the labels that occur."""
    import pandas as pd

    if not isinstance(y, pd.Categorical):
        return pd.factorize(np.asarray(y))
    occurs = np.bincount(y.codes + 1, minlength=len(y.categories) + 1)[1:] > 0
    places = np.where(occurs, np.cumsum(occurs) - 1, -1)
    return np.append(places, -1)[y.codes], np.asarray(y.categories, dtype=object)[occurs]


def _cells(X: Any, cells: str, keys: dict) -> None:
    """Places of rows with a gap in some column, and with each category."""
    import pandas as pd

    for j in range(X.shape[1]):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]
        is_number = np.asarray(column).dtype.kind in "fiu" and not isinstance(column.dtype, pd.CategoricalDtype)
        if not is_number or cells == "categories":
            values = np.asarray(column)
            if is_number and not _has_few(values):
                values = values[:0]
            codes, uniques = pd.factorize(values)
            firsts = np.full(len(uniques), -1)
            firsts[codes[codes >= 0][::-1]] = np.flatnonzero(codes >= 0)[::-1]
            keys.update({(j, value): int(place) for value, place in zip(uniques.tolist(), firsts, strict=True)})
        gaps = np.asarray(pd.isna(column))
        if gaps.any():
            keys[(j, None)] = int(gaps.argmax())


def _has_few(values: np.ndarray) -> bool:
    """Whether numbers may be codes of categories."""
    import pandas as pd

    if values.dtype.kind == "f" and not bool(np.equal(np.mod(values, 1.0), 0.0)[~np.isnan(values)].all()):
        return False
    return len(pd.unique(values[: 50 * FEW])) <= FEW + 1 and len(pd.unique(values)) <= FEW + 1


def kind_of(dtype: Any) -> str:
    import pandas as pd

    is_number = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    return NUMERIC if is_number else CATEGORICAL


def words_of(texts: Sequence[str]) -> Counter:
    from sklearn.feature_extraction.text import CountVectorizer

    analyze, found = CountVectorizer().build_analyzer(), Counter[str]()
    for text in texts:
        found.update(analyze(text))
    return found


def taken(part: Part, rows: np.ndarray) -> Part:
    X = part.X
    if isinstance(X, list):
        own: Any = [X[i] for i in rows]
    else:
        own = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    y = None if part.y is None else labels_at(part.y, rows)
    return Part(own, y, None if part.weights is None else np.asarray(part.weights)[rows])


def labels_at(y: Any, rows: np.ndarray) -> np.ndarray:
    import pandas as pd

    if not isinstance(y, pd.Categorical):
        return np.asarray(y)[rows]
    return np.array([*y.categories, None], dtype=object)[y.codes[rows]]


def joined(parts: Sequence[Part]) -> Part:
    """Rows of several parts as one."""
    X: Any = [part.X for part in parts]
    if isinstance(X[0], list):
        X = [text for own in X for text in own]
    elif sp.issparse(X[0]):
        width = max(own.shape[1] for own in X)
        X = sp.vstack(
            [sp.csr_matrix((o.data, o.indices, o.indptr), shape=(o.shape[0], width)) for o in X], format="csr"
        )
    elif hasattr(X[0], "iloc"):
        import pandas as pd

        coded = [name for name, dtype in X[0].dtypes.items() if isinstance(dtype, pd.CategoricalDtype)]
        X = [own.astype(dict.fromkeys(coded, object)) for own in X]
        X = pd.concat(X, ignore_index=True)
        for name in coded:
            X[name] = pd.Categorical(X[name])
    else:
        X = np.concatenate(X)
    ys = [labels_at(part.y, np.arange(part.n_rows)) for part in parts if part.y is not None]
    weights = [part.weights for part in parts if part.weights is not None]
    return Part(X, np.concatenate(ys) if ys else None, np.concatenate(weights) if weights else None)
