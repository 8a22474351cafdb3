"""Categories and bins under the conditional likelihood: the parts of `parts` whose statistics are cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override

from .metrics import Chain
from .parts import LinearPart, PseudoRows, nothing

WALK = 3.0


@dataclass
class CategoriesPart(LinearPart):
    family: Any
    alpha: np.ndarray  # (cells, K)
    is_normalised: np.ndarray  # (columns,): a cell may be missing and nothing tells of it
    cells: slice
    level: (
        np.ndarray
    )  # (cells, K): frequencies in told columns, else 0; the mean logit is taken off there: only the teller speaks
    dense: slice = field(default_factory=nothing)
    seen: slice = field(default_factory=nothing)
    weight: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.weight = self.family.block_sums(self.alpha)
        self.has_prior, self.has_level = bool(self.alpha.any()), bool(self.level.any())
        self.normalised = self.is_normalised[self.family.column_of, None] if self.is_normalised.any() else None

    @property
    def needs_norms(self) -> bool:
        return self.normalised is not None or self.has_prior

    @classmethod
    def alphas(cls, family, prior: PseudoRows, count: np.ndarray, flat: float) -> np.ndarray:
        if not prior.share:
            return np.repeat(flat * prior.a[None], len(count), axis=0)
        frequency = prior.over_classes(count) + 0.5
        return flat * prior.a[None] + prior.share * (count + frequency / family.column_sums(frequency))

    @property
    @override
    def size(self) -> int:  # type: ignore[override]
        return len(self.alpha)

    def logits(self, T: np.ndarray) -> np.ndarray:
        return T - self.family.column_sums(self.level * T) if self.has_level else T

    def back(self, g: np.ndarray) -> np.ndarray:
        """The gradient in T, of that in the logits."""
        return g - self.level * self.family.column_sums(g) if self.has_level else g

    def _norms(self, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(columns, K) log-partitions, and (cells, K) probabilities."""
        top = np.maximum.reduceat(logits, self.family.offset, axis=0)
        shares = np.exp(logits - top[self.family.column_of])
        whole = np.add.reduceat(shares, self.family.offset, axis=0)
        return top + np.log(whole), shares / whole[self.family.column_of]

    @override
    def put(self, T, dense, cells):
        logits = self.logits(T)
        if not self.needs_norms:
            cells[self.cells] = logits
            return logits, None, None
        norms, shares = self._norms(logits)
        is_plain = self.normalised is None
        cells[self.cells] = logits if is_plain else logits - self.normalised * norms[self.family.column_of]
        return logits, norms, shares

    @override
    def penalty(self, T, memory):
        value, g = self._lost(memory)
        return value, self.back(g)

    def _lost(self, memory) -> tuple[float, np.ndarray]:
        """What the pseudo-counts lose, and its gradient in the logits."""
        logits, norms, shares = memory
        value = float(np.vdot(self.weight, norms)) - float(np.vdot(self.alpha, logits))
        return value, self.weight[self.family.column_of] * shares - self.alpha

    @override
    def pulled(self, T, dense, cells, memory):
        g = cells[self.cells]
        if self.normalised is not None:
            g = g - self.normalised * memory[2] * self.family.column_sums(g)
        return self.back(g)

    @override
    def curvature(self, squares, cell_squares):
        return cell_squares[self.cells] + self.alpha


@dataclass
class BinsPart(CategoriesPart):
    """The slope is eliminated: of increments d with the steps D of the centres, it leaves  s/2 [d^2 - r <d, D>^2]  a column."""

    centre: np.ndarray = field(default_factory=lambda: np.zeros(0))  # (cells,): standard units
    a: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        family = self.family
        stiff = np.maximum(family.n_categories - 1, 1) / WALK**2
        self.step = self._increments(self.centre[:, None])
        self.stiffness = np.outer(stiff[family.column_of], self.a)
        self.stiffness[family.offset] = 0.0
        self.taken = (stiff / (1.0 + stiff * family.block_sums(self.step**2)[:, 0]))[family.column_of, None]

    def _increments(self, cells: np.ndarray) -> np.ndarray:
        found = np.diff(cells, axis=0, prepend=cells[:1])
        found[self.family.offset] = 0.0
        return found

    @override
    def penalty(self, T, memory):
        d = self._increments(T)
        pull = self.stiffness * (d - self.taken * self.family.column_sums(d * self.step) * self.step)
        value, gradient = 0.5 * float(np.vdot(pull, d)), pull.copy()
        gradient[:-1] -= pull[1:]
        if self.has_prior:
            more, own = super().penalty(T, memory)
            value, gradient = value + more, gradient + own
        return value, gradient

    @override
    def metric(self, squares, cell_squares):
        return Chain(cell_squares[self.cells] + self.alpha, self.stiffness)
