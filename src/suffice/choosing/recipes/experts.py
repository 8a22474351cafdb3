"""What "auto" means for a target beside a table: mixtures of experts and a Bayesian line, fitted to parts of the rows and stacked.

The line knows how sure it is of its slopes, which no mixture does: it answers where there are few rows for the columns, or where the
target is, or nearly is, a line of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...learners.experts import ExpertSetting, fitted
from ...learners.watch import Watch
from ...structures.committee import Committee, Member, joined
from ...structures.design import Design, design_of
from ...structures.experts import Experts
from ...structures.line import Line
from ...structures.predictive import Predictive
from ...structures.targets import GaussianTarget, Target
from ..folds import deal
from ..stacking import ENOUGH_ROWS, Stack, best_width, likeliest_width, stacked

MANY = 2000  # rows
ROWS_EACH = 10  # rows for every component
COEFFICIENTS = 3  # of all experts together, for every row
NUMBERS = 40_000  # rows times what an expert sees of a row: a table with more is dealt less often
MOST_ROW_SHARE = 0.5  # of -log p(x) beside -log p(y | x)
MOST_HELD = 4000  # held-out rows that the width is taken from
MOST_SEEN = 1000  # numbers of a row that a line sees: its covariances are their square


def candidates(
    n_rows: int, n_components: int | str, steps: int, size: int = 1, missing: float = 0.0
) -> list[ExpertSetting]:
    """Settings to stack: from stiff to loose, begun at clusters of the rows or at levels of the target.

    `size` is how many numbers an expert sees of a row, `missing` the share of the cells that are missing: the more there are, the more
    it counts that gates know the rows and not the target alone.
    """
    K, L = (8, 16) if n_rows <= MANY else (16, 32)
    is_given = not isinstance(n_components, str)
    if is_given:
        K = L = max(1, min(int(n_components), n_rows))  # no more than there are rows
    found = [
        ExpertSetting(1, 1000.0, 1.0, em=False),
        ExpertSetting(1, 1.0, 1.0, em=False),
        ExpertSetting(4, 1.0, 1.0),
        ExpertSetting(K, 0.1, 0.1, 10.0, by_rank=True, em=False),
        ExpertSetting(K, 0.001, 0.1, 10.0, by_rank=True, em=False),
        ExpertSetting(L, 0.1, 0.1, 2.0, by_rank=True),
        ExpertSetting(L, 0.003, 0.1, 3.0, by_rank=True, em=False),
        ExpertSetting(L, 0.001, 0.01, 10.0, by_rank=True, em=False),
    ]
    if is_given:
        found = [ExpertSetting(K, 1.0, 1.0), *(each for each in found[3:] if each.n_components == K)]
    most = n_rows if is_given else max(1, min(n_rows // ROWS_EACH, COEFFICIENTS * n_rows // size))
    share = min(MOST_ROW_SHARE, missing)
    return [replace(each, steps=steps, row_share=share) for each in found if each.n_components <= most]


@dataclass(frozen=True)
class LineSetting:
    """The candidate that is a `Line`."""

    n_components: int = 1
    is_line: bool = True

    def fitted(self, structure: Experts, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Line:
        """That of the rows with a target."""
        seen = ~np.isnan(y)
        return Line.fitted(straight(structure, X), structure.gates.cuts, X[seen], y[seen], weights[seen])


def straight(structure: Experts, X: np.ndarray) -> Design:
    """What a line without bends sees of rows."""
    return design_of(structure.gates.families, structure.gates.split(X))


def deals(n_rows: int, n_members: int | str, has_gaps: bool = False, size: int = 1) -> tuple[int, int]:
    """(how often the rows are dealt, into how many parts); a step costs more where cells are missing, and where rows are wide."""
    if not isinstance(n_members, str):
        return (2, n_members // 2) if n_members % 2 == 0 and n_members >= 4 else (1, n_members)
    if n_rows < 2 * ROWS_EACH:
        return 1, 2
    tables = n_rows * size / NUMBERS
    if n_rows > MANY or tables > (1 if has_gaps else 2):
        return 1, 3
    return (2, 3) if has_gaps else (2, 5) if tables <= 1 else (1, 5)


@dataclass(frozen=True)
class StackedExperts:
    """How a committee is fitted."""

    n_components: int | str
    n_members: int | str
    steps: int
    tol: float
    is_conditional: bool
    n_threads: int = 1

    def trained(self, structure: Experts, X, y, weights, generator, watch: Watch) -> tuple[Committee, Stack]:
        """The committee, in the units of the targets given, and the stack it is made of."""
        seen = ~np.isnan(y)
        n = int(seen.sum())
        size = structure.design.size
        missing = float(np.isnan(X).mean())
        tried: list[Any] = candidates(n, self.n_components, self.steps, size, missing)
        needed = np.ones(len(tried), dtype=bool)  # gates answer for missing cells
        can_be_line = not missing and isinstance(structure.target, GaussianTarget)
        if isinstance(self.n_components, str) and can_be_line and straight(structure, X).size <= MOST_SEEN:
            tried, needed = [*tried, LineSetting()], np.append(needed, False)
        n_deals, n_parts = deals(n, self.n_members, missing > 0, size)
        levels = np.quantile(y[seen], np.linspace(0.1, 0.9, 9))
        classes = np.where(seen, np.searchsorted(levels, np.where(seen, y, 0.0)), -1)
        parts = np.empty((n_deals, len(y)), dtype=np.int64)
        for own in parts:
            dealt = deal(classes, np.arange(len(y)), generator, n_parts)
            own[dealt.rows] = dealt.part
        work = Parts(self, structure, X, y, weights, tried, parts, generator, watch)
        stack = stacked(tried, parts, weights, work.fit, work.judge, seen, self.n_threads, needed)
        width = self._width(structure.target, stack, parts, X, y, weights, generator)
        lines = [each.fitted(structure, X, y, weights) for each in stack.candidates if each.is_line]
        return replace(joined(stack, *lines), width=width), stack

    def _width(self, target: Target, stack: Stack, parts, X, y, weights, generator) -> float:
        """The width of the committee, from what the fits that did not see a row say of it; counts have none."""
        if target.is_whole:
            return 1.0
        held = np.sort(generator.permutation(np.flatnonzero(~np.isnan(y)))[:MOST_HELD])
        n_deals, n_parts = len(parts), int(parts.max()) + 1
        found = []  # of every candidate and deal: shares, eta and variances of the held-out rows
        for setting, weight, fits in zip(stack.candidates, stack.weights, stack.fits, strict=True):
            for number in range(n_deals):
                arrays = np.empty((3, len(held), setting.n_components))
                for part in range(n_parts):
                    mine = np.flatnonzero(parts[number][held] == part)
                    said = fits[number * n_parts + part].predictive(X[held[mine]])
                    arrays[:, mine] = weight / n_deals * said.shares, said.eta, said.variance + said.spread
                found.append(arrays)
        shares, eta, variance = np.concatenate(found, axis=2)
        whole = Predictive(target, shares, eta, variance, np.zeros(eta.shape[1]))
        if len(held) < ENOUGH_ROWS:
            return likeliest_width(lambda width: replace(whole, width=width).log_density(y[held]), weights[held])
        return best_width(lambda width: replace(whole, width=width).cdf(y[held]), weights[held])


class Parts:
    """The fits of candidates to all rows but a part, and their judgement: what `stacked` asks for."""

    def __init__(
        self, recipe: StackedExperts, structure: Experts, X, y, weights, tried, parts, generator, watch: Watch
    ):
        self.recipe, self.structure, self.tried = recipe, structure, tried
        self.X, self.y = X, y
        shape = len(tried), len(parts), int(parts.max()) + 1
        self.generators = np.array(generator.spawn(int(np.prod(shape))), dtype=object).reshape(shape)
        self.watches = {place: watch.child(f"fit{'.'.join(map(str, place))}") for place in np.ndindex(shape)}
        self.data: dict[tuple[int, int], Any] = {}
        for number, dealt in enumerate(parts):
            for part in range(shape[2]):
                own = np.flatnonzero(dealt != part)
                if np.isnan(y[own]).all():  # of one row nothing can be held out
                    own = np.arange(len(y))
                self.data[number, part] = X[own], y[own], weights[own]
        self.rows = {place: structure.rows(*data) for place, data in self.data.items()}

    def fit(self, candidate: int, number: int, part: int) -> Member | Line:
        place, setting = (candidate, number, part), self.tried[candidate]
        if setting.is_line:
            return setting.fitted(self.structure, *self.data[number, part])
        found = fitted(
            self.structure, self.rows[number, part], setting, self.recipe.is_conditional, self.generators[place],
            self.watches[place], self.recipe.tol,
        )  # fmt: skip
        return Member(self.structure.with_outcomes(setting.n_components), found.moments)

    def judge(self, found: Member | Line, places: np.ndarray) -> np.ndarray:
        return found.log_density(self.X[places], self.y[places])
