"""One driver for every learner: how a pass is judged, when to stop, what is kept, printed and written to disk.

A learner is a frozen record of options with

    init(problem, start, generator, warm) -> State        step(problem, state) -> State

The state carries the moments and their measure, F on all rows. The driver keeps the best state, so an interruption loses nothing. The
history holds every pass's own objective and, as "best", the lowest so far. A learner whose measure costs as much as a pass may leave
it out (None) after some of them (the history then repeats the last measure, and says so: "measured"); where it has
`measured(problem, state)` this makes it up for the last one.

A learner that makes its passes inside another library, or whose passes are long, has `drive(problem, state, record)` in the place of
`step`. It calls `record(state)` after each pass (True says stop), and may call `record.offer(state)` within one: a checkpoint is
written there if it is time, and `drive` is given that state when the run resumes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from ..kernels.interruption import is_interruption
from .problem import Measure, Problem
from .state import Fit, State, Stop
from .watch import SILENT, Watch

__all__ = ["Fit", "Measure", "Problem", "SelfDriven", "State", "Stop", "run"]


def run(
    learner: Any, problem: Any, start: Any, generator: np.random.Generator, *, max_epochs: int = 100, tol: float = 1e-3,
    warm: Any = None, keep_best: bool = True, watch: Watch = SILENT,
) -> Fit:  # fmt: skip
    """The fit after passes until the gap (or, where there is none, the decrease of F over some passes) is below `tol`.

    `warm` is what the learner may begin with (multipliers of another run). `keep_best=False` keeps the last state and not the best,
    unless the run is interrupted. Where the learner's option `watch` is off, nothing is measured: the last state of at most
    `max_epochs` passes.
    """

    def work(name: str) -> Fit:
        if not getattr(learner, "watch", True):
            return _run_unwatched(learner, problem, start, generator, max_epochs, warm, watch, name)
        record = Record(learner, problem, max_epochs, tol, keep_best, watch, name)
        return _run(record, start, generator, warm)

    fit = watch.once(work, generator)
    return replace(fit, history={name: list(values) for name, values in fit.history.items()})  # the journal's stays


def _run(record: Record, start, generator: np.random.Generator, warm) -> Fit:
    learner, problem, watch = record.learner, record.problem, record.watch
    record.begin(start, generator)
    try:
        if watch.is_interrupted:
            record.end(Stop.by(watch))
            return record.fit
        if record.state is None:
            record.state = learner.init(problem, start, generator, warm)
            record.starts_at(record.state)
        if isinstance(learner, SelfDriven):
            learner.drive(problem, record.state, record)
        else:
            while not record.is_over:
                record.finished(learner.step(problem, record.state))
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        watch.interrupt()
        record.interrupted()
        warnings.warn(f"training was {record.fit.stopped}", stacklevel=5)
    if isinstance(learner, SelfDriven):  # here and not in `drive`: an interruption may come at any moment of it
        record.fit.moments = learner.moments_of(problem, record.fit.moments)
    _remember(record.fit, getattr(record.state, "memory", None))
    return record.fit


class SelfDriven:
    """The base of learners that make their passes inside another library, or whose passes are long."""

    def drive(self, problem: Any, state: State, record: Record) -> None:
        """Pass after pass, until `record(state)` says stop."""
        raise NotImplementedError

    def moments_of(self, problem: Any, moments: Any) -> Any:
        """Moments as a record, where the learner's own states hold them otherwise while it runs."""
        return moments


@dataclass
class Snapshot:
    """A run at the end of a pass, or at a point within one: enough to go on from there."""

    state: State | None = None
    fit: Fit = field(default_factory=lambda: Fit(None))
    last: Any = None  # Measure of the last pass that was measured
    best: Any = None  # moments of the lowest measure
    lowest: Any = None  # Measure
    n_quiet: int = 0  # passes in a row that lowered F by too little to count
    n_open: int = 0  # passes since F was last measured
    reached: float = np.inf  # the lowest F of the learner's own path: it may begin above the start that it was given
    before: float = 0.0  # seconds so far


