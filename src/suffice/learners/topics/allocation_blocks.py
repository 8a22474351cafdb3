"""Documents that lie in blocks: expected counts of words in topics as sums over the blocks.

A `BlockAllocation` stands in the place of an `AllocationProblem`. Where inference of a document ended stays with its block. Online EM
deals out blocks and not documents, so that a pass reads every block once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override

from ..blocks import Placing, Sums
from .allocation import Allocation, word_totals
from .allocation_passes import AllocationProblem


@dataclass(eq=False)
class BlockDocuments(Placing):
    def word_totals(self) -> np.ndarray:
        return self.sum(word_totals)


def expected_words(X: Any, shapes: Any, model: Allocation, n_steps: int) -> tuple[Sums, np.ndarray]:
    """The bound and the expected counts of a block's documents, and where their inference ended."""
    count, shapes, bound = model.expect(X, None if shapes is None else shapes.copy(), n_steps=n_steps)
    return Sums(bound, count), shapes


def expected_some(X: Any, model: Allocation) -> Sums:
    """As `expected_words`, by inference from its beginning; `row` is not used."""
    count, _, bound = model.expect(X)
    return Sums(bound, Counted(count, X.shape[0]))


@dataclass
class Counted:
    """Expected counts of so many documents."""

    count: np.ndarray
    n: int

    def __add__(self, other: Counted) -> Counted:
        return Counted(self.count + other.count, self.n + other.n)


@dataclass(frozen=True, eq=False)
class BlockAllocation(AllocationProblem):
    """X is a `BlockDocuments`."""

    n_documents: int = field(default=0)

    @property
    @override
    def n_units(self) -> int:
        return len(self.X.blocks)

    @override
    def expect(self, count, memory, n_steps):
        rows = self.X
        found, kept = rows.engine.sum_keeping(expected_words, rows.blocks, memory, self.at(count), n_steps)
        return found.record, kept, found.total

    @override
    def expect_some(self, count, units):
        rows = self.X
        found = rows.engine.sum(expected_some, rows.blocks.some(units), self.at(count))
        return found.record.count, found.total, self.n_documents / max(found.record.n, 1)
