"""One driver for every learner: how a pass is judged, when to stop, what is kept, printed and written to disk.

A learner is a frozen record of options with

    init(problem, start, generator, warm) -> State        step(problem, state) -> State

The state carries the moments and their measure, F on all rows. The driver keeps the best state, so an interruption loses nothing. The
history holds every pass's own objective and, as "best", the lowest so far. A learner whose measure costs as much as a pass may leave
it out (None) after some of them; `measured(problem, state)` then makes it up for the last one. A learner that makes its passes inside
another library has `drive(problem, state, record)` in the place of `step` and calls `record(state)` after each: True says stop.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .problem import Measure, Problem
from .state import Fit, State, Stop
from .watch import SILENT, Watch

__all__ = ["Fit", "Measure", "Problem", "State", "Stop", "run"]


def run(
    learner: Any, problem: Any, start: Any, generator: np.random.Generator, *, max_epochs: int = 100, tol: float = 1e-3,
    warm: Any = None, keep_best: bool = True, watch: Watch = SILENT,
) -> Fit:  # fmt: skip
    """The fit after passes until the gap (or, where there is none, the decrease of F over some passes) is below `tol`.

    `warm` is what the learner may begin with (multipliers of another run). `keep_best=False` keeps the last state and not the best.
    Where the learner's option `watch` is off, nothing is measured: the last state of at most `max_epochs` passes.
    """
    return watch.once(
        lambda name: _run(learner, problem, start, generator, max_epochs, tol, warm, keep_best, watch, name), generator
    )


def _run(learner, problem, start, generator, max_epochs, tol, warm, keep_best, watch: Watch, name: str) -> Fit:
    if not getattr(learner, "watch", True):
        return _run_unwatched(learner, problem, start, generator, max_epochs, warm)
    snapshot = watch.recalled(name)
    if snapshot is None:
        first = problem.measure(start)
        record = Record(learner, problem, Fit(start, first, first=first), first, max_epochs, tol, keep_best)
        state = None
    else:
        record = Record(learner, problem, snapshot.fit, snapshot.last, max_epochs, tol, keep_best)
        record.n_quiet, record.before, state = snapshot.n_quiet, snapshot.seconds, snapshot.state
        generator.bit_generator.state = state.generator.bit_generator.state
        state.generator = generator
    record.watch, record.name = watch, name
    try:
        if watch.is_interrupted:
            return record.fit.ended(Stop.INTERRUPTED)
        if state is None:
            state = learner.init(problem, start, generator, warm)
            record.state = state
        if hasattr(learner, "drive"):
            learner.drive(problem, state, record)
        else:
            while not record.is_over:
                state = learner.step(problem, state)
                state = record.finished(state)
    except KeyboardInterrupt:
        record.interrupted()
        watch.interrupt()
        warnings.warn(f"training was {record.fit.stopped}", stacklevel=3)
    record.fit.memory = getattr(record.state, "memory", None)
    return record.fit


@dataclass(frozen=True)
class Snapshot:
    """A run at the end of a pass: enough to go on from there."""

    state: State
    fit: Fit
    last: Measure
    n_quiet: int
    seconds: float


@dataclass
class Record:
    """The passes of a run so far: the best of them, the history, and whether it is over."""

    learner: Any
    problem: Any
    fit: Fit
    last: Measure  # of the last pass that was measured
    max_epochs: int
    tol: float
    keep_best: bool
    watch: Watch = SILENT
    name: str = ""
    state: State | None = None
    before: float = 0.0  # seconds of the part of the run before an interruption
    n_quiet: int = 0  # passes in a row that lowered F by too little to count
    is_over: bool = False
    began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self.is_over = self.fit.n_iter >= self.max_epochs

    @property
    def kept(self) -> Measure:
        assert self.fit.measure is not None
        return self.fit.measure

    @property
    def seconds(self) -> float:
        return self.before + time.perf_counter() - self.began

    def __call__(self, state: State) -> bool:
        """Whether to stop, after a pass that ended with this state."""
        self.finished(state)
        return self.is_over

    def finished(self, state: State) -> State:
        """The state after a pass, measured if it is the last one; all that follows from the pass is noted."""
        fit = self.fit
        fit.n_iter += 1
        if state.measure is None and fit.n_iter == self.max_epochs:
            state = self.learner.measured(self.problem, state)
        self.state = state
        previous = self.kept.objective
        if state.measure is not None:
            self.last = state.measure
            if not self.keep_best or self.last.objective <= previous or not np.isfinite(previous):
                fit.moments, fit.measure = state.moments, self.last
        self._note(state)
        if state.measure is not None:
            self._judge(state, previous)
        if not self.is_over and fit.n_iter >= self.max_epochs:
            self.end(Stop.PASSES, n=self.max_epochs)
        if not self.is_over:
            self.watch.offer(self.name, self._snapshot)
        return state

    def _note(self, state: State) -> None:
        line = {
            **{name: getattr(self.last, name) for name in ("objective", "nll", "ncll", "hinge", "accuracy", "gap")},
            "best": self.kept.objective,
            "shortened": state.n_shortened,
            "seconds": self.seconds,
        }
        for name, value in line.items():
            self.fit.history.setdefault(name, []).append(value)
        if self.watch.report is not None and self.watch.report(self.fit.n_iter, line) is False:
            self.end(Stop.CALLBACK)

    def _judge(self, state: State, previous: float) -> None:
        scale = self.problem.scale(self.last)
        if self.last.gap <= self.tol * scale:
            self.end(Stop.GAP, tol=self.tol)
            return
        if not np.isfinite(self.last.gap):
            gain = previous - self.kept.objective
            self.n_quiet = self.n_quiet + 1 if gain <= 0.1 * self.tol * scale else 0
            if self.n_quiet >= self.problem.patience and not state.is_searching:
                passes = "two passes" if self.problem.patience == 2 else "a pass"
                self.end(Stop.SMALL_GAIN, passes=passes, tol=self.tol)
                return
        if state.is_done:
            self.end(getattr(self.learner, "ends", Stop.NO_STEP), n=self.fit.n_iter)

    def end(self, stop: Stop, details: dict | None = None, /, **more: Any) -> None:
        self.is_over = True
        self.fit.ended(stop, **(details or {}), **more)

    def interrupted(self) -> None:
        """Keep the last whole pass if it was not measured and is the best."""
        state = self.state
        if state is not None and state.measure is None and state.n_passes > 0 and hasattr(self.learner, "measured"):
            state = self.learner.measured(self.problem, state)
            assert state.measure is not None
            if state.measure.objective <= self.kept.objective:
                self.fit.moments, self.fit.measure = state.moments, state.measure
        self.end(Stop.INTERRUPTED)

    def _snapshot(self) -> Snapshot:
        assert self.state is not None
        return Snapshot(self.state, self.fit, self.last, self.n_quiet, self.seconds)


def _run_unwatched(learner, problem, start, generator, max_epochs: int, warm) -> Fit:
    """Passes without measures and history: the last state."""
    state = learner.init(problem, start, generator, warm)
    n_iter = 0
    while n_iter < max_epochs and not state.is_done:
        state = learner.step(problem, state)
        n_iter += 1
    moments = learner.last_moments(problem, state)
    fit = Fit(moments, n_iter=n_iter, memory=state.memory)
    return fit.ended(Stop.NO_STEP) if state.is_done else fit.ended(Stop.PASSES, n=max_epochs)
