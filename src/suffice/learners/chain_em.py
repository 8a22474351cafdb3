"""EM for hidden Markov chains: what is minimised, starts, states that die, and streams.

    F = - sum_i weight_i log p(x_i) - log prior              x_i: a sequence

The learners are those of mixtures (`em.BatchEM`, `accelerated.AcceleratedEM`): a chain brings its own E-step (`chain_steps`), M-step
(`structures.chain.ChainPrior`) and what happens to a state with less than half a step: it begins anew at the step that the chain
explains worst. Stepwise EM on a stream of sequences averages statistics of a sequence with falling rates (Cappé and Moulines 2009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax
from typing_extensions import override

from ..structures.chain import Chain, ChainMoments, ChainPrior
from ..structures.joint import Joint
from .chain_steps import ChainSteps, ExpectedSteps
from .driver import run
from .em import MAX_RESEEDED, STARVED, BatchEM
from .online import Stream, moments_of, moved
from .problem import Measure
from .starts import start_shares
from .state import State

BATCH = 32  # sequences of a mini-batch
BINS = 32  # ranges of a column of numbers, for random labels


@dataclass(eq=False)
class ChainProblem:
    """What is minimised. `prior` is a ChainPrior or anything with `posterior` and `log_density`."""

    rows: ChainSteps
    prior: Any

    reseeds: bool = True
    _last: tuple = (None, None)  # moments and what was expected under them

    patience = 1

    @property
    def model(self) -> Chain:
        return self.rows.chain

    @property
    def weights(self) -> np.ndarray:
        return self.rows.weights

    def scale(self, measure: Measure) -> float:
        """So that `tol` is the gain of a step's mean log-likelihood."""
        return 10.0 * self.rows.total

    def expected(self, moments) -> ExpectedSteps:
        if self._last[0] is not moments:
            self._last = moments, self.rows.expected(self.parameters(moments))
        return self._last[1]

    def parameters(self, moments):
        if not self.prior.amount and not self.model.in_domain(moments):
            steps = np.array2string(np.asarray(moments.mass), precision=3)
            raise ValueError(
                f"a state left the domain: its variance or probabilities are zero (steps in the states: {steps}). Fit with "
                "prior='auto', or fewer states"
            )
        return self.rows.parameters(moments)

    def measured(self, moments, expected: ExpectedSteps) -> Measure:
        nll = -expected.log_likelihood / max(self.rows.total, 1e-300)
        return Measure(-expected.log_likelihood - self.prior.log_density(moments), nll, nll)

    def measure(self, moments) -> Measure:
        return self.measured(moments, self.expected(moments))

    def reseeded(self, state: State) -> tuple[Any, tuple[int, ...]]:
        """Expected statistics in which a dying state begins anew, each at most MAX_RESEEDED times; and which it is.

        It gets a tenth of a fair share of the steps: half of it the step that is explained worst, half what all steps look like, and as
        many ways in and out as it may have.
        """
        statistics, emissions = state.memory.expected.statistics, self.model.emissions
        if not self.model.is_plain:
            return statistics, ()
        S, total, times = self.model.n_outcomes, float(statistics.mass.sum()), state.memory.reseeded
        limit = min(STARVED, 0.1 * total / S)
        dying = [int(k) for k in np.flatnonzero(statistics.mass < limit) if times.count(int(k)) < MAX_RESEEDED]
        if not dying or S == 1 or total <= 0 or self.rows.evidence is not None:
            return statistics, ()
        k = dying[0]  # one at a time: two at the same step would stay together
        mass = np.where(np.arange(S) == k, 0.05 * total / S, 0.0)
        X = self.rows.worst(self.parameters(state.moments))[1]
        own = emissions.completed_statistics(X, mass[None], state.moments.emissions)
        even = emissions.pooled(replace(statistics.emissions, mass=np.ones(S)))
        ways = np.zeros((S, S))
        ways[:, k] = ways[k] = 0.1 * total / S**2
        free = np.isnan(self.model.cells)
        fresh = ChainMoments(np.zeros(S), ways * free, np.zeros(S), own + emissions.at_masses(even, mass))
        return statistics + fresh, (k,)


