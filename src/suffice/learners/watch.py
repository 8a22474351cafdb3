"""What accompanies a fit from outside: lines that are printed, and a journal from which an interrupted fit goes on.

A fit is a sequence of runs that depends on nothing but its rows, parameters and seed. The journal holds the results of the runs that
ended and the states of those that are under way. A fit that resumes goes the same way again: runs of the journal return at once, the
next ones begin at their states, so the result has the bits of a fit that was never interrupted.

The journal is written by a keeper (`suffice.saving.checkpoints.Keeper`), which decides when it is time.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from typing_extensions import override


@dataclass
class Journal:
    """Results of the runs that ended, by their names; and of those under way the states when they were last written."""

    done: dict[str, Any] = field(default_factory=dict)
    under_way: dict[str, Any] = field(default_factory=dict)

    def ended(self, name: str, entry: Entry) -> None:
        """Note a result; nothing that led to it is needed any more."""
        for part in (self.done, self.under_way):
            for key in [key for key in part if key == name or key.startswith(f"{name}/")]:
                del part[key]
        self.done[name] = entry


@dataclass(frozen=True)
class Entry:
    """A result, and the state of the random generator after it."""

    result: Any
    random: Any


class Keeper(Protocol):
    journal: Journal

    def begins(self, name: str) -> None: ...

    def is_due(self, name: str = "") -> bool: ...

    def write(self, name: str = "") -> None: ...


class Watch:
    """The observer of a fit.

    `report(number, line)` is called after every pass and stops the fit by returning False; `clock` says the time that a fit has
    taken. Every run has a name that depends on nothing but the way of the fit.
    """

    def __init__(
        self, report: Callable[[int, dict], Any] | None = None, keeper: Keeper | None = None, name: str = "",
        clock: Callable[[], float] = time.perf_counter,
    ):  # fmt: skip
        self.report, self.keeper, self.name, self.clock = report, keeper, name, clock
        self.counts: Counter[str] = Counter()  # of runs ("") and of parts
        self.lock = threading.RLock()
        self.signal: list[bool] = []  # not empty: the user has interrupted
        self.until = np.inf  # when runs end at their best state, by `time.monotonic`

    def child(self, name: str) -> Watch:
        """The observer of a part of the fit, such as a fold, whose runs have an order of their own; equal names are numbered."""
        self.counts[name] += 1
        return self.inside(f"{self.name}{name}.{self.counts[name]}")

    def inside(self, name: str) -> Watch:
        """The observer of what a run of this name is made of."""
        made = Watch(None, self.keeper, f"{name}/", self.clock)
        made.lock, made.signal, made.until = self.lock, self.signal, self.until
        return made

    @property
    def is_interrupted(self) -> bool:
        """Whether runs are to end at their best state."""
        return bool(self.signal) or self.is_late

    @property
    def is_late(self) -> bool:
        return self.until < np.inf and time.monotonic() > self.until

    def interrupt(self) -> None:
        self.signal.append(True)

    def passed(self, number: int, line: dict, state: Any) -> bool:
        """Whether to go on, after a pass that ended with this state."""
        return self.report is None or self.report(number, line) is not False

    def once(self, work: Callable[[str], Any], generator: np.random.Generator | None = None) -> Any:
        """work(name), or what it gave before the interruption; `generator` is then as it was after it."""
        self.counts[""] += 1
        name = f"{self.name}{self.counts['']}"
        if self.keeper is None:
            return work(name)
        journal = self.keeper.journal
        if name in journal.done:
            entry = journal.done[name]
            if generator is not None:
                generator.bit_generator.state = entry.random
            return entry.result
        self.keeper.begins(name)
        result = work(name)
        if self.is_interrupted:  # no result: whoever resumes goes on from what was under way
            return result
        with self.lock:
            journal.ended(name, Entry(result, None if generator is None else generator.bit_generator.state))
            if self.keeper.is_due():
                self.keeper.write()
        return result

    def recalled(self, name: str) -> Any:
        """The snapshot of a run that was under way, or None."""
        found = None if self.keeper is None else self.keeper.journal.under_way.get(name)
        return deepcopy(found)

    def offer(self, name: str, snapshot: Callable[[], Any]) -> None:
        """Write the journal with this snapshot, if it is time."""
        if self.keeper is not None and self.keeper.is_due(name):
            self.keep(name, snapshot)

    def keep(self, name: str, snapshot: Callable[[], Any]) -> None:
        """Write the journal with this snapshot."""
        if self.keeper is None:
            return
        with self.lock:
            self.keeper.journal.under_way[name] = deepcopy(snapshot())  # its arrays change from now on
            self.keeper.write(name)

    def close(self) -> None:
        """Write the journal of a fit that has ended or was interrupted."""
        if self.keeper is not None:
            self.keeper.write()


class Silent(Watch):
    """The observer of a run that is part of another one or of a stream: an interruption is the business of whoever began it."""

    @override
    def inside(self, name: str) -> Watch:
        return self

    @override
    def interrupt(self) -> None:
        raise KeyboardInterrupt


SILENT = Silent()
