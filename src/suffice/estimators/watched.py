"""Long fits: a line a pass, checkpoints on the way, and fits that go on from one. Shared by all estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..learners.watch import Journal, Watch
from ..saving.checkpoints import Keeper, digest

# what may differ between the fit that wrote a checkpoint and the one that resumes from it
FREE = ("checkpoint", "checkpoint_minutes", "resume", "verbose", "n_jobs", "warm_start", "callback", "max_minutes")


class Watched:
    """A mixin of estimators with the parameters verbose, checkpoint, checkpoint_minutes and resume."""

    verbose: int
    checkpoint: Any
    checkpoint_minutes: float
    resume: Any
    random_state: Any
    get_params: Any
    _free: tuple[str, ...] = ()  # more parameters that may differ

    def _watch(self, *data: Any) -> Watch:
        """The observer of a fit on these arrays."""
        if not (isinstance(self.checkpoint_minutes, (int, float, np.number)) and self.checkpoint_minutes >= 0):
            raise ValueError(f"checkpoint_minutes={self.checkpoint_minutes!r} is not a number >= 0")
        report = self._report if self.verbose else None
        if self.checkpoint is None and self.resume in (None, False):
            return Watch(report)
        parameters = self.get_params(deep=False).items()
        identity = {name: _identity_of(value) for name, value in parameters if name not in (*FREE, *self._free)}
        identity = {"estimator": type(self).__name__, **identity, "data": digest(*data)}
        return Watch(report, Keeper(self.checkpoint, self.checkpoint_minutes, self.resume, identity, Journal()))

    def _fit_seed(self, watch: Watch) -> int:
        """The seed of a fit; the same one when it resumes, whatever `random_state` is."""
        return watch.once(lambda _: int(check_random_state(self.random_state).randint(2**31 - 1)))

    def _report(self, number: int, line: dict) -> None:
        """Print what a pass came to."""
        parts = [f"{type(self).__name__} pass {number}: objective {line['objective']:.6g}"]
        for name, text in (("accuracy", "accuracy {:.4f}"), ("gap", "gap {:.3g}")):
            if np.isfinite(line.get(name, np.nan)):
                parts.append(text.format(line[name]))
        parts.append(f"{line['seconds']:.1f} s")
        print(", ".join(parts), flush=True)


def _identity_of(value: Any) -> str:
    """What two equal parameters have in common, whatever process they are of."""
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return type(value).__name__
    return digest(value) if isinstance(value, np.ndarray) else repr(value)
