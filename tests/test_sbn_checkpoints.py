"""Checkpoints: whole at every moment, and resuming equals never having stopped."""

import os
import signal
import time

import numpy as np
import pytest

from suffice.estimators.belief_network import SigmoidBeliefNetwork, load_network
from suffice.learners.network.monte_carlo import VisibleRows
from suffice.learners.network.run import Settings, Trainer
from suffice.saving import checkpoints

X = (np.random.default_rng(0).random((600, 30)) < np.random.default_rng(1).random(30)).astype(np.uint8)


class Stop(Exception):
    pass


def settings(learner="mcem", **changes):
    return Settings(**{"hidden": (6, 4), "max_iter": 8, "batch_size": 150, "monitor": 2, "learner": learner, **changes})


def same(a, b):
    for x, y in zip([*a.weights, *a.biases, a.top_bias], [*b.weights, *b.biases, b.top_bias], strict=True):
        np.testing.assert_array_equal(x, y)


def test_round_trip(tmp_path):
    arrays = {"a/b": np.arange(6).reshape(2, 3), "scalar": np.array(2.5)}
    checkpoints.save(tmp_path / "c", {"n": 3}, arrays)
    header, found = checkpoints.load(tmp_path / "c")
    assert header["n"] == 3 and list(tmp_path.iterdir()) == [tmp_path / "c"]
    np.testing.assert_array_equal(found["a/b"], arrays["a/b"])


def test_errors_name_the_file_and_the_way_out(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint at"):
        checkpoints.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match="is not a suffice checkpoint"):
        checkpoints.load(tmp_path / "text")
    Trainer(VisibleRows(X), settings(max_iter=3), tmp_path / "c").train()
    with pytest.raises(ValueError, match="was written with max_iter=3"):
        Trainer(VisibleRows(X), settings(max_iter=4), resume=tmp_path / "c")


@pytest.mark.parametrize("learner", ["mcem", "rec-mcem", "sgd", "gibbs", "vb", "nvil"])
@pytest.mark.parametrize("stop_after", [1, 6, 13, 27])
def test_resuming_equals_never_having_stopped(tmp_path, learner, stop_after):
    s = settings(learner, average=0.3)
    whole = Trainer(VisibleRows(X), s).train()
    trainer = Trainer(VisibleRows(X), s, tmp_path / "c", checkpoint_minutes=0)
    step, done = trainer._step, []

    def step_and_stop(*arguments):
        if len(done) == stop_after:
            raise Stop
        done.append(1)
        return step(*arguments)

    trainer._step = step_and_stop
    with pytest.raises(Stop):
        trainer.train()
    resumed = Trainer(VisibleRows(X), s, resume=tmp_path / "c").train()
    assert resumed.n_steps == whole.n_steps == 32
    same(resumed.network, whole.network)


def test_polya_gamma_statistics_resume_too(tmp_path):
    options = {"hidden": (5,), "m_step": "pg", "max_iter": 6, "batch_size": 200, "random_state": 0}
    whole = SigmoidBeliefNetwork(**options).fit(X)
    path = tmp_path / "c"
    half = SigmoidBeliefNetwork(**options, checkpoint=path, callback=lambda line: line["pass"] < 3).fit(X)
    assert half.stopped_ == "stopped by the callback"
    rest = SigmoidBeliefNetwork(**options, resume=path).fit(X)
    np.testing.assert_array_equal(rest.weights_[0], whole.weights_[0])
    same(load_network(path), half.network_)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killing_twenty_times_loses_at_most_the_last_interval(tmp_path):
    s = settings(hidden=(8, 4), max_iter=60, monitor=0)
    rng = np.random.default_rng(0)
    started = time.monotonic()
    whole = Trainer(VisibleRows(X), s).train()
    length = time.monotonic() - started
    path, reached, kills = tmp_path / "c", 0, 0
    while kills < 20:
        child = os.fork()
        if child == 0:
            Trainer(VisibleRows(X), s, path, checkpoint_minutes=0.0, resume=path if path.exists() else None).train()
            os._exit(0)
        time.sleep(rng.uniform(0.02, 0.15) * max(length, 0.3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        kills += 1
        if path.exists():
            header, _ = checkpoints.load(path)  # always readable
            assert header["n_steps"] >= reached  # and never older than before
            reached = header["n_steps"]
    assert reached > 0
    final = Trainer(VisibleRows(X), s, resume=path).train()
    same(final.network, whole.network)