@dataclass(eq=False)
class VariationalChainProblem(ChainProblem):
    """Minus the bound of the evidence; what moves are posteriors in the place of moments (`variational.VariationalEM`). `prior` is a
    `structures.chain_posterior.ChainConjugate`."""

    reseeds: bool = False

    @override
    def scale(self, measure: Measure) -> float:
        """So that `tol` is the gain of the whole bound: states empty slowly."""
        return 10.0

    @override
    def parameters(self, moments):
        return self.prior.parameters(moments)

    @override
    def measured(self, moments, expected: ExpectedSteps) -> Measure:
        objective = self.prior.divergence(moments) - expected.log_likelihood
        loss = objective / max(self.rows.total, 1e-300)
        return Measure(objective, loss, loss)


# -- starts ------------------------------------------------------------------------------------------------------------

STARTS = ("auto", "kmeans", "k-means++", "random", "parts")


def start_statistics(rows: ChainSteps, how: str, generator, labels: np.ndarray | None = None) -> ChainMoments:
    """Statistics of some first labelling of the steps.

    "kmeans", "k-means++": of steps as points; "random": soft labels by value; "parts": equal parts of every sequence.
    `labels` (n,) are the states that are known (-1: not).
    """
    found = labelling(rows, how, generator, labels)
    if labels is not None:
        known = labels >= 0
        found[known] = np.eye(rows.chain.n_outcomes)[labels[known]]
    return statistics_of(rows, found, generator)


