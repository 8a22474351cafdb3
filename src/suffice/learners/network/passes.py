"""The learner of sigmoid belief networks: stages, batches and rates; what a step does is in `expectation` and `m_step`.

Layers are first trained one at a time from the data upwards (each on the chains of the layer below), then all together. A pass can take
minutes, so checkpoints may also fall between two batches. All randomness is a function of (seed, stage, pass, step), so a resumed run
repeats an uninterrupted one bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import override

from ...structures.network import Network
from ..driver import Fit, SelfDriven, run
from ..problem import Measure
from ..state import State, Stop
from ..watch import SILENT, Watch
from .annealing import annealed_log_weights
from .monte_carlo import VisibleRows
from .parts import make_expectation, make_m_step
from .settings import MOST_STAGES, Settings, Stage, longer, rate_at, stages_of
from .start import empty_network, initial_layer, logit

GAIN = 0.01  # of the log-likelihood of a row: what more passes must bring to be worth it
JUDGED_ROWS = 400


def train(rows: VisibleRows, settings: Settings, watch: Watch = SILENT) -> Fit:
    """The fit of a network: its moments are the network after the last pass, or the best one if it was interrupted."""
    n_batches = settings.n_batches(len(rows))
    most: tuple[int, ...] = ()
    while settings.is_open_ended and len(most) < MOST_STAGES:
        most = longer(settings, n_batches, most)
    start = empty_network(rows.n_columns, settings.hidden, settings.data, settings.dispersion)
    fit = run(
        Staged(settings), NetworkProblem(rows), start, np.random.default_rng(settings.seed),
        max_epochs=sum(stage.n_passes for stage in stages_of(settings, n_batches, most)), keep_best=False, watch=watch,
    )  # fmt: skip
    if Stop[fit.stop] is Stop.CALLBACK:  # within a stage
        stages = stages_of(settings, n_batches, fit.memory.more)
        fit.moments = with_average(fit.moments, fit.memory, stages[fit.memory.stage])
    return fit


@dataclass(frozen=True, eq=False)
class NetworkProblem:
    """Rows of the visible layer. What a network is worth is only known from annealing, so most passes have no measure."""

    rows: VisibleRows

    patience = 1

    def measure(self, network: Network) -> Measure:
        return Measure(np.inf, np.nan, np.nan)

    def scale(self, measure: Measure) -> float:
        return 1.0


@dataclass
class Memory:
    """Where training stands, with the chains, statistics of the M-steps, and averages by their names."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    stage: int = 0
    n_passes: int = 0  # within the stage
    n_batches: int = 0  # within the pass
    is_late: bool = False  # the time of the last stage was over
    more: tuple[int, ...] = ()  # passes of the stages after the schedule
    gain: float = np.inf  # of the last of them: of the log-likelihood of a row


@dataclass(frozen=True)
class Staged(SelfDriven):
    settings: Settings
    ends = Stop.SCHEDULE

    def init(self, problem: NetworkProblem, start: Network, generator, warm=None) -> State:
        return State(start, generator, memory=Memory(), is_searching=True)  # a fixed number of passes

    @override
    def drive(self, problem: NetworkProblem, state: State, record) -> None:
        passes = Passes(self.settings, problem.rows, state, record)
        while not record.is_over:
            passes.make()
            record(state)
        if state.is_done and state.memory.is_late:
            record.end(Stop.TIME, minutes=self.settings.max_minutes)
        elif state.is_done and state.memory.more:
            n = state.memory.more[-1]
            stop = Stop.SMALL_GAIN if state.memory.gain <= GAIN else Stop.PASSES
            record.end(stop, passes=f"{n} passes more", tol=GAIN, n=record.fit.n_iter)


