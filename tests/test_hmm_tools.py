"""What stands around the hidden Markov models: `suffice inspect`, the experiment of the lecture, pictures of the transitions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.cli.app import run
from suffice.experiments import EXPERIMENTS, Options
from suffice.hmm import CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

X = np.array([0.0, 1, 0, 1, 5, 6, 5, 5, 0, 1, 0])[:, None]


@pytest.mark.parametrize("kind", [GaussianHMM, CategoricalHMM, PoissonHMM, MixedHMM])
def test_inspect_shows_the_states(kind, tmp_path, capsys):
    model = kind(2, random_state=0).fit(X)
    path = str(tmp_path / "model.suffice")
    suffice.save(model, path)
    assert run(["inspect", path]) == 0
    text = capsys.readouterr().out
    assert kind.__name__ in text and "mean steps" in text
    assert run(["inspect", path, "--json"]) == 0
    about = json.loads(capsys.readouterr().out)
    assert len(about["states"]) == 2
    for k, state in enumerate(about["states"]):
        assert state["start"] == pytest.approx(model.startprob_[k]) and state["stays"] == pytest.approx(
            model.transmat_[k, k]
        )
    if kind is GaussianHMM:
        assert about["states"][1]["emits"]["x0"] == pytest.approx(model.means_[1, 0])


def test_the_lecture(tmp_path):
    pytest.importorskip("matplotlib")
    report = EXPERIMENTS["hmm-lecture"].run(Options(quick=True, folder=tmp_path, say=lambda text: None))
    ours = {row.name: row.ours for row in report.rows}
    seen, hidden = (
        ours[f"{how}: steps in the right state"] for how in ("states observed (counting)", "states hidden (EM)")
    )
    assert seen > 0.9 and hidden > seen - 0.02
    assert ours["states observed (counting): largest error of a transition"] < 0.05
    assert report.pictures[0].exists() and "rose in every iteration" in report.notes[1]


def test_the_transitions_are_drawn():
    pytest.importorskip("matplotlib")
    display = suffice.TransitionsDisplay.from_estimator(GaussianHMM(3, random_state=0).fit(X), names=["a", "b", "c"])
    assert len(display.ax_.texts) >= 3 and {text.get_text()[0] for text in display.ax_.texts if text.get_text()} == set(
        "abc"
    )
    states = suffice.StatesDisplay.from_estimator(GaussianHMM(2, random_state=0).fit(X), X)
    assert states.expected.shape == (11,) and states.expected.max() > 4 > states.expected.min()


def test_the_page_runs():
    pytest.importorskip("matplotlib")
    page = (Path(__file__).parent.parent / "docs" / "sequences.md").read_text()
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.S):
        exec(compile(block, "docs/sequences.md", "exec"), names)
    assert 0 < names["quiet"] < 2 < 8 < names["busy"] < 11
    assert (names["path"][:60] == names["path"][0]).mean() > 0.9 and not names["filled"].isna().any().any()
