"""Rows as the conditional likelihood takes them: a dense matrix of statistics of numbers, and places of cells of categories.

    dense   1 | was seen (columns with gaps that nothing tells of) | numbers in standard units | counts | -z^2/2
    codes   the cell of every column of categories or bins, among all cells; the last cell is that of nothing (missing)

The squares come last: classes that share their variances need the columns before them only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ...families.rows import chunks, one_hot
from .parts import nothing

RIDGE = 1e-3  # of the mean variance, in every covariance


@dataclass
class ColumnLayout:
    """Where the columns of a family lie."""

    family: Any
    place: int  # among the families
    kind: str
    X: np.ndarray  # its columns
    gaps: np.ndarray  # columns with missing cells that nothing tells of
    missing: np.ndarray  # (n, columns with missing cells) booleans
    which: np.ndarray  # those columns
    told: np.ndarray  # columns whose gaps another column tells of
    dense: slice = field(default_factory=nothing)
    squares: slice = field(default_factory=nothing)
    seen: slice = field(default_factory=nothing)
    cells: slice = field(default_factory=nothing)
    mean: np.ndarray = field(default_factory=lambda: np.zeros(0))
    unit: np.ndarray = field(
        default_factory=lambda: np.ones(0)
    )  # (d,) deviations, or a (d, d) lower factor of a covariance
    centre: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def is_dense(self) -> bool:
        return self.kind in ("numbers", "correlated", "counts")

    @property
    def has_gaps(self) -> np.ndarray:
        """(columns,) array: whether cells are missing that nothing tells of."""
        return np.isin(np.arange(self.X.shape[1]), self.gaps)

    def measure(self, y: np.ndarray, weights: np.ndarray, own: float) -> None:
        """Correlated columns in units of the pooled covariance within classes, with the share `own` of its diagonal."""
        if self.kind == "correlated":
            _, deviations = units(self.X, weights)
            covariance = within_covariance(self.X, deviations, y, weights, self.family.n_outcomes)
            covariance = (1.0 - own) * covariance + own * np.diag(np.diagonal(covariance))
            self.unit = deviations[:, None] * np.linalg.cholesky(covariance)

    def fill(self, dense: np.ndarray, rows: slice) -> None:
        """Write the statistics of some rows."""
        z = self.standard(rows)
        dense[rows, self.dense] = z
        if len(self.gaps):
            dense[rows, self.seen] = ~np.isnan(self.X[rows, self.gaps])
        if self.squares.stop > self.squares.start:
            dense[rows, self.squares] = -0.5 * z * z

    def standard(self, rows: slice) -> np.ndarray:
        """(rows, d) array: numbers in standard units, zero where missing; counts as they are."""
        z = self.X[rows]
        if self.kind != "counts":
            z = z - self.mean
            z = z / self.unit if self.unit.ndim == 1 else solve_triangular(self.unit, z.T, lower=True).T
        return np.where(np.isnan(z), 0.0, z) if len(self.which) else z


@dataclass
class Design:
    layouts: list[ColumnLayout]
    dense: np.ndarray
    codes: np.ndarray
    n_cells: int
    has_squares: bool
    n_plain: int  # dense columns before the squares

    @classmethod
    def of(
        cls,
        model,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        told: np.ndarray,
        *,
        squares: bool,
        own: float = 1.0,
    ) -> Design:
        """Of a joint's rows; `told` (features,) says of which columns' gaps another column tells, and `own` is the share of their
        own variances in the covariance that correlated columns are measured by."""
        layouts, at = [], 0
        for place, (family, part) in enumerate(zip(model.families, model.split(X), strict=True)):
            last = at + family.n_features
            if family.n_features:
                layouts.append(layout_of(family, place, part, told[at:last], weights))
                layouts[-1].measure(y, weights, own)
            at = last
        _place(layouts, squares)
        return cls.filled(layouts, len(X), squares)

    @classmethod
    def filled(cls, layouts: list[ColumnLayout], n: int, squares: bool) -> Design:
        """The design of columns whose places are known."""
        n_plain = 1 + sum(len(o.gaps) + o.X.shape[1] for o in layouts if o.is_dense)
        width = n_plain + sum(o.squares.stop - o.squares.start for o in layouts)
        dense = np.empty((n, width))
        for rows in chunks(dense):
            dense[rows, 0] = 1.0
            for each in (o for o in layouts if o.is_dense):
                each.fill(dense, rows)
        coded = [o for o in layouts if not o.is_dense]
        n_cells = sum(o.cells.stop - o.cells.start for o in coded)
        codes = np.empty((n, sum(o.X.shape[1] for o in coded)), dtype=np.int32)
        first = 0
        for each in coded:
            seen = ~np.isnan(each.X)
            cell = each.cells.start + each.family.offset + np.where(seen, each.X, 0.0).astype(np.int64)
            codes[:, first : first + each.X.shape[1]] = np.where(seen, cell, n_cells)
            first += each.X.shape[1]
        return cls(layouts, dense, codes, n_cells, squares, n_plain)

    def of_rows(self, model, X: np.ndarray) -> Design:
        """The design of other rows, in the same places and units."""
        own = [part for family, part in zip(model.families, model.split(X), strict=True) if family.n_features]
        layouts = [
            replace(layout, X=part, missing=np.isnan(part[:, layout.which]))
            for layout, part in zip(self.layouts, own, strict=True)
        ]
        return Design.filled(layouts, len(X), self.has_squares)

    def part(self, rows: np.ndarray) -> Design:
        layouts = [replace(own, X=own.X[rows], missing=own.missing[rows]) for own in self.layouts]
        return replace(self, layouts=layouts, dense=self.dense[rows], codes=self.codes[rows])

    def split(
        self, train: np.ndarray, held_out: np.ndarray, y: np.ndarray, weights: np.ndarray, own: float
    ) -> list[Design]:
        """Rows to train on and rows held out; a covariance is of the former."""
        parts = [self.part(train), self.part(held_out)]
        for layout, other in zip(parts[0].layouts, parts[1].layouts, strict=True):
            if layout.kind == "correlated":
                layout.measure(y[train], weights[train], own)
                other.unit = layout.unit
                layout.fill(parts[0].dense, slice(None))
                other.fill(parts[1].dense, slice(None))
        return parts

    def columns(self, is_tied: bool) -> np.ndarray:
        return self.dense[:, : self.n_plain] if is_tied and self.has_squares else self.dense


def layout_of(family, place: int, X: np.ndarray, told: np.ndarray, weights: np.ndarray) -> ColumnLayout:
    which, kind = np.flatnonzero(np.isnan(X.sum(axis=0))), family.conditional
    layout = ColumnLayout(
        family, place, kind, X, which[~told[which]], np.isnan(X[:, which]), which, np.flatnonzero(told)
    )
    if kind == "bins":
        layout.centre = bin_centres(family, X, weights)
    elif kind in ("numbers", "correlated"):
        layout.mean, layout.unit = units(X, weights)
    return layout


def units(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of the observed cells; 1 for a column that is constant up to rounding."""
    if np.isnan(weights @ X).any():
        seen = ~np.isnan(X)
        total = np.maximum(weights @ seen, 1e-300)
        mean = weights @ np.where(seen, X, 0.0) / total
        squares = weights @ np.where(seen, X - mean, 0.0) ** 2 / total
    else:
        total = max(float(weights.sum()), 1e-300)
        mean, squares = weights @ X / total, np.zeros(X.shape[1])
        for rows in chunks(X):
            squares += weights[rows] @ (X[rows] - mean) ** 2 / total
    unit = np.sqrt(squares)
    return mean, np.where(unit > 1e-12 * np.abs(mean), np.maximum(unit, 1e-150), 1.0)


