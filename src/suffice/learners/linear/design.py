"""Rows as the conditional likelihood takes them: a dense matrix of statistics of numbers, and places of cells of categories.

    dense   1 | was seen (columns with gaps that nothing tells of) | numbers in standard units | counts | -z^2/2
    codes   the cell of every column of categories or bins, among all cells; the last cell is that of nothing (missing)

The squares come last: classes that share their variances need the columns before them only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ...families.rows import chunks, one_hot
from .cells import BinsPart, CategoriesPart
from .parts import CountsPart, LinearPart, NumbersPart, PseudoRows, nothing

RIDGE = 1e-3  # of the mean variance, in every covariance
LARGEST = 1e200  # of a squared statistic, in units of the columns


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

    def measure(self, y: np.ndarray, weights: np.ndarray, own: float) -> None:
        """Correlated columns in units of the pooled covariance within classes, with the share `own` of its diagonal."""
        if self.kind == "correlated":
            _, deviations = units(self.X, weights)
            covariance = within_covariance(self.X / deviations, y, weights, self.family.n_outcomes)
            covariance = (1.0 - own) * covariance + own * np.diag(np.diagonal(covariance))
            self.unit = deviations[:, None] * np.linalg.cholesky(covariance)

    def fill(self, dense: np.ndarray) -> None:
        """Write the statistics of all rows."""
        for rows in chunks(self.X):
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
        dense[:, 0] = 1.0
        for each in (o for o in layouts if o.is_dense):
            each.fill(dense)
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
                layout.fill(parts[0].dense)
                other.fill(parts[1].dense)
        return parts

    def columns(self, is_tied: bool) -> np.ndarray:
        return self.dense[:, : self.n_plain] if is_tied and self.has_squares else self.dense


@dataclass
class ClassSums:
    """Statistics of labelled rows, by class: all that a prior needs to know of them."""

    design: Design
    y: np.ndarray
    weights: np.ndarray
    n_classes: int

    @property
    def row_weights(self) -> np.ndarray:
        """Of the design's rows."""
        return self.weights

    @cached_property
    def n(self) -> np.ndarray:
        return np.bincount(self.y, self.weights, self.n_classes)

    @cached_property
    def shares(self) -> np.ndarray:
        """(K,) array: class frequencies, none of them zero."""
        return (self.n + 1.0 / self.n_classes) / (self.n.sum() + 1.0)

    @cached_property
    def hot(self) -> np.ndarray:
        return one_hot(self.y, self.weights, self.n_classes)

    @cached_property
    def firsts(self) -> np.ndarray:
        return self.design.dense[:, : self.design.n_plain].T @ self.hot

    @cached_property
    def seconds(self) -> np.ndarray:
        plain, total = self.design.dense[:, : self.design.n_plain], np.zeros((self.design.n_plain, self.n_classes))
        for rows in chunks(plain):
            with np.errstate(over="ignore"):  # of huge counts with huge weights
                total += np.square(plain[rows]).T @ self.hot[rows]
        return np.minimum(total, 1e300)  # so that their sum over the classes is a number

    @cached_property
    def fourths(self) -> np.ndarray:
        with np.errstate(over="ignore"):  # a row may lie 1e80 deviations away
            fourths = np.minimum(np.square(self.design.dense[:, self.design.n_plain :]), LARGEST)
        return fourths.T @ self.weights

    @cached_property
    def counts(self) -> np.ndarray:
        from ...kernels.loops.linear import sum_cells

        sums = np.zeros((self.design.n_cells + 1, self.n_classes))
        sum_cells(self.design.codes, self.hot, sums)
        return sums[:-1]

    def seen(self, layout: ColumnLayout) -> np.ndarray:
        """(d, K) array: observed cells."""
        count = np.repeat(self.n[None], layout.X.shape[1], axis=0)
        if len(layout.which):
            count[layout.which] -= layout.missing.T.astype(float) @ self.hot
        return count

    def squares(self) -> tuple[np.ndarray, np.ndarray]:
        """ClassSums of squared statistics over all rows: dense, cells."""
        return np.concatenate([self.seconds.sum(axis=1), self.fourths]), self.counts.sum(axis=1)

    def parts(self, strength: float, share: float, is_tied: bool) -> list[LinearPart]:
        prior = PseudoRows(strength * self.shares, share, self.n)
        return [self._part(layout, prior, is_tied) for layout in self.design.layouts]

    def parts_of(self, record, is_tied: bool) -> list[LinearPart]:
        """Parts with given pseudo-statistics as their prior (correlated columns: as many rows of no class)."""
        return [self._given(layout, record.columns[layout.place], is_tied) for layout in self.design.layouts]

    def _given(self, layout: ColumnLayout, own, is_tied: bool) -> LinearPart:
        if layout.kind == "correlated":
            return self._part(layout, PseudoRows(float(own.weight.sum()) * self.shares, 0.0, self.n), is_tied)
        if layout.kind == "numbers":
            shift, unit = (layout.mean - layout.family.location), layout.unit
            weight, first = own.weight, own.first - own.weight * shift
            second = own.second - 2.0 * shift * own.first + shift**2 * weight
            with np.errstate(over="ignore"):  # beyond all numbers: the fit is refused by name
                arrays = weight.T, weight.T, (first / unit).T, (second / unit**2).T
            return NumbersPart(is_tied, layout.gaps, *arrays, layout.dense, layout.squares, layout.seen)
        if layout.kind == "counts":
            mean = np.maximum(own.count.sum(axis=0), 1e-300) / np.maximum(own.weight.sum(axis=0), 1e-300)
            return CountsPart(
                own.weight.T * mean[:, None], own.count.T, np.log(mean), layout.gaps, layout.dense, layout.seen
            )
        what = layout.family, own.count, len(layout.gaps) > 0, layout.cells, self.level(layout)
        if layout.kind == "bins":
            return BinsPart(*what, centre=layout.centre, a=np.zeros(self.n_classes))
        return CategoriesPart(*what)

    def _part(self, layout: ColumnLayout, prior: PseudoRows, is_tied: bool) -> LinearPart:
        if layout.kind == "counts":
            return CountsPart.of(layout, prior, self.seen(layout), self.firsts[layout.dense])
        if layout.is_dense:
            first, second = self.firsts[layout.dense], self.seconds[layout.dense]
            tied = is_tied or layout.kind == "correlated"
            return NumbersPart.of(layout, prior, self.seen(layout), first, second, tied)
        count, what = self.counts[layout.cells], (len(layout.gaps) > 0, layout.cells, self.level(layout))
        if layout.kind == "bins":
            alpha = CategoriesPart.alphas(layout.family, prior, count, 0.0)
            return BinsPart(layout.family, alpha, *what, centre=layout.centre, a=prior.a)
        return CategoriesPart(layout.family, CategoriesPart.alphas(layout.family, prior, count, 0.5), *what)

    def level(self, layout: ColumnLayout) -> np.ndarray:
        """(cells,) array: frequencies of the cells of told columns, 0 elsewhere."""
        count = self.counts[layout.cells].sum(axis=1)
        is_told = np.zeros(layout.family.n_features, dtype=bool)
        is_told[layout.told] = True
        share = count / np.maximum(layout.family.column_sums(count[:, None])[:, 0], 1e-300)
        return np.where(is_told[layout.family.column_of], share, 0.0)


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


def within_covariance(X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """(d, d) pooled covariance within classes, with a ridge that few rows need."""
    hot = one_hot(y, weights, n_classes)
    n = np.maximum(hot.sum(axis=0), 1e-300)
    centred = X - (hot.T @ X / n[:, None])[y]
    return ridged((weights[:, None] * centred).T @ centred, float(n.sum()))


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
