r"""A hidden Markov chain for every class: sequences with labels.

    p(x, c) = pi_c p(x | chain c)             x: a sequence;  all chains have the same states, transitions allowed and families

    statistics  mass[c]: sequences of class c;  chains[c]: the statistics of its chain
    moments     expected statistics

Every loss is a function of the scores log p(x, c), so its gradient is a signed sum of what the chains expect:

    d loss / d theta_c = - sum_i w_ic E[s | x_i, c]            w_ic: the signed weights of `suffice.losses`

(Masegosa 2014, Table 2). `ClassesChart` turns it into the gradient in unconstrained coordinates: logits of pi, of the free cells of
start and A (with the end in its row), and the chart of the emissions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from typing_extensions import override

from ..families.charts import clipped_exp
from ..families.records import Record
from .chain import Chain, ChainChart, ChainMoments, ChainPrior, Parameters, shares, topology_cells
from .charts import softmax
from .joint import Joint


@dataclass(frozen=True, eq=False)
class ClassesMoments(Record):
    mass: np.ndarray
    chains: tuple[ChainMoments, ...]


class ClassParameters(NamedTuple):
    """What scores need: log pi (C,), and the parameters of every chain."""

    log_shares: np.ndarray
    chains: tuple[Parameters, ...]


@dataclass(frozen=True, eq=False)
class SequenceRows:
    """Sequences as the rows of a problem: sequence i is steps[offsets[i] : offsets[i + 1]]; indexed by an array of numbers of rows."""

    steps: np.ndarray  # (n, D)
    offsets: np.ndarray  # (N + 1,)
    groups: np.ndarray | None = None  # (N,): sequences of a group (a speaker) are held out together

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.offsets) - 1, self.steps.shape[1]

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, rows: np.ndarray) -> SequenceRows:
        rows = np.asarray(rows)
        where, offsets = gathered(self.offsets, rows)
        return SequenceRows(self.steps[where], offsets, None if self.groups is None else self.groups[rows])

    def with_changes(self) -> SequenceRows:
        """With x_t - x_{t-1} as more columns; the first step has the change of the second one, a single step none."""
        changes = np.diff(self.steps, axis=0, prepend=self.steps[:1])
        first = self.offsets[:-1][self.lengths > 0]
        has_more = self.lengths[self.lengths > 0] > 1
        changes[first] = np.where(has_more[:, None], changes[np.minimum(first + 1, len(changes) - 1)], 0.0)
        return replace(self, steps=np.hstack([self.steps, changes]))


def gathered(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(steps of these sequences in their order, their own offsets)."""
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    lengths = np.diff(offsets)[rows]
    own = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(own[-1]) + np.repeat(offsets[:-1][rows] - own[:-1], lengths), own


class Shape(NamedTuple):
    """The form of a chain: how many states, which of them follow each other, whether the end of a sequence says something, and
    whether a step is seen with its change from the step before."""

    n_states: int
    topology: Any = "ergodic"
    has_end: bool = False
    has_changes: bool = False

    @override
    def __str__(self) -> str:
        more = " with an end" * self.has_end + ", steps and their changes" * self.has_changes
        topology = (
            self.topology if isinstance(self.topology, str) else f"{self.topology[0]} (skips: {self.topology[1]})"
        )
        return f"{self.n_states} states, {topology}{more}"


ONE_STATE = Shape(1)


