"""Missing cells of columns that tell of each other: averaged over at prediction, filled in for training."""

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax

from suffice import GaussianNB, MixedNB
from suffice.choosing.recipes import linear
from suffice.choosing.recipes.table_setting import TableSetting, said
from suffice.families import gaussian_diagonal
from suffice.families.categorical import Categorical, Moments
from suffice.families.correlations import covariance_of
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.learners.linear.filling import filled
from suffice.saving import load, save
from suffice.structures import base
from suffice.structures.gaps import CorrelatedGaps, normal_points
from suffice.structures.groups import Groups
from suffice.structures.joint import Joint


def alike(n: int, seed: int, d: int = 6):
    """Columns that all show one number, which tells the class: rows, labels."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 1))
    y = (hidden[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return hidden + 0.3 * rng.normal(size=(n, d)), y


def holed(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    gone = np.random.default_rng(seed).random(X.shape) < share
    gone[gone.all(axis=1), 0] = False
    return np.where(gone, np.nan, X)


def loss(model, X, y) -> float:
    return -float(model.predict_log_proba(X)[np.arange(len(y)), y].mean())


def test_points_are_spread_as_a_normal_distribution():
    for d in (1, 2, 5):
        points = normal_points(d)
        np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(points.std(axis=0), 1.0)
    x = np.linspace(-9, 9, 2001)
    exact = (np.exp(-0.5 * x**2) / (1 + np.exp(-(1 + 2 * x)))).sum() / np.exp(-0.5 * x**2).sum()
    assert abs((1 / (1 + np.exp(-(1 + 2 * normal_points(1)[:, 0])))).mean() - exact) < 2e-3


def test_the_average_over_missing_cells_by_quadrature():
    """Two classes of common variance: what a number adds to the scores is a line in it, and so is its coordinate."""
    X = np.random.default_rng(0).multivariate_normal([1.0, -2.0], [[1.0, 0.8], [0.8, 1.0]], size=4000)
    family, mass = GaussianDiagonal(2, 2, np.zeros(2)), np.array([0.4, 0.6])
    mean, variance = np.array([[0.0, -2.5], [1.5, -1.5]]), np.array([[0.5, 0.7]] * 2)
    model = Joint.of(family)
    moments = base.Moments(mass, (gaussian_diagonal.from_parameters(family.weight_of(mass), mean, variance),))
    answering = CorrelatedGaps.of(model, moments, X, X)
    assert isinstance(answering, CorrelatedGaps)
    row = np.array([[0.3, np.nan]])
    some, x = X[np.linspace(0, len(X) - 1, 2000).astype(int)], np.linspace(-8, 8, 2001)
    slope = float(np.corrcoef(some.T)[0, 1]) * some[:, 1].std() / some[:, 0].std()
    centre = some[:, 1].mean() + slope * (0.3 - some[:, 0].mean())
    spread = some[:, 1].std() * np.sqrt(1 - np.corrcoef(some.T)[0, 1] ** 2)
    density = np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum()
    rows = np.stack([np.full(len(x), 0.3), centre + spread * x], axis=1)
    expected = density @ softmax(model.log_joint(moments, rows), axis=1)
    found = answering.class_scores(moments, row)
    np.testing.assert_allclose(softmax(found, axis=1)[0], expected, atol=5e-3)
    np.testing.assert_allclose(logsumexp(found), logsumexp(model.log_joint(moments, row)))  # log p(observed cells)
    np.testing.assert_array_equal(answering.class_scores(moments, X), Groups(model).class_scores(moments, X))


def test_columns_that_no_other_knows_of_are_left_to_chance():
    """Categories drawn by the class alone; the correlations that chance gives to a few rows are shrunk."""
    rng = np.random.default_rng(1)
    t = rng.normal(size=(60, 12))
    found = covariance_of(t, np.arange(12))
    assert np.abs(found - np.diag(np.diagonal(found))).max() < 0.3 * np.abs(np.corrcoef(t.T) - np.eye(12)).max()
    family = Categorical(2, 1, np.array([2]))
    moments = base.Moments(np.array([0.5, 0.5]), (Moments(np.full((2, 2), 0.25), np.full((1, 2), 0.5)),))
    X = rng.integers(2, size=(50, 1)).astype(float)
    assert type(CorrelatedGaps.of(Joint.of(family), moments, X, X)) is Groups  # a column that tells nothing


def test_rows_with_gaps_after_training_on_complete_rows(tmp_path):
    (X, y), (X_test, y_test) = alike(400, 0), alike(400, 1)
    model, gaps = MixedNB().fit(X, y), holed(X_test, 0.6, 2)
    assert set(model.gaps_.values()) == {"averaged"}
    naive = Groups(model._stored_model).class_scores(model.moments_, model._new_rows(gaps))
    before = -log_softmax(naive, axis=1)[np.arange(400), y_test].mean()
    assert loss(model, gaps, y_test) < before - 0.03
    np.testing.assert_allclose(model.score_samples(gaps), logsumexp(naive, axis=1))
    assert np.isfinite(model.predict_log_proba(np.full((1, 6), np.nan))).all()
    save(model, tmp_path / "model.sfc")
    again = load(tmp_path / "model.sfc")
    np.testing.assert_array_equal(again.predict_proba(gaps), model.predict_proba(gaps))
    assert again.gaps_ == model.gaps_


def test_gaps_of_training_rows_are_filled_in_where_columns_tell_of_each_other(tmp_path):
    (X, y), (X_test, y_test) = alike(300, 3), alike(300, 4)
    X, X_test = holed(X, 0.4, 5), holed(X_test, 0.4, 6)
    model = MixedNB().fit(X, y)
    assert set(model.gaps_.values()) == {"filled"} and "filled in" in model.choice_.reason
    assert loss(model, X_test, y_test) < loss(GaussianNB().fit(X, y), X_test, y_test) - 0.01
    assert np.isfinite(model.score_samples(X_test)).all() and not np.isnan(model.impute(X_test)).any()
    save(model, tmp_path / "model.sfc")
    np.testing.assert_array_equal(load(tmp_path / "model.sfc").predict_proba(X_test), model.predict_proba(X_test))
    assert "filled in" in said(TableSetting(1.0, filled=True))


def test_numbers_are_filled_in_once(monkeypatch):
    """For every setting that asks for it and for the fit: it costs more than they do."""
    calls = []
    monkeypatch.setattr(linear, "filled", lambda *given: calls.append(1) or filled(*given))
    X, y = alike(300, 3)
    assert set(MixedNB().fit(holed(X, 0.4, 5), y).gaps_.values()) == {"filled"}
    assert len(calls) == 1


def test_what_numbers_are_filled_in_with():
    X, _ = alike(500, 7)
    codes = (X[:, 0] > 0).astype(float)
    rows, gaps = np.column_stack([X, codes]), np.column_stack([holed(X, 0.3, 8), codes])
    found, gone = filled(gaps, 6, 1), np.isnan(gaps)
    np.testing.assert_array_equal(found[~gone], rows[~gone])
    assert np.sqrt(((found - rows)[gone] ** 2).mean()) < 0.4  # .3 is noise


@pytest.mark.parametrize("prior", ["auto", 1.0])
def test_gaps_that_training_integrated_out_stay_so(prior):
    X, y = alike(200, 9)
    X[:, :5] = np.random.default_rng(0).normal(size=(200, 5))  # nothing knows of the last column
    X = holed(X, 0.1, 10)
    model = MixedNB(prior=prior).fit(X, y)
    if "integrated" in model.gaps_.values():
        naive = Groups(model._stored_model).class_scores(model.moments_, model._new_rows(X))
        np.testing.assert_array_equal(model.predict_joint_log_proba(X), naive)
    assert prior == "auto" or set(model.gaps_.values()) == {"integrated"}
