"""Checkpoints of belief networks: also within a pass, whole at every moment, and resuming equals never having stopped."""

import os
import signal
import time

import numpy as np
import pytest

from suffice.estimators.belief_network import SigmoidBeliefNetwork
from suffice.evaluation.belief_network import load_network
from suffice.learners.network import passes
from suffice.learners.network.monte_carlo import VisibleRows
from suffice.learners.network.settings import Settings
from suffice.learners.watch import Journal, Watch
from suffice.saving.checkpoints import Keeper, load_checkpoint

X = (np.random.default_rng(0).random((600, 30)) < np.random.default_rng(1).random(30)).astype(np.uint8)


class Stop(Exception):
    pass


def settings(learner="mcem", **changes):
    return Settings(**{"hidden": (6, 4), "max_iter": 8, "batch_size": 150, "monitor": 2, "learner": learner, **changes})


def train(s, path=None, resume=None):
    """Training that writes a checkpoint after every batch."""
    keeper = Keeper(path, 0.0, resume, {}, Journal())
    watch = Watch(keeper=keeper)
    fit = passes.train(VisibleRows(X), s, watch)
    watch.close()
    return fit


def same(a, b):
    for x, y in zip([*a.weights, *a.biases, a.top_bias], [*b.weights, *b.biases, b.top_bias], strict=True):
        np.testing.assert_array_equal(x, y)


def n_steps(path) -> int:
    """Of the run in a checkpoint."""
    found = load_checkpoint(path)
    return max((snapshot.state.n_steps for snapshot in found.under_way.values()), default=0)


def test_errors_name_the_file_and_the_way_out(tmp_path):
    model = SigmoidBeliefNetwork((3,), max_iter=2, random_state=0, checkpoint=tmp_path / "c").fit(X)
    with pytest.raises(FileNotFoundError, match="nothing' does not exist: give the path that `checkpoint=` wrote to"):
        model.set_params(resume=tmp_path / "nothing").fit(X)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="text: the file is not a zip"):
        model.set_params(resume=tmp_path / "text").fit(X)
    with pytest.raises(ValueError, match="is the checkpoint of another fit: max_iter differ"):
        model.set_params(resume=tmp_path / "c", max_iter=3).fit(X)
    with pytest.raises(ValueError, match="is the checkpoint of another fit: data differ"):
        model.set_params(max_iter=2).fit(1 - X)
    assert model.n_iter_ == 2  # refused fits change nothing


@pytest.mark.parametrize("learner", ["mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil"])
@pytest.mark.parametrize("stop_after", [1, 6, 13, 27])
def test_resuming_equals_never_having_stopped(tmp_path, learner, stop_after, monkeypatch):
    s = settings(learner, average=0.3)
    whole = train(s)
    step, done, limit = passes.Passes._step, [], stop_after

    def step_and_stop(*arguments):
        if len(done) == limit:
            raise Stop
        done.append(1)
        return step(*arguments)

    monkeypatch.setattr(passes.Passes, "_step", step_and_stop)
    with pytest.raises(Stop):
        train(s, tmp_path / "c")
    assert n_steps(tmp_path / "c") == stop_after
    limit = 32
    resumed = train(s, resume=tmp_path / "c")
    assert len(done) == 32  # no step was made twice
    same(resumed.moments, whole.moments)
    for line, other in zip(passes.pass_lines(resumed.history), passes.pass_lines(whole.history), strict=True):
        assert {k: v for k, v in line.items() if "seconds" not in k} == {
            k: v for k, v in other.items() if "seconds" not in k
        }


@pytest.mark.parametrize("learner", ["mcem", "gibbs"])
def test_a_fit_that_the_callback_stopped_goes_on(tmp_path, learner):
    options = {"hidden": (5,), "learner": learner, "max_iter": 6, "batch_size": 200, "random_state": 0}
    options |= {"m_step": "pg"} if learner == "mcem" else {}
    whole = SigmoidBeliefNetwork(**options).fit(X)
    path = tmp_path / "c"
    half = SigmoidBeliefNetwork(**options, checkpoint=path, callback=lambda line: line["pass"] < 3).fit(X)
    assert half.stopped_ == "stopped by the callback" and half.n_iter_ == len(half.history_) == 3
    rest = SigmoidBeliefNetwork(**options, resume=path).fit(X)
    assert rest.stopped_ == "all 6 passes of its schedule were made"
    np.testing.assert_array_equal(rest.weights_[0], whole.weights_[0])
    if learner == "mcem":  # the result of "gibbs" is a mean over passes
        same(load_network(path), half.network_)
    SigmoidBeliefNetwork(**options, checkpoint=path).fit(X)
    same(load_network(path), whole.network_)


def test_a_run_under_way_can_be_looked_at(tmp_path):
    path, seen = tmp_path / "c", []

    def look(line):
        if path.exists():
            seen.append(load_network(path))

    SigmoidBeliefNetwork((4,), max_iter=3, batch_size=100, checkpoint=path, checkpoint_minutes=0, callback=look).fit(X)
    assert len(seen) == 3 and all(network.sizes == [30, 4] and network.is_finite() for network in seen)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killing_twenty_times_loses_at_most_the_last_interval(tmp_path):
    s = settings(hidden=(8, 4), max_iter=60, monitor=0)
    rng = np.random.default_rng(0)
    started = time.monotonic()
    whole = train(s)
    length = time.monotonic() - started
    path, reached, kills = tmp_path / "c", 0, 0
    while kills < 20:
        child = os.fork()
        if child == 0:
            train(s, path, resume=True)
            os._exit(0)
        time.sleep(rng.uniform(0.02, 0.15) * max(length, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        if path.exists():
            steps = n_steps(path)  # always readable
            assert steps >= reached or load_checkpoint(path).done  # and never older than before
            reached = max(reached, steps)
    assert reached > 0
    final = train(s, resume=path)
    same(final.moments, whole.moments)
    left = [file.name for file in tmp_path.iterdir()]
    assert len(left) <= 2, f"{left}: what a killed process left is removed by the next one"