class Passes:
    """Moves a state pass by pass. Its network is replaced, its arrays change in place."""

    def __init__(self, settings: Settings, rows: VisibleRows, state: State, record: Any) -> None:
        self.settings, self.rows, self.state, self.record = settings, rows, state, record
        self.n_batches = settings.n_batches(len(rows))
        self.expectation = make_expectation(settings)
        self.m_step = make_m_step(settings, len(rows))

    @property
    def stages(self) -> list[Stage]:
        return stages_of(self.settings, self.n_batches, self.memory.more)

    @property
    def total(self) -> int:
        """Passes of all stages so far."""
        return sum(stage.n_passes for stage in self.stages)

    @property
    def memory(self) -> Memory:
        return self.state.memory

    def make(self) -> None:
        """A pass, or what is left of it."""
        state, memory, s = self.state, self.memory, self.settings
        stage = self.stages[memory.stage]
        data = self._data(stage)
        if memory.n_passes == 0 and memory.n_batches == 0:
            self._begin(stage, data)
        order = np.random.default_rng([s.seed, 2, memory.stage, memory.n_passes]).permutation(len(data))
        groups = np.array_split(order, self.n_batches)
        for batch in range(memory.n_batches, len(groups)):
            spent = self._share_of_time(stage)
            fraction = max((memory.n_passes + batch / len(groups)) / stage.n_passes, spent)
            found = self._step(stage, data, np.sort(groups[batch]), rate_at(s, stage, state.n_steps, fraction))
            memory.n_batches, state.n_steps, memory.is_late = batch + 1, state.n_steps + 1, spent >= 1
            if memory.is_late:
                memory.n_passes = stage.n_passes
                break
            if memory.n_batches < len(groups):
                self.record.offer(state)
        memory.n_batches, memory.n_passes = 0, min(memory.n_passes + 1, stage.n_passes)
        state.n_passes += 1
        self._measure(stage, data, found)
        if memory.n_passes == stage.n_passes:
            state.moments = with_average(state.moments, memory, stage)
            memory.arrays = {k: v for k, v in memory.arrays.items() if not k.startswith(average_name(memory))}
            memory.stage, memory.n_passes = memory.stage + 1, 0
            state.is_done = memory.stage == len(self.stages) and not self._goes_on(data)

    def _goes_on(self, data: VisibleRows) -> bool:
        """Whether there is another stage after the last one: if it gained more than its own error."""
        memory, before = self.memory, self.memory.arrays.get("judged")
        if not self.settings.is_open_ended:
            return False
        values = memory.arrays["judged"] = self._log_weights(
            Stage(0, self.state.moments.n_layers, 0, 0.0), data, JUDGED_ROWS
        )
        if before is not None:
            gains = values - before
            error = gains.std() / np.sqrt(len(gains))
            memory.gain = max(float(gains.mean()) - 2 * error, 0.0)
            if memory.gain <= GAIN or len(memory.more) == MOST_STAGES:
                return False
        memory.more = longer(self.settings, self.n_batches, memory.more)
        return True

    def _data(self, stage: Stage) -> VisibleRows:
        if stage.low == 0:
            return self.rows
        below = self.memory.arrays[f"chain{stage.low - 1}"]
        return VisibleRows(below, "binary" if below.dtype == np.uint8 else "mean")

    def _begin(self, stage: Stage, data: VisibleRows) -> None:
        """Fresh layer (a greedy stage, or the only one) and fresh M-step statistics."""
        state, arrays, s = self.state, self.memory.arrays, self.settings
        new = range(stage.low, stage.high) if stage.is_fresh else []
        for layer in new:
            rng = np.random.default_rng([s.seed, 1, layer])
            rows = data if layer == stage.low else None
            part = state.moments.part(layer, layer + 1)
            if rows is None:  # several fresh layers at once: no data above the first
                w = 0.1 * rng.standard_normal(part.weights[0].shape)
                made = (w, np.full(w.shape[1], logit(s.activity)), np.full(w.shape[0], logit(s.activity)))
            else:
                made = initial_layer(rows, s.hidden[layer], s.activity, s.start_scale, rng, s.dispersion)
            fresh = Network([made[0]], [made[1]], made[2], part.data, part.dispersion)
            state.moments = state.moments.with_part(layer, layer + 1, fresh)
        part = state.moments.part(stage.low, stage.high)
        if len(new):
            found = self.expectation.initial(part, len(data), s.activity)
            arrays |= {shifted(name, stage.low): value for name, value in found.items()}
            arrays[f"activity{stage.high - 1}"] = np.full(s.hidden[stage.high - 1], s.activity)
        for layer in range(stage.low, stage.high):
            parameters = np.vstack([state.moments.weights[layer], state.moments.biases[layer]])
            for name, value in self.m_step.initial(parameters).items():
                arrays[f"m{layer}/{name}"] = value

    def _share_of_time(self, stage: Stage) -> float:
        """Share of this stage's part of the time budget that is gone; 0 if there is none."""
        if self.settings.max_minutes is None:
            return 0.0
        done = sum(other.n_passes for other in self.stages[: self.memory.stage]) / self.total
        budget = 60 * (self.settings.max_minutes or np.inf)
        return (self.record.seconds / budget - done) / (stage.n_passes / self.total)

    def _step(self, stage: Stage, data: VisibleRows, rows: np.ndarray, rate: float) -> dict:
        state, s = self.state, self.settings
        part = state.moments.part(stage.low, stage.high)
        own = {shifted(n, -stage.low): a for n, a in self.memory.arrays.items() if n.startswith(("chain", "rec"))}
        found = self.expectation(part, data, own, rows, state.n_steps, rate)
        part = self._maximise(stage, part, found, rate, move_top=True)
        for _ in range(s.inner_updates - 1):
            again = self.expectation.again(part, data, own, rows)
            part = self._maximise(stage, part, again, 1.0 if s.batch_size is None else rate, move_top=False)
        state.moments = state.moments.with_part(stage.low, stage.high, part)
        self._average(stage, part)
        return found.progress

    def _maximise(self, stage: Stage, part: Network, found, rate: float, move_top: bool) -> Network:
        weights, biases = [], []
        for i, statistics in enumerate(found.layers):
            prefix = f"m{stage.low + i}/"
            own = {n.removeprefix(prefix): a for n, a in self.memory.arrays.items() if n.startswith(prefix)}
            parameters = np.vstack([part.weights[i], part.biases[i]])
            new = self.m_step.update(own, parameters, statistics, rate)
            weights.append(new[:-1])
            biases.append(new[-1])
        top = part.top_bias
        if move_top:
            activity = self.memory.arrays[f"activity{stage.high - 1}"]
            activity += min(1.0, rate) * (found.top_mean - activity)
            top = logit(np.clip(activity, 1e-4, 1 - 1e-4))
        return Network(weights, biases, top, part.data, part.dispersion)

    def _average(self, stage: Stage, part: Network) -> None:
        """A running mean of the parameters over roughly the last `average` share of the stage."""
        if not self.settings.average:
            return
        arrays, window = self.memory.arrays, max(1.0, self.settings.average * stage.n_passes * self.n_batches)
        for name, value in network_arrays(part, average_name(self.memory)).items():
            if name not in arrays:
                arrays[name] = value.copy()
            arrays[name] += (value - arrays[name]) / window

    def _measure(self, stage: Stage, data: VisibleRows, found: dict) -> None:
        """What the pass reports. Bounds of networks are compared only where all layers are trained together."""
        state, memory, monitor = self.state, self.memory, self.settings.monitor
        bound, state.measure = np.nan, None
        if monitor and (memory.n_passes == stage.n_passes or memory.n_passes % max(1, stage.n_passes // monitor) == 0):
            bound = self._bound(stage, data)
            if memory.stage == len(self.stages) - 1:
                state.measure = Measure(-bound, -bound, -bound)
        done = sum(other.n_passes for other in self.stages[: memory.stage]) + memory.n_passes
        share = done / self.total
        state.progress = {"stage": memory.stage, "pass": memory.n_passes, **found, "bound": bound, "share": share}

    def _bound(self, stage: Stage, data: VisibleRows) -> float:
        return float(self._log_weights(stage, data, self.settings.monitor_rows).mean())

    def _log_weights(self, stage: Stage, data: VisibleRows, n_rows: int) -> np.ndarray:
        """Log weights of a short annealing run on a few training rows: lower bounds in expectation."""
        rows = np.linspace(0, len(data) - 1, min(n_rows, len(data))).astype(int)
        values = data.dense(rows)
        if data.missing is not None:
            values = np.where(data.missing[rows], np.nan, values.astype(float))
        part = self.state.moments.part(stage.low, stage.high)
        few = VisibleRows(values, data.data)
        return annealed_log_weights(part, few, 100, 1, self.settings.seed, self.settings.n_jobs).reshape(len(rows))


def shifted(name: str, by: int) -> str:
    """chain0 of a part that starts at layer 2 is chain2 of the network."""
    return f"chain{int(name[5:]) + by}" if name.startswith("chain") else name


def network_arrays(network: Network, prefix: str) -> dict[str, np.ndarray]:
    named = {f"{prefix}/weights{i}": w for i, w in enumerate(network.weights)}
    named |= {f"{prefix}/bias{i}": b for i, b in enumerate(network.biases)}
    return named | {f"{prefix}/top": network.top_bias}


def average_name(memory: Memory) -> str:
    return f"average{memory.stage}"


def with_average(network: Network, memory: Memory, stage: Stage) -> Network:
    """The network with the averages of the stage's layers, where there are any."""
    name, arrays = average_name(memory), memory.arrays
    if f"{name}/top" not in arrays:
        return network
    layers = range(stage.high - stage.low)
    weights = [arrays[f"{name}/weights{i}"] for i in layers]
    part = Network(weights, [arrays[f"{name}/bias{i}"] for i in layers], arrays[f"{name}/top"])
    return network.with_part(stage.low, stage.high, part)


def pass_line(line: dict) -> dict:
    """What a user sees of a pass: stage, pass, seconds, the learner's own quantity, the bound if it was estimated, seconds left."""
    shown = {name: line[name] for name in ("stage", "pass", "seconds", "log_visible", "lower_bound") if name in line}
    if np.isfinite(line["bound"]):
        shown["bound"] = line["bound"]
    return shown | {"seconds_left": line["seconds"] * (1 - line["share"]) / line["share"]}


def pass_lines(history: dict[str, list]) -> list[dict]:
    """The lines of all passes; none of a fit that was interrupted before its first."""
    if "stage" not in history:
        return []
    return [pass_line(dict(zip(history, values, strict=True))) for values in zip(*history.values(), strict=True)]


def recognition_of(memory: Memory) -> dict[str, np.ndarray] | None:
    """Arrays of the recognition network, if there is one."""
    return {name: array for name, array in memory.arrays.items() if name.startswith("rec")} or None
