"""Options of the training of a sigmoid belief network, and the stages and rates that follow from them.

Without a number of passes a network gets as many as make STEPS steps, and then stages of all layers together from half the step size,
each twice as long as the one before, until one of them gains nothing: rates that fall say nothing of convergence by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

STEPS = 1200  # of a network without a given number of passes
LEAST_PASSES, MOST_PASSES = 30, 200  # of it; the second for batch EM
MORE = 0.25  # share of its passes that the first stage after them has
MOST_STAGES = 4  # after them


@dataclass(frozen=True)
class Settings:
    """Options of a run; the estimator documents them."""

    hidden: tuple[int, ...]
    data: str = "binary"
    dispersion: float = 1.0
    learner: str = "mcem"
    m_step: str = "kron"
    max_iter: int | None = 30  # None: until more passes gain nothing
    batch_size: int | None = 1000
    n_sweeps: int = 2
    n_samples: int = 1
    inner_updates: int = 1
    rate: str = "linear"
    step: float = 0.2
    joint_step: float = 0.1
    alpha: float = 0.501
    penalty: float = 0.0
    activity: float = 0.01
    start_scale: float = 0.5
    max_weight: float = 8.0
    learning_rate: float | None = None
    average: float = 0.0
    greedy_share: float = 0.55
    monitor: int = 10
    monitor_rows: int = 100
    seed: int = 0
    n_jobs: int = 1
    max_minutes: float | None = None

    @property
    def is_open_ended(self) -> bool:
        """Whether it stops where more passes gain nothing."""
        return self.max_iter is None and self.max_minutes is None

    def n_batches(self, n_rows: int) -> int:
        """Steps of a pass."""
        return max(1, n_rows // min(self.batch_size or n_rows, n_rows))


@dataclass(frozen=True)
class Stage:
    """Layers low..high trained together for some passes."""

    low: int
    high: int
    n_passes: int
    step: float
    is_fresh: bool = True  # its layers begin with it


def passes_of(settings: Settings, n_batches: int) -> int:
    """Passes before it is asked whether more of them gain anything."""
    if settings.max_iter is not None:
        return settings.max_iter
    most = MOST_PASSES if settings.batch_size is None else STEPS
    return max(LEAST_PASSES, min(most, -(-STEPS // n_batches)))


def longer(settings: Settings, n_batches: int, more: Sequence[int]) -> tuple[int, ...]:
    """The passes of the stages after the schedule, with one more stage."""
    return (*more, 2 * more[-1] if more else round(MORE * passes_of(settings, n_batches)))


def stages_of(settings: Settings, n_batches: int = 1, more: Sequence[int] = ()) -> list[Stage]:
    """The schedule, and a stage for each number of passes in `more`."""
    scheduled = schedule(settings, passes_of(settings, n_batches))
    n, step = len(settings.hidden), 0.5 * scheduled[-1].step
    return [*scheduled, *(Stage(0, n, n_passes, step, is_fresh=False) for n_passes in more)]


def schedule(settings: Settings, n_passes: int) -> list[Stage]:
    n = len(settings.hidden)
    if n == 1:
        return [Stage(0, 1, n_passes, settings.step)]
    if settings.learner in ("rec-mcem", "nvil"):  # the recognition network sees all layers at once
        return [Stage(0, n, n_passes, settings.step)]
    greedy = settings.greedy_share * n_passes
    shares = np.array([4.0] + [1.0] * (n - 1))  # upper layers are small and settle fast
    passes = np.maximum(1, np.round(greedy * shares / shares.sum()).astype(int))
    alone = [Stage(layer, layer + 1, int(passes[layer]), settings.step) for layer in range(n)]
    joint = max(1, n_passes - int(passes.sum()))
    return [*alone, Stage(0, n, joint, settings.joint_step, is_fresh=False)]


def rate_at(settings: Settings, stage: Stage, n_steps: int, fraction: float) -> float:
    if settings.batch_size is None and settings.rate == "power":
        return 1.0  # batch EM
    if settings.rate == "power":
        return float((n_steps + 2) ** -settings.alpha)  # paper, section 3.4
    return stage.step * (1 - 0.95 * fraction)