class Record(Snapshot):
    """The passes of a run so far: the best of them, the history, and whether it is over."""

    def __init__(self, learner, problem, max_epochs: int, tol: float, keep_best: bool, watch: Watch, name: str) -> None:
        self.learner, self.problem = learner, problem
        self.max_epochs, self.tol, self.keep_best = max_epochs, tol, keep_best
        self.watch, self.name = watch, name
        self.can_measure = hasattr(learner, "measured")
        self.is_stopped = False  # by the callback

    def begin(self, start, generator: np.random.Generator) -> None:
        """From the start, or from where the run was when it was interrupted."""
        found = self.watch.recalled(self.name)
        if found is None:
            first = self.problem.measure(start)
            reached = first.objective if np.isfinite(first.objective) else np.inf
            found = Snapshot(None, Fit(start, first, first=first), first, start, first, reached=reached)
        for each in fields(Snapshot):
            setattr(self, each.name, getattr(found, each.name))
        resume_generator(self.state, generator)
        self.is_over = self.fit.n_iter >= self.max_epochs
        self.began = self.watch.clock()

    def starts_at(self, state: Any) -> None:
        """Where the learner's own path begins, if it is above the start."""
        measure = getattr(state, "measure", None)
        if measure is not None and measure.objective > self.reached:
            self.reached = measure.objective

    @property
    def kept(self) -> Measure:
        assert self.fit.measure is not None
        return self.fit.measure

    @property
    def seconds(self) -> float:
        return self.before + self.watch.clock() - self.began

    def __call__(self, state: State) -> bool:
        """Whether to stop, after a pass that ended with this state."""
        self.finished(state)
        return self.is_over

    def offer(self, state: State) -> None:
        """Write a checkpoint, if it is time; `state` is whole but may be within a pass."""
        self.state = state
        self.watch.offer(self.name, self._snapshot)

    def finished(self, state: State) -> State:
        """The state after a pass, measured if it is the last one; all that follows from the pass is noted."""
        fit = self.fit
        fit.n_iter += 1
        if state.measure is None and fit.n_iter == self.max_epochs and self.can_measure:
            state = self.learner.measured(self.problem, state)
        self.state = state
        previous = self.reached if self.keep_best else self.kept.objective
        self._compare(state)
        self._note(state)
        self.n_open += 1
        if state.measure is not None:
            self._judge(state, previous)
            self.n_open = 0
        if not self.is_over and state.is_done and (state.measure is not None or not self.can_measure):
            self.end(getattr(self.learner, "ends", Stop.NO_STEP), n=fit.n_iter)
        if not self.is_over and fit.n_iter >= self.max_epochs:
            self.end(Stop.PASSES, n=self.max_epochs)
        if self.is_over:
            return state
        if self.is_stopped:
            self.end(Stop.CALLBACK)
            self.watch.keep(self.name, self._snapshot)
            self.watch.interrupt()
        elif self.watch.is_late:
            self.end(Stop.LATE)
        else:
            self.offer(state)
        return state

    def _compare(self, state: State) -> None:
        """Keep the state: where it is the best so far, or always."""
        fit = self.fit
        if state.measure is not None:
            self.last = state.measure
            self.reached = min(self.reached, self.last.objective)
            if self.last.objective <= self.lowest.objective or not np.isfinite(self.lowest.objective):
                self.best, self.lowest = state.moments, self.last
                fit.moments, fit.measure = self.best, self.lowest
        if not self.keep_best and (state.measure is not None or not self.can_measure):
            fit.moments, fit.measure = state.moments, self.last

    def _note(self, state: State) -> None:
        line = self._line(state.measure is not None, state.n_shortened) | state.progress
        for name, value in line.items():
            self.fit.history.setdefault(name, []).append(value)
        self.is_stopped = not self.watch.passed(self.fit.n_iter, line, state)

    def _line(self, is_measured: bool, n_shortened: int) -> dict[str, Any]:
        """What the history has of a pass, by name."""
        return {
            **{name: getattr(self.last, name) for name in ("objective", "nll", "ncll", "hinge", "accuracy", "gap")},
            "best": self.lowest.objective,
            "measured": is_measured,
            "shortened": n_shortened,
            "seconds": self.seconds,
        }

    def _judge(self, state: State, previous: float) -> None:
        scale = self.problem.scale(self.last)
        if self.last.gap <= self.tol * scale:
            self.end(Stop.GAP, tol=self.tol)
        elif not np.isfinite(self.last.gap):
            gain = previous - (self.reached if self.keep_best else self.kept.objective)
            self.n_quiet = self.n_quiet + self.n_open if gain <= 0.1 * self.tol * scale * self.n_open else 0
            if self.n_quiet >= self.problem.patience and not state.is_searching:
                passes = "two passes" if self.problem.patience == 2 else "a pass"
                self.end(Stop.SMALL_GAIN, passes=passes, tol=self.tol)

    def end(self, stop: Stop, details: dict | None = None, /, **more: Any) -> None:
        """End the run; where it made no pass, the history has its start."""
        self.is_over = True
        if not self.fit.history:
            self.fit.history = {name: [value] for name, value in self._line(True, 0).items()}
        self.fit.ended(stop, **(details or {}), **more)

    def interrupted(self) -> None:
        """Keep the best state: that of the last whole pass where it was not measured yet and is the best, or where nothing ever was."""
        state, fit = self.state, self.fit
        if not self.keep_best:
            fit.moments, fit.measure = self.best, self.lowest
        if state is not None and state.measure is None and state.n_passes > 0 and self.can_measure:
            state = self.learner.measured(self.problem, state)
            assert state.measure is not None
            if state.measure.objective <= self.lowest.objective:
                fit.moments, fit.measure = state.moments, state.measure
        elif state is not None and not np.isfinite(self.lowest.objective):
            fit.moments = state.moments
        self.end(Stop.INTERRUPTED)

    def _snapshot(self) -> Snapshot:
        values = {each.name: getattr(self, each.name) for each in fields(Snapshot)}
        return Snapshot(**{**values, "before": self.seconds})


