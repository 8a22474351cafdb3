"""The E-step of a hidden Markov chain over all sequences, in shards, by several threads.

Log-emissions are made of a shard's steps by the emissions' form, the compiled loops turn them into posteriors of the states, and the
form sums the statistics. A number for every step and state is held for a shard only, so memory does not grow with the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..engines.threads import Engine
from ..kernels.structures.chain import FILTER, SCORE, SMOOTH, n_cached, run_batches, run_lanes
from ..kernels.structures.chain_paths import best_in_lanes, room_for_back
from ..structures.chain import Chain, ChainMoments, Parameters
from ..structures.chain_plan import AGREES, BURN, Shard, gap, path_gap, planned
from ..structures.chain_source import source_of, source_of_scores

LEAST = 1e-250  # transitions below it count as zeros
NO_CACHE, NO_SUMS = np.empty(0), np.empty((0, 0))
LONGER = 8  # how much longer the burn-in is where pieces of a sequence did not agree


class Part(NamedTuple):
    """What a shard adds."""

    loglik: np.ndarray  # of its lanes
    begun: np.ndarray
    transitions: np.ndarray
    ended: np.ndarray
    mass: np.ndarray
    out: np.ndarray
    seams: np.ndarray
    posterior: np.ndarray
    steps: np.ndarray


@dataclass
class ExpectedSteps:
    """Expected statistics under the moments they were taken at."""

    statistics: Any
    log_likelihood: float  # weighted sum over sequences, without the base measure


@dataclass(eq=False)
class ChainSteps:
    """Sequences of a chain: the emissions' form over all steps, where sequences begin, their weights, and log-evidence of states."""

    chain: Chain
    form: Any
    offsets: np.ndarray
    weights: np.ndarray  # (N,)
    evidence: np.ndarray | None = None  # (n, S): logarithms of what is known of the states
    engine: Engine = field(default_factory=Engine)
    burn: int | None = BURN  # steps; None: nothing is cut

    _plan: tuple = (None, None)
    _cells: dict = field(default_factory=dict, repr=False)  # of shards: cells in lanes
    _n_passes: int = 0

    @property
    def n_sequences(self) -> int:
        return len(self.weights)

    @property
    def step_weights(self) -> np.ndarray:
        """(n,) array: the weight of every step's sequence."""
        return np.repeat(self.weights, np.diff(self.offsets))

    @property
    def total(self) -> float:
        """The weight of all steps."""
        return float(self.weights @ np.diff(self.offsets))

    def plan(self) -> list[Shard]:
        if self._plan[0] != (self.burn,):
            self._plan = (self.burn,), planned(self.offsets, self.burn, self.weights > 0)
            self._cells, self._n_passes = {}, 0
        return self._plan[1]

    def scores(self, parameters: Parameters, part: slice) -> np.ndarray:
        """(rows, S) array: log p(x_t | state) and what is known of the state."""
        scores = self.chain.state_scores(self.form.all_scores(parameters.coefficients, part))
        return scores if self.evidence is None else scores + self.evidence[part]

    def _source(self, parameters: Parameters, rows: slice) -> tuple | None:
        """The rows as compiled loops take them; None where scores must be made first."""
        return source_of(self.form, parameters.coefficients, rows, self.evidence) if self.chain.is_plain else None

    def _run(
        self, mode: int, parameters: Parameters, weights: np.ndarray, has_sums: bool, k: int, shard: Shard
    ) -> Part:
        """What shard k adds: in one compiled call where the form has loops for it, lanes that scaling cannot hold by scores."""
        part = self._empty(mode, shard, has_sums)
        source = self._source(parameters, slice(shard.start, shard.stop))
        if source is None:
            self._run_scores(mode, shard, parameters, weights, part)
            return part
        cache, is_filled = self._cached(k, shard) if has_sums else (NO_CACHE, False)
        is_bad, closes, end = np.zeros(len(shard.base), dtype=bool), *self._ends(shard, parameters)
        run_batches(
            mode, source, shard.base, shard.length, shard.first, shard.last, shard.fresh, closes, weights[shard.sequence],
            parameters.start, parameters.A, end, bool(parameters.A.min() < LEAST), cache, is_filled, part.loglik, part.begun,
            part.transitions, part.ended, part.mass, part.out if has_sums else NO_SUMS, part.posterior, part.steps, part.seams,
            is_bad,
        )  # fmt: skip
        if is_bad.any():
            some = shard.some(is_bad)
            again = self._empty(mode, some, has_sums)
            self._run_scores(mode, some, parameters, weights, again)
            part.loglik[is_bad], part.seams[is_bad] = again.loglik, again.seams
            for own, more in zip(part[1:6], again[1:6], strict=True):
                own += more
            for own, more in zip(part[7:], again[7:], strict=True):
                for first, last in some.counting():
                    own[first:last] = more[first:last]
        return part

    def _run_scores(self, mode: int, shard: Shard, parameters: Parameters, weights: np.ndarray, part: Part) -> None:
        """Fills `part` from scores of all rows of the shard."""
        scores, has_sums = self.scores(parameters, slice(shard.start, shard.stop)), len(part.out) > 0
        posterior = np.zeros(scores.shape) if mode != FILTER and not len(part.posterior) else part.posterior
        closes, end = self._ends(shard, parameters)
        run_lanes(
            mode, shard.base, shard.length, shard.first, shard.last, shard.fresh, closes, weights[shard.sequence], scores,
            self.evidence is not None, parameters.start, parameters.A, end, bool(parameters.A.min() < LEAST), part.loglik,
            part.begun, part.transitions, part.ended, posterior, part.steps, part.seams,
        )  # fmt: skip
        if has_sums:
            self._add(shard, posterior, parameters.coefficients, part.out, part.mass)

    def _empty(self, mode: int, shard: Shard, has_sums: bool) -> Part:
        S, n, rows = self.chain.n_outcomes, len(shard.base), shard.stop - shard.start
        return Part(
            np.zeros(n), np.zeros(S), np.zeros((S, S)), np.zeros(S), np.zeros(self.chain.emissions.n_outcomes),
            self.form.zeros() if has_sums else np.zeros(0), np.zeros((n, 4, S)),
            np.zeros((0 if has_sums or mode == SCORE else rows, S)), np.zeros(rows if mode == FILTER else 0),
        )  # fmt: skip

    def _ends(self, shard: Shard, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """Whether a lane's end counts, and probabilities of the end."""
        if parameters.end is None:
            return np.zeros(len(shard.base), dtype=bool), np.ones(self.chain.n_outcomes)
        return shard.closes, parameters.end

    def _cached(self, k: int, shard: Shard) -> tuple[np.ndarray, bool]:
        """Cells of the shard in lanes, from one E-step to the next, and whether they are there yet; nothing in the first E-step."""
        if self._n_passes < 2:
            return NO_CACHE, False
        is_filled = k in self._cells
        if not is_filled:
            self._cells[k] = np.empty(n_cached(shard.length, self.chain.n_outcomes, self.form.X.shape[1]))
        return self._cells[k], is_filled

    def _add(self, shard: Shard, posterior: np.ndarray, coefficients, out: np.ndarray, mass: np.ndarray) -> None:
        """Sums of the statistics of a shard's steps that count."""
        buffers, form, (constant, theta) = self.form.buffers(), self.form, coefficients
        for first in range(shard.begin, shard.end, form.chunk):
            n = min(form.chunk, shard.end - first)
            own = posterior[first - shard.start : first - shard.start + n]
            phi = form.read(first, n, buffers)
            if not self.chain.is_plain:
                own = self.chain.outcome_shares(form.scores(phi, theta) + constant, own)
            mass += np.ones(n) @ own
            form.add(phi, own, theta, out)

    def _parts(self, mode: int, parameters: Parameters, weights: np.ndarray, has_sums: bool) -> list[Part]:
        """Every shard's part; pieces that do not agree at their seams are made again with a longer burn-in, in the end uncut."""
        while True:
            shards = self.plan()
            self._n_passes += has_sums
            some = partial(self._run, mode, parameters, weights, has_sums)
            parts = self.engine.all(lambda own, run=some: run(*own), list(enumerate(shards)))
            sides = [0, 1, 2, 3] if mode == SMOOTH else [0, 1, 0, 1]  # nothing went backward
            seams = [part.seams[:, sides] for part in parts]
            if self._agree(gap(shards, seams) if shards else 0.0):
                return parts

    def _agree(self, gap: float) -> bool:
        """Whether pieces agree at their seams; where not, the plan now has longer burn-ins, in the end nothing is cut."""
        if self.burn is None or gap <= AGREES:
            return True
        longest = int(np.diff(self.offsets).max())
        self.burn = LONGER * self.burn if 8 * LONGER * self.burn < longest else None
        return False

    def expected(self, parameters: Parameters) -> ExpectedSteps:
        """The E-step on all sequences."""
        S = self.chain.n_outcomes
        parts = self._parts(SMOOTH, parameters, self.weights, True)
        begun, xi, ended, mass, out = (
            np.zeros(S),
            np.zeros((S, S)),
            np.zeros(S),
            np.zeros(self.chain.emissions.n_outcomes),
            self.form.zeros(),
        )
        total = 0.0
        for shard, part in zip(self.plan(), parts, strict=True):
            begun, xi, ended = begun + part.begun, xi + part.transitions, ended + part.ended
            mass, out = mass + part.mass, out + part.out
            total += float(self.weights[shard.sequence] @ part.loglik)
            if not np.isfinite(part.loglik).all():
                k = int(shard.sequence[~np.isfinite(part.loglik)][0])
                raise ValueError(
                    f"sequence {k} cannot occur in this chain: the transitions that are not zero allow no path through the states "
                    "that are known of it. Allow more transitions, or leave out states that are wrong"
                )
        return ExpectedSteps(ChainMoments(begun, xi, ended, self.form.record(mass, out)), total)

    def parameters(self, moments: ChainMoments) -> Parameters:
        return self.chain.parameters(self.form, moments)

    def worst(self, parameters: Parameters) -> tuple[float, np.ndarray]:
        """(log-density, (1, D) row) of the step whose best state explains it worst."""
        worst, place = np.inf, 0
        for shard in self.plan():
            tops = self.scores(parameters, slice(shard.begin, shard.end)).max(axis=1)
            if tops.min(initial=np.inf) < worst:
                worst, place = float(tops.min()), shard.begin + int(tops.argmin())
        return worst, self.form.X[[place]]

    def mean_base_measure(self) -> float:
        """The mean over the steps of what their log-densities add that no state depends on."""
        base = self.chain.emissions.log_base_measure(self.form.X)
        if isinstance(base, (int, float)):
            return float(base)
        return float(self.step_weights @ base) / max(self.total, 1e-300)

    # -- answers ------------------------------------------------------------------------------------------------------

    def log_likelihoods(self, parameters: Parameters) -> np.ndarray:
        """(N,) array: log p(x) of every sequence (without the base measure); 0 of an empty one."""
        mode = SMOOTH if parameters.A.min() < LEAST else SCORE
        return self._by_sequence(self._parts(mode, parameters, np.ones(self.n_sequences), False))

    def _by_sequence(self, parts: list[Part]) -> np.ndarray:
        found = np.zeros(self.n_sequences)
        for shard, part in zip(self.plan(), parts, strict=True):
            np.add.at(found, shard.sequence, part.loglik)
        return found

    def _by_step(self, parts: list[Part], name: str) -> np.ndarray:
        shape = (self.chain.n_outcomes,) if name == "posterior" else ()
        found = np.zeros((int(self.offsets[-1]), *shape))
        for shard, part in zip(self.plan(), parts, strict=True):
            found[shard.begin : shard.end] += getattr(part, name)[shard.begin - shard.start : shard.end - shard.start]
        return found

    def smoothed(self, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """(N,) log-likelihoods and (n, S) posteriors of the states given the whole sequence."""
        parts = self._parts(SMOOTH, parameters, np.ones(self.n_sequences), False)
        return self._by_sequence(parts), self._by_step(parts, "posterior")

    def filtered(self, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """(n,) log p(x_t | x_<t) and (n, S) posteriors of the states given the steps so far."""
        parts = self._parts(FILTER, parameters, np.ones(self.n_sequences), False)
        return self._by_step(parts, "steps"), self._by_step(parts, "posterior")

    def best(self, parameters: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """(N,) log p(x, path) and (n,) states of the most probable paths (Viterbi)."""
        path = np.zeros(int(self.offsets[-1]), dtype=np.int64)
        with np.errstate(divide="ignore"):
            log_start, log_A = np.log(parameters.start), np.log(parameters.A)
            log_end = np.zeros_like(log_start) if parameters.end is None else np.log(parameters.end)

        def of_shard(shard: Shard) -> tuple[np.ndarray, ...]:
            rows, n, S = slice(shard.start, shard.stop), len(shard.base), len(log_start)
            source = self._source(parameters, rows)
            source = source_of_scores(self.scores(parameters, rows)) if source is None else source
            best, seams, states = np.zeros(n), np.zeros((n, 2, S)), np.zeros((n, 2), dtype=np.int64)
            best_in_lanes(
                source, shard.base, shard.length, shard.first, shard.last, shard.fresh, self._ends(shard, parameters)[0],
                log_start, log_A, log_end, room_for_back(shard.length, S), path[rows], best, seams, states,
            )  # fmt: skip
            return best, seams, states

        while True:
            shards = self.plan()
            parts = self.engine.all(of_shard, shards)
            if self._agree(path_gap(shards, [part[1] for part in parts], [part[2] for part in parts])):
                break
        found = np.zeros(self.n_sequences)
        for shard, part in zip(shards, parts, strict=True):
            np.add.at(found, shard.sequence, part[0])
        return found, path