def within_covariance(
    X: np.ndarray, deviations: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int
) -> np.ndarray:
    """(d, d) pooled covariance within classes in units of the deviations, with a ridge that few rows need."""
    hot = one_hot(y, weights, n_classes)
    n = np.maximum(hot.sum(axis=0), 1e-300)
    means, scatter = hot.T @ X / n[:, None] / deviations, np.zeros((X.shape[1], X.shape[1]))
    for rows in chunks(X):
        centred = X[rows] / deviations - means[y[rows]]
        scatter += (weights[rows, None] * centred).T @ centred
    return ridged(scatter, float(n.sum()))


def ridged(scatter: np.ndarray, n: float) -> np.ndarray:
    """The covariance of n rows and one more."""
    d = len(scatter)
    typical = max(float(np.trace(scatter)) / max(n * d, 1e-300), 1e-6)
    return (scatter + (1.0 + RIDGE * n) * typical * np.eye(d)) / (n + 1.0)


def bin_centres(family, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(cells,) array: centres of the bins in standard units of their column."""
    counts = np.zeros(int(family.n_categories.sum()))
    for j, first in enumerate(family.offset):
        seen = ~np.isnan(X[:, j])
        np.add.at(counts, first + X[seen, j].astype(np.int64), weights[seen])
    share = counts / np.maximum(family.column_sums(counts[:, None])[:, 0], 1e-300)
    centred = family.middle - family.column_sums((share * family.middle)[:, None])[:, 0]
    unit = np.sqrt(family.column_sums((share * centred**2)[:, None])[:, 0])
    return centred / np.where(unit > 0, unit, 1.0)


def _place(layouts: list[ColumnLayout], squares: bool) -> None:
    dense = [own for own in layouts if own.is_dense]
    at, cell = 1, 0
    for own in dense:
        own.seen = slice(at, at + len(own.gaps))
        at = own.seen.stop
    for own in dense:
        own.dense = slice(at, at + own.X.shape[1])
        at = own.dense.stop
    for own in dense:
        width = own.X.shape[1] if squares and own.kind == "numbers" else 0
        own.squares = slice(at, at + width)
        at += width
    for own in layouts:
        if not own.is_dense:
            own.cells = slice(cell, cell + int(own.family.n_categories.sum()))
            cell = own.cells.stop
