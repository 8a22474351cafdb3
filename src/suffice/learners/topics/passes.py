"""Learners of models with latent topics: batch EM, and incremental training that stores every document's contribution.

`EM` is for the likelihood. `IncrementalTopics` is `Incremental` with one more thing to remember: where a document's words went (one
number a word, topic and class, as float32). Both keep each document's proportions between passes and improve them by a few steps, so
that a pass costs little more than reading the documents. The model brings the inference; nothing here knows a family.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from ...engines.threads import Engine, in_company, shards
from ..problem import Measure, Problem
from ..state import State

SETTLED = 2.0  # mean wanted change, in tolerances, at which training is done
START = 0.05  # size of the multipliers that break the symmetry of topics
FULL = 4  # every so many passes no document is left out
REST = 0.3  # documents that wanted less than this share of the tolerance are left out of the others
PATIENCE = 60_000  # looks at a counter (.1 to .2 ms) before a thread that waits for others goes to sleep
SHARD = 256  # documents whose contributions one thread fills at a time
PARTS = 4  # of the words: threads take a block's steps part by part
ROOM = 0.25  # share of the prior's counts that is left with them


@dataclass
class Documents:
    """The memory of the learners: what is known of every document."""

    shapes: np.ndarray  # proportions under every class
    multipliers: Any = None
    stored: Any = None  # contributions: non-zeros x topics x classes
    arrays: tuple | None = None
    starts: Any = None  # of every document's words in each part of them, see `parts_of`
    wanted: Any = None  # the change every document wanted when it was last visited
    block: int = 1
    last: Measure | None = None  # measure of the last pass that was measured


def longest_first(order: np.ndarray, lengths: np.ndarray, size: int) -> np.ndarray:
    """The order with every block's longest documents first, so that no thread begins one when the others are at their end."""
    place, longest = np.arange(len(order)), lengths.max(initial=0)
    rank = place // size * (longest + 1) + longest - lengths[order]
    return order[np.sort(rank * len(order) + place) % len(order)] if len(order) else order  # ties in their order


def parts_of(X, n_parts: int) -> np.ndarray:
    """Words cut into ranges of about as many non-zeros: row i's of range j are starts[i, j] to starts[i, j + 1]. X is sorted."""
    reached = np.cumsum(np.bincount(X.indices, minlength=X.shape[1]))
    part = (reached - 1) * n_parts // max(X.nnz, 1)  # of every word
    cells = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)) * n_parts + part[X.indices]
    n_cells = np.bincount(cells, minlength=X.shape[0] * n_parts).reshape(-1, n_parts)
    return X.indptr[:-1, None] + np.concatenate([np.zeros((len(n_cells), 1), np.int64), n_cells.cumsum(axis=1)], axis=1)


def measured(problem: Problem, moments, shapes: np.ndarray | None) -> Measure:
    """`Problem.measure` with inference that starts where it stopped."""
    model: Any = problem.model
    return problem.measure(moments, scores=model.scores(moments, problem.X, shapes=shapes))


@dataclass(frozen=True)
class EM:
    """Batch EM on labelled and unlabelled documents. With exact or warm inference no pass lowers the likelihood (or its bound)."""

    n_steps: int = 5  # of inference, a document and pass
    tolerance: float = 1e-3  # of the proportions
    watch: bool = True

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        model: Any = problem.model
        shapes = model.empty_shapes(len(problem.y))
        measure = measured(problem, start, None) if self.watch else None
        lengths = np.asarray(problem.X.sum(axis=1)).ravel()
        shapes[:] = model.concentration + (lengths / model.n_topics)[:, None, None]
        return State(start, generator, measure, Documents(shapes))

    def step(self, problem: Problem, state: State) -> State:
        model: Any = problem.model
        y, shapes = problem.y, state.memory.shapes
        shares = np.zeros((len(y), model.n_outcomes))
        labelled = y >= 0
        shares[labelled, y[labelled]] = 1.0
        if not labelled.all():
            scores = model.scores(state.moments, problem.X[~labelled], shapes=shapes[~labelled])
            shares[~labelled] = softmax(scores, axis=1)
        weighted = problem.weights[:, None] * shares
        statistics = model.expected_statistics(problem.X, weighted, state.moments, shapes, self.n_steps, self.tolerance)
        moments = problem.prior + statistics
        measure = measured(problem, moments, shapes) if self.watch else None
        return replace(state, moments=moments, measure=measure)

    def last_moments(self, problem: Problem, state: State):
        return state.moments


