"""Rows that lie in blocks: sums of statistics, of losses and of their gradients, as `expectation.Rows` and `problem.Problem` give them.

Parameters go out as moments, records come back (`engines.blocks`). Learners do not notice: a `BlockRows` stands in the place of `Rows`
in EM, and of X, y and weights in a `Problem`, whose own rows are then a sample on which priors, units and starts are found.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..engines.blocks import BlockEngine, Placed
from ..engines.threads import SHARD, shards
from ..kernels.loops.measure import FIELDS, measure_rows
from ..losses import Loss
from .expectation import Expected, Rows


@dataclass
class Block:
    """Rows of a block in the structure's units, their labels (-1: none) and weights."""

    X: Any
    y: np.ndarray
    weights: np.ndarray


@dataclass
class Sums:
    """What blocks add: a number, a record, and the row that is explained worst."""

    total: float
    record: Any
    worst: float = np.inf
    row: Any = None

    def __add__(self, other: Sums) -> Sums:
        lower = self if self.worst <= other.worst else other
        return Sums(self.total + other.total, self.record + other.record, lower.worst, lower.row)


# -- what is done where the rows are -----------------------------------------------------------------------------------


@dataclass
class Labelled:
    """Of labelled rows: their weight and statistics, and sum_b mass_bk^2 / weight_b, which says how alike the labels of blocks are."""

    weight: float
    statistics: Any
    alike: np.ndarray
    n_blocks: int = 1

    def __add__(self, other: Labelled) -> Labelled:
        return Labelled(
            self.weight + other.weight, self.statistics + other.statistics, self.alike + other.alike, self.n_blocks + other.n_blocks
        )  # fmt: skip

    @property
    def dependence(self) -> float:
        """Cramer's V squared of blocks and labels: 0 where all blocks have the same shares of labels, 1 where they are sorted."""
        mass = self.statistics.mass
        seen = mass > 0
        least = min(self.n_blocks, int(np.count_nonzero(seen))) - 1
        return float((self.alike[seen] / mass[seen]).sum() - 1.0) / max(least, 1)


def label_statistics(block: Block, model: Any) -> Labelled:
    if not len(block.y):
        return Labelled(0.0, model.no_statistics(), np.zeros(model.n_outcomes))
    weight = weight_of(block)
    found = model.statistics_of_shards(block.X, block.y, block.weights)
    return Labelled(weight, found, found.mass**2 / weight)


def expected_statistics(block: Block, model: Any, moments: Any) -> Sums:
    """The E-step."""
    if not len(block.y):
        return Sums(0.0, model.no_statistics())
    rows = Rows(model.form(block.X), block.weights, block.y)
    found, worst = rows.expected_and_worst(rows.form.coefficients(moments))
    return Sums(
        found.log_likelihood, found.statistics, worst, block.X[[found.worst_row]] if found.worst_row >= 0 else None
    )


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # where a step leaves the domain; it is not kept
def signed_statistics(block: Block, model: Any, loss: Loss, moments: Any, curved: bool = False) -> Sums:
    """The sum of a loss, and its signed statistics: minus its gradient in the natural parameters. Where they are asked for (`curved`)
    the record is `Curved`."""
    found = Sums(0.0, Curved.none(model) if curved else model.no_statistics())
    for part in shards(len(block.y), SHARD):
        X, y, weights = block.X[part], block.y[part], block.weights[part]
        scores = model.scores(moments, X)
        signed = weights[:, None] * loss.weights(scores, y)
        record = model.completed_statistics(X, signed, moments)
        if curved:
            curvatures = weights[:, None] * loss.labelled_curvatures(scores, y)
            record = Curved(record, model.squared_statistics(X, curvatures))
        found = found + Sums(float(weights @ loss.values(scores, y)), record)
    return found


@dataclass
class Curved:
    """Signed statistics, and the sums of x^2 that second derivatives of the loss are made of: both moments."""

    statistics: Any
    squares: Any

    @classmethod
    def none(cls, model: Any) -> Curved:
        return cls(model.no_statistics(), model.no_statistics())

    def __add__(self, other: Curved) -> Curved:
        return Curved(self.statistics + other.statistics, self.squares + other.squares)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def measures(block: Block, model: Any, loss: Loss, moments: Any) -> np.ndarray:
    """Sums in the order of `FIELDS`."""
    total, none = np.zeros(len(FIELDS)), np.zeros((0, model.n_outcomes))
    for part in shards(len(block.y), SHARD):
        scores = model.scores(moments, block.X[part])
        total += measure_rows.of(loss.kernels)(
            scores, block.y[part], block.weights[part], none, float(loss.margin), loss.settings
        )
    return total


