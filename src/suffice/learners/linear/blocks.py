"""The conditional likelihood of tables whose rows lie in blocks: coefficients out, sums of losses and of their gradients back.

Places and units of the columns are those of a sample, whose design goes out once without its rows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from ...engines.threads import SHARD, shards
from ..blocks import Block, BlockRows
from .conditional import Conditional
from .design import ColumnLayout, Design
from .sums import ClassSums

SUMS = ("n", "firsts", "seconds", "counts")


class Added(tuple):
    """A tuple whose entries add."""

    @override
    def __add__(self, other: Any) -> Added:
        return Added(a + b for a, b in zip(self, other, strict=True))


@dataclass(frozen=True, eq=False)
class Plan:
    """What blocks need to make their design."""

    model: Any
    design: Design  # without rows

    def of(self, block: Block, rows: slice) -> tuple[Design, np.ndarray, np.ndarray]:
        has = np.flatnonzero(block.y[rows] >= 0)
        X, y, weights = block.X[rows], block.y[rows], block.weights[rows]
        if len(has) < len(y):
            X, y, weights = X[has], y[has], weights[has]
        X = X if isinstance(X, np.ndarray) else X.toarray()
        return self.design.of_rows(self.model, X), y, weights


def class_sums(block: Block, plan: Plan) -> Added:
    """`ClassSums` of a block, and how often every column was seen."""
    total = None
    for rows in shards(len(block.y), SHARD) or [slice(0, 0)]:
        design, y, weights = plan.of(block, rows)
        own = ClassSums(design, y, weights, plan.model.n_outcomes)
        found = Added([*(getattr(own, name) for name in SUMS), *(own.seen(layout) for layout in design.layouts)])
        total = found if total is None else total + found
    assert total is not None
    return total


def linear_loss(block: Block, plan: Plan, is_tied: bool, dense: np.ndarray, cells: np.ndarray) -> Added:
    """The sum of the losses, and its gradients in the coefficients."""
    total = Added([0.0, np.zeros_like(dense), np.zeros_like(cells)])
    for rows in shards(len(block.y), SHARD):
        design, y, weights = plan.of(block, rows)
        total = total + Conditional.loss_of(design.columns(is_tied), design, y, weights, dense, cells)
    return total


class BlockClassSums(ClassSums):
    """`ClassSums` of all blocks; the design's rows are a sample with weights of its own."""

    def __init__(self, design: Design, blocks: BlockRows, weights: np.ndarray) -> None:
        bare = design.part(np.zeros(0, dtype=np.int64))
        super().__init__(design, np.zeros(0, dtype=np.int64), blocks.weights, blocks.model.n_outcomes)
        self.blocks, self.plan = blocks, blocks.engine.publish(Plan(blocks.model, bare))
        found = blocks.sum(class_sums, self.plan)
        vars(self).update(zip(SUMS, found, strict=False))
        self._seen = {layout.place: own for layout, own in zip(design.layouts, found[len(SUMS) :], strict=True)}
        self.weights = self.n  # of rows with a label
        self.sampled = weights * (self.n.sum() / max(float(weights.sum()), 1e-300))

    @property
    @override
    def row_weights(self) -> np.ndarray:
        return self.sampled

    @override
    def seen(self, layout: ColumnLayout) -> np.ndarray:
        return self._seen[layout.place]


class BlockConditional(Conditional):
    """F, its losses summed over blocks."""

    sums: BlockClassSums

    tol, steps, searches = 1e-6, 10, 1  # each step costs a pass over all blocks

    def local(self, y: np.ndarray, weights: np.ndarray) -> Conditional:
        """F of the sample, weighted up to all rows; with the prior and the units of all."""
        made = copy(self)
        made.__class__ = Conditional  # type: ignore[assignment]
        made.y, made.weights = y, weights * (self.total / max(float(weights.sum()), 1e-300))
        return made

    @override
    def loss(self, dense, cells):
        return self.sums.blocks.sum(linear_loss, self.sums.plan, self.is_tied, dense, cells)
