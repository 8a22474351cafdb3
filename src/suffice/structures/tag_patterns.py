"""Category columns of many steps as patterns: combinations of cells that groups of columns show together (see the kernels' module).

Columns are put into one group as long as the group shows hardly more combinations than its largest column alone: affixes and the shape
of a word depend on the word, so they cost nothing beside it. What comes out does not depend on the grouping but for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from ..families.forms import CategoryForm
from ..kernels.structures import tag_patterns as loops

MORE = 1.1  # how many times as many combinations a group may show with one more column


@dataclass(frozen=True, eq=False)
class Patterns:
    ids: np.ndarray  # (n, groups): the pattern of every step and group
    bounds: np.ndarray  # (patterns + 1,): where its cells are
    cells: np.ndarray  # column j's category v is cell offset[j] + v; a missing one is cell n_cells + j
    n_cells: int

    @property
    def n_patterns(self) -> int:
        return len(self.bounds) - 1

    def some(self, rows) -> Patterns:
        """Of some of the steps; patterns that none of them shows are left out."""
        ids, first = ranked(self.ids[rows].ravel().astype(np.int64))
        used = self.ids[rows].ravel()[first]
        sizes = np.diff(self.bounds)[used]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        places = np.repeat(self.bounds[used] - bounds[:-1], sizes) + np.arange(bounds[-1])
        ids = ids.reshape(self.ids[rows].shape).astype(np.int32)
        return Patterns(ids, bounds, self.cells[places], self.n_cells)


def patterns_of(X: np.ndarray, n_categories: np.ndarray) -> Patterns:
    """The patterns of rows of codes (NaN: missing)."""
    offset = np.concatenate([[0], np.cumsum(n_categories)]).astype(np.int64)
    n_cells, d = int(offset[-1]), X.shape[1]
    missing = np.isnan(X)
    cells = np.where(missing, n_cells + np.arange(d), np.where(missing, 0, X) + offset[:-1]).astype(np.int64)
    ids, bounds, parts, n_patterns, n_places = [], [np.zeros(1, np.int64)], [], 0, 0
    for columns, own, first in grouped(cells):
        ids.append(own + n_patterns)
        bounds.append(n_places + len(columns) * np.arange(1, len(first) + 1))
        parts.append(cells[first][:, columns].ravel())
        n_patterns, n_places = n_patterns + len(first), n_places + len(columns) * len(first)
    table = np.stack(ids, axis=1).astype(np.int32) if ids else np.zeros((len(X), 0), np.int32)
    return Patterns(table, np.concatenate(bounds), np.concatenate([*parts, np.zeros(0, np.int64)]), n_cells)


def grouped(cells: np.ndarray) -> list[tuple[list[int], np.ndarray, np.ndarray]]:
    """(columns, the pattern of every step, a step that shows each pattern) of every group."""
    codes = [ranked(cells[:, j]) for j in range(cells.shape[1])]
    waiting = sorted(range(len(codes)), key=lambda j: -len(codes[j][1]))
    groups = []
    while waiting:
        head, *rest = waiting
        columns, (own, first), waiting = [head], codes[head], []
        limit = max(MORE * len(first), len(first) + 1.0)
        for j in rest:
            found = ranked(own * len(codes[j][1]) + codes[j][0])
            if len(found[1]) <= limit:
                columns.append(j)
                own, first = found
            else:
                waiting.append(j)
        groups.append((columns, own, first))
    return groups


def ranked(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n,) places 0, 1, ... of the values among the distinct ones, and where each of these stands first."""
    places, first = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    n = loops.rank(values, places, first)
    return places, first[:n].copy()


class PatternForm(CategoryForm):
    """The form of categories whose scores and sums go by patterns; theta is the patterns' table, made by `patterned`.

    `add` keeps the weights of the steps, and `record` sums and forgets them: a step is added once in a pass.
    """

    def __init__(self, family, X, is_complete: bool | None = None, patterns: Patterns | None = None):
        super().__init__(family, X, is_complete)
        self.patterns = patterns_of(self.X, family.n_categories) if patterns is None else patterns
        self.weights = np.zeros((len(self.X), family.n_outcomes))
        self.table = np.zeros((self.patterns.n_patterns, family.n_outcomes))

    @override
    def some(self, rows) -> PatternForm:
        return PatternForm(self.family, self.X[rows], self.is_complete, self.patterns.some(rows))

    def patterned(self, logits: np.ndarray, norms: np.ndarray) -> np.ndarray:
        """(patterns, K) array: scores of the patterns; `norms` (columns, K) are those of missing cells."""
        table = np.empty_like(self.table)
        loops.add_cells(self.patterns.bounds, self.patterns.cells, np.vstack([logits, norms]), table)
        return table

    @override
    def of_cells(self, logits):  # type: ignore[override]  # its own statistics by name
        nothing = np.zeros((self.family.n_features, self.family.n_outcomes))
        return np.zeros(self.family.n_outcomes), self.patterned(logits, nothing)

    @override
    def scores(self, phi, theta):
        first, n = phi
        scores = np.empty((n, self.family.n_outcomes))
        loops.add_patterns(self.patterns.ids, first, theta, scores)
        return scores

    @override
    def zeros(self):
        return np.zeros((0, self.family.n_outcomes))

    @override
    def add(self, phi, weights, theta, out):
        first, n = phi
        self.weights[first : first + n] = weights

    @override
    def record(self, mass, out):
        patterns, K = self.patterns, self.family.n_outcomes
        sums = np.zeros((patterns.n_cells + self.family.n_features, K))
        loops.spread_steps(patterns.ids, self.weights, self.table)
        self.weights[:] = 0.0
        loops.spread_patterns(patterns.bounds, patterns.cells, self.table, sums)
        return self.family.of_counts(sums[: patterns.n_cells])

    @override
    def kernel(self):
        return None