def base_measure(block: Block, model: Any) -> float:
    base = model.log_base_measure(block.X)
    return float(block.weights @ np.broadcast_to(base, block.weights.shape))


def weight_of(block: Block) -> float:
    return float(block.weights.sum())


# -- what stands in the place of rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BlockForm:
    """In the place of a `JointForm`: what scores need of the moments is made where the rows are."""

    model: Any

    def coefficients(self, moments: Any) -> Any:
        return moments


@dataclass(eq=False)
class Placing:
    """Blocks of `data` (`place(engine, prepare, n_bytes)`), made by `prepare`, which has a `reader`; of one structure."""

    engine: BlockEngine
    data: Any
    prepare: Any
    n_bytes: int
    model: Any
    _placed: dict = field(default_factory=dict, repr=False)

    @property
    def blocks(self) -> Placed:
        """The rows, placed when they are first asked for."""
        if "blocks" not in self._placed:
            self._placed["blocks"] = self.data.place(self.engine, self.prepare, self.n_bytes)
        return self._placed["blocks"]

    def sum(self, function: Any, *shared: Any) -> Any:
        return self.engine.sum(function, self.blocks, *shared)

    @cached_property
    def _model(self) -> Any:
        return self.engine.publish(self.model)


@dataclass(eq=False)
class BlockRows(Placing):
    """Rows of a mixture or of a classifier."""

    @property
    def form(self) -> BlockForm:
        return BlockForm(self.model)

    def read_by(self, reader: Any, model: Any) -> BlockRows:
        """The same rows as another reader gives them, of another structure."""
        if reader is self.prepare.reader:
            return replace(self, model=model)
        return replace(self, prepare=replace(self.prepare, reader=reader), model=model, _placed={})

    @cached_property
    def weights(self) -> np.ndarray:
        """The weight of all rows, as an array that adds up to it."""
        known = vars(self).get("labelled")
        return np.array([self.sum(weight_of) if known is None else known.weight])

    @cached_property
    def labelled(self) -> Labelled:
        """Sums over the labelled rows."""
        return self.sum(label_statistics, self._model)

    def statistics(self) -> Any:
        return self.labelled.statistics

    def expected(self, moments: Any) -> Expected:
        found = self.sum(expected_statistics, self._model, moments)
        return Expected(found.record, found.total, -1 if found.row is None else 0, found.row)

    def loss(self, moments: Any, loss: Loss) -> tuple[float, Any]:
        found = self.sum(signed_statistics, self._model, loss, moments)
        return found.total, found.record

    def curved_loss(self, moments: Any, loss: Loss) -> tuple[float, Any, Any]:
        """(loss, signed statistics, sums of squares) by one pass."""
        found = self.sum(signed_statistics, self._model, loss, moments, True)
        return found.total, found.record.statistics, found.record.squares

    def measure(self, moments: Any, loss: Loss) -> np.ndarray:
        return self.sum(measures, self._model, loss, moments)

    def mean_base_measure(self) -> float:
        return self.sum(base_measure, self._model) / max(float(self.weights.sum()), 1e-300)


@dataclass(frozen=True, eq=False)
class ByMoments:
    """A chart whose scores are made of moments, as `BlockForm` takes them; coordinates are in units of `scale`."""

    chart: Any
    scale: np.ndarray

    def vector(self, moments: Any) -> np.ndarray:
        return self.chart.vector(moments) / self.scale

    def moments(self, vector: np.ndarray) -> Any:
        return self.chart.moments(vector * self.scale)

    def coefficients(self, vector: np.ndarray, form: Any) -> Any:
        return self.moments(vector)

    def log_likelihood(self, vector: np.ndarray, statistics: Any) -> float:
        return self.chart.log_likelihood(vector * self.scale, statistics)

    def gradient(self, vector: np.ndarray, statistics: Any) -> np.ndarray:
        return self.chart.gradient(vector * self.scale, statistics) * self.scale
