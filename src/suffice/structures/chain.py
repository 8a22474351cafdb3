r"""A hidden Markov chain: states that follow each other, and families of columns given the state.

    p(x, z) = start(z_1) prod_t A(z_{t-1}, z_t) prod_t p(x_t | z_t)  [ end(z_T) ]

    statistics  start[j]: sequences that begin in j;  transitions[i, j];  end[j]: sequences that end in j;  those of the emissions, a
                `joint` whose outcome is the state (mass[j]: steps in j)
    moments     expected statistics; only ratios within a row matter:  A_ij = transitions_ij / sum_j transitions_ij (+ end_i)

Outcomes of the emissions are the states, or more or fewer: with `n_mixtures` every state has so many components side by side (their
masses are the weights of its mixture), and with `emission_of` several states share a group of components; states with the same number
in `row_ties` share what follows them.

    log p(x | state) = log sum_m c_gm p(x | g, m),   g = emission_of[state]

Cells of start and A may be fixed: `cells` holds the number (0: forbidden) and NaN where it is learned; free cells share what the fixed
ones leave. Without `has_end` a sequence ends where it ends, and that says nothing of the state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from ..families.charts import clipped_exp
from ..families.records import Record
from ..saving.schema import require
from .base import Moments as JointMoments
from .component_prior import ComponentPrior
from .joint import Joint


@dataclass(frozen=True, eq=False)
class ChainMoments(Record):
    start: np.ndarray
    transitions: np.ndarray
    end: np.ndarray
    emissions: JointMoments

    @property
    def mass(self) -> np.ndarray:
        """(S,) array: steps in every state."""
        return self.emissions.mass


class Parameters(NamedTuple):
    """What an E-step needs: start (S,), A (S, S), end (S,) or None, and the (constant, theta) of the emissions' form."""

    start: np.ndarray
    A: np.ndarray
    end: np.ndarray | None
    coefficients: tuple


