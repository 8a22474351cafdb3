"""Statistics of labelled rows, by class: all that a prior needs to know of them, and what a search needs to know of its way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from typing_extensions import override

from ...families.rows import chunks, one_hot
from ...kernels.loops.linear import sum_cells
from .cells import BinsPart, CategoriesPart
from .design import ColumnLayout, Design
from .parts import CountsPart, LinearPart, NumbersPart, PseudoRows, over_classes

LARGEST = 1e200  # of a squared statistic, in units of the columns


@dataclass
class ClassSums:
    """Statistics of labelled rows, by class: all that a prior needs to know of them."""

    design: Design
    y: np.ndarray
    weights: np.ndarray
    n_classes: int

    @property
    def n_problems(self) -> int:
        return 1

    @property
    def width(self) -> int:
        """Classes of all problems."""
        return self.n_classes

    @property
    def row_weights(self) -> np.ndarray:
        """Of the design's rows."""
        return self.weights

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels and weights of the rows, once for every problem."""
        return self.y, self.weights

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
        plain, total = self.design.dense[:, : self.design.n_plain], np.zeros((self.design.n_plain, self.width))
        for rows in chunks(plain):
            with np.errstate(over="ignore"):  # of huge counts with huge weights
                total += np.square(plain[rows]).T @ self.hot[rows]
        return np.minimum(total, 1e300)  # so that their sum over the classes is a number

    @cached_property
    def counts(self) -> np.ndarray:
        sums = np.zeros((self.design.n_cells + 1, self.width))
        sum_cells(self.design.codes, self.hot, sums)
        return sums[:-1]

    def seen(self, layout: ColumnLayout) -> np.ndarray:
        """(d, K) array: observed cells."""
        count = np.repeat(self.n[None], layout.X.shape[1], axis=0)
        if len(layout.which):
            count[layout.which] -= layout.missing.T.astype(float) @ self.hot
        return count

    def squares(self, is_tied: bool) -> np.ndarray:
        """(p,) array: weighted sums of squares of the dense columns."""
        dense = self.design.columns(is_tied)
        weights, total = self.row_weights, np.zeros(dense.shape[1])
        with np.errstate(over="ignore"):  # a row may lie 1e80 deviations away
            for rows in chunks(dense):
                total += weights[rows] @ np.minimum(np.square(dense[rows]), LARGEST)
        return total

    def products(self, is_tied: bool) -> np.ndarray:
        """(p, p) array: weighted sums of products of the dense columns; remembered."""
        dense = self.design.columns(is_tied)
        known, p = self._products, dense.shape[1]
        if p not in known:
            weights, known[p] = self.row_weights, np.zeros((p, p))
            with np.errstate(over="ignore", invalid="ignore"):
                for rows in chunks(dense):
                    part, weight = dense[rows], weights[rows, None]
                    known[p] += part.T @ (part if (weight == 1.0).all() else weight * part)
        return known[p]

    @cached_property
    def _products(self) -> dict[int, np.ndarray]:
        return {}

    def parts(self, strength: float, share: float, is_tied: bool) -> list[LinearPart]:
        each = np.full(
            self.shares.size, strength * self.n_problems / self.shares.size
        )  # a rare class is not freer than others
        prior = PseudoRows(each, share, self.n, self.n_problems)
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
            weight, log_mean = own.weight.T * mean[:, None], np.repeat(np.log(mean)[:, None], self.n_classes, axis=1)
            return CountsPart(weight, own.count.T, log_mean, layout.gaps, layout.dense, layout.seen)
        what = layout.family, own.count, layout.has_gaps, layout.cells, self.level(layout)
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
        count, what = self.counts[layout.cells], (layout.has_gaps, layout.cells, self.level(layout))
        if layout.kind == "bins":
            alpha = CategoriesPart.alphas(layout.family, prior, count, 0.0)
            return BinsPart(layout.family, alpha, *what, centre=layout.centre, a=prior.a)
        return CategoriesPart(layout.family, CategoriesPart.alphas(layout.family, prior, count, 0.5), *what)

    def level(self, layout: ColumnLayout) -> np.ndarray:
        """(cells, K) array: frequencies of the cells of told columns, 0 elsewhere."""
        count = over_classes(self.counts[layout.cells], self.n_problems)
        is_told = np.zeros(layout.family.n_features, dtype=bool)
        is_told[layout.told] = True
        share = count / np.maximum(layout.family.column_sums(count), 1e-300)
        return np.where(is_told[layout.family.column_of, None], share, 0.0)


@dataclass
class FoldSums(ClassSums):
    """Sums for several problems of the same rows side by side, which differ in the rows' weights, an (n, problems) array.

    Folds hold out different rows and share the rest, and so do their optima: a search for all of them at once takes about as many
    steps as one of them, and every step is a product of larger matrices.
    """

    @property
    @override
    def n_problems(self) -> int:
        return self.weights.shape[1]

    @property
    @override
    def width(self) -> int:
        return self.n_problems * self.n_classes

    @property
    @override
    def row_weights(self) -> np.ndarray:
        return self.weights.mean(axis=1)

    @property
    @override
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        return np.repeat(self.y, self.n_problems), self.weights.ravel()

    @cached_property
    @override
    def hot(self) -> np.ndarray:
        found = np.zeros((len(self.y), self.n_problems, self.n_classes))
        found[np.arange(len(self.y)), :, self.y] = self.weights
        return found.reshape(len(self.y), -1)

    @cached_property
    @override
    def n(self) -> np.ndarray:
        return self.hot.sum(axis=0)

    @cached_property
    @override
    def shares(self) -> np.ndarray:
        return (self.n + 1.0 / self.n_classes) / (over_classes(self.n[None], self.n_problems)[0] + 1.0)
