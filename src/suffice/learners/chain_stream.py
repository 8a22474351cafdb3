r"""Streams of labelled sequences: stepwise EM, and stochastic discriminative EM on top of it (Masegosa 2014, Table 2).

A step on a mini-batch moves every block of moments (start, what follows a state, the emissions of a state) by

    block <- block + rate * (signed statistics + prior - what the model expects of as much) / mass of the block

which is extended Baum-Welch with D = mass / rate: the natural gradient of the loss. No probability and no variance loses more than
half in a step; blocks that would are counted as shortened. Coordinates (logits, means, log variances) are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..structures.base import Moments
from ..structures.chain import Chain, ChainMoments, shares
from ..structures.chain_classes import ChainClasses, ClassesMoments
from .chain_classes import ClassProblem, ClassRows
from .online import Stream, moments_of, moved
from .problem import Problem
from .step_sizes import is_schedule, step_size_of
from .stochastic import with_step

BATCH = 32  # sequences of a mini-batch
LEAST = 0.5  # of a probability that a step leaves
LEAST_MASS = 1e-3  # of a block, in sequences
PASSES = 5  # over the first batch, which has to find the start


@dataclass
class ChainStream:
    """A stream between two batches; `recipe` gives EM of classes, problems, priors and options."""

    em: Stream
    stepped: Any = None  # moments under a discriminative loss, a sequence in all
    base: Any = None  # moments whose chart is averaged in
    average: Any = None  # coordinates
    moments: Any = None  # the model that is shown
    n_steps: int = 0
    n_shortened: int = 0

    @property
    def n_iter(self) -> int:
        return self.n_steps

    @property
    def statistics(self) -> Any:
        return self.em.seen * self.em.mean

    @classmethod
    def begun(cls, problem: Problem, recipe, generator) -> ChainStream:
        _, statistics, prior = recipe.by_classes(problem, generator)
        seen = float(problem.weights.sum())
        mean = (1.0 / seen) * statistics
        found = cls(Stream(prior, mean, mean, seen, len(problem.y) / BATCH))
        for _ in range(PASSES if problem.loss.is_discriminative else 1):
            found = found._stepped(problem, recipe)
        return found

    @classmethod
    def after_fit(cls, problem: Problem, recipe, moments: ClassesMoments) -> ChainStream:
        """Steps go on from a fit's moments; online EM from what they expect of its sequences."""
        prior, model = recipe.em_prior(problem), recipe.rows(problem).model
        seen = float(problem.weights.sum())
        goal = ClassProblem(recipe.rows(problem), prior)
        mean = (1.0 / seen) * goal.expected(moments).statistics
        em = Stream(prior, mean, mean, seen, max(seen, 1.0) / BATCH)
        return cls(em, at_masses(model, moments, mean), moments, moments=moments, n_steps=len(problem.y) // BATCH)

    def moved(self, problem: Problem, recipe) -> ChainStream:
        em = self.em
        for rows in batches(problem):
            part = problem.part(rows)
            goal = ClassProblem(recipe.rows(part), em.prior)
            em = moved(em, goal.expected(moments_of(em)), float(part.weights.sum()), len(rows) / BATCH)
        return replace(self, em=em)._stepped(problem, recipe)

    def _stepped(self, problem: Problem, recipe) -> ChainStream:
        if not problem.loss.is_discriminative:
            return replace(self, moments=self.em.shown())
        model: Any = problem.model
        em = self.em.shown()
        prior = (1.0 / self.em.seen) * model.pooled_prior(self.statistics, *recipe.stream_pair(problem))
        moments = at_masses(model, em, self.em.mean) if self.stepped is None else self.stepped
        base = em if self.base is None else self.base
        chart, average, n_steps, n_shortened = model.chart(base), self.average, self.n_steps, 0
        for rows in batches(problem):
            part = problem.part(rows)
            rate = rate_of(step_size_of(recipe.options.step_size), n_steps)
            step, shortened = step_of(model, recipe.rows(part), problem.loss, moments, prior, self.em.mean, rate)
            n_steps += 1
            if model.in_domain(step):
                moments = step
            else:  # numbers so far from all before that rounding took over: no step
                shortened += 1
            n_shortened += shortened
            average = with_step(average, chart.vector(moments), n_steps)
        shown = chart.moments(average) if recipe.options.average else moments
        shown = shown if model.in_domain(shown) else moments
        return replace(
            self, stepped=moments, base=base, average=average, moments=shown, n_steps=n_steps, n_shortened=n_shortened
        )


def batches(problem: Problem) -> list[np.ndarray]:
    """Sequences of positive weight, in their order, some at a time."""
    rows = np.flatnonzero(problem.weights > 0)
    return [rows[first : first + BATCH] for first in range(0, len(rows), BATCH)]


def rate_of(step_size, n_steps: int) -> float:
    if is_schedule(step_size):
        return float(step_size.rates(n_steps, 1)[0])
    factor = step_size if isinstance(step_size, float) else 1.0
    return min(1.0, factor * (1.0 + n_steps / 20.0) ** -0.6)


def at_masses(model: ChainClasses, moments: ClassesMoments, mean: ClassesMoments) -> ClassesMoments:
    """Moments whose emissions have the masses of `mean`: steps in a state, of a sequence."""

    def of_chain(own: ChainMoments, usual: ChainMoments) -> ChainMoments:
        mass = np.maximum(usual.mass, LEAST_MASS)
        return replace(own, emissions=model.chain.emissions.at_masses(own.emissions, mass))

    chains = tuple(of_chain(own, usual) for own, usual in zip(moments.chains, mean.chains, strict=True))
    return ClassesMoments(moments.mass / moments.mass.sum(), chains)


def step_of(
    model: ChainClasses, rows: ClassRows, loss, moments: ClassesMoments, prior, mean, rate: float
) -> tuple[ClassesMoments, int]:
    """The moments after a step on some sequences, and how many blocks were shortened."""
    _, signed = rows.loss(model.parameters(rows.form, moments), loss)
    direction = (1.0 / max(float(rows.weights.sum()), 1e-300)) * signed + prior
    chains, n_shortened = [], 0
    for own, towards, usual in zip(moments.chains, direction.chains, mean.chains, strict=True):
        chain, shortened = moved_chain(model.chain, own, towards, usual, rate)
        chains.append(chain)
        n_shortened += shortened
    share = moments.mass / moments.mass.sum()
    change = direction.mass - share * direction.mass.sum()
    mass = np.maximum(share + rate * change, LEAST * share)
    return ClassesMoments(mass / mass.sum(), tuple(chains)), n_shortened


def moved_chain(
    chain: Chain, moments: ChainMoments, towards: ChainMoments, usual: ChainMoments, rate: float
) -> tuple[ChainMoments, int]:
    start, first = moved_rows(
        moments.start[None], chain.start_cells[None], towards.start[None], usual.start.sum()[None], rate
    )
    left, second = moved_rows(
        chain._left(moments), chain.leaving, chain._left(towards), chain._left(usual).sum(axis=1), rate
    )
    S, model = chain.n_outcomes, chain.emissions
    nothing, parts = np.zeros(S), zip(model.families, towards.emissions.columns, moments.emissions.columns, strict=True)
    gain = Moments(nothing, tuple(f.direction(own, 0.0 * own, now, nothing, 0.0) for f, own, now in parts))
    emissions, third = model.move(moments.emissions, gain, rate)
    end = left[:, S].copy() if chain.has_end else np.zeros(S)
    return ChainMoments(start[0], left[:, :S].copy(), end, emissions), first + second + third


def moved_rows(
    counts: np.ndarray, cells: np.ndarray, towards: np.ndarray, mass: np.ndarray, rate: float
) -> tuple[np.ndarray, int]:
    """Rows of probabilities after a step; none loses more than half of itself."""
    free = np.isnan(cells)
    p = shares(counts, cells)
    left = np.where(free, p, 0.0)
    own = left / np.maximum(left.sum(axis=1, keepdims=True), 1e-300)
    towards = np.where(free, towards, 0.0)
    change = (towards - own * towards.sum(axis=1, keepdims=True)) / np.maximum(mass, LEAST_MASS)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(change < 0, (1.0 - LEAST) * own / -change, np.inf).min(axis=1)
    step = np.minimum(rate, room)
    return shares(np.where(free, own + step[:, None] * change, 0.0), cells), int((step < rate).sum())
