"""scikit-learn's own callbacks on fits here: every pass is a task, a callback can stop a fit, and what fails is torn down."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice

callback = pytest.importorskip("sklearn.callback", reason="this version of scikit-learn has no callbacks")
X, y = load_wine(return_X_y=True)


class Counting:
    """Counts tasks; stops the fit after some passes."""

    max_propagation_depth = None

    def __init__(self, stop_after: int = 10**9) -> None:
        self.stop_after, self.begun, self.ended, self.scores, self.torn_down = stop_after, [], [], [], 0

    def setup(self, estimator, context):
        assert not self.torn_down

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append(context.task_name)
        if hasattr(fitted_estimator, "score") and y is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return self.ended.count("pass") >= self.stop_after

    def teardown(self, estimator, context):
        self.torn_down += 1


MODELS = {
    "naive Bayes": (suffice.GaussianNB(algorithm="incremental", prior=1.0), y),
    "mixture": (suffice.GaussianMixture(3, max_iter=10, random_state=0), None),
    "states": (suffice.GaussianHMM(2, max_iter=5, random_state=0), None),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_pass_is_a_task(name):
    model, labels = MODELS[name]
    counting = Counting()
    plain = model.fit(X, labels).n_iter_
    model.set_callbacks(counting).fit(X, labels)
    assert counting.begun == ["fit", *counting.begun[1:]] and counting.ended[-1] == "fit" and counting.torn_down == 1
    assert counting.begun.count("pass") == counting.ended.count("pass") >= plain == model.n_iter_
    stopping = Counting(stop_after=1)
    assert model.set_callbacks(stopping).fit(X, labels).stopped_ == "stopped by the callback"
    assert stopping.ended.count("pass") < counting.ended.count("pass") and np.isfinite(model.score(X, labels))


def test_of_scikit_learn(tmp_path, capsys):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = suffice.GaussianNB(algorithm="incremental", prior=1.0).set_callbacks(callback.ProgressBar(), monitor)
    model.fit(X, y)
    suffice.save(model, tmp_path / "wine.sfc")  # callbacks are no part of the model
    np.testing.assert_array_equal(suffice.load(tmp_path / "wine.sfc").predict(X), model.predict(X))
    assert "GaussianNB" in capsys.readouterr().out


def test_inside_pipelines_and_searches_and_after_failures():
    counting = Counting()
    inner = suffice.GaussianNB(algorithm="incremental", prior=1.0)
    make_pipeline(StandardScaler(), inner).set_callbacks(counting).fit(X, y)
    assert counting.ended.count("pass") >= 1 and counting.torn_down == 1
    searched = GridSearchCV(inner, {"prior": [1.0, 10.0]}, cv=2, error_score="raise").fit(X, y)
    assert searched.best_score_ > 0.9
    failing = Counting()
    with pytest.raises(ValueError, match="inconsistent"):
        suffice.GaussianNB().set_callbacks(failing).fit(X, y[:-1])
    assert failing.torn_down == 1
