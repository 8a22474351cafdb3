"""The rows of a report: names, labels and pieces of X whatever it is, and what can be said of rows without a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ..files.dates import days_of_times, shown
from .page import Section, Table
from .svg import Chart

SHOWN_ROWS = 8
MAX_CELLS = 8  # of a row that is shown


@dataclass
class Rows:
    """X with its labels as texts, the classes' names, and the names of its columns."""

    X: Any
    y: Any  # None, codes of the classes, or numbers of a regression
    has_label: np.ndarray
    names: list[str]
    classes: list[str] = field(default_factory=list)
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dates: frozenset[str] = frozenset()  # columns that hold dates, or days since 1970
    is_sequences: bool = False
    is_texts: bool = False
    is_counts: bool = False  # of words: only those that occur are shown of a row

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, names: Any, categories: Any) -> Rows:
        is_sequences = hasattr(model, "transmat_") or hasattr(model, "transmats_") or "hmm" in type(model).__module__
        if hasattr(X, "to_pandas") and not hasattr(X, "iloc"):  # polars, pyarrow
            X = X.to_pandas()
        is_texts = not hasattr(X, "shape") and len(X) > 0 and isinstance(next(iter(X)), str) and not is_sequences
        if not is_sequences and not is_texts and not hasattr(X, "shape"):
            X = np.asarray(X)
        if is_texts:
            X = np.asarray(X, dtype=object)
        n = len(X) if not hasattr(X, "shape") else X.shape[0]
        if names is None and hasattr(X, "columns"):
            names = list(X.columns)
        if names is None:
            width = 0 if is_texts or is_sequences or len(X.shape) < 2 else X.shape[1]
            names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(width)])
        found = cls(X, None, np.zeros(n, bool), [str(name) for name in names], categories=categories or {})
        found.is_sequences, found.is_texts, found.is_counts = is_sequences, is_texts, hasattr(model, "topics_")
        if hasattr(X, "dtypes") and hasattr(X, "iloc"):
            kinds = [dtype.kind for dtype in X.dtypes]
            found.dates = frozenset(name for name, kind in zip(found.names, kinds, strict=False) if kind == "M")
        if y is not None:
            found._label(model, y, n)
        return found

    def _label(self, model: Any, y: Any, n: int) -> None:
        y = np.asarray(y)
        if len(y) != n:
            raise ValueError(f"X has {n} rows and y {len(y)} labels")
        if not hasattr(model, "classes_"):
            self.y, self.has_label = y.astype(float), np.isfinite(y.astype(float))
            return
        self.classes = [str(label) for label in model.classes_]
        known = {label: k for k, label in enumerate(model.classes_.tolist())} | {
            c: k for k, c in enumerate(self.classes)
        }
        missing = np.array([label is None or label != label for label in y.tolist()], dtype=bool)
        unknown = [label for label in y[~missing].tolist() if label not in known]
        if unknown:
            raise ValueError(
                f"the label {unknown[0]!r} is none of the model's classes: {', '.join(map(repr, self.classes[:10]))}"
            )
        if missing.all():
            return
        self.has_label = ~missing
        self.y = np.array([-1 if m else known[label] for label, m in zip(y.tolist(), missing, strict=True)])

    @property
    def n(self) -> int:
        return len(self.has_label)

    def at(self, places: Any) -> Any:
        """Some rows, in the form of X."""
        places = np.asarray(places)
        if places.dtype == bool:
            places = np.flatnonzero(places)
        if hasattr(self.X, "iloc"):
            return self.X.iloc[places]
        return self.X[places] if hasattr(self.X, "shape") else [self.X[i] for i in places]

    def column(self, j: int) -> np.ndarray:
        if not hasattr(self.X, "iloc"):
            return np.asarray(self.X[:, j])
        column = self.X.iloc[:, j]
        return days_of_times(column) if column.dtype.kind == "M" else column.to_numpy()

    def value(self, j: int, value: Any) -> str:
        """A cell as a text."""
        if value is None or value != value:
            return "missing"
        texts = self.categories.get(self.names[j])
        if texts is not None and isinstance(value, (int, float, np.number)) and 0 <= int(value) < len(texts):
            return str(texts[int(value)])
        if self.names[j] in self.dates:
            is_days = isinstance(value, (int, float, np.number))
            return shown(float(value)) if is_days else str(value).removesuffix(" 00:00:00")
        return f"{value:.5g}" if isinstance(value, (float, np.floating)) else str(value)

    def told(self, i: int) -> str:
        """A row in a line."""
        if self.is_texts:
            return str(self.X[i])[:160]
        if sparse.issparse(self.X):
            row = self.X[[i]].tocsr()
            best = row.indices[np.argsort(-row.data)][:MAX_CELLS]
            return ", ".join(self.names[j] for j in best)
        cells = list(self.X.iloc[i] if hasattr(self.X, "iloc") else self.X[i])[: len(self.names)]
        places = list(range(len(cells)))
        if self.is_counts:
            places = [j for j in sorted(places, key=lambda j: -cells[j]) if cells[j] > 0]
        told = ", ".join(f"{self.names[j]} {self.value(j, cells[j])}" for j in places[:MAX_CELLS])
        return told + (f", … ({len(places) - MAX_CELLS} more)" if len(places) > MAX_CELLS else "")

    def described(self) -> str:
        labelled = int(self.has_label.sum())
        kind = "texts" if self.is_texts else f"rows of {len(self.names):,} columns"
        return f"{self.n:,} {kind}, {labelled:,} with a label" if self.y is not None else f"{self.n:,} {kind}"


