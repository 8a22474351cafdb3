r"""Whether columns of few whole numbers are categories, or levels of a number: as says more of hidden cells.

A tenth of the observed cells of some rows is hidden. Mixtures are fitted to what is left under both readings (all such columns as
categories, all as levels), each with the number of components at which the hidden cells of all columns together are likeliest.

    gain_i = log p(cell i | what is left of its row), as levels less as categories

All these columns are read as the sum of their gains says, but those whose own gains say the opposite by more than `SURE` standard
errors. The gains of the other columns are left out: two fits differ there by what the reading does not explain, and of a table with
one such column among many that is most of the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from .components import HeldOut, some_cells

MOST_ROWS = 2000
ENOUGH = 1000  # rows; of fewer, cells are hidden several times
MOST_DEALS = 4
ROWS_EACH = 60, 15  # rows for every component
MOST = 64  # components
SURE = 2.0


def ordered_columns(
    rows: np.ndarray, weights: np.ndarray, names: list[str], places: list[int], generator: np.random.Generator,
    score: Callable[[bool, HeldOut, int, np.random.Generator], list[np.ndarray]],
) -> list[str]:  # fmt: skip
    """Those of `names` (the columns `places`) that are better read as levels of a number.

    `score(is_ordered, held_out, n_components, generator)` fits a mixture and gives, for every column, log p of its hidden cells, times
    the weights of their rows; `held_out` are rows as categories are read.
    """
    some = np.sort(generator.permutation(len(rows))[:MOST_ROWS])
    n_deals = min(MOST_DEALS, ceil(ENOUGH / len(some)))
    dealt = [some_cells(rows[some], weights[some], generator) for _ in range(n_deals)]
    best = []
    for is_ordered in (False, True):
        sizes = sorted({max(1, min(MOST, len(some) // each)) for each in ROWS_EACH})
        found = []
        for size in sizes:
            each = [score(is_ordered, part, size, generator.spawn(1)[0]) for part in dealt]
            found.append([np.concatenate(cells) for cells in zip(*each, strict=True)])
        best.append(max(found, key=lambda cells: sum(own.sum() for own in cells)))
    gains = [as_levels - as_categories for as_categories, as_levels in zip(*best, strict=True)]
    is_ordered = sum(gains[place].sum() for place in places) > 0
    doubts = [
        gains[place].sum() * (-1 if is_ordered else 1) > SURE * np.sqrt((gains[place] ** 2).sum()) for place in places
    ]
    return [name for name, doubt in zip(names, doubts, strict=True) if is_ordered != doubt]
