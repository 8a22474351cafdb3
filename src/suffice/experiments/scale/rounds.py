"""Rounds over the blocks that learning by conditional likelihood needs, against the number of blocks: 2 to 1,024, in one process.

A round sends parameters to all blocks and gets one record back. Three ways from the prior to F within a thousandth of its minimum: dual
passes in the blocks alone, L-BFGS alone, and two rounds of the first, then the second; blocks in random order, and sorted by label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...choosing import priors
from ...engines.blocks import Threads
from ...families.gaussian_diagonal import GaussianDiagonal
from ...learners.blocks import Block, BlockRows, ByMoments
from ...learners.driver import run as run_learner
from ...learners.incremental import Incremental
from ...learners.problem import Problem
from ...learners.quasi_newton import GroupProblem, QuasiNewton
from ...learners.shardwise import Shardwise
from ...learners.watch import Watch
from ...losses import loss_named
from ...structures.joint import Joint
from .. import Options, Report, Row

SHARE = 1e-3  # of the minimum, above it
DUAL_ROUNDS = 2  # before L-BFGS
MOST = 40  # rounds
STRENGTH = 100.0  # pseudo-rows
WAYS = {
    "dual passes": ("dual passes alone", MOST, False),
    "L-BFGS": ("L-BFGS alone", 0, True),
    "both": (f"{DUAL_ROUNDS} rounds of dual passes, then L-BFGS", DUAL_ROUNDS, True),
}


@dataclass(frozen=True)
class InMemory:
    """A block of rows that are here."""

    block: Block

    def load(self) -> Block:
        return self.block


@dataclass(frozen=True)
class Pieces:
    sources: tuple

    def place(self, engine: Any, prepare: Any, n_bytes: int) -> Any:
        return engine.place(self.sources, prepare, n_bytes)


def table(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Skewed, correlated columns of four classes, which are not what naive Bayes takes them for."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 4, n)
    X = generator.gamma(2.0, size=(n, 10)) + 1.5 * np.random.default_rng(7).normal(size=(4, 10))[y]
    X[:, 1:4] += X[:, :1]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def in_blocks(problem: Problem, n_blocks: int, order: np.ndarray) -> Problem:
    """The problem over blocks of its rows."""
    parts = np.array_split(order, n_blocks)
    blocks = tuple(InMemory(Block(problem.X[own], problem.y[own], problem.weights[own])) for own in parts)
    rows = BlockRows(Threads(1), Pieces(blocks), None, 1, problem.model)
    return Problem(problem.model, problem.X, problem.y, problem.weights, problem.loss, problem.prior, rows)


def until(goal: float) -> Watch:
    """An observer that stops a run once its objective is below the goal."""
    return Watch(lambda number, line: line["objective"] > goal)


def rounds_needed(problem: Problem, n_dual: int, then_lbfgs: bool, goal: float) -> float:
    """Rounds until F is below `goal`; infinite where MOST were not enough."""
    moments, generator = problem.prior, np.random.default_rng(0)
    made = 0
    if n_dual:
        fit = run_learner(
            Shardwise(),
            problem,
            problem.prior,
            generator,
            max_epochs=n_dual,
            tol=0.0,
            keep_best=False,
            watch=until(goal),
        )
        below = np.flatnonzero(np.array(fit.history["objective"]) <= goal)
        if len(below):
            return float(below[0])  # the moments after so many rounds
        moments, made = fit.memory.moments, len(fit.history["objective"])
    if not then_lbfgs:
        return np.inf
    model: Any = problem.model
    chart = model.chart(moments)
    seen: list[float] = []

    class Counted(GroupProblem):
        def value_and_gradient(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = super().value_and_gradient(vector)
            seen.append(self.total * value + self.least)
            return value, gradient

    coordinates = ByMoments(chart, np.ones_like(chart.vector(moments)))
    least = -model.log_likelihood(problem.prior, problem.prior)
    target = Counted(problem.blocks, problem.loss, problem.prior, coordinates, least)
    run_learner(QuasiNewton(1e-7), target, moments, generator, max_epochs=MOST, tol=1e-9, watch=until(goal))
    below = np.flatnonzero(np.array(seen) <= goal)
    return float(made + below[0] + 1) if len(below) else np.inf


def run(options: Options) -> Report:
    X, y = table(1024 if options.quick else 4096)
    model = Joint.of(GaussianDiagonal.for_data(X, 4))
    weights = np.ones(len(y))
    prior = priors.interior(model, model.statistics(X, y, weights))
    prior = prior * (STRENGTH / float(prior.mass.sum()))
    problem = Problem(model, X, y, weights, loss_named("ncll"), prior)
    best = run_learner(Incremental(1e-5), problem, prior, np.random.default_rng(0), max_epochs=300, tol=1e-7)
    goal = float(best.measure.objective) * (1.0 + SHARE)  # type: ignore[union-attr]
    numbers = [2, 8] if options.quick else [2**k for k in range(1, 11)]
    orders = {"in random order": np.arange(len(y)), "sorted by label": np.argsort(y, kind="stable")}
    report = Report(
        notes=[f"{len(y)} rows; rounds to within {SHARE:g} of the minimum, from the prior; inf: above {MOST}"]
    )
    found: dict[tuple[str, str], list[float]] = {}
    for way, (_, n_dual, then_lbfgs) in WAYS.items():
        for name, order in orders.items():
            options.say(f"{way}, {name}")
            needed: list[float] = []
            for n in numbers:  # twice the blocks never take fewer rounds of dual passes
                hopeless = not then_lbfgs and bool(needed) and needed[-1] == np.inf
                own = in_blocks(problem, n, order)
                needed.append(np.inf if hopeless else rounds_needed(own, n_dual, then_lbfgs, goal))
            found[way, name] = needed
            pairs = zip(numbers, found[way, name], strict=True)
            report.rows += [Row(f"{way}, {n} blocks {name}", None, value) for n, value in pairs]
    report.pictures.append(drawn(numbers, found, options))
    return report


def drawn(numbers: list[int], found: dict[tuple[str, str], list[float]], options: Options) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4))
    for colour, way in zip(("C0", "C1", "C2"), WAYS, strict=True):
        for name, style in (("in random order", "-o"), ("sorted by label", "--s")):
            shown = np.minimum(found[way, name], MOST)
            axes.plot(numbers, shown, style, color=colour, label=f"{WAYS[way][0]}, {name}", markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("blocks")
    axes.set_ylabel(f"rounds (at most {MOST})")
    axes.legend(fontsize="small")
    path = options.folder / "scale-rounds.png"
    figure.savefig(path, dpi=150, bbox_inches="tight")
    plt.close(figure)
    return path
