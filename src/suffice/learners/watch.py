"""What accompanies a fit from outside: lines that are printed, and a journal from which an interrupted fit goes on.

A fit is a sequence of runs that depends on nothing but its rows, parameters and seed. The journal holds the results of the runs that
ended and the state of the one that is under way. A fit that resumes goes the same way again: runs of the journal return at once, the
next one begins at its state, so the result has the bits of a fit that was never interrupted.

The journal is written by a keeper (`suffice.saving.checkpoints.Keeper`), which decides when it is time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np


@dataclass
class Journal:
    """Results of the runs that ended, by their names; and of those under way the states at their last whole pass."""

    done: dict[str, Any] = field(default_factory=dict)
    under_way: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A result, and the state of the random generator after it."""

    result: Any
    random: Any


class Keeper(Protocol):
    journal: Journal

    def is_due(self) -> bool: ...

    def write(self) -> None: ...


class Watch:
    """The observer of a fit. `child` names the runs of a part of it, such as a fold, whose order among others is not fixed."""

    def __init__(self, report: Callable[[int, dict], Any] | None = None, keeper: Keeper | None = None, name: str = ""):
        self.report, self.keeper, self.name = report, keeper, name
        self.n_runs = 0
        self.lock = threading.RLock()
        self.signal: list[bool] = []  # not empty: the user has interrupted

    def child(self, name: str) -> Watch:
        made = Watch(None, self.keeper, f"{self.name}{name}/")
        made.lock, made.signal = self.lock, self.signal
        return made

    def silent(self) -> Watch:
        """The same journal and names, without lines."""
        made = self.child("quiet")
        return made

    @property
    def is_interrupted(self) -> bool:
        return bool(self.signal)

    def interrupt(self) -> None:
        self.signal.append(True)

    def next_run(self) -> str:
        self.n_runs += 1
        return f"{self.name}{self.n_runs}"

    def once(self, work: Callable[[str], Any], generator: np.random.Generator | None = None) -> Any:
        """work(name), or what it gave before the interruption; `generator` is then as it was after it."""
        name = self.next_run()
        if self.keeper is None:
            return work(name)
        journal = self.keeper.journal
        if name in journal.done:
            entry = journal.done[name]
            if generator is not None:
                generator.bit_generator.state = entry.random
            return entry.result
        result = work(name)
        with self.lock:
            journal.done[name] = Entry(result, None if generator is None else generator.bit_generator.state)
            for inner in [key for key in journal.under_way if key == name or key.startswith(f"{name}/")]:
                del journal.under_way[inner]
            if self.keeper.is_due():
                self.keeper.write()
        return result

    def recalled(self, name: str) -> Any:
        """The snapshot of a run that was under way, or None."""
        return None if self.keeper is None else self.keeper.journal.under_way.get(name)

    def offer(self, name: str, snapshot: Callable[[], Any]) -> None:
        """Write the journal with this snapshot, if it is time."""
        if self.keeper is None or not self.keeper.is_due():
            return
        with self.lock:
            self.keeper.journal.under_way[name] = snapshot()
            self.keeper.write()
            del self.keeper.journal.under_way[name]  # its arrays change from now on


SILENT = Watch()
