r"""Training a tagger on paths of tags by conditional likelihood: a problem for L-BFGS.

    F = sum_i weight_i [ log sum over paths exp score(x_i, y) - log sum over paths with the known tags ] + strength / 2 |w - centre|^2

The gradient is the difference of two expectations of the statistics: given nothing, minus given the known tags (which are counts where
all tags of a sequence are known). A sequence without tags adds nothing. The norm is in units of one over the spread of phi.

Coordinates. L-BFGS takes w = centre + scale * vector with scale = 1 / sqrt(strength + CURVED * uses of the weight): a first guess of
the curvature, without which weights of common and of rare cells need very different steps. Weights of cells that no labelled step shows
stay at the centre: that is their minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.threads import Engine
from ..families.records import mapped
from ..structures.chain import ChainMoments
from ..structures.tag_patterns import Patterns
from ..structures.tag_weights import Tagging, TagWeights, sums_of
from .chain_steps import ChainSteps
from .problem import Measure

CURVED = 0.05  # about p (1 - p) of a tag in a step


@dataclass(eq=False)
class TagSteps:
    """Sequences with tags: `free` those with some, `clamped` those of them with gaps (or None), `counts` of those without gaps."""

    tagging: Tagging
    free: ChainSteps
    clamped: ChainSteps | None
    counts: ChainMoments

    @classmethod
    def of(
        cls, tagging: Tagging, rows: np.ndarray, offsets: np.ndarray, weights: np.ndarray, labels: np.ndarray,
        engine: Engine | None = None, form: Any = None,
    ) -> TagSteps:  # fmt: skip
        """Of rows (n, D), the weights (N,) of the sequences, and tags (n,), -1 where a tag is not known."""
        engine, chain = engine or Engine(), tagging.chain
        form = tagging.form(rows) if form is None else form
        lengths = np.diff(offsets)
        sequence = np.repeat(np.arange(len(lengths)), lengths)
        n_known = np.bincount(sequence[labels >= 0], minlength=len(lengths))
        has_some, has_all = (n_known > 0) & (weights > 0), (n_known == lengths) & (lengths > 0)
        free = ChainSteps(chain, form, offsets, weights * has_some, None, engine)
        counts = counted(form, offsets, labels, weights * has_all)
        gaps = weights * (has_some & ~has_all)
        if not gaps.any():
            return cls(tagging, free, None, counts)
        wrong = (labels[:, None] >= 0) & (labels[:, None] != np.arange(tagging.n_tags))
        evidence = np.where(wrong, -np.inf, 0.0)
        clamped = ChainSteps(chain, tagging.form(rows, patterns_in(form)), offsets, gaps, evidence, engine)
        return cls(tagging, free, clamped, counts)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return all(part.is_complete or not part.family.n_features for part in self.free.form.parts)

    @property
    def total(self) -> float:
        """The weight of all steps of the sequences that count."""
        return max(self.free.total, 1e-300)

    def value_and_difference(self, weights: TagWeights) -> tuple[float, ChainMoments]:
        """The sum of losses, and its gradient as a difference of expected statistics."""
        value, statistics = expected(self.tagging, self.free, weights)
        value -= self.tagging.score(weights, self.counts, self.is_complete)
        statistics = statistics - self.counts
        if self.clamped is not None:
            known, own = expected(self.tagging, self.clamped, weights)
            value, statistics = value - known, statistics - own
        return value, statistics


def patterns_in(form: Any) -> Patterns | None:
    """The patterns of the category columns of a form."""
    return next((part.patterns for part in form.parts if hasattr(part, "patterns")), None)


def expected(tagging: Tagging, steps: ChainSteps, weights: TagWeights) -> tuple[float, ChainMoments]:
    """Weighted sum of log sum over paths of exp score, and the expected statistics."""
    parameters, (first, onward, last) = tagging.parameters(steps.form, weights)
    found = steps.expected(parameters)
    lengths = np.diff(steps.offsets)
    own = steps.weights * (lengths > 0)
    taken = (first + last - onward) * float(own.sum()) + onward * float(own @ lengths)
    return found.log_likelihood + taken, found.statistics


def summed(form: Any, shares: np.ndarray) -> Any:
    """The emissions' statistics of all steps with these (n, S) shares of the tags."""
    out, buffers, theta = form.zeros(), form.buffers(), None if form.is_single else [None] * len(form.parts)
    for first in range(0, len(shares), form.chunk):
        own = shares[first : first + form.chunk]
        form.add(form.read(first, len(own), buffers), own, theta, out)
    return form.record(shares.sum(axis=0), out)


