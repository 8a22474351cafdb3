"""Settings, stages and state of a sigmoid belief network run, and the state's way to a checkpoint and back."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

from .checkpoints import load
from ...structures.network import Network


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

    def identity(self) -> dict:
        """What must agree between a checkpoint and the run that resumes it: everything that changes the result."""
        free = {"n_jobs", "max_minutes"} | ({"dispersion"} if self.data == "binary" else set())
        return {k: v for k, v in dataclasses.asdict(self).items() if k not in free}


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


@dataclass
class Run:
    """State of training: what a checkpoint holds."""

    network: Network
    arrays: dict[str, np.ndarray] = field(default_factory=dict)  # chains, statistics of the M-steps, averages
    stage: int = 0
    n_passes: int = 0  # within the stage
    n_batches: int = 0  # within the pass
    n_steps: int = 0
    history: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    best_bound: float = -np.inf
    best: Network | None = None
    stopped: str = ""

    def as_checkpoint(self, settings: Settings) -> tuple[dict, dict]:
        names = ("stage", "n_passes", "n_batches", "n_steps", "history", "seconds", "best_bound")
        header = {name: getattr(self, name) for name in names} | {"settings": settings.identity()}
        arrays = {f"state/{k}": v for k, v in self.arrays.items()} | network_arrays(self.network, "network")
        if self.best is not None:
            arrays |= network_arrays(self.best, "best")
        return header, arrays


def network_arrays(network: Network, prefix: str) -> dict[str, np.ndarray]:
    named = {f"{prefix}/weights{i}": w for i, w in enumerate(network.weights)}
    named |= {f"{prefix}/bias{i}": b for i, b in enumerate(network.biases)}
    return named | {f"{prefix}/top": network.top_bias}


def network_from(arrays: dict, prefix: str, n_layers: int, data: str, dispersion: float) -> Network:
    weights = [arrays[f"{prefix}/weights{i}"] for i in range(n_layers)]
    biases = [arrays[f"{prefix}/bias{i}"] for i in range(n_layers)]
    return Network(weights, biases, arrays[f"{prefix}/top"], data, dispersion)


def resumed(path, settings: Settings) -> Run:
    header, arrays = load(path)
    mine, theirs = settings.identity(), header["settings"]
    changed = [k for k in mine if (list(mine[k]) if isinstance(mine[k], tuple) else mine[k]) != theirs.get(k)]
    if changed:
        was = ", ".join(f"{k}={theirs.get(k)!r}" for k in changed)
        raise ValueError(f"resume={str(path)!r} was written with {was}; fit with the same settings to continue it")
    shape = (len(settings.hidden), settings.data, settings.dispersion)
    run = Run(network_from(arrays, "network", *shape))
    if "best/top" in arrays:
        run.best = network_from(arrays, "best", *shape)
    run.arrays = {k.removeprefix("state/"): v for k, v in arrays.items() if k.startswith("state/")}
    for name in ("stage", "n_passes", "n_batches", "n_steps", "history", "seconds", "best_bound"):
        setattr(run, name, header[name])
    return run


def rate_at(settings: Settings, stage: Stage, n_steps: int, fraction: float) -> float:
    if settings.batch_size is None and settings.rate == "power":
        return 1.0  # batch EM
    if settings.rate == "power":
        return float((n_steps + 2) ** -settings.alpha)  # paper, section 3.4
    return stage.step * (1 - 0.95 * fraction)
