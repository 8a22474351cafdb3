"""Training a tagger with a margin: the dual learner (`kernels.structures.tag_margin` has the mathematics).

A pass is a step for every sequence towards its best wrong path, then some towards paths that are known already. Its measure has the
duality gap, so training stops where it is done. Tags that are missing in a sequence are filled in first, by the best path of the model
that EM learns; a missing cell adds nothing to a score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..kernels.structures import tag_margin as loops
from ..structures.tag_weights import TagWeights, sums_of
from .driver import run
from .problem import Measure
from .state import Fit, State
from .tag_data import TagData, likelihood_fit
from .tag_problem import counted, unflattened
from .watch import Watch

SLOTS = 12  # paths that a sequence keeps
SWEEPS = 4  # steps towards known paths in a pass


@dataclass(eq=False)
class MarginProblem:
    """Sequences whose tags are all known (weight 0: left out), a strength and a centre."""

    data: TagData
    centre: TagWeights
    strength: float

    patience = 2

    def __post_init__(self) -> None:
        data, tagging = self.data, self.data.tagging
        self.weights = data.weights * ((data.n_known == data.lengths) & (data.lengths > 0))
        self.right = np.maximum(data.labels, 0).astype(np.int16)
        cells, numbers, self.units = [], [], []
        families: Any = tagging.emissions.families
        for family, X, units in zip(families, tagging.emissions.split(data.rows), tagging.units, strict=True):
            if family.takes_codes:
                cells.append(np.where(np.isnan(X), -1, np.nan_to_num(X) + family.offset).astype(np.int64))
            else:
                numbers += [np.nan_to_num(phi * unit) for phi, unit in zip(family.phi(X), units, strict=True)]
            self.units += units
        n = len(data.rows)
        self.steps = (
            np.ascontiguousarray(np.hstack([*cells, np.zeros((n, 0), np.int64)])),
            np.ascontiguousarray(np.hstack([*numbers, np.zeros((n, 0))])),
        )

    @property
    def total(self) -> float:
        return max(float(self.weights @ self.data.lengths), 1e-300)

    def scale(self, measure: Measure) -> float:
        return self.total

    # -- weights as the kernels take them ------------------------------------------------------------------------------

    def model_of(self, weights: TagWeights) -> tuple[np.ndarray, ...]:
        """(start, transitions, end, table, slopes); slopes are in units of the spread of phi."""
        table, slopes, place = np.zeros((0, self.data.tagging.n_tags)), [], 0
        for family, own in zip(self.data.tagging.emissions.families, weights.columns, strict=True):
            for array in own.arrays():
                unit = self.units[place]
                place += 1
                if family.takes_codes:
                    table = array
                else:
                    slopes.append((array / np.where(unit > 0, unit, 1.0)).T)
        stacked = np.vstack([*slopes, np.zeros((0, self.data.tagging.n_tags))])
        arrays = weights.start, weights.transitions, weights.end, table, stacked
        return tuple(np.array(array, order="C") for array in arrays)

    def weights_of(self, model: tuple[np.ndarray, ...]) -> TagWeights:
        start, transitions, end, table, slopes = model
        parts, place, row = [start.ravel(), transitions.ravel(), end.ravel()], 0, 0
        for family, own in zip(self.data.tagging.emissions.families, self.centre.columns, strict=True):
            for _ in own.arrays():
                if family.takes_codes:
                    parts.append(table.ravel())
                else:
                    parts.append((slopes[row : row + family.n_features].T * self.units[place]).ravel())
                    row += family.n_features
                place += 1
        return unflattened(self.centre, np.concatenate(parts))

    # -- what is minimised --------------------------------------------------------------------------------------------

    def judged(self, model: tuple[np.ndarray, ...], alpha: np.ndarray, paths: np.ndarray) -> tuple[Measure, np.ndarray]:
        """F with its duality gap, and the best wrong paths (n,)."""
        losses, rivals = np.zeros(len(self.weights)), self.right.copy()
        gap = loops.measure_margins(
            self.steps, model, self.data.offsets, self.weights, self.right, alpha, paths, losses, rivals
        )
        moved = [one - other for one, other in zip(model, self.model_of(self.centre), strict=True)]
        norm = sum(float(np.vdot(own, own)) for own in moved)
        loss = float(self.weights @ losses)
        mean, objective = loss / self.total, loss + 0.5 * self.strength * norm
        counts = np.repeat(losses > 0, self.data.lengths)
        return Measure(objective, mean, np.nan, hinge=mean, gap=max(gap, 0.0)), np.where(counts, rivals, self.right)

    def measure(self, weights: TagWeights) -> Measure:
        return self.judged(self.model_of(weights), *self.nothing())[0]._replace(gap=np.inf)

    def nothing(self) -> tuple[np.ndarray, np.ndarray]:
        """Multipliers of the right paths only."""
        alpha, paths = np.zeros((len(self.weights), SLOTS)), np.zeros((SLOTS, len(self.right)), np.int16)
        alpha[:, 0], paths[0] = self.weights, self.right
        return alpha, paths

    def value_and_gradient(self, weights: TagWeights) -> tuple[float, TagWeights]:
        """The sum of losses and its gradient in the weights: statistics of best wrong paths (that count) minus those of right ones."""
        measure, rivals = self.judged(self.model_of(weights), *self.nothing())
        form, offsets, families = self.data.form, self.data.offsets, self.data.tagging.emissions.families
        wrong, right = (
            counted(form, offsets, path.astype(np.int64), self.weights) for path in (rivals, self.right)
        )  # fmt: skip
        found = wrong - right
        columns = tuple(
            type(own)(*sums_of(family, sums))
            for family, own, sums in zip(families, self.centre.columns, found.emissions.columns, strict=True)
        )
        return measure.loss * self.total, TagWeights(found.start, found.transitions, found.end, columns)


@dataclass
class Multipliers:
    """The memory of the learner: the weights as the kernels take them, multipliers and paths."""

    model: tuple
    alpha: np.ndarray
    paths: np.ndarray


@dataclass(frozen=True)
class MarginDual:
    """Steps of the dual; see `tag_margin` of the kernels."""

    def init(self, problem: MarginProblem, start, generator, warm=None) -> State:
        alpha, paths = problem.nothing()
        model = problem.model_of(problem.centre)
        return State(problem.centre, generator, memory=Multipliers(model, alpha, paths))

    def step(self, problem: MarginProblem, state: State) -> State:
        memory, data = state.memory, problem.data
        work = tuple(np.zeros_like(array) for array in memory.model)
        for sweep in range(1 + SWEEPS):
            order = state.generator.permutation(len(problem.weights))
            loops.climb(
                order, problem.steps, memory.model, work, data.offsets, problem.weights, problem.right, problem.strength,
                sweep == 0, memory.alpha, memory.paths,
            )  # fmt: skip
        measure, _ = problem.judged(memory.model, memory.alpha, memory.paths)
        return replace(state, moments=problem.weights_of(memory.model), measure=measure)


def margin_fit(
    data: TagData, strength: float, centre: TagWeights, generator, watch: Watch, max_iter: int, tol: float
) -> Fit:  # fmt: skip
    """The fit of the weights."""
    if data.has_gaps:
        model = likelihood_fit(data, 1.0, 0.0, generator, watch.child("gaps"), 20)[0].moments
        steps = data.plain_steps(data.weights * data.is_labelled, is_clamped=True)
        filled = steps.best(data.tagging.chain.parameters(steps.form, model))[1]
        data = data.with_labels(np.where(np.repeat(data.is_labelled, data.lengths), filled, data.labels))
    problem: Any = MarginProblem(data, centre, strength)
    return run(MarginDual(), problem, centre, generator, max_epochs=max_iter, tol=tol, watch=watch)
