"""One driver for every learner: what is minimised, how a pass is judged, when to stop, what is kept.

Every fit minimises, over the natural parameters,

    F(theta) = sum_i weight_i loss_i(theta) + strength [A(theta) - <theta, mu0>]

where the second term is minus the log-likelihood of the prior's pseudo-statistics (a record in the shape of the moments). A learner
is a frozen record of options with `init(problem, start, generator) -> State` and `step(problem, state) -> State`; the state carries
`moments` and their `measure`: F on all rows. The driver keeps the best state, so the objective it reports never rises and an
interruption loses nothing. A learner whose measure costs as much as a pass may leave it out (None) after some of them; the last
one is measured.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..families.base import Model
from ..kernels.loops.measure import FIELDS, measure_rows
from ..losses import Loss


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised."""

    model: Model
    X: Any
    y: np.ndarray  # outcomes; -1 where there is no label
    weights: np.ndarray
    loss: Loss
    prior: Any  # moments: pseudo-statistics

    patience = 2  # passes in a row that must lower F by too little to count

    def scale(self, measure: Measure) -> float:
        """What `tol` is a share of."""
        return float(self.weights.sum()) * max(0.1, abs(measure.loss))

    def scores(self, moments, state: tuple | None = None) -> np.ndarray:
        return self.model.scores(moments, self.X, state)

    def measure(self, moments, multipliers: np.ndarray | None = None, state: tuple | None = None) -> Measure:
        """F, the three losses and the accuracy on all rows; with the multipliers of a dual learner also the duality gap.

        The gap bounds F - min F where F is convex: without latent variables and with block weights equal to the outcomes' masses.
        """
        rows = np.zeros((0, self.model.n_outcomes)) if multipliers is None else multipliers
        loss = self.loss
        scores = self.scores(moments, state)
        sums = measure_rows(scores, self.y, self.weights, rows, loss.code, loss.margin, loss.softness)
        total = dict(zip(FIELDS, map(float, sums), strict=True))
        labelled = max(total["labelled"], 1e-300)
        prior = (
            self.model.log_likelihood_of_state(self.prior, state)
            if state
            else self.model.log_likelihood(self.prior, moments)
        )
        return Measure(
            objective=total["loss"] - prior,
            loss=total["loss"] / max(float(self.weights.sum()), 1e-300),
            nll=total["nll"] / labelled,
            ncll=total["ncll"] / labelled,
            hinge=total["hinge"] / labelled,
            accuracy=total["correct"] / labelled,
            gap=total["gap"] if multipliers is not None and self.loss.is_discriminative else np.inf,
        )


@dataclass(frozen=True)
class Measure:
    objective: float
    loss: float
    nll: float
    ncll: float
    hinge: float
    accuracy: float
    gap: float


@dataclass
class Fit:
    """What a run gives back. `stopped` is a sentence."""

    moments: Any
    measure: Measure | None
    history: dict[str, list] = field(default_factory=dict)
    n_iter: int = 0
    converged: bool = False
    stopped: str = ""
    multipliers: np.ndarray | None = None
    state: tuple | None = None  # of the moments, as compiled loops take it, where a learner has it at hand


def run(
    learner,
    problem: Problem,
    start,
    generator: np.random.Generator,
    *,
    max_epochs: int = 100,
    tol: float = 1e-3,
    multipliers: np.ndarray | None = None,
    collected: Any = None,
    report: Callable[[int, dict], None] | None = None,
    keep_best: bool = True,
) -> Fit:
    """Passes until the gap (or, where there is none, the decrease of F over two passes) is below `tol`.

    `keep_best=False` keeps the last state instead (the paper's algorithm). `collected` are the statistics weighted by `multipliers`,
    for a learner that nobody watches: it need not sum them again.
    """
    if not getattr(learner, "watch", True):
        return rest(learner, problem, start, generator, max_epochs, multipliers, collected)
    kept = measure = problem.measure(start)
    best = Fit(start, kept)
    began = time.perf_counter()
    state: Any = None
    try:
        state = learner.init(problem, start, generator, multipliers)
        quiet = 0
        for epoch in range(1, max_epochs + 1):
            state = learner.step(problem, state)
            if state.measure is None and epoch == max_epochs:
                state = learner.measured(problem, state)
            is_measured = state.measure is not None
            measure = state.measure if is_measured else measure
            previous = kept.objective
            if is_measured and (not keep_best or measure.objective <= previous or not np.isfinite(previous)):
                best.moments, best.measure = state.moments, measure
                kept = measure
            line = {
                "objective": kept.objective,
                "nll": kept.nll,
                "ncll": kept.ncll,
                "hinge": kept.hinge,
                "accuracy": kept.accuracy,
                "gap": measure.gap,
                "shortened": state.n_shortened,
                "seconds": time.perf_counter() - began,
            }
            for name, value in line.items():
                best.history.setdefault(name, []).append(value)
            best.n_iter = epoch
            if report is not None:
                report(epoch, line)
            if not is_measured:
                continue
            scale = problem.scale(measure)
            if measure.gap <= tol * scale:
                best.converged, best.stopped = True, f"the duality gap fell below tol={tol:g}"
                break
            if not np.isfinite(measure.gap):
                quiet = quiet + 1 if previous - kept.objective <= 0.1 * tol * scale else 0
                if quiet >= problem.patience and not state.is_searching:
                    passes = "two passes" if problem.patience == 2 else "a pass"
                    best.converged, best.stopped = True, f"{passes} lowered the objective by less than tol={tol:g}"
                    break
            if state.is_done:
                best.converged, best.stopped = True, "no step lowers the objective any more"
                break
        else:
            best.stopped = f"max_epochs={max_epochs} passes were made"
    except KeyboardInterrupt:
        if state is not None and state.measure is None and getattr(state, "n_passes", 0) > 0:
            state = learner.measured(problem, state)
            if state.measure.objective <= kept.objective:
                best.moments, best.measure = state.moments, state.measure
        best.stopped = "interrupted; the best state so far was kept"
        warnings.warn(f"training was {best.stopped}", stacklevel=2)
    best.multipliers = getattr(state, "multipliers", None)
    return best


def rest(
    learner, problem: Problem, start, generator: np.random.Generator, max_epochs: int, multipliers, collected
) -> Fit:
    """Passes that nobody watches: no measures, no history, the last state."""
    known = () if collected is None else (collected,)
    state = learner.init(problem, start, generator, multipliers, *known)
    n_iter = 0
    while n_iter < max_epochs and not state.is_done:
        state = learner.step(problem, state)
        n_iter += 1
    moments = learner.finished(problem, state)
    stopped = "no step lowers the objective any more"
    return Fit(moments, None, {}, n_iter, state.is_done, stopped, state.multipliers, getattr(state, "arrays", None))