@dataclass(frozen=True, eq=False)
class ChainClasses:
    chain: Chain  # whose shape all classes have
    n_outcomes: int  # classes
    plain: Joint  # emissions of a step
    changed: Joint | None = None  # and of a step with its change; None: changes mean nothing (symbols)
    shape: Shape = ONE_STATE

    @classmethod
    def of(cls, n_classes: int, plain: Joint, changed: Joint | None = None) -> ChainClasses:
        """In the simplest shape."""
        one = plain.with_outcomes(1)
        return cls(Chain(one, np.full(1, np.nan), np.full((1, 1), np.nan)), n_classes, plain, changed)

    @property
    def n_features(self) -> int:
        return self.plain.n_features

    def seen(self, rows: SequenceRows) -> SequenceRows:
        """Sequences as the chains see them."""
        return rows.with_changes() if self.shape.has_changes else rows

    @property
    def width(self) -> int:
        """States of a chain."""
        return self.chain.n_outcomes

    def at_shape(self, shape: Shape) -> ChainClasses:
        """The same families in chains of another shape."""
        emissions = self.changed if shape.has_changes else self.plain
        assert emissions is not None
        cells = topology_cells(shape.topology, shape.n_states)
        chain = Chain(emissions.with_outcomes(shape.n_states), *cells, shape.has_end)
        return replace(self, chain=chain, shape=shape)

    def is_like(self, other: ChainClasses) -> bool:
        """Whether moments of the other one mean the same here: the same shape, classes and columns."""
        same = self.shape == other.shape and self.n_outcomes == other.n_outcomes
        mine, theirs = self.no_statistics().arrays(), other.no_statistics().arrays()
        return same and [array.shape for array in mine] == [array.shape for array in theirs]

    def parameters(self, form, moments: ClassesMoments) -> ClassParameters:
        with np.errstate(divide="ignore"):
            log_shares = np.log(moments.mass / moments.mass.sum())
        return ClassParameters(log_shares, tuple(self.chain.parameters(form, own) for own in moments.chains))

    def in_domain(self, moments: ClassesMoments) -> bool:
        return bool(np.isfinite(moments.mass).all()) and all(map(self.chain.in_domain, moments.chains))

    def no_statistics(self) -> ClassesMoments:
        return ClassesMoments(np.zeros(self.n_outcomes), (self.chain.no_statistics(),) * self.n_outcomes)

    def log_base_measure(self, rows: SequenceRows) -> np.ndarray:
        """(N,) array: what no class depends on."""
        base = np.broadcast_to(self.chain.emissions.log_base_measure(self.seen(rows).steps), (len(rows.steps),))
        number = np.repeat(np.arange(len(rows)), rows.lengths)
        return np.bincount(number, base, minlength=len(rows))

    def chart(self, moments: ClassesMoments) -> ClassesChart:
        return ClassesChart(self, moments)

    def pooled_prior(self, statistics: ClassesMoments, strength: float, own: float) -> ClassesMoments:
        """Pseudo-statistics of every class: `strength` steps of each state that look like all steps of all classes, as many starts and
        steps out of a state over the free cells, and the share `own` of the statistics; a hundredth of the classes' masses."""
        chain, S = self.chain, self.width
        whole = sum((each.emissions for each in statistics.chains[1:]), statistics.chains[0].emissions)
        even = chain.emissions.pooled(replace(whole, mass=np.maximum(whole.mass, 1e-12)))
        start = row_softmax(np.zeros(S), chain.start_cells) * np.isnan(chain.start_cells)
        leaving = row_softmax(np.zeros(chain.leaving.shape), chain.leaving) * np.isnan(chain.leaving)
        end = leaving[:, S] if chain.has_end else np.zeros(S)
        flat = ChainMoments(start, leaving[:, :S], end, chain.emissions.at_masses(even, np.ones(S)))
        chains = tuple(strength * flat + own * each for each in statistics.chains)
        return ClassesMoments((own + 0.01) * statistics.mass, chains)


@dataclass(frozen=True, eq=False)
class ClassMember:
    """Chains of classes that answer together with others, in a shape of their own."""

    structure: ChainClasses
    moments: ClassesMoments
    temperature: float  # factor on its scores
    stopped: str = ""  # why its fit ended before it converged

    stored_as: ClassVar[dict[str, str]] = {"temperature": "number (0..", "stopped": "str"}

    def at(self, mass: np.ndarray) -> ClassMember:
        """With other masses of the classes."""
        return replace(self, moments=replace(self.moments, mass=mass))


@dataclass(frozen=True, eq=False)
class ClassesPrior:
    """The prior of EM: of every class's chain (`chain`), and `mass` sequences of every class."""

    chain: ChainPrior
    mass: float = 0.0

    @property
    def amount(self) -> float:
        return self.chain.amount

    def posterior(self, statistics: ClassesMoments) -> ClassesMoments:
        return ClassesMoments(statistics.mass + self.mass, tuple(map(self.chain.posterior, statistics.chains)))

    def log_density(self, moments: ClassesMoments) -> float:
        with np.errstate(divide="ignore"):
            own = self.mass * float(np.log(moments.mass / moments.mass.sum()).sum()) if self.mass else 0.0
        return own + sum(map(self.chain.log_density, moments.chains))


