"""Rows of words: counts (or weights such as tf-idf) to a power, in units of their own or scaled to one length, without a copy of
them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import sparse
from typing_extensions import override

from ..families.rows import any_missing
from ..families.words import ScaledRows, row_sizes
from .base import Reader
from .tables import counts


def in_units(X, unit: float, power: float = 1.0) -> ScaledRows:
    """The counts to a power (1, 1/2, 1/4), divided by the unit."""
    return ScaledRows(X, np.full(X.shape[0], 1.0 / unit), round(-np.log2(power)))


@dataclass
class Words(Reader):
    """Counts to the power `power`; scaled to the Euclidean length `norm`, or divided by `unit` where there is none."""

    owner: str = "MultinomialNB"  # whose name errors give
    power: float = 1.0
    norm: float | None = None
    unit: float = 1.0
    is_copied: bool = False  # rows are made as a matrix of their own, for those who cannot compute values as they read

    stored_as: ClassVar[dict[str, str]] = {
        "power": "number 1e-9..1",
        "norm": "none | number (0..",
        "unit": "number (0..",
    }

    takes_missing: ClassVar[bool] = False
    is_positive: ClassVar[bool] = True

    @override
    def read(self, X):
        if any_missing(X):
            raise ValueError(
                f"X has missing counts (NaN), and {self.owner} takes none: the length of a row with missing words is unknown. "
                "Use PoissonNB, whose columns are independent, or write 0 for words that do not occur"
            )
        return sparse.csr_matrix(counts(X, self.owner))

    @override
    def scaled(self, rows):
        rows = counts_of(rows)
        if self.norm is None and self.power == self.unit == 1.0:
            return rows
        made = in_units(rows, self.unit, self.power)
        if self.norm is not None:
            norms = np.sqrt(row_sizes(made)[1])
            made = replace(made, factors=np.where(norms > 0, self.norm / np.where(norms > 0, norms, 1.0), 0.0))
        return made.tocsr() if self.is_copied else made


def counts_of(rows) -> sparse.csr_matrix:
    """The counts that rows were made of."""
    return rows.given if isinstance(rows, ScaledRows) else rows
