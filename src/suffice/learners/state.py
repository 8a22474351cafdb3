"""What a learner carries from one pass to the next, what a run gives back, and why it stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .problem import Measure


@dataclass
class State:
    """One type for all learners; `memory` is what a learner alone carries (multipliers, rates, chains)."""

    moments: Any  # what the learner moves: moments, a posterior of the parameters, a network
    generator: Any = None  # a numpy Generator
    measure: Any = None  # a Measure of the moments; None after a pass that was not measured
    memory: Any = None
    n_passes: int = 0
    n_steps: int = 0
    n_shortened: int = 0  # steps of the last pass that were shortened at the edge of the domain
    is_done: bool = False  # no step lowers the objective any more
    is_searching: bool = False  # the last pass changed the step size and not the model: a small gain means nothing
    progress: dict[str, Any] = field(default_factory=dict)  # reported with the measure; the same names every pass


class Stop(Enum):
    """Why a run ended: a sentence, and whether that is convergence."""

    GAP = "the duality gap fell below tol={tol:g}", True
    SMALL_GAIN = "{passes} improved the objective by less than tol={tol:g}", True
    NO_STEP = "no step lowers the objective any more", True
    FLAT = "the gradient of the objective is zero", True
    GRADIENT = "no entry of the gradient of the objective, of a row, is above tol={tol:g}", True
    CERTIFIED = "at its optimum: a Newton step would gain {gain:.1g} nats a row", True
    CLOSED_FORM = "closed form", True
    ONE_PASS = "one pass over the batch", True
    LIKELIHOOD = "maximum likelihood was kept: {reason}", True
    SCHEDULE = "all {n} passes of its schedule were made", True  # a learner that has a fixed number of them
    PASSES = "{n} passes were made, and no more are allowed", False
    LINE_SEARCH = (
        "no lower point was found along the last direction of the minimiser, and its gradient is not zero",
        False,
    )
    DOMAIN = "the minimiser left the domain, so EM was kept", False
    TIME = "max_minutes={minutes:g} are over", False
    CALLBACK = "stopped by the callback", False
    LATE = "its time was over; the best state so far was kept", False
    INTERRUPTED = "interrupted; the best state so far was kept", False

    def __init__(self, sentence: str, is_convergence: bool) -> None:
        self.sentence, self.is_convergence = sentence, is_convergence

    @staticmethod
    def by(watch: Any) -> Stop:
        """Why runs end that are interrupted."""
        return Stop.INTERRUPTED if watch.signal else Stop.LATE


@dataclass
class Fit:
    """What a run gives back. `history` has a list a quantity, with one number a pass."""

    moments: Any
    measure: Measure | None = None
    history: dict[str, list] = field(default_factory=dict)
    n_iter: int = 0
    stop: str = Stop.CLOSED_FORM.name
    converged: bool = True
    stopped: str = Stop.CLOSED_FORM.sentence
    first: Measure | None = None  # of the start
    memory: Any = None  # of the last state
    multipliers: Any = None  # of the rows, where the learner is a dual one
    arrays: Any = None  # the moments as compiled loops take them, where the learner has them at hand

    def ended(self, stop: Stop, **details: Any) -> Fit:
        """The same fit, with the reason why it ended; `details` are what its sentence names."""
        self.stop, self.converged, self.stopped = stop.name, stop.is_convergence, stop.sentence.format(**details)
        return self
