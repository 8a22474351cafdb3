r"""A tagger: a chain whose states are tags, as free weights; and the hidden Markov model that has the same posterior.

    score(x, y) = start[y_1] + sum_t transitions[y_{t-1}, y_t] + end[y_T] + sum_t sum_m <w_m(y_t), phi_m(x_tm)>
    p(y | x)    = exp score(x, y) / sum over paths

Minus log p(y | x) is convex in the weights. They tilt a distribution p0 of each column (what it looks like under all tags together):

    q_m(x | k) = p0_m(x) exp(<w_m(k), phi_m(x)> - Z_m(k)),                Z_m(k) = A_m(theta0 + w_m(k)) up to a constant

p0 says the same of every tag, so it takes no part in p(y | x) of complete steps (`tag_gauge` says which p0 is taken). Every exponential
family is tilted this way: natural parameters are theta0 + w. The model with the emissions q, and (Azeraf, Monfrini and Pieczynski 2023)

    T_ij = exp(transitions_ij + sum_m Z_m(j)),   h = s T h + exp(end),   A_ij = s T_ij h_j / h_i,   stop_i = exp(end_i) / h_i
    start_j proportional to exp(start_j + sum_m Z_m(j)) h_j

is normalised, and a path of n steps has s^(n-1) prod T times what the score has: the same posterior, for every s below one over the
spectral radius of T. s is chosen so that sequences are as long as those of the data (at most MAX_LENGTH, for rounding).

A missing cell is integrated out, so it adds Z_m(k) to the score: the posterior is that of the model there too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..families.gaussian_diagonal import Natural as GaussianNatural
from ..families.records import Record
from .base import Moments as JointMoments
from .chain import Chain, ChainMoments, Parameters
from .forms import JointForm
from .joint import Joint
from .tag_gauge import shift_of
from .tag_patterns import PatternForm, Patterns

MAX_LENGTH = 1000.0  # expected steps of a sequence of the model
LEAST_VISITS = 1e-100  # of a tag: its moments still say what it looks like
WIDEST, WIDE = (
    100.0,
    4.0,
)  # variances, as multiples of the pooled one: the largest that stands, and one in the place of a larger one


@dataclass(frozen=True, eq=False)
class TagWeights(Record):
    """Weights in the shape of natural parameters; `columns` has a record for every family."""

    start: np.ndarray
    transitions: np.ndarray
    end: np.ndarray
    columns: tuple


def sums_of(family: Any, moments: Any) -> tuple[np.ndarray, ...]:
    """The arrays of moments that stand for the arrays of natural parameters: sums of phi."""
    return (moments.count,) if family.takes_codes else moments.arrays()[1:]


@dataclass(frozen=True, eq=False)
class Tagging:
    """Columns of steps given a tag: families, and the natural parameters `origin` of what they look like under all tags."""

    emissions: Joint
    origin: tuple
    units: tuple  # of every family: (arrays that broadcast to the weights) one over the spread of phi; 1 for categories

    @classmethod
    def of(cls, emissions: Joint, rows: np.ndarray, weights: np.ndarray) -> Tagging:
        """From the rows of all steps, labelled or not, and their weights."""
        origin, units = [], []
        for family, X in zip(emissions.families, emissions.split(rows), strict=True):
            own = family.statistics(np.ascontiguousarray(X), weights[:, None])  # the same for every tag
            typical = family.pseudo_rows(own, 1.0, family.typical(own))
            origin.append(family.natural_of(typical))
            units.append(units_of(family, X, weights))
        return cls(emissions, tuple(origin), tuple(units))

    @property
    def n_tags(self) -> int:
        return self.emissions.n_outcomes

    @property
    def chain(self) -> Chain:
        """The model's structure: every tag can follow every tag, and sequences end."""
        S = self.n_tags
        return Chain(self.emissions, np.full(S, np.nan), np.full((S, S), np.nan), True)

    def form(self, rows: np.ndarray, patterns: Patterns | None = None) -> JointForm:
        """The steps, with category columns as patterns."""
        parts: list = []
        for family, X in zip(self.emissions.families, self.emissions.split(rows), strict=True):
            own = np.ascontiguousarray(X)
            if family.takes_codes:
                parts.append(PatternForm(family, own, patterns=patterns))
            else:
                parts.append(family.form_for(own)(family, own))
        return JointForm(self.emissions, rows, parts)

    def zeros(self) -> TagWeights:
        S = self.n_tags
        return TagWeights(np.zeros(S), np.zeros((S, S)), np.zeros(S), tuple(0.0 * own for own in self.origin))

    def naturals(self, weights: TagWeights) -> tuple:
        return tuple(first + own for first, own in zip(self.origin, weights.columns, strict=True))

    # -- scores of paths ----------------------------------------------------------------------------------------------

    def parameters(self, form: JointForm, weights: TagWeights) -> tuple[Parameters, np.ndarray]:
        """What an E-step takes, and what was taken off the logarithms of (start, transitions, end)."""
        found = []
        for part, family, natural, origin, own in zip(
            form.parts, self.emissions.families, self.naturals(weights), self.origin, weights.columns, strict=True
        ):
            norms = None if part.is_complete else cell_norms(family, proper(natural, origin))
            if family.takes_codes:
                nothing = np.zeros((family.n_features, self.n_tags))
                theta = part.patterned(own.logit, nothing if norms is None else norms)
                found.append((np.zeros(self.n_tags), theta))
            elif norms is None:
                found.append((np.zeros(self.n_tags), np.hstack(own.arrays()).T.copy()))
            else:
                found.append((norms.sum(axis=0), np.hstack([-norms.T, *own.arrays()]).T.copy()))
        blocks = (weights.start, weights.transitions, weights.end)
        tops = np.array([block.max() for block in blocks])
        start, A, end = (np.exp(block - top) for block, top in zip(blocks, tops, strict=True))
        return Parameters(start, A, end, form.with_masses(np.zeros(self.n_tags), found)), tops

    def gradient(self, weights: TagWeights, difference: ChainMoments, is_complete: bool) -> TagWeights:
        """The gradient in the weights, of a difference of expected statistics; missing cells are where the model expects them."""
        mass, columns = difference.emissions.mass, []
        for family, natural, own in zip(
            self.emissions.families, self.naturals(weights), difference.emissions.columns, strict=True
        ):
            if not is_complete and family.n_features:
                model = family.moments_of(natural, np.ones(self.n_tags))
                own = own + family.at_weight(model, family.weight_of(mass) - own.weight)
            columns.append(type(natural)(*sums_of(family, own)))
        return TagWeights(difference.start, difference.transitions, difference.end, tuple(columns))

    def score(self, weights: TagWeights, counts: ChainMoments, is_complete: bool) -> float:
        """The score of known paths with these statistics."""
        pairs = [(weights.start, counts.start), (weights.transitions, counts.transitions), (weights.end, counts.end)]
        for family, natural, own, sums in zip(
            self.emissions.families, self.naturals(weights), weights.columns, counts.emissions.columns, strict=True
        ):
            pairs += zip(own.arrays(), sums_of(family, sums), strict=True)
            if not is_complete and family.n_features:
                missing = family.weight_of(counts.emissions.mass) - sums.weight
                norms = cell_norms(family, natural)
                pairs.append((norms if missing.shape == norms.shape else norms.T, missing))
        return float(sum(np.vdot(w, n) for w, n in pairs))

    def in_domain(self, weights: TagWeights) -> bool:
        """Whether every q_m has a norm, and is not too wide (`proper`)."""
        pairs = zip(self.naturals(weights), self.origin, strict=True)
        return all(proper(own, origin) is own for own, origin in pairs)

    # -- the model ----------------------------------------------------------------------------------------------------

    def model(self, weights: TagWeights, n_sequences: float = 1.0, mean_length: float = 10.0) -> ChainMoments:
        """Moments of the hidden Markov model with the same posterior: what it expects of so many sequences of that mean length."""
        naturals = [proper(*pair) for pair in zip(self.naturals(weights), self.origin, strict=True)]
        families = self.emissions.families
        norms = sum(family.log_partitions(own) for family, own in zip(families, naturals, strict=True))
        start, A, stop = normalised(weights, np.asarray(norms), min(max(mean_length, 1.0), MAX_LENGTH))
        visits = n_sequences * np.linalg.solve((np.eye(self.n_tags) - A).T, start)
        visits = np.maximum(visits, LEAST_VISITS)
        columns = tuple(family.moments_of(own, visits) for family, own in zip(families, naturals, strict=True))
        return ChainMoments(
            n_sequences * start, visits[:, None] * A, visits * stop, JointMoments(visits, columns)
        )  # fmt: skip

    def fitting(self, weights: TagWeights, counts: ChainMoments) -> Tagging:
        """The same with an origin such that the model of these weights has columns like the data (`tag_gauge`), given counts."""
        origin = []
        for family, natural, first, own, units in zip(
            self.emissions.families, self.naturals(weights), self.origin, counts.emissions.columns, self.units, strict=True
        ):  # fmt: skip
            if not family.n_features:
                origin.append(first)
                continue
            inside = proper(natural, first)
            origin.append(first + (inside - natural) + shift_of(family, inside, first, own, units))
        return replace(self, origin=tuple(origin))

    def weights_of(self, moments: ChainMoments) -> TagWeights:
        """Weights with the posterior of a hidden Markov model (of a sequence that is complete)."""
        chain, columns = self.chain, []
        shift = np.zeros(self.n_tags)
        for family, own, first in zip(self.emissions.families, moments.emissions.columns, self.origin, strict=True):
            natural = family.natural_of(own)
            shift = shift - family.log_partitions(natural)
            columns.append(natural - first)
        end = chain.end_of(moments)
        assert end is not None
        start, A = np.log(chain.start_of(moments)) + shift, np.log(chain.transitions_of(moments)) + shift
        return TagWeights(start, A, np.log(end), tuple(columns))