def surprises(model: Any, given: Rows, X_train: Any) -> list[Section]:
    """log p(x): the rows that are least like what the model knows, and whether the rows differ from those of training."""
    if not hasattr(model, "score_samples"):
        return []
    try:
        density = np.asarray(model.score_samples(given.X), dtype=float)
        before = None if X_train is None else np.asarray(model.score_samples(X_train), dtype=float)
    except (ValueError, NotImplementedError, AttributeError):  # a model without a density
        return []
    finite = np.isfinite(density)
    if density.ndim != 1 or len(density) != given.n or not finite.any():
        return []
    all_ = density[finite] if before is None else np.concatenate([density[finite], before[np.isfinite(before)]])
    edges = np.linspace(float(np.percentile(all_, 0.5)), float(all_.max()), 31)
    series = {"these rows": density} | ({} if before is None else {"rows of training": before})
    shares = {
        name: np.histogram(np.clip(v[np.isfinite(v)], edges[0], edges[-1]), edges)[0] / len(v)
        for name, v in series.items()
    }
    top = max(float(s.max()) for s in shares.values())
    chart = Chart("log p(x) of the rows", (edges[0], edges[-1]), (0, top * 1.05), "log p(x)", "share of rows")
    for k, (name, share) in enumerate(shares.items()):
        chart.boxes(edges[:-1], edges[1:], share, name, colour=k, faint=True)
    body = [[float(a), *(float(s[i]) for s in shares.values())] for i, a in enumerate(edges[:-1])]
    section = Section("Rows unlike the others", charts=[(chart, Table(["from log p(x)", *shares], body))])
    section.text.append(
        "A low log p(x) is a row unlike those the model was trained on: an outlier, an error, or a new kind."
    )
    if before is not None:
        limit = float(np.percentile(before[np.isfinite(before)], 1))
        below = float(np.mean(density < limit))
        section.text.append(
            f"{100 * below:.1f} % of these rows lie below the lowest 1 % of the training rows. Much more than 1 % is drift."
        )
    order = np.argsort(np.where(finite, density, -np.inf), kind="stable")[:SHOWN_ROWS]
    rows = [[int(i), float(density[i]), given.told(int(i))] for i in order]
    section.tables.append(Table(["row", "log p(x)", "cells"], rows, "The most surprising rows"))
    return [section]


def missing(given: Rows) -> list[Section]:
    """How many cells of every column are missing."""
    if given.is_texts or given.is_sequences or sparse.issparse(given.X):
        return []
    shares = [_missing_share(given.column(j)) for j in range(len(given.names))]
    some = [j for j in np.argsort([-s for s in shares], kind="stable") if shares[j] > 0]
    if not some:
        return [Section("Missing cells", ["No cell is missing."])]
    table = Table(["column", "share missing"], [[given.names[j], float(shares[j])] for j in some])
    return [Section("Missing cells", [f"{len(some)} of {len(shares)} columns have missing cells."], tables=[table])]


def _missing_share(cells: np.ndarray) -> float:
    if cells.dtype.kind == "f":
        return float(np.isnan(cells).mean())
    return float(np.mean([c is None or c != c for c in cells.tolist()])) if cells.dtype == object else 0.0
