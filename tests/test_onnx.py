"""ONNX graphs answer as classifiers do: calibrated probabilities to 1e-6, labels, missing cells. NaN is refused where it must be."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine

import suffice
from suffice.choosing.calibration import log_probabilities, shares

onnx = pytest.importorskip("onnx", reason="suffice[onnx] is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

WINE, KINDS = load_wine(return_X_y=True)
PIXELS, DIGITS = (part[:600] for part in load_digits(return_X_y=True))
HOLES = np.random.default_rng(0).random(WINE.shape) < 0.2
TEXTS = np.array(["barolo", "grignolino", "barbera"])[KINDS]
CASES = {
    "gaussian": (suffice.GaussianNB(), np.where(HOLES, np.nan, WINE), TEXTS),
    "gaussian likelihood": (suffice.GaussianNB(loss="nll"), WINE, KINDS),
    "gaussian hinge": (suffice.GaussianNB(loss="hinge", random_state=0), WINE, KINDS.astype(float)),
    "two classes": (suffice.GaussianNB(), WINE, KINDS == 1),
    "discriminant tied": (suffice.GaussianDiscriminant(), WINE, KINDS),
    "discriminant full": (suffice.GaussianDiscriminant("full"), WINE, KINDS),
    "discriminant diag": (suffice.GaussianDiscriminant("diag"), np.where(HOLES, np.nan, WINE), KINDS),
    "bernoulli": (suffice.BernoulliNB(binarize=7.0), np.where(PIXELS == 3, np.nan, PIXELS), DIGITS),
    "categorical": (suffice.CategoricalNB(), np.where(PIXELS == 3, np.nan, PIXELS // 4)[:, ::4], DIGITS),
    "poisson": (suffice.PoissonNB(), np.where(PIXELS == 3, np.nan, PIXELS), DIGITS),
    "multinomial": (suffice.MultinomialNB(random_state=0), PIXELS, DIGITS),
    "multinomial likelihood": (suffice.MultinomialNB(loss="nll"), PIXELS, DIGITS),
    "multinomial roots": (suffice.MultinomialNB(count_power=0.5, random_state=0), PIXELS, DIGITS),
    "complement": (suffice.ComplementNB(random_state=0), PIXELS, DIGITS),
}
TAKES_NONE = ("discriminant tied", "discriminant full", "multinomial", "complement")  # of missing cells


def answers(model, X) -> tuple[np.ndarray, np.ndarray]:
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # the refusals below are not printed
    session = runtime.InferenceSession(suffice.to_onnx(model).SerializeToString(), options)
    return session.run(["label", "probabilities"], {"X": np.asarray(X, dtype=float)})


@pytest.mark.parametrize("name", CASES)
def test_the_graph_answers_as_the_model(name):
    estimator, X, y = CASES[name]
    model = estimator.fit(X[::2], y[::2])
    labels, probabilities = answers(model, X[1::2])
    np.testing.assert_allclose(probabilities, model.predict_proba(X[1::2]), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(labels, model.predict(X[1::2]))
    if name.startswith(TAKES_NONE):
        with pytest.raises(Exception, match="out of data bounds"):
            answers(model, np.full((1, X.shape[1]), np.nan))
    else:  # a row of which nothing is known
        empty = np.full((1, X.shape[1]), np.nan)
        np.testing.assert_allclose(answers(model, empty)[1], model.predict_proba(empty), rtol=0, atol=1e-6)


def test_rivalry_and_background_are_in_the_graph():
    model = suffice.GaussianNB(loss="nll").fit(WINE[::2], KINDS[::2])
    model.temperature_, model.rivalry_, model.background_ = 0.02, 4.0, 0.1
    logs = log_probabilities(0.02 * model.predict_joint_log_proba(WINE), 4.0)
    expected = 0.9 * np.exp(logs) + 0.1 * shares(model.class_count_)
    np.testing.assert_allclose(answers(model, WINE)[1], expected, rtol=0, atol=1e-9)
    assert np.abs(expected - np.exp(log_probabilities(0.02 * model.predict_joint_log_proba(WINE)))).max() > 0.01


def test_what_has_no_graph_says_so(tmp_path, monkeypatch):
    X, y = WINE[:, :2], KINDS
    with pytest.raises(TypeError, match="MixedNB has no ONNX form"):
        suffice.to_onnx(suffice.MixedNB())
    with pytest.raises(ValueError, match="not fitted"):
        suffice.to_onnx(suffice.GaussianNB())
    model = suffice.GaussianNB(loss="nll").fit(X, y)
    suffice.to_onnx(model, tmp_path / "wine.onnx")
    assert onnx.load(tmp_path / "wine.onnx").graph.input[0].name == "X"
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'suffice\[onnx\]'"):
        suffice.to_onnx(model)