def labelling(rows: ChainSteps, how: str, generator, labels: np.ndarray | None) -> np.ndarray:
    """(n, S) array: shares of the states in every step."""
    chain, n = rows.chain, int(rows.offsets[-1])
    S = chain.n_outcomes
    if S == 1:
        return np.ones((n, 1))
    if how == "random":
        return random_labels(rows.form.X, rows.step_weights, S, generator)
    if how == "parts":
        lengths = np.diff(rows.offsets)
        place = np.arange(n) - np.repeat(rows.offsets[:-1], lengths)
        return np.eye(S)[place * S // np.maximum(np.repeat(lengths, lengths), 1)]
    X, weights = rows.form.X, rows.step_weights
    use = np.flatnonzero(weights > 0)
    if not chain.is_plain:
        return labels_of_groups(rows, how, generator, labels)
    some, own, _ = start_shares(
        chain.emissions, X[use], weights[use], how, generator, None if labels is None else labels[use]
    )
    model = chain.emissions
    if model.is_latent(some):
        statistics = model.statistics(some, own.argmax(axis=1), own.sum(axis=1))
    else:
        statistics = model.expected_statistics(some, own)
    prior = ChainPrior.of(chain, replace(chain.no_statistics(), emissions=statistics), 1.0 + model.n_features)
    coefficients = chain.coefficients(rows.form, prior.emissions.posterior(statistics))
    scores = rows.form.all_scores(coefficients, slice(0, n))
    return np.eye(S)[scores.argmax(axis=1)]


def labels_of_groups(rows: ChainSteps, how: str, generator, labels: np.ndarray | None) -> np.ndarray:
    """(n, S) array: the labelling of a chain with one plain state a group; of states that share one, the first
    has the shortest runs."""
    chain, groups = rows.chain, rows.chain.groups
    known = None if labels is None else np.where(labels >= 0, groups.argmax(axis=1)[labels], -1)
    n_groups = n_plain = groups.shape[1]
    if known is None:
        n_plain = chain.emissions.n_outcomes  # clusters of the components first
    model, free = (
        Joint.of(*(replace(f, n_outcomes=n_plain) for f in chain.emissions.families)),
        np.full((n_plain,) * 2, np.nan),
    )
    plain = replace(rows, chain=Chain(model, free[0], free), form=model.form(rows.form.X))
    group = labelling(plain, how, generator, known).argmax(axis=1)
    if n_plain > n_groups:
        group = followers(group, rows.offsets, n_plain, chain.n_mixtures)[group]
    begins = np.ones(len(group), dtype=bool)
    begins[1:] = group[1:] != group[:-1]
    begins[rows.offsets[:-1][np.diff(rows.offsets) > 0]] = True
    run = np.cumsum(begins) - 1
    of_run, found = group[begins], np.zeros(int(begins.sum()), dtype=np.int64)
    length = np.bincount(run) + generator.random(len(found))  # ties of length are broken by lot
    for g in range(n_groups):
        own, states = np.flatnonzero(of_run == g), np.flatnonzero(groups[:, g])
        place = np.argsort(np.argsort(length[own])) * len(states) // max(len(own), 1)
        found[own] = states[place]
    return np.eye(chain.n_outcomes)[found[run]]


def followers(cluster: np.ndarray, offsets: np.ndarray, n: int, size: int) -> np.ndarray:
    """(n,) array: groups of `size` clusters that follow each other more often than by chance: those of a state do."""
    into = np.ones(len(cluster), dtype=bool)
    into[offsets[:-1][np.diff(offsets) > 0]] = False
    after = np.flatnonzero(into)
    counts = np.bincount(cluster[after - 1] * n + cluster[after], minlength=n * n).reshape(n, n) + 1e-3
    lift = (counts + counts.T) / np.outer(counts.sum(axis=1), counts.sum(axis=0))
    group, left = np.zeros(n, dtype=np.int64), list(np.argsort(-counts.sum(axis=1)))
    for g in range(n // size):
        own = sorted(left[1:], key=lambda k: -lift[left[0], k])[: size - 1]
        for k in [left[0], *own]:
            group[k] = g
        left = [k for k in left[1:] if k not in own]
    return group


def split(chain: Chain, X: np.ndarray, found: np.ndarray, generator) -> np.ndarray:
    """(n, outcomes) array: the shares of the states, every group cut into its components along a random direction."""
    if chain.is_plain:
        return found
    group, M = found @ chain.groups, chain.n_mixtures
    scaled = np.nan_to_num((X - np.nanmean(X, axis=0)) / np.maximum(np.nanstd(X, axis=0), 1e-300))
    along = scaled @ generator.normal(size=X.shape[1]) + 1e-3 * generator.normal(size=len(X))
    result = np.zeros((*group.shape, M))
    for g in range(group.shape[1]):
        own = np.flatnonzero(group[:, g] > 0.5 * group.max(axis=1))
        edges = np.quantile(along[own], np.linspace(0, 1, M + 1)[1:-1]) if len(own) else np.zeros(M - 1)
        place = np.searchsorted(edges, along)
        result[np.arange(len(X)), g, place] = group[:, g]
    return result.reshape(len(X), -1)


def random_labels(X: np.ndarray, weights: np.ndarray, n_states: int, generator) -> np.ndarray:
    """(n, S) array: soft labels by random liking of the states for values of every column (of numbers: for BINS ranges of them).

    Labels drawn step by step would average out over many steps: all states would start alike, where EM does not move.
    """
    liking = np.zeros((len(X), n_states))
    for column in X.T:
        values, place = np.unique(column, return_inverse=True)
        if len(values) > 2 * BINS:
            place = np.searchsorted(quantiles(column, weights), column)
        table = generator.normal(size=(place.max(initial=0) + 1, n_states))
        liking += np.where(np.isnan(column)[:, None], 0.0, table[place])
    return softmax(liking / np.sqrt(max(X.shape[1], 1)), axis=1)


def quantiles(column: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Between BINS ranges of equal weight; a weight of two is the value twice."""
    seen = np.flatnonzero(~np.isnan(column) & (weights > 0))
    order = seen[np.argsort(column[seen], kind="stable")]
    total = np.cumsum(weights[order])
    places = np.searchsorted(total, total[-1] * np.arange(1, BINS) / BINS) if len(order) else []
    return column[order][places]


def statistics_of(rows: ChainSteps, found: np.ndarray, generator) -> ChainMoments:
    """Statistics of steps with these shares of the states, neighbouring steps as if independent."""
    chain, offsets, weights = rows.chain, rows.offsets, rows.step_weights
    X, model = rows.form.X, chain.emissions
    lengths = np.diff(offsets)
    some = (lengths > 0) & (rows.weights > 0)
    firsts, lasts = offsets[:-1][some], offsets[1:][some] - 1
    begins = np.zeros(len(X) + 1, dtype=bool)
    begins[offsets[:-1]] = True
    into = np.flatnonzero(~begins[:-1])  # steps with one before them
    transitions = (found[into - 1] * weights[into, None]).T @ found[into]
    outcomes = split(chain, X, found, generator)
    if model.is_latent(X):
        emissions = model.statistics(X, outcomes.argmax(axis=1), weights)
    else:
        emissions = model.expected_statistics(X, outcomes * weights[:, None])
    own = rows.weights[some]
    return ChainMoments(own @ found[firsts], transitions, own @ found[lasts] * chain.has_end, emissions)


# -- streams -----------------------------------------------------------------------------------------------------------


def part_of(rows: ChainSteps, first: int, last: int) -> ChainSteps:
    """Sequences first .. last, as steps of their own."""
    own = slice(int(rows.offsets[first]), int(rows.offsets[last]))
    evidence = None if rows.evidence is None else rows.evidence[own]
    offsets = rows.offsets[first : last + 1] - rows.offsets[first]
    return ChainSteps(
        rows.chain, rows.form.some(own), offsets, rows.weights[first:last], evidence, rows.engine, rows.burn
    )


def begun(problem: ChainProblem, start, size: int, generator, max_iter: int, n_first: int, tol: float = 1e-4) -> Stream:
    """Batch EM on the first sequences, then steps on the others."""
    rows = problem.rows
    n = min(rows.n_sequences, n_first)
    some = ChainProblem(part_of(rows, 0, n), problem.prior, problem.reseeds)
    fit = run(BatchEM(), some, start, generator, max_epochs=max_iter, tol=tol)
    expected = some.expected(fit.moments)
    seen = float(rows.weights[:n].sum())
    mean = (1.0 / seen) * expected.statistics
    state = Stream(problem.prior, mean, mean, seen, n / size, expected.log_likelihood, some.rows.total)
    return stream(problem, state, size, first=n) if n < rows.n_sequences else state


def stream(problem: ChainProblem, state: Stream, size: int, first: int = 0) -> Stream:
    """Steps over the sequences in their order; `log_likelihood` and `weight` are of them, each under the model before its batch."""
    rows = problem.rows
    log_likelihood = total = 0.0
    for at in range(first, rows.n_sequences, size):
        last = min(at + size, rows.n_sequences)
        some = part_of(rows, at, last)
        expected = some.expected(problem.parameters(moments_of(state)))
        state = moved(state, expected, float(some.weights.sum()), (last - at) / size)
        log_likelihood, total = log_likelihood + expected.log_likelihood, total + some.total
    return replace(state, log_likelihood=log_likelihood, weight=total)


@dataclass(frozen=True)
class OnlineChainEM:
    """A step of the driver is a pass over the sequences in their order."""

    batch_size: int = BATCH

    def init(self, problem: ChainProblem, start, generator, warm=None) -> State:
        found = begun(problem, start, self.batch_size, generator, 5, 8 * self.batch_size)
        moments = found.shown()
        return State(moments, generator, problem.measure(moments), found)

    def step(self, problem: ChainProblem, state: State) -> State:
        found = stream(problem, state.memory, self.batch_size)
        moments = found.shown()
        return replace(state, moments=moments, memory=found, measure=problem.measure(moments))
