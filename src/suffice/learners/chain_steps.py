"""The E-step of a hidden Markov chain over all sequences, in shards, by several threads.

Log-emissions are made of a shard's steps by the emissions' form, the compiled loops turn them into posteriors of the states, and the
form sums the statistics. A number for every step and state is held for a shard only, so memory does not grow with the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..engines.threads import Engine
from ..kernels.structures.chain import FILTER, SCORE, SMOOTH, run_lanes
from ..kernels.structures.chain_logs import best_paths
from ..structures.chain import Chain, ChainMoments, Parameters
from ..structures.chain_plan import AGREES, BURN, Shard, gap, planned

LEAST = 1e-250  # transitions below it count as zeros
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
        return self._plan[1]

    def scores(self, parameters: Parameters, part: slice) -> np.ndarray:
        """(rows, S) array: log p(x_t | state) and what is known of the state."""
        scores = self.form.all_scores(parameters.coefficients, part)
        return scores if self.evidence is None else scores + self.evidence[part]

    def _run(self, mode: int, shard: Shard, parameters: Parameters, weights: np.ndarray, has_sums: bool) -> Part:
        S, rows = self.chain.n_outcomes, slice(shard.start, shard.stop)
        scores, n = self.scores(parameters, rows), len(shard.base)
        loglik, begun, xi, ended = np.zeros(n), np.zeros(S), np.zeros((S, S)), np.zeros(S)
        seams, posterior = np.zeros((n, 4, S)), np.zeros(scores.shape)
        steps = np.zeros(len(scores) if mode == FILTER else 0)
        end = np.ones(S) if parameters.end is None else parameters.end
        closes = shard.closes if parameters.end is not None else np.zeros(n, dtype=bool)
        run_lanes(
            mode, shard.base, shard.length, shard.first, shard.last, shard.fresh, closes, weights[shard.sequence], scores,
            self.evidence is not None, parameters.start, parameters.A, end, bool(parameters.A.min() < LEAST), loglik,
            begun, xi, ended, posterior, steps, seams,
        )  # fmt: skip
        out, mass = self.form.zeros() if has_sums else np.zeros(0), np.zeros(S)
        if has_sums:
            self._add(shard, posterior, parameters.coefficients[1], out, mass)
        if mode == SCORE or has_sums:
            posterior = posterior[:0]
        return Part(loglik, begun, xi, ended, mass, out, seams, posterior, steps)

    def _add(self, shard: Shard, posterior: np.ndarray, theta, out: np.ndarray, mass: np.ndarray) -> None:
        """Sums of the statistics of a shard's steps that count."""
        buffers, form = self.form.buffers(), self.form
        for first in range(shard.begin, shard.end, form.chunk):
            n = min(form.chunk, shard.end - first)
            own = posterior[first - shard.start : first - shard.start + n]
            mass += np.ones(n) @ own
            form.add(form.read(first, n, buffers), own, theta, out)

    def _parts(self, mode: int, parameters: Parameters, weights: np.ndarray, has_sums: bool) -> list[Part]:
        """Every shard's part; pieces that do not agree at their seams are made again with a longer burn-in, in the end uncut."""
        while True:
            shards = self.plan()
            parts = list(
                self.engine.each(lambda shard: self._run(mode, shard, parameters, weights, has_sums), shards)
                if shards
                else []
            )
            sides = [0, 1, 2, 3] if mode == SMOOTH else [0, 1, 0, 1]  # nothing went backward
            seams = [part.seams[:, sides] for part in parts]
            if self.burn is None or not shards or gap(shards, seams) <= AGREES:
                return parts
            longest = int(np.diff(self.offsets).max())
            self.burn = LONGER * self.burn if 8 * LONGER * self.burn < longest else None

    def expected(self, parameters: Parameters) -> ExpectedSteps:
        """The E-step on all sequences."""
        S = self.chain.n_outcomes
        parts = self._parts(SMOOTH, parameters, self.weights, True)
        begun, xi, ended, mass, out = np.zeros(S), np.zeros((S, S)), np.zeros(S), np.zeros(S), self.form.zeros()
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
        lengths = np.diff(self.offsets)
        path, best = np.zeros(int(self.offsets[-1]), dtype=np.int64), np.zeros(self.n_sequences)
        with np.errstate(divide="ignore"):
            log_start, log_A = np.log(parameters.start), np.log(parameters.A)
            log_end = np.zeros_like(log_start) if parameters.end is None else np.log(parameters.end)
        edges = np.searchsorted(self.offsets, np.arange(0, self.offsets[-1], 65536))
        edges = np.unique([*edges, 0, self.n_sequences])

        def of_part(k: int) -> None:
            first, last = int(edges[k]), int(edges[k + 1])
            rows = slice(int(self.offsets[first]), int(self.offsets[last]))
            best_paths(
                self.offsets[first:last] - rows.start, lengths[first:last], self.scores(parameters, rows), log_start, log_A,
                log_end, path[rows], best[first:last],
            )  # fmt: skip

        for _ in self.engine.each(of_part, list(range(len(edges) - 1))):
            pass
        return best, path
