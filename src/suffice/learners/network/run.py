"""The driver of every sigmoid belief network learner: stages, batches, rates, history, checkpoints, interruption.

Layers are first trained one at a time from the data upwards (each on the chains of the layer below), then all together.
All randomness is a function of (seed, stage, pass, step), so a resumed run repeats an uninterrupted one bit for bit.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from .checkpoints import Checkpointer
from ...structures.network import Network
from .annealing import annealed_log_weights
from .monte_carlo import VisibleRows
from .parts import make_expectation, make_m_step
from .start import empty_network, initial_layer, logit
from .state import Run, Settings, Stage, network_arrays, network_from, rate_at, resumed, stages_of

__all__ = ["Settings", "Trainer"]


class Trainer:
    def __init__(self, X: VisibleRows, settings: Settings, checkpoint=None, checkpoint_minutes: float = 3.0,
                 resume=None, callback: Callable | None = None, clock=time.monotonic):  # fmt: skip
        self.X, self.settings, self.callback, self.clock = X, settings, callback, clock
        self.stages = stages_of(settings)
        self.expectation = make_expectation(settings)
        self.m_step = make_m_step(settings, len(X))
        self.checkpointer = Checkpointer(checkpoint, checkpoint_minutes)
        self.run = resumed(resume, settings) if resume is not None else self._fresh()
        self.batch_size = min(settings.batch_size or len(X), len(X))
        self.n_batches = max(1, len(X) // self.batch_size)
        self.before = self.run.seconds

    def _fresh(self) -> Run:
        s = self.settings
        return Run(empty_network(self.X.n_columns, s.hidden, s.data, s.dispersion))

    def train(self) -> Run:
        run, self.started = self.run, self.clock()
        total = sum(stage.n_passes for stage in self.stages)
        with threadpool_limits(1, user_api="blas"):
            try:
                while run.stage < len(self.stages):
                    self._stage(self.stages[run.stage], total)
                    if run.stopped:
                        break
                    run.stage, run.n_passes = run.stage + 1, 0
                run.stopped = run.stopped or "all passes done"
            except KeyboardInterrupt:
                run.stopped = "interrupted"
                if run.best is not None and run.stage == len(self.stages) - 1:
                    run.network = run.best
        if run.stopped != "interrupted":  # an interrupt may fall inside a step: the last whole checkpoint stands
            self.checkpointer.offer(lambda: run.as_checkpoint(self.settings), force=True)
        return run

    def elapsed(self) -> float:
        return self.before + self.clock() - self.started

    def _data(self, stage: Stage) -> VisibleRows:
        if stage.low == 0:
            return self.X
        below = self.run.arrays[f"chain{stage.low - 1}"]
        return VisibleRows(below, "binary" if below.dtype == np.uint8 else "mean")

    def _begin(self, stage: Stage, data: VisibleRows) -> None:
        """Fresh layer (a greedy stage, or the only one) and fresh M-step statistics."""
        run, s = self.run, self.settings
        new = range(stage.low, stage.high) if run.stage == 0 or stage.high - stage.low == 1 else []
        for layer in new:
            rng = np.random.default_rng([s.seed, 1, layer])
            rows = data if layer == stage.low else None
            part = run.network.part(layer, layer + 1)
            if rows is None:  # several fresh layers at once: no data above the first
                w = 0.1 * rng.standard_normal(part.weights[0].shape)
                made = (w, np.full(w.shape[1], logit(s.activity)), np.full(w.shape[0], logit(s.activity)))
            else:
                made = initial_layer(rows, s.hidden[layer], s.activity, s.start_scale, rng, s.dispersion)
            fresh = Network([made[0]], [made[1]], made[2], part.data, part.dispersion)
            run.network = run.network.with_part(layer, layer + 1, fresh)
        part = run.network.part(stage.low, stage.high)
        if len(new):
            found = self.expectation.initial(part, len(data), s.activity)
            run.arrays |= {shifted(name, stage.low): value for name, value in found.items()}
            run.arrays[f"activity{stage.high - 1}"] = np.full(s.hidden[stage.high - 1], s.activity)
        for layer in range(stage.low, stage.high):
            parameters = np.vstack([run.network.weights[layer], run.network.biases[layer]])
            for name, value in self.m_step.initial(parameters).items():
                run.arrays[f"m{layer}/{name}"] = value

    def _stage(self, stage: Stage, total_passes: int) -> None:
        run, s = self.run, self.settings
        data = self._data(stage)
        if run.n_passes == 0 and run.n_batches == 0:
            self._begin(stage, data)
        while run.n_passes < stage.n_passes and not run.stopped:
            order = np.random.default_rng([s.seed, 2, run.stage, run.n_passes]).permutation(len(data))
            groups = np.array_split(order, self.n_batches)
            while run.n_batches < len(groups):
                fraction = (run.n_passes + run.n_batches / len(groups)) / stage.n_passes
                if s.max_minutes is not None:
                    fraction = max(fraction, self._time_fraction(stage, total_passes))
                fit = self._step(stage, data, np.sort(groups[run.n_batches]), rate_at(s, stage, run.n_steps, fraction))
                run.n_batches, run.n_steps = run.n_batches + 1, run.n_steps + 1
                if s.max_minutes is not None and fraction >= 1:
                    run.n_batches = len(groups)
                    run.n_passes = stage.n_passes
                run.seconds = self.elapsed()
                if run.n_batches < len(groups):
                    self.checkpointer.offer(lambda: run.as_checkpoint(s))
            run.n_batches = 0
            run.n_passes = min(run.n_passes + 1, stage.n_passes)
            self._report(stage, data, fit, total_passes)
            self.checkpointer.offer(lambda: run.as_checkpoint(s))
        self._use_average(stage)

    def _time_fraction(self, stage: Stage, total_passes: int) -> float:
        """Share of this stage's part of the time budget that is gone."""
        done = sum(other.n_passes for other in self.stages[: self.run.stage]) / total_passes
        share = stage.n_passes / total_passes
        budget = 60 * (self.settings.max_minutes or np.inf)
        return (self.elapsed() / budget - done) / share

    def _step(self, stage: Stage, data: VisibleRows, rows: np.ndarray, rate: float) -> dict:
        run, s = self.run, self.settings
        part = run.network.part(stage.low, stage.high)
        state = {shifted(n, -stage.low): a for n, a in run.arrays.items() if n.startswith(("chain", "rec"))}
        found = self.expectation(part, data, state, rows, run.n_steps, rate)
        part = self._maximise(stage, part, found, rate, move_top=True)
        for _ in range(s.inner_updates - 1):
            again = self.expectation.again(part, data, state, rows)
            part = self._maximise(stage, part, again, 1.0 if s.batch_size is None else rate, move_top=False)
        run.network = run.network.with_part(stage.low, stage.high, part)
        self._average(stage, part, rate)
        return found.progress

    def _maximise(self, stage: Stage, part: Network, found, rate: float, move_top: bool) -> Network:
        weights, biases = [], []
        for i, statistics in enumerate(found.layers):
            prefix = f"m{stage.low + i}/"
            state = {n.removeprefix(prefix): a for n, a in self.run.arrays.items() if n.startswith(prefix)}
            parameters = np.vstack([part.weights[i], part.biases[i]])
            new = self.m_step.update(state, parameters, statistics, rate)
            weights.append(new[:-1])
            biases.append(new[-1])
        top = part.top_bias
        if move_top:
            activity = self.run.arrays[f"activity{stage.high - 1}"]
            activity += min(1.0, rate) * (found.top_mean - activity)
            top = logit(np.clip(activity, 1e-4, 1 - 1e-4))
        return Network(weights, biases, top, part.data, part.dispersion)

    def _average(self, stage: Stage, part: Network, rate: float) -> None:
        """A running mean of the parameters over roughly the last `average` share of the stage."""
        s, run = self.settings, self.run
        if not s.average:
            return
        window = max(1.0, s.average * stage.n_passes * self.n_batches)
        for name, value in network_arrays(part, f"average{run.stage}").items():
            if name not in run.arrays:
                run.arrays[name] = value.copy()
            run.arrays[name] += (value - run.arrays[name]) / window

    def _use_average(self, stage: Stage) -> None:
        name, run = f"average{self.run.stage}", self.run
        if f"{name}/top" in run.arrays:
            part = network_from(run.arrays, name, stage.high - stage.low, "binary", 1.0)
            run.network = run.network.with_part(stage.low, stage.high, part)
            run.arrays = {k: v for k, v in run.arrays.items() if not k.startswith(name)}

    def _report(self, stage: Stage, data: VisibleRows, fit: dict, total_passes: int) -> None:
        run, s = self.run, self.settings
        done = sum(other.n_passes for other in self.stages[: run.stage]) + run.n_passes
        line = {"stage": run.stage, "pass": run.n_passes, "seconds": self.elapsed()} | fit
        if s.monitor and (run.n_passes == stage.n_passes or run.n_passes % max(1, stage.n_passes // s.monitor) == 0):
            line["bound"] = self.bound(stage, data)
            if run.stage == len(self.stages) - 1 and line["bound"] > run.best_bound:
                run.best_bound, run.best = line["bound"], run.network
        line["seconds_left"] = line["seconds"] * (total_passes - done) / max(done, 1)
        run.history.append(line)
        if self.callback is not None and self.callback(line) is False:
            run.stopped = "stopped by the callback"

    def bound(self, stage: Stage, data: VisibleRows) -> float:
        """Mean log weight of a short annealing run on a few training rows: a lower bound in expectation."""
        rows = np.linspace(0, len(data) - 1, min(self.settings.monitor_rows, len(data))).astype(int)
        values = data.dense(rows)
        if data.missing is not None:
            values = np.where(data.missing[rows], np.nan, values.astype(float))
        part = self.run.network.part(stage.low, stage.high)
        few = VisibleRows(values, data.data)
        return float(annealed_log_weights(part, few, 100, 1, self.settings.seed, self.settings.n_jobs).mean())


def shifted(name: str, by: int) -> str:
    """chain0 of a part that starts at layer 2 is chain2 of the network."""
    return f"chain{int(name[5:]) + by}" if name.startswith("chain") else name
