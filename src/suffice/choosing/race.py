"""Kinds of models in a race: fitted to parts of the rows and judged on those held out, one after the other, as long as there is time.

Few rows are held out in three parts in turn. What is clearly behind after one of them is not fitted for the others, and what a
candidate chose for itself on the first part (a prior, say) it keeps on the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..learners.watch import Watch
from .candidates import Candidate, complete
from .folds import Deal, deal

MAX_ROWS = 20_000  # rows that take part
FEW = 2_000  # rows up to which every row is held out once
CLIP = 1e-3  # share of the uniform distribution mixed into held-out probabilities
BEHIND = 3.0  # standard errors by which a candidate is clearly behind


@dataclass
class Race:
    """`answers(candidate, train, test, watch, name)` fits some rows and gives p(class | row) of others, (rows, classes)."""

    codes: np.ndarray  # labels of all rows
    n_rows: int  # that the models kept will be fitted to
    answers: Callable[..., np.ndarray]
    end: float  # by `time.monotonic`
    watch: Watch
    verbose: bool = False
    pairs: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    tried: list[Candidate] = field(default_factory=list)

    def dealt(self, rows: np.ndarray, generator: np.random.Generator) -> Race:
        """With parts of these rows."""
        is_small = len(rows) < FEW
        found: Deal = deal(self.codes, rows, generator, 3 if is_small else 4, MAX_ROWS)
        pairs = [(found.trained_on(number), found.held_out(number)) for number in range(3 if is_small else 1)]
        self.pairs = [(train, test) for train, test in pairs if len(train) and len(test)]
        return self

    def run(self, candidates: Iterator[Candidate]) -> list[Candidate]:
        """The candidates that were judged."""
        for candidate in candidates:
            if self.tried and (self.watch.is_interrupted or not self._has_time()):
                break
            try:
                found = self.watch.once(partial(self._judged, candidate))
            except (ValueError, FloatingPointError, np.linalg.LinAlgError):
                if not self.tried:
                    raise
                continue
            if found is None:
                break
            vars(candidate).update(vars(found))
            self.tried.append(candidate)
            if self.verbose:
                said = f"{candidate.name}: held-out log-loss {candidate.loss:.4f}, {candidate.seconds:.1f} s"
                print(said + (", clearly behind" if candidate.is_behind else ""), flush=True)
        return self.tried

    @property
    def longest_fit(self) -> float:
        """Seconds that the last fit of what was tried may take."""
        return max((each.fit_seconds for each in self.tried), default=0.0)

    def _has_time(self) -> bool:
        """Whether a candidate twice as slow as the slowest yet, and the last fit of one of them, are in time."""
        longest = max(each.seconds for each in self.tried)
        return time.monotonic() + 2.0 * longest + self.longest_fit < self.end

    def _judged(self, candidate: Candidate, name: str) -> Candidate | None:
        """The candidate, with what it lost on the rows held out; None if the time was over before that."""
        start = time.monotonic()
        watch = self.watch.inside(name)
        watch.signal = []  # an interruption ends one fit: others of this candidate are fitted whole
        watch.until = self.end - self.longest_fit
        found = []
        for number, (train, test) in enumerate(self.pairs):
            own = self.answers(candidate, train, test, watch, f"{name}/fold{number}")
            if watch.is_late:
                return None
            if watch.signal:
                self.watch.interrupt()
            if number == 0:
                candidate.fit_seconds = (time.monotonic() - start) * self.n_rows / len(train)
            found.append((1.0 - CLIP) * own + CLIP / own.shape[1])
            self._note(candidate, np.concatenate(found), np.concatenate([part for _, part in self.pairs[: number + 1]]))
            if number + 1 < len(self.pairs) and self._is_behind(candidate.losses):
                candidate.is_behind = True
                break
        candidate.seconds = time.monotonic() - start
        return candidate

    def _note(self, candidate: Candidate, probabilities: np.ndarray, rows: np.ndarray) -> None:
        """What is known of a candidate after some of the rows."""
        codes = self.codes[rows]
        candidate.losses = -np.log(probabilities[np.arange(len(rows)), codes])
        candidate.accuracy = float((probabilities.argmax(axis=1) == codes).mean())

    def _is_behind(self, losses: np.ndarray) -> bool:
        best = min(complete(self.tried), key=lambda each: each.loss, default=None)
        if best is None:
            return False
        lost = losses - best.losses[: len(losses)]
        return bool(lost.sum() > BEHIND * np.linalg.norm(lost - lost.mean()))