def row_softmax(logits: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """(..., n) array: shares of the free cells of every row; fixed cells as they are. `logits` of fixed cells do not matter."""
    free = np.isnan(cells)
    top = np.where(free, logits, -np.inf).max(axis=-1, keepdims=True)
    return shares(clipped_exp(np.where(free, logits - np.where(np.isfinite(top), top, 0.0), 0.0)), cells)


class CoordinateChart(ChainChart):
    """The coordinates of a chain, with what minimisers need: parameters, <theta, statistics> and its gradient."""

    def _rows(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Probabilities of start (S,) and of what follows a state (S, S or S + 1), and the coordinates of the emissions."""
        first, second, rest = np.split(vector, self.cuts)
        start, leaving = np.zeros(self.start.shape), np.zeros(self.leaving.shape)
        start[self.start], leaving[self.leaving] = first, second
        return row_softmax(start, self.chain.start_cells), row_softmax(leaving, self.chain.leaving), rest

    @override
    def moments(self, vector: np.ndarray) -> ChainMoments:
        start, leaving, rest = self._rows(vector)
        S = self.chain.n_outcomes
        end = leaving[:, S].copy() if self.chain.has_end else np.zeros(S)
        return ChainMoments(start, leaving[:, :S].copy(), end, self.emissions.moments(rest))

    def parameters(self, vector: np.ndarray, form) -> Parameters:
        start, leaving, rest = self._rows(vector)
        S = self.chain.n_outcomes
        logits, blocks = self.emissions._split(rest)
        mass, parts = softmax(logits), zip(self.emissions.parts, blocks, form.parts, strict=True)
        found = [part.coefficients(own, mass, own_form) for part, own, own_form in parts]
        end = leaving[:, S].copy() if self.chain.has_end else None
        A = np.ascontiguousarray(leaving[:, :S])
        return Parameters(start, A, end, form.with_masses(np.zeros(S), found))

    def log_likelihood(self, vector: np.ndarray, statistics: ChainMoments) -> float:
        start, leaving, rest = self._rows(vector)
        found = self.emissions.log_likelihood(rest, without_mass(statistics))
        for counts, cells in ((statistics.start, start), (self.chain._left(statistics), leaving)):
            seen = counts != 0
            found += float(counts[seen] @ np.log(np.maximum(cells[seen], 1e-300)))
        return found

    def gradient(self, vector: np.ndarray, statistics: ChainMoments) -> np.ndarray:
        start, leaving, rest = self._rows(vector)
        pairs = (
            (statistics.start, start, self.start),
            (self.chain._left(statistics), leaving, self.leaving),
        )
        slopes = [(counts - within(counts, cells, free))[free] for counts, cells, free in pairs]
        return np.concatenate([*slopes, self.emissions.gradient(rest, without_mass(statistics))])


def without_mass(statistics: ChainMoments) -> Any:
    """The statistics of the emissions given the states: how often a state occurs is the business of the chain."""
    return replace(statistics.emissions, mass=np.zeros_like(statistics.emissions.mass))


def within(counts: np.ndarray, cells: np.ndarray, free: np.ndarray) -> np.ndarray:
    """What the free cells of a row expect of all that is counted in them."""
    total = np.where(free, counts, 0.0).sum(axis=-1, keepdims=True)
    left = np.where(free, cells, 0.0).sum(axis=-1, keepdims=True)
    return total * cells / np.where(left > 0, left, 1.0)


class ClassesChart:
    """Coordinates around some moments, which set the units: logits of the classes, and a chart of every chain."""

    def __init__(self, model: ChainClasses, moments: ClassesMoments):
        self.model = model
        self.charts = [CoordinateChart(model.chain, own) for own in moments.chains]
        sizes = [len(chart.vector(own)) for chart, own in zip(self.charts, moments.chains, strict=True)]
        self.cuts = np.cumsum([model.n_outcomes, *sizes])[:-1]

    def _split(self, vector: np.ndarray) -> tuple[np.ndarray, list[tuple[CoordinateChart, np.ndarray]]]:
        logits, *parts = np.split(vector, self.cuts)
        return logits, list(zip(self.charts, parts, strict=True))

    def vector(self, moments: ClassesMoments) -> np.ndarray:
        logits = np.log(np.maximum(moments.mass / moments.mass.sum(), 1e-12))
        parts = [chart.vector(own) for chart, own in zip(self.charts, moments.chains, strict=True)]
        return np.concatenate([logits, *parts])

    def moments(self, vector: np.ndarray) -> ClassesMoments:
        logits, parts = self._split(vector)
        return ClassesMoments(softmax(logits), tuple(chart.moments(own) for chart, own in parts))

    def coefficients(self, vector: np.ndarray, form) -> ClassParameters:
        logits, parts = self._split(vector)
        return ClassParameters(np.log(softmax(logits)), tuple(chart.parameters(own, form) for chart, own in parts))

    def log_likelihood(self, vector: np.ndarray, statistics: ClassesMoments) -> float:
        logits, parts = self._split(vector)
        found = float(statistics.mass @ np.log(softmax(logits)))
        return found + sum(
            chart.log_likelihood(own, s) for (chart, own), s in zip(parts, statistics.chains, strict=True)
        )

    def gradient(self, vector: np.ndarray, statistics: ClassesMoments) -> np.ndarray:
        logits, parts = self._split(vector)
        slopes = [chart.gradient(own, s) for (chart, own), s in zip(parts, statistics.chains, strict=True)]
        return np.concatenate([statistics.mass - softmax(logits) * statistics.mass.sum(), *slopes])