def resume_generator(state: State | None, generator: np.random.Generator) -> None:
    """Put the generator where that of a state was; the state has this one from now on."""
    if state is not None and state.generator is not None:
        generator.bit_generator.state = state.generator.bit_generator.state
        state.generator = generator


def _run_unwatched(learner, problem, start, generator, max_epochs: int, warm, watch: Watch, name: str) -> Fit:
    """Passes without measures and history: the last state."""
    found = watch.recalled(name) or Snapshot()
    state, n_iter = found.state, found.fit.n_iter
    if state is None:
        state = learner.init(problem, start, generator, warm)
    resume_generator(state, generator)
    try:
        while n_iter < max_epochs and not state.is_done and not watch.is_interrupted:
            state = learner.step(problem, state)
            n_iter += 1
            watch.offer(name, partial(Snapshot, state, Fit(None, n_iter=n_iter)))
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interruption(error):
            raise
        watch.interrupt()
    moments = learner.last_moments(problem, state)
    fit = Fit(moments, n_iter=n_iter)
    _remember(fit, state.memory)
    if watch.is_interrupted:
        return fit.ended(Stop.by(watch))
    return fit.ended(Stop.NO_STEP) if state.is_done else fit.ended(Stop.PASSES, n=max_epochs)


def _remember(fit: Fit, memory: Any) -> None:
    """What the last state carried, for warm starts and scores."""
    fit.memory = memory
    fit.multipliers, fit.arrays = getattr(memory, "multipliers", None), getattr(memory, "arrays", None)
