"""Displays show the numbers of scikit-learn and of the model, on axes of the caller, and leave matplotlib's settings alone."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import accuracy_score

from suffice import (
    CategoricalNB,
    ConvergenceDisplay,
    DensityDisplay,
    GaussianHMM,
    GaussianMixture,
    GaussianNB,
    LatentDirichletAllocation,
    LDAClassifier,
    MixedNB,
    ReliabilityDisplay,
    StatesDisplay,
    TopicDisplay,
)
from suffice.evaluation import column_density, reliability, topic_map
from suffice.figures import COLOURS, STYLE, figure, style

matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")
IRIS = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return GaussianNB(loss="nll").fit(*IRIS)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_is_that_of_scikit_learn(strategy):
    generator = np.random.default_rng(3)
    p = generator.random(500)
    y = generator.random(500) < p**2
    found = reliability(y, p, 7, strategy)
    observed, predicted = calibration_curve(y, p, n_bins=7, strategy=strategy)
    np.testing.assert_allclose(found.observed, observed)
    np.testing.assert_allclose(found.predicted, predicted)
    assert found.count.sum() == 500
    assert (found.low <= found.observed).all() and (found.observed <= found.high).all()


def test_wilson_interval_is_the_textbooks():
    """9 of 10: [.596, .982] (Brown, Cai and DasGupta 2001)."""
    found = reliability([True] * 9 + [False], [0.5] * 10, 1)
    np.testing.assert_allclose([found.low[0], found.high[0]], [0.596, 0.982], atol=5e-4)


def test_reliability_refuses_what_is_not_a_probability():
    with pytest.raises(ValueError, match="shapes"):
        reliability([True], [0.1, 0.2])
    with pytest.raises(ValueError, match="'uniform', 'quantile'"):
        reliability([True], [0.1], strategy="equal")
    with pytest.raises(ValueError, match="labels need one each"):
        ReliabilityDisplay.from_predictions([0, 1], [[0.5, 0.5]], labels=[0, 1])


def test_reliability_of_classes_and_of_the_confidence(model):
    X, y = IRIS
    display = ReliabilityDisplay.from_estimator(model, X, y)
    assert list(display.curves) == ["0", "1", "2"]
    one = ReliabilityDisplay.from_estimator(model, X, y, classes="confidence", n_bins=1)
    np.testing.assert_allclose(one.curves["confidence"].observed, [accuracy_score(y, model.predict(X))])
    assert list(ReliabilityDisplay.from_estimator(model, X, y, classes=[2]).curves) == ["2"]


def test_a_display_draws_on_the_axes_it_is_given(model):
    picture, axes = plt.subplots(2)
    display = DensityDisplay.from_estimator(model, *IRIS, column=1, ax=axes[1])
    assert display.ax_ is axes[1] and display.figure_ is picture and not axes[0].lines


def test_bars_and_curves_are_of_one_scale(model):
    """Both are joint: areas of the bars and of the curves each add up to one."""
    X, y = IRIS
    display = DensityDisplay.from_estimator(model, X, y, column=0)
    bars = sum(patch.get_height() * patch.get_width() for patch in display.ax_.patches)
    np.testing.assert_allclose(bars, 1.0)
    found = column_density(model, X, 0, n_points=2000, padding=1.0)
    np.testing.assert_allclose(found.joint.sum() * np.diff(found.values)[0], 1.0, atol=1e-3)


def test_a_column_alone_is_its_normal_density(model):
    X, _ = IRIS
    found = column_density(model, X, 2)
    z = (found.values[:, None] - model.theta_[:, 2]) ** 2 / model.var_[:, 2]
    expected = model.class_prior_ * np.exp(-z / 2) / np.sqrt(2 * np.pi * model.var_[:, 2])
    np.testing.assert_allclose(found.joint, expected, rtol=1e-9)


def test_a_category_is_its_share():
    X = pd.DataFrame({"hair": ["long", "short", "short", None] * 5, "height": [1.9, 1.6, None, 1.7] * 5})
    y = np.array(["a", "b", "b", "a"] * 5)
    model = MixedNB(loss="nll").fit(X, y)
    display = DensityDisplay.from_estimator(model, X, y, column="hair")
    found = display.density
    assert list(found.values) == ["long", "short"] and not found.is_numeric
    np.testing.assert_allclose(found.joint.sum(), 1.0)
    expected = np.exp(model.category_log_prob_["hair"] + model.class_log_prior_[:, None]).T
    np.testing.assert_allclose(found.joint, expected)


def test_a_column_alone_does_not_pay_for_the_gaps_of_the_others():
    """Where a gap tells of the class, p(x_j) is still a density: the others are summed out, not seen to be missing."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = pd.DataFrame({"a": rng.normal(size=600) + y, "b": rng.normal(size=600), "c": rng.normal(size=600)})
    X.loc[rng.random(600) < np.where(y == 1, 0.6, 0.02), "b"] = np.nan
    model = MixedNB(random_state=0).fit(X, y)
    assert model._reader_.told == ["b"]
    found = column_density(model, X, 0, n_points=2000, padding=1.0)
    mass = found.joint.sum(axis=0) * (found.values[1] - found.values[0])
    np.testing.assert_allclose(mass, np.bincount(y) / 600, atol=0.05)