@dataclass(frozen=True)
class IncrementalTopics:
    tolerance: float = 1e-3
    n_steps: int = (
        20  # of inference at most, to a tenth of the tolerance: half-hearted inference makes the topics circle
    )
    n_jobs: int = 1
    watch: bool = True
    blocks: int = 64  # a pass is so many blocks of documents, which see the model before the block

    def init(self, problem: Problem, start, generator, warm=None) -> State:
        """`start` has topics that differ (EM's); its own size does not matter. `warm` multipliers are NaN where a document has none."""
        from ...kernels.structures.topics_contributions import fill_contributions, make_room

        model: Any = problem.model
        X, y = problem.X, problem.y
        n, K = len(y), model.n_outcomes
        shapes = model.empty_shapes(n)
        unlabelled = y < 0
        share = np.bincount(y[~unlabelled], problem.weights[~unlabelled], minlength=K)
        multipliers = np.tile(-START * share / share.sum(), (n, 1))  # adds nothing to the masses of the classes
        multipliers[np.arange(n), np.maximum(y, 0)] += START
        if unlabelled.any():
            multipliers[unlabelled] = softmax(model.scores(start, X[unlabelled], shapes=None), axis=1)
        if warm is not None:
            multipliers = np.where(np.isnan(warm.multipliers), multipliers, warm.multipliers)
        lengths = np.asarray(X.sum(axis=1)).ravel()
        shapes[:] = model.concentration + (lengths / model.n_topics)[:, None, None]
        stored = np.empty((X.nnz, model.n_topics, K), dtype=np.float32)
        rows, options = model.rows_of(X)[0], self._options(problem)
        arrays = model.state_of(start)

        def fill(part: slice) -> None:
            fill_contributions(rows, part.start, part.stop, multipliers, arrays, options, shapes, stored)

        deque(Engine(self.n_jobs).each(fill, shards(n, SHARD)), maxlen=0)
        make_room(rows, problem.weights, stored, problem.prior.count, ROOM)
        moments = self._moments(problem, multipliers, stored)
        blocks = self.blocks * (4 if problem.loss.has_corner else 1)  # its steps are bolder
        block = max(1, min(256, n // blocks))
        wanted, starts = np.full(n, np.inf), parts_of(X, PARTS)
        return State(moments, generator, memory=Documents(shapes, multipliers, stored, None, starts, wanted, block))

    def _options(self, problem: Problem) -> tuple:
        model: Any = problem.model
        loss = problem.loss
        tolerance = model.row_tolerance(loss, problem.prior, self.tolerance)
        accuracy = self.tolerance * (0.1 if loss.has_corner else 0.3)
        return (
            loss.settings,
            float(tolerance),
            float(model.concentration),
            model.code,
            self.n_steps,
            accuracy,
        )

    def _moments(self, problem: Problem, multipliers, stored):
        from ...kernels.structures.topics_contributions import add_contributions

        count = problem.prior.count.copy()
        add_contributions(problem.model.rows_of(problem.X)[0], problem.weights, stored, count)
        return type(problem.prior)(problem.prior.mass + problem.weights @ multipliers, count)

    def step(self, problem: Problem, state: State) -> State:
        model, memory = problem.model, state.memory
        arrays = memory.arrays or model.state_of(state.moments)
        options = self._options(problem)
        tolerance, wanted = options[1], memory.wanted
        order = state.generator.permutation(len(problem.y))
        is_full = state.n_passes % FULL == 0 or self._is_settled(problem, wanted, tolerance)
        if not is_full:
            order = order[wanted[order] > REST * tolerance]
        n_shortened = self._pass(problem, state, order, arrays, options)
        moments = model.moments_of_state(arrays)
        if not model.in_domain(moments):  # rounding: rebuild from the contributions
            moments = self._moments(problem, memory.multipliers, memory.stored)
            arrays = model.state_of(moments)
        is_done = is_full and self._is_settled(problem, wanted, tolerance)
        state = replace(
            state, moments=moments, measure=None, memory=replace(memory, arrays=arrays), n_shortened=n_shortened, is_done=is_done,
            n_passes=state.n_passes + 1,
        )  # fmt: skip
        return self.measured(problem, state) if self.watch and (is_full or is_done) else state

    def measured(self, problem: Problem, state: State) -> State:
        """The state with its measure, which costs as much as a pass."""
        memory = state.memory
        measure = measured(problem, state.moments, memory.shapes)
        rose = memory.last is not None and measure.objective > memory.last.objective
        block = max(1, memory.block // 4) if rose else memory.block  # documents of a block got in each other's way
        return replace(state, measure=measure, memory=replace(memory, block=block, last=measure), is_searching=rose)

    def _is_settled(self, problem: Problem, wanted, tolerance: float) -> bool:
        return float(problem.weights @ wanted) < SETTLED * tolerance * float(problem.weights.sum())

    def _pass(self, problem: Problem, state: State, order, arrays, options) -> int:
        from ...kernels.structures.topics_incremental import work_on_pass

        model: Any = problem.model
        X, memory, size = problem.X, state.memory, state.memory.block
        order = longest_first(order, np.diff(X.indptr), size)
        ends = np.concatenate([[0], np.cumsum(np.diff(X.indptr)[order])])  # non-zeros up to each document of the order
        starts = np.append(np.arange(0, len(order), size), len(order))
        widest = int(np.diff(ends[starts]).max(initial=1))
        Z, K = model.n_topics, model.n_outcomes
        proposals = (
            np.empty((widest, Z, K)),  # steps
            np.empty((size, K)),  # moves of the multipliers
            np.empty((size, Z * K)),  # gains: sums of the steps over words
            np.empty(size, dtype=np.int64),  # places of the steps
            np.empty(size, dtype=bool),  # whether they failed
        )
        counters = np.zeros(8 * (len(starts) + 1), dtype=np.int64)

        def work(_thread: int) -> bool:
            return work_on_pass.of(problem.loss.kernels)(
                model.rows_of(X)[0], problem.y, problem.weights, order, ends, size, memory.multipliers, memory.stored,
                memory.shapes, arrays, options, proposals, memory.wanted, memory.starts, counters, PATIENCE,
            )  # fmt: skip

        in_company(work, min(self.n_jobs, size))
        return int(counters[-8])

    def last_moments(self, problem: Problem, state: State):
        return state.moments
