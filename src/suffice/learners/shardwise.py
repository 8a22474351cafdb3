r"""Dual passes where the rows are: every block moves its own rows' weights against the shared moments, then the changes are added.

    v_k   change of the moments by block k        p_k   its share of the weight, so sum_k p_k = 1
    G(mu + sum_k v_k) <= sum_k p_k G(mu + v_k / p_k)        G(mu) = max_theta <theta, mu> is convex for every family

The right side is what incremental passes (`incremental`) lower when every row weighs 1 / p_k times as much: CoCoA+ with the safe
factor (Ma and others 2015), by the same compiled pass. The sum of the changes raises the dual, and stays in the domain, whatever the
blocks hold. Few blocks need few rounds, many need about as many as there are of them: this is a beginning for L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..engines.blocks import Kept
from ..engines.threads import SHARD, shards
from ..kernels.loops.measure import FIELDS, measure_rows
from .blocks import Block, Sums
from .problem import Problem
from .state import State

PASSES = 4  # over a block's rows in a round


@dataclass
class Shard:
    """What a block keeps: its number, and the weights of its rows."""

    number: int
    multipliers: np.ndarray | None = None


@dataclass(frozen=True)
class Work:
    """What all blocks are told of a round."""

    loss: Any
    prior: Any
    tolerance: float
    total: float  # weight of all rows
    factor: float = 1.0  # of the safe factor; below one the sum may leave the domain
    n_passes: int = PASSES


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def dual_round(block: Block, kept: Shard, model: Any, work: Work, moments: Any, number: int) -> tuple[Sums, Shard]:
    """Measures of the moments before the round (in the order of `FIELDS`), their change, and the rows' weights after it."""
    n, loss = len(block.y), work.loss
    before = np.zeros((n, model.n_outcomes)) if kept.multipliers is None else kept.multipliers
    if not n:
        return Sums(0.0, Change(np.zeros(len(FIELDS)), model.no_statistics())), Shard(kept.number, before)
    measured, change = np.zeros(len(FIELDS)), model.no_statistics()
    for part in shards(n, SHARD):
        measured += measure_rows.of(loss.kernels)(
            model.scores(moments, block.X[part]), block.y[part], block.weights[part], before[part], float(loss.margin),
            loss.settings,
        )  # fmt: skip
    after, arrays, slack = before.copy(), model.state_of(moments), np.zeros(n)
    weights = block.weights * (work.factor * work.total / float(block.weights.sum()))
    generator = np.random.default_rng([kept.number, number])
    for each in range(work.n_passes):
        order = generator.permutation(n)
        order = order[slack[order] <= 0.0] if each else order
        model.incremental_pass(block.X, block.y, weights, order, after, arrays, loss, work.tolerance, slack)
    moved = block.weights[:, None] * (after - before)
    for part in shards(n, SHARD):
        change = change + model.expected_statistics(block.X[part], moved[part])
    return Sums(0.0, Change(measured, change)), Shard(kept.number, after)


@dataclass
class Change:
    measured: np.ndarray
    moments: Any

    def __add__(self, other: Change) -> Change:
        return Change(self.measured + other.measured, self.moments + other.moments)


@dataclass(frozen=True)
class Rounds:
    """The memory of the learner: weights that belong to the state's moments, those after the next round, and its moments."""

    duals: Kept | None
    following: Kept
    moments: Any


@dataclass(frozen=True)
class Shardwise:
    """A step is a round. The moments of a state are measured by the round that leads on from them."""

    tolerance: float = 1e-3
    factor: float = 1.0

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        shares = Kept([Shard(number) for number in range(len(problem.blocks.blocks))])
        return State(problem.prior, generator, memory=Rounds(None, shares, problem.prior))

    def step(self, problem: Problem, state: State) -> State:
        rows, memory = problem.blocks, state.memory
        tolerance = problem.model.row_tolerance(problem.loss, problem.prior, self.tolerance)
        work = Work(problem.loss, problem.prior, tolerance, problem.total, self.factor)
        found, after = rows.engine.sum_keeping(
            dual_round, rows.blocks, memory.following, rows._model, work, memory.moments, state.n_passes
        )
        measure = problem.measure_of(found.record.measured, memory.moments, has_gap=True)
        following = memory.moments + found.record.moments
        is_done = not problem.model.in_domain(following)  # by rounding alone
        return replace(
            state, moments=memory.moments, measure=measure, n_passes=state.n_passes + 1, is_done=is_done,
            memory=Rounds(memory.following, after, following),
        )  # fmt: skip
