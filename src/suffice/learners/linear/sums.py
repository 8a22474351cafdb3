"""Statistics of labelled rows, by class: all that a prior needs to know of them, and what a search needs to know of its way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...families.rows import chunks, one_hot
from ...kernels.loops.linear import sum_cells
from .cells import BinsPart, CategoriesPart
from .design import ColumnLayout, Design
from .parts import CountsPart, LinearPart, NumbersPart, PseudoRows

LARGEST = 1e200  # of a squared statistic, in units of the columns


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
    def counts(self) -> np.ndarray:
        sums = np.zeros((self.design.n_cells + 1, self.n_classes))
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
