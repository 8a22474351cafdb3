"""A family from outside (tests/exponential.py) behind scikit-learn's interface: naive Bayes, mixtures, a mixture a class; every loss,
streams, files."""

from __future__ import annotations

import io

import numpy as np
import pytest
from exponential import Exponential
from scipy import stats
from scipy.special import logsumexp

from suffice import FamilyMixture, FamilyNB, MixtureClassifier, load, register_family, save
from suffice.losses import LOSSES

register_family("exponential", Exponential)


def data(n: int = 400, seed: int = 0):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, n)
    X = generator.exponential(np.array([[1.0, 4.0, 1.0], [3.0, 1.0, 1.0], [1.0, 1.0, 5.0]])[y])
    return X, y


def again(model):
    file = io.BytesIO()
    save(model, file)
    file.seek(0)
    return load(file)


def means_of(model) -> np.ndarray:
    return model._stored_model.families[0].means_of(model.moments_.columns[0])[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_naive_bayes(loss):
    """The scores are those of scipy's exponential densities; training for classification is no worse at it than the likelihood."""
    X, y = data()
    model = FamilyNB("exponential", loss=loss, random_state=0).fit(X[:300], y[:300])
    density = stats.expon.logpdf(X[:, None, :], scale=means_of(model)[None]).sum(axis=2)
    expected = density + np.log(model.moments_.mass / model.moments_.mass.sum())
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-9, atol=1e-9)
    plain = FamilyNB("exponential", loss="nll").fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) >= plain.score(X[300:], y[300:]) - 0.03 > 0.5
    np.testing.assert_array_equal(again(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("loss", LOSSES)
def test_streams(loss):
    X, y = data()
    model = FamilyNB("exponential", loss=loss, random_state=0)
    for part in np.array_split(np.arange(300), 3):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert model.score(X[300:], y[300:]) > 0.55
    model = again(model).partial_fit(X[300:], y[300:])
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("algorithm", ["em", "accelerated", "online", "variational"])
def test_a_mixture(algorithm):
    """Its density is that of the components' exponential densities, missing cells are left out, and planted means come back."""
    X, _ = data(600)
    model = FamilyMixture(3, family="exponential", algorithm=algorithm, random_state=0, max_iter=200).fit(X)
    joint = stats.expon.logpdf(X[:, None, :], scale=means_of(model)[None]).sum(axis=2) + np.log(model.weights_)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    one = FamilyMixture(1, family="exponential").fit(X)
    assert model.score(X) > one.score(X)
    assert model.bic(X) == pytest.approx(-2 * model.score_samples(X).sum() + (3 * 3 + 2) * np.log(600))
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    assert np.isfinite(model.impute(holes)).all()
    np.testing.assert_array_equal(again(model).score_samples(X), model.score_samples(X))
    assert np.isfinite(model.partial_fit(X[:100]).score_samples(X)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_mixture_a_class(loss):
    X, y = data()
    model = MixtureClassifier(2, family="exponential", loss=loss, random_state=0, prior=1.0).fit(X[:300], y[:300])
    means = means_of(model)
    joint = stats.expon.logpdf(X[:, None, :], scale=means[None]).sum(axis=2) + np.log(model.weights_.ravel())
    expected = logsumexp(joint.reshape(len(X), 3, 2), axis=2)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-9, atol=1e-9)
    assert model.score(X[300:], y[300:]) > 0.55
    model = again(model).partial_fit(X[300:], y[300:])
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_name_of_the_library_is_not_taken():
    with pytest.raises(ValueError, match="'poisson' is taken"):
        register_family("poisson", Exponential)