def units_of(family: Any, X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """One over the standard deviations of the columns of phi; 0 of one that is constant, which tells nothing."""
    if family.takes_codes:
        return (np.ones(1),)
    units = []
    for values in family.phi(X):
        seen = ~np.isnan(values)
        values, total = np.where(seen, values, 0.0), np.maximum(weights @ seen, 1e-300)
        mean = weights @ values / total
        size = np.abs(values).max(axis=0, initial=0.0)
        size = np.where(size > 0, size, 1.0)  # squares of the numbers themselves would overflow
        spread = np.sqrt(np.maximum(weights @ np.where(seen, (values - mean) / size, 0.0) ** 2 / total, 0.0))
        tells = (spread > 1e-12) & (spread * size > 1e-150)
        units.append(np.where(tells, 1.0 / np.where(tells, spread * size, 1.0), 0.0))
    return tuple(units)


def cell_norms(family: Any, natural: Any) -> np.ndarray:
    """(columns, S) array: Z_m(k)."""
    if family.takes_codes:
        return family.log_norms(natural)
    return family.log_norm(*natural.arrays()).T


def proper(natural: Any, origin: Any) -> Any:
    """Natural parameters inside the domain. Where a tag is too wide or has no variance, all tags' precisions grow by the same, and
    their linear parts are centred: that changes no posterior, and norms stay within what exp can say."""
    if not isinstance(natural, GaussianNatural):
        return natural
    widest, first = natural.quadratic.max(axis=0), origin.quadratic.max(axis=0)
    outside = widest > first / WIDEST
    if not outside.any():
        return natural
    linear = natural.linear - np.where(outside, (natural.linear - origin.linear).mean(axis=0), 0.0)
    return replace(natural, linear=linear, quadratic=natural.quadratic - np.where(outside, widest - first / WIDE, 0.0))


def normalised(weights: TagWeights, norms: np.ndarray, mean_length: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(start (S,), A (S, S), stop (S,)) of the module's formulas."""
    S = len(norms)
    ways = weights.transitions + norms
    T, first, last = np.exp(ways - ways.max()), weights.start + norms, np.exp(weights.end - weights.end.max())
    radius = max(float(np.abs(np.linalg.eigvals(T)).max()), 1e-300)

    def at(share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scaled = (share / radius) * T
        h = np.maximum(np.linalg.solve(np.eye(S) - scaled, last), 1e-300)
        start = np.exp(first + np.log(h) - (first + np.log(h)).max())
        return start / start.sum(), scaled * h / h[:, None], last / h

    low, high = 0.0, 1.0 - 1e-6
    for _ in range(60):
        middle = 0.5 * (low + high)
        start, A, _ = at(middle)
        length = float(np.linalg.solve((np.eye(S) - A).T, start).sum())
        low, high = (middle, high) if length < mean_length else (low, middle)
    return at(0.5 * (low + high))