def counted(form: Any, offsets: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> ChainMoments:
    """Statistics of the known tags (-1: not known) of sequences of these weights (N,): pairs where both tags are."""
    lengths = np.diff(offsets)
    S, each = form.model.n_outcomes, np.repeat(weights, lengths)
    known = np.flatnonzero((labels >= 0) & (each > 0))
    shares = np.zeros((len(labels), S))
    shares[known, labels[known]] = each[known]
    begins, ends = np.zeros(len(labels), bool), np.zeros(len(labels), bool)
    begins[offsets[:-1][lengths > 0]] = ends[offsets[1:][lengths > 0] - 1] = True
    into = known[~begins[known] & (labels[known - 1] >= 0)]
    pairs = np.bincount(labels[into - 1] * S + labels[into], each[into], minlength=S * S).reshape(S, S)
    start, end = (
        np.bincount(labels[own], each[own], minlength=S) for own in (known[begins[known]], known[ends[known]])
    )
    return ChainMoments(start.astype(float), pairs.astype(float), end.astype(float), summed(form, shares))


class TagChart:
    """Coordinates of the weights that the steps say something of."""

    def __init__(self, steps: TagSteps, centre: TagWeights, strength: float):
        self.centre, self.strength = centre, strength
        self.start, tagging, free = centre.flat(), steps.tagging, steps.free
        S, each = tagging.n_tags, free.step_weights
        pooled = summed(free.form, np.repeat(each[:, None] / S, S, axis=1))
        n, total = float(free.weights.sum()), max(float(each.sum()), 1e-300)
        uses, units = [np.full(S, n), np.full(S * S, total / S), np.full(S, n)], [np.ones(S * (S + 2))]
        for family, own, unit, weights in zip(
            tagging.emissions.families, pooled.columns, tagging.units, centre.columns, strict=True
        ):
            for sums, each_unit, array in zip(sums_of(family, own), unit, weights.arrays(), strict=True):
                cells = S * sums if family.outcome_axis == -1 else np.full(array.shape, total)
                uses.append(cells.ravel())
                units.append(np.broadcast_to(each_unit, array.shape).ravel())
        all_uses, all_units = np.concatenate(uses), np.concatenate(units)
        self.used = np.flatnonzero((all_uses > 0) & (all_units > 0))
        self.scale = 1.0 / np.sqrt(strength + CURVED * all_uses[self.used])
        self.unit = all_units[self.used]

    def weights(self, vector: np.ndarray) -> TagWeights:
        flat = self.start.copy()
        flat[self.used] += self.unit * self.scale * vector
        return unflattened(self.centre, flat)

    moments = weights  # as the driver's learners call what they move

    def vector(self, weights: TagWeights) -> np.ndarray:
        return (weights.flat() - self.start)[self.used] / (self.unit * self.scale)

    def nearest(self, weights: TagWeights) -> TagWeights:
        """Weights that these coordinates can say."""
        return self.weights(self.vector(weights))

    def penalty(self, vector: np.ndarray) -> float:
        own = self.scale * vector
        return 0.5 * self.strength * float(own @ own)

    def gradient(self, vector: np.ndarray, gradient: TagWeights) -> np.ndarray:
        """In the coordinates, of that of the losses in the weights."""
        return self.scale * (self.unit * gradient.flat()[self.used] + self.strength * self.scale * vector)


def unflattened(template: TagWeights, flat: np.ndarray) -> TagWeights:
    """A record in the shape of the template."""
    cuts = np.cumsum([array.size for array in template.arrays()])[:-1]
    parts = iter(np.split(flat, cuts))
    return mapped(lambda array: next(parts).reshape(array.shape), template)


@dataclass(eq=False)
class TagProblem:
    """What L-BFGS minimises (`quasi_newton.QuasiNewton`)."""

    steps: TagSteps
    coordinates: TagChart
    _first: tuple = (None,)  # weights, F and its gradient there

    patience = 1

    @classmethod
    def of(cls, steps: TagSteps, strength: float, centre: TagWeights | None = None) -> TagProblem:
        return cls(steps, TagChart(steps, steps.tagging.zeros() if centre is None else centre, strength))

    @property
    def total(self) -> float:
        return self.steps.total

    def scale(self, measure: Measure) -> float:
        return self.total

    def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient, of a step."""
        tagging, chart = self.steps.tagging, self.coordinates
        weights, is_complete = chart.weights(vector), self.steps.is_complete
        if not is_complete and not tagging.in_domain(weights):
            return np.inf, np.zeros_like(vector)
        value, difference = self.steps.value_and_difference(weights)
        gradient = chart.gradient(vector, tagging.gradient(weights, difference, is_complete))
        return (value + chart.penalty(vector)) / self.total, gradient / self.total

    def measure(self, moments: TagWeights) -> Measure:
        value, gradient = self.value_and_gradient(self.coordinates.vector(moments))
        self._first = moments, value, gradient
        return self.measure_of(value)

    def measure_of(self, value: float) -> Measure:
        return Measure(self.total * value, value, np.nan)

    def first(self, moments: TagWeights) -> list[tuple[float, np.ndarray]]:
        """F and its gradient at these weights, if they were measured last."""
        return [self._first[1:]] if self._first[0] is moments else []