def shares(counts: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """(..., n) array: every row's cells, fixed or in proportion to the counts; even where nothing was counted."""
    free = np.isnan(cells)
    counts = np.where(free, counts, 0.0)
    total = counts.sum(axis=-1, keepdims=True)
    left = 1.0 - np.where(free, 0.0, cells).sum(axis=-1, keepdims=True)
    n_free = np.maximum(free.sum(axis=-1, keepdims=True), 1)
    even = np.where(total > 0, counts / np.where(total > 0, total, 1.0), free / n_free)
    return np.where(free, np.maximum(left, 0.0) * even, cells)


@dataclass(frozen=True, eq=False)
class Chain:
    emissions: Joint
    start_cells: np.ndarray  # (S,)
    cells: np.ndarray  # (S, S)
    has_end: bool = False
    n_mixtures: int = 1
    emission_of: np.ndarray | None = None  # (S,): groups of the emissions' outcomes; None: one for every state
    row_ties: np.ndarray | None = None  # (S,)

    stored_as: ClassVar[dict[str, str]] = {
        "start_cells": "float?[n_outcomes] 0..1",
        "cells": "float?[n_outcomes, n_outcomes] 0..1",
    }

    def check_stored(self) -> None:
        require(isinstance(self.emissions, Joint), "emissions must be a joint distribution of columns")

    @property
    def n_outcomes(self) -> int:
        return len(self.start_cells)

    @property
    def is_plain(self) -> bool:
        """Whether the outcomes of the emissions are the states."""
        return self.n_mixtures == 1 and self.emission_of is None

    @property
    def groups(self) -> np.ndarray:
        """(S, G) array: 1 where a state emits by a group."""
        n = self.emissions.n_outcomes // self.n_mixtures
        return np.eye(n)[np.arange(n) if self.emission_of is None else self.emission_of]

    def log_weights(self, emissions: JointMoments) -> np.ndarray:
        """(outcomes,) array: logarithms of the components' weights in their mixtures."""
        mass = np.maximum(emissions.mass.reshape(-1, self.n_mixtures), 1e-300)
        return np.log(mass / mass.sum(axis=1, keepdims=True)).reshape(-1)

    def state_scores(self, scores: np.ndarray) -> np.ndarray:
        """(n, S) array: log p(x | state) of log p(x, component | group)."""
        if self.is_plain:
            return scores
        found = logsumexp(scores.reshape(len(scores), -1, self.n_mixtures), axis=2)
        return np.ascontiguousarray(found if self.emission_of is None else found[:, self.emission_of])

    def outcome_shares(self, scores: np.ndarray, posterior: np.ndarray) -> np.ndarray:
        """(n, outcomes) array: what the states' shares are of the components, by log p(x, component | group)."""
        if self.is_plain:
            return posterior
        parts = softmax(scores.reshape(len(scores), -1, self.n_mixtures), axis=2)
        return np.ascontiguousarray((parts * (posterior @ self.groups)[:, :, None]).reshape(scores.shape))

    def expected_shares(self, emissions: JointMoments, states: np.ndarray) -> np.ndarray:
        """(n, outcomes) array: shares of the components where nothing of a step is seen."""
        if self.is_plain:
            return states
        weights = np.exp(self.log_weights(emissions)).reshape(-1, self.n_mixtures)
        return ((states @ self.groups)[:, :, None] * weights).reshape(len(states), -1)

    def by_state(self, values: np.ndarray) -> np.ndarray:
        """(S, ...) array of one with a row for every outcome; (S, n_mixtures, ...) of mixtures."""
        if self.is_plain:
            return values
        found = values.reshape(-1, self.n_mixtures, *values.shape[1:])[self.groups.argmax(axis=1)]
        return found[:, 0] if self.n_mixtures == 1 else found

    def tied(self, counts: np.ndarray) -> np.ndarray:
        """Counts of what follows the states, the mean of those that share it."""
        if self.row_ties is None:
            return counts
        alike = self.row_ties[:, None] == self.row_ties
        return (alike / alike.sum(axis=1, keepdims=True)) @ counts

    @property
    def n_features(self) -> int:
        return self.emissions.n_features

    @property
    def leaving(self) -> np.ndarray:
        """(S, S) or (S, S + 1) array: the cells of everything that can follow a state."""
        return np.hstack([self.cells, np.full((self.n_outcomes, 1), np.nan)]) if self.has_end else self.cells

    def left(self, moments: ChainMoments) -> np.ndarray:
        """Counts of everything that can follow a state, in the shape of `leaving`."""
        return np.hstack([moments.transitions, moments.end[:, None]]) if self.has_end else moments.transitions

    _left = left

    def start_of(self, moments: ChainMoments) -> np.ndarray:
        """(S,) array: probabilities of the first state."""
        return shares(moments.start, self.start_cells)

    def transitions_of(self, moments: ChainMoments) -> np.ndarray:
        """(S, S) array A; with ends its rows add up to 1 - end."""
        S = self.n_outcomes
        return np.ascontiguousarray(shares(self.left(moments), self.leaving)[:, :S])

    def end_of(self, moments: ChainMoments) -> np.ndarray | None:
        """(S,) array: probabilities that the sequence is over after a state."""
        return shares(self.left(moments), self.leaving)[:, -1].copy() if self.has_end else None

    def coefficients(self, form, emissions: JointMoments) -> tuple:
        """(constant, theta) of the form: scores are log p(x_t | state)."""
        found = [part.coefficients(own) for part, own in zip(form.parts, emissions.columns, strict=True)]
        none = np.zeros(self.n_outcomes) if self.is_plain else self.log_weights(emissions)
        return form.with_masses(none, found)

    def parameters(self, form, moments: ChainMoments) -> Parameters:
        coefficients = self.coefficients(form, moments.emissions)
        return Parameters(self.start_of(moments), self.transitions_of(moments), self.end_of(moments), coefficients)

    def in_domain(self, moments: ChainMoments) -> bool:
        columns = zip(self.emissions.families, moments.emissions.columns, strict=True)
        return moments.is_finite() and all(family.in_domain(own) for family, own in columns)

    def no_statistics(self) -> ChainMoments:
        S = self.n_outcomes
        return ChainMoments(np.zeros(S), np.zeros((S, S)), np.zeros(S), self.emissions.no_statistics())

    def log_likelihood(self, statistics: ChainMoments, moments: ChainMoments) -> float:
        """The log-likelihood of complete data with these statistics; fixed cells are counted too."""
        found = self.emissions.log_likelihood(
            replace(statistics.emissions, mass=np.zeros(self.emissions.n_outcomes)), moments.emissions
        )
        if self.n_mixtures > 1:
            found += float(statistics.emissions.mass @ self.log_weights(moments.emissions))
        for counts, cells in (
            (statistics.start, self.start_of(moments)),
            (self.left(statistics), shares(self.left(moments), self.leaving)),
        ):
            seen = counts != 0
            found += float(counts[seen] @ np.log(np.maximum(cells[seen], 1e-300)))
        return found

    @property
    def n_free(self) -> int:
        """Parameters of start and transitions (and end)."""
        leaving = (
            self.leaving if self.row_ties is None else self.leaving[np.unique(self.row_ties, return_index=True)[1]]
        )
        weights = self.emissions.n_outcomes // self.n_mixtures * (self.n_mixtures - 1)
        return int(sum(max(np.isnan(row).sum() - 1, 0) for row in [self.start_cells, *leaving])) + weights

    def chart(self, moments: ChainMoments) -> ChainChart:
        return ChainChart(self, moments)


class ChainChart:
    """Unconstrained coordinates: logarithms of the free cells, and the chart of the emissions."""

    def __init__(self, chain: Chain, moments: ChainMoments):
        self.chain, self.emissions = chain, chain.emissions.chart(moments.emissions)
        self.start, self.leaving = np.isnan(chain.start_cells), np.isnan(chain.leaving)
        self.cuts = np.cumsum([self.start.sum(), self.leaving.sum()])

    def vector(self, moments: ChainMoments) -> np.ndarray:
        chain = self.chain
        start, leaving = chain.start_of(moments), shares(chain.left(moments), chain.leaving)
        logs = np.log(np.concatenate([start[self.start], leaving[self.leaving]]))
        return np.concatenate([logs, self.emissions.vector(moments.emissions)])

    def moments(self, vector: np.ndarray) -> ChainMoments:
        first, second, rest = np.split(vector, self.cuts)
        S = self.chain.n_outcomes
        start, leaving = np.zeros(S), np.zeros(self.leaving.shape)
        start[self.start], leaving[self.leaving] = clipped_exp(first), clipped_exp(second)
        end = leaving[:, S] if self.chain.has_end else np.zeros(S)
        return ChainMoments(start, leaving[:, :S].copy(), end.copy(), self.emissions.moments(rest))


@dataclass(frozen=True, eq=False)
class ChainPrior:
    """Pseudo-statistics: `amount` (at most 1) starts and steps out of every state over its free cells, and rows of the emissions."""

    stored_as: ClassVar[dict[str, str]] = {"amount": "number 0..1"}

    chain: Chain
    emissions: ComponentPrior
    amount: float  # 0: maximum likelihood

    @classmethod
    def of(cls, chain: Chain, statistics: ChainMoments, amount: float, ridge: float = 0.0) -> ChainPrior:
        """From the statistics of some first labelling of the steps; `amount` pseudo-steps of every state."""
        weights = amount if chain.n_mixtures > 1 else 0.0
        emissions = ComponentPrior.of(chain.emissions, statistics.emissions, amount, weights, ridge)
        return cls(chain, emissions, min(float(amount), 1.0))

    def _pseudo(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pseudo-counts of start, transitions and end."""
        S = self.chain.n_outcomes
        start, leaving = np.isnan(self.chain.start_cells), np.isnan(self.chain.leaving)
        start_counts = self.amount * start / max(start.sum(), 1)
        counts = self.amount * leaving / np.maximum(leaving.sum(axis=1, keepdims=True), 1)
        return start_counts, counts[:, :S], counts[:, S] if self.chain.has_end else np.zeros(S)

    def posterior(self, statistics: ChainMoments) -> ChainMoments:
        """The M-step."""
        start, transitions, end = self._pseudo()
        transitions, end = self.chain.tied(statistics.transitions + transitions), self.chain.tied(statistics.end + end)
        return ChainMoments(statistics.start + start, transitions, end, self.emissions.posterior(statistics.emissions))

    def log_density(self, moments: ChainMoments) -> float:
        if not self.amount:
            return 0.0
        pseudo = ChainMoments(*self._pseudo(), self.emissions.pseudo(moments.emissions))
        return self.chain.log_likelihood(pseudo, moments)


# -- topologies --------------------------------------------------------------------------------------------------------

TOPOLOGIES = ("ergodic", "left-right", "cyclic")


def topology_cells(topology: Any, n_states: int) -> tuple[np.ndarray, np.ndarray]:
    """(start (S,), transitions (S, S)) with NaN where a topology leaves a cell free and 0 where it forbids it.

    "ergodic": all are free. "left-right": begin in the first state, stay or go to the next one; ("left-right", skips): or over that
    many more. "cyclic": stay or go to the next one, from the last to the first.
    """
    name, skips = (topology, 0) if isinstance(topology, str) else (topology[0], topology[1])
    if name not in TOPOLOGIES or not isinstance(skips, (int, np.integer)) or skips < 0:
        raise ValueError(
            f"topology={topology!r} is not one of {', '.join(map(repr, TOPOLOGIES))} or ('left-right', skips)"
        )
    start = np.full(n_states, np.nan)
    if name == "ergodic":
        return start, np.full((n_states, n_states), np.nan)
    ahead = np.arange(n_states) - np.arange(n_states)[:, None]
    if name == "cyclic":
        return start, np.where(ahead % n_states <= 1, np.nan, 0.0)
    start = np.where(np.arange(n_states) == 0, 1.0, 0.0)
    return start, np.where((ahead >= 0) & (ahead <= 1 + skips), np.nan, 0.0)


# -- the readable twin of the compiled loops ---------------------------------------------------------------------------


def forward_backward(scores: np.ndarray, start: np.ndarray, A: np.ndarray, end: np.ndarray | None = None):
    """(log p(x), first posterior (S,), expected transitions (S, S), last posterior (S,), posteriors (T, S)) of one sequence.

    The readable twin of `kernels.structures.chain.run_lanes`; scores (T, S) are log b. Without `end` the fourth is zero.
    """
    T, S = scores.shape
    if T == 0:
        return 0.0, np.zeros(S), np.zeros((S, S)), np.zeros(S), np.zeros((0, S))
    alpha, totals = np.empty((T, S)), np.empty(T)
    top = scores.max(axis=1, keepdims=True)
    b = np.exp(scores - top)
    for t in range(T):
        joint = b[t] * (alpha[t - 1] @ A if t else start)
        totals[t] = joint.sum()
        alpha[t] = joint / totals[t]
    closing = 1.0 if end is None else float(alpha[-1] @ end)
    beta = np.ones(S) if end is None else end / closing
    posteriors, pairs = np.empty((T, S)), np.zeros((S, S))
    for t in range(T - 1, -1, -1):
        posteriors[t] = alpha[t] * beta
        if t:
            onward = b[t] * beta / totals[t]
            pairs += A * np.outer(alpha[t - 1], onward)
            beta = A @ onward
    loglik = float(top.sum() + np.log(totals).sum() + np.log(closing))
    return loglik, posteriors[0], pairs, posteriors[-1] if end is not None else np.zeros(S), posteriors
