"""Options of the training of a sigmoid belief network, and the stages and rates that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Settings:
    """Options of a run; the estimator documents them."""

    hidden: tuple[int, ...]
    data: str = "binary"
    dispersion: float = 1.0
    learner: str = "mcem"
    m_step: str = "kron"
    max_iter: int = 30
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


@dataclass(frozen=True)
class Stage:
    """Layers low..high trained together for some passes."""

    low: int
    high: int
    n_passes: int
    step: float


def stages_of(settings: Settings) -> list[Stage]:
    n = len(settings.hidden)
    if n == 1:
        return [Stage(0, 1, settings.max_iter, settings.step)]
    if settings.learner in ("rec-mcem", "nvil"):  # the recognition network sees all layers at once
        return [Stage(0, n, settings.max_iter, settings.step)]
    greedy = settings.greedy_share * settings.max_iter
    shares = np.array([4.0] + [1.0] * (n - 1))  # upper layers are small and settle fast
    passes = np.maximum(1, np.round(greedy * shares / shares.sum()).astype(int))
    alone = [Stage(layer, layer + 1, int(passes[layer]), settings.step) for layer in range(n)]
    joint = max(1, settings.max_iter - int(passes.sum()))
    return [*alone, Stage(0, n, joint, settings.joint_step)]


def rate_at(settings: Settings, stage: Stage, n_steps: int, fraction: float) -> float:
    if settings.batch_size is None and settings.rate == "power":
        return 1.0  # batch EM
    if settings.rate == "power":
        return float((n_steps + 2) ** -settings.alpha)  # paper, section 3.4
    return stage.step * (1 - 0.95 * fraction)