def test_codes_are_bars():
    X = np.array([[0, 1], [1, 1], [2, 0], [0, 0]] * 5)
    found = column_density(CategoricalNB(loss="nll").fit(X, [0, 1, 1, 0] * 5), X, 0)
    assert not found.is_numeric and len(found.values) == 3


def test_a_mixture_shows_its_components():
    X = load_wine().data
    display = DensityDisplay.from_estimator(GaussianMixture(2, random_state=0).fit(X), X, column=0)
    assert [line.get_label() for line in display.ax_.lines] == ["0", "1", "p(x)"]


def test_convergence_shows_the_history(model):
    X, _ = IRIS
    one, two = (GaussianMixture(k, random_state=0).fit(X) for k in (1, 2))
    display = ConvergenceDisplay.from_estimator({"one": one, "two": two}, measure="nll")
    np.testing.assert_array_equal(display.ax_.lines[1].get_ydata(), two.history_["nll"])
    with pytest.raises(ValueError, match="'speed' is not one of objective"):
        ConvergenceDisplay.from_estimator(one, measure="speed")


def planted_topics():
    generator = np.random.default_rng(0)
    topics = np.repeat(np.eye(3), 4, axis=1) / 4
    return np.array([generator.multinomial(60, topics[i % 3]) for i in range(60)])


def test_topics_are_found_and_apart():
    X = planted_topics()
    found = topic_map(LatentDirichletAllocation(3, random_state=0).fit(X), list("aaaabbbbcccc"), n_words=4)
    assert sorted("".join(words) for words in found.words) == ["aaaa", "bbbb", "cccc"]
    np.testing.assert_allclose(found.share.sum(), 1.0)
    apart = np.linalg.norm(found.place[:, None] - found.place[None], axis=2)
    assert apart[np.triu_indices(3, 1)].min() > 0.5  # topics without a common word are sqrt(log 2) = .83 apart


def test_topics_of_a_classifier_and_the_map():
    X = planted_topics()
    model = LDAClassifier(2, random_state=0).fit(X, np.arange(60) % 3 == 0)
    display = TopicDisplay.from_estimator(model, n_words=3)
    assert len(display.ax_) == 4 and display.topics.names[0] == "False, topic 1"
    assert TopicDisplay.from_estimator(model, kind="map").ax_.get_ylabel() == "second axis"
    with pytest.raises(ValueError, match="'words', 'map'"):
        TopicDisplay.from_estimator(model, kind="cloud")


def test_states_are_those_of_the_model():
    X = np.r_[np.zeros(20), np.full(20, 5.0), np.zeros(10)][:, None] + np.random.default_rng(0).normal(size=(50, 1))
    model = GaussianHMM(2, random_state=0).fit(X)
    display = StatesDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.path, model.predict(X))
    np.testing.assert_array_equal(display.probabilities, model.predict_proba(X))
    assert len(display.ax_) == 2


def test_the_style_is_one_and_stays_inside(tmp_path):
    before = dict(matplotlib.rcParams)
    with style():
        colours = [entry["color"] for entry in matplotlib.rcParams["axes.prop_cycle"]]
        assert tuple(f"#{colour.lstrip('#')}".upper() for colour in colours) == tuple(map(str.upper, COLOURS))
    with figure(tmp_path / "one.svg") as axes:
        axes[0, 0].plot([1, 2], label="text")
        axes[0, 0].legend()
    assert "<svg" in (tmp_path / "one.svg").read_text() and ">text<" in (tmp_path / "one.svg").read_text()
    assert dict(matplotlib.rcParams) == before
    assert STYLE.exists()
