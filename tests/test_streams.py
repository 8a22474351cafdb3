"""Batches of a stream: the same model as one fit where the algorithm allows it, and nearly as good where it does not."""

import time

import numpy as np
import pytest

from suffice import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    MixedNB,
    MixtureClassifier,
    MultinomialNB,
    PoissonNB,
    datasets,
)
from suffice.learners.stochastic import signed_weights
from suffice.losses import loss_named

ESTIMATORS = [
    GaussianNB,
    BernoulliNB,
    CategoricalNB,
    PoissonNB,
    MultinomialNB,
    ComplementNB,
    GaussianDiscriminant,
    MixedNB,
]


@pytest.fixture
def data():
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 400)
    X = generator.poisson(1.0 + y[:, None] * [1, 0, 0.5, 1, 0]).astype(float)
    X[:30] = np.minimum(X[:30], 3)
    X[:, :4][X[:, :4] > 6] = 6
    X[0] = 0.0
    for value in range(20):  # the first batch has every category
        X[1 + value] = min(value, X.max())
    return X, y


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_nll_batches_equal_one_fit(cls, data):
    X, y = data
    weight = np.random.default_rng(1).uniform(0.5, 2, 400)
    if cls not in (MultinomialNB, ComplementNB, GaussianDiscriminant):
        X = np.where(np.random.default_rng(2).random(X.shape) < 0.1, np.nan, X)
        X[:30] = data[0][:30]
    stream = cls(loss="nll")
    for part in (slice(0, 100), slice(100, 101), slice(101, 400)):
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=weight[part])
    whole = cls(loss="nll").fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(stream.class_count_, whole.class_count_)
    np.testing.assert_allclose(stream.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-7)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_a_stream_beats_maximum_likelihood_where_columns_repeat(loss):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 30_000)
    X = generator.normal(size=(30_000, 4)) + 0.5 * y[:, None]
    X = np.hstack([X, X[:, :1] + 0.1 * generator.normal(size=(30_000, 5)), np.exp(X[:, 1:2])])
    train, test = slice(0, 20_000), slice(20_000, None)
    plain = GaussianNB(loss="nll").fit(X[train], y[train])
    stream = GaussianNB(loss=loss)
    for start in range(0, 20_000, 2_000):
        stream.partial_fit(X[start : start + 2_000], y[start : start + 2_000], classes=[0, 1])
    assert stream.score(X[test], y[test]) > plain.score(X[test], y[test]) + 0.01
    assert np.isfinite(stream.theta_).all() and (stream.var_ > 0).all()


def test_holes_and_rows_without_a_label_in_a_stream(data):
    X, y = data[0].copy(), data[1].astype(object)
    X[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    y[50:] = None
    for cls in (GaussianNB, GaussianDiscriminant):
        for loss in ("nll", "ncll"):
            model = cls(loss=loss, prior=1.0)
            for start in range(0, 400, 100):
                model.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1, 2])
            assert np.isfinite(model.predict_log_proba(X)).all()
    with pytest.raises(ValueError, match="balanced"):
        GaussianNB(class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
def test_the_compiled_weights_and_their_twin(loss):
    generator = np.random.default_rng(0)
    scores, y = 3 * generator.normal(size=(200, 4)), generator.integers(-1, 4, 200)
    weights = generator.random(200)
    expected = weights[:, None] * loss_named(loss).weights(scores, y)
    np.testing.assert_allclose(signed_weights(loss_named(loss), scores, y, weights), expected, atol=1e-12)


def test_mini_batches_grow():
    """The number of steps grows far slower than the rows: long files cost little more than reading them."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 200_000)
    X = generator.normal(size=(200_000, 10)) + 0.3 * y[:, None]
    model = GaussianNB().partial_fit(X[:1000], y[:1000], classes=[0, 1])
    start = time.process_time()
    model.partial_fit(X, y)
    assert model._stream.n_steps < 500
    assert time.process_time() - start < 5.0  # about 0.3 s alone


@pytest.mark.parametrize("covariance", [None, "mixed", "tied", "full"])
@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
def test_constant_classes_of_huge_weight_keep_a_variance_that_moments_can_hold(covariance, loss):
    X, y = np.r_[0.0, np.ones(11)][:, None], np.r_[1.0, np.nan, np.nan, np.zeros(9)]
    model = (
        GaussianNB() if covariance is None else MixedNB() if covariance == "mixed" else GaussianDiscriminant(covariance)
    )
    model.set_params(loss=loss).partial_fit(X, y, classes=[0, 1, 2], sample_weight=np.full(12, 1e9))
    assert model.moments_.is_finite()
    model.partial_fit([[np.nan]], [0])
    assert model.moments_.is_finite()
    assert (model.predict(X)[[0, -1]] == [1, 0]).all()
    whole = model.fit(X, y, sample_weight=np.full(12, 1e9))
    assert whole.moments_.is_finite()


@pytest.mark.parametrize("cls", [*ESTIMATORS, MixtureClassifier])
@pytest.mark.parametrize("loss", ["nll", "ncll"])
@pytest.mark.parametrize("start", ["fit", "partial_fit"])
def test_a_batch_without_weight_changes_nothing(cls, loss, start, data):
    X, y = data
    model = cls(loss=loss, unlabelled_weight=0.0, random_state=0)
    model = model.fit(X, y) if start == "fit" else model.partial_fit(X, y, classes=[0, 1, 2])
    before = model.predict_joint_log_proba(X)
    model.partial_fit(X[:2], [-1, -1])
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)
    weight, some = np.zeros(len(y)), np.where(np.arange(len(y)) < 5, -1, y)
    weight[:5] = 1.0
    with pytest.raises(ValueError, match="sample_weight is zero for every labelled row"):
        cls(loss=loss, unlabelled_weight=0.0).partial_fit(X, some, classes=[0, 1, 2], sample_weight=weight)


@pytest.mark.parametrize("loss", ["nll", "ncll"])
def test_a_stream_of_mixtures_goes_on_from_a_fit(loss):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 4000)
    X = generator.normal(size=(4000, 2)) + 4.0 * np.column_stack([y, generator.integers(0, 2, 4000)])
    model = MixtureClassifier(2, loss=loss, random_state=0).fit(X[:3000], y[:3000])
    before = model.score_samples(X[3000:]).mean(), model.score(X[3000:], y[3000:])
    model.partial_fit(X[:3], y[:3])  # a few rows do not make it forget
    assert model.score_samples(X[3000:]).mean() > before[0] - 0.05
    assert model.score(X[3000:], y[3000:]) > before[1] - 0.01


@pytest.mark.parametrize("loss", ["nll", "ncll"])
def test_a_first_batch_whose_labelled_rows_count_nothing_is_refused(loss):
    """Found by the fuzzer: the weight of a row without a label made up for it, and the masses were not numbers."""
    model = MultinomialNB(loss=loss)
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit([[1.0], [2.0]], [0.0, np.nan], classes=[0, 1], sample_weight=[0.0, 1.0])
    assert not hasattr(model, "moments_")


@pytest.fixture
def documents():
    """Words in bursts: a document repeats what it has."""
    generator = np.random.default_rng(0)
    y = generator.integers(0, 4, 900)
    rates = 0.3 + 0.7 * (np.arange(80) % 4 == y[:, None])
    return generator.poisson(rates * generator.gamma(0.3, 1 / 0.3, size=rates.shape)).astype(float), y


@pytest.mark.parametrize("cls", [MultinomialNB, ComplementNB, BernoulliNB, PoissonNB])
@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_a_stream_of_words_keeps_up_with_a_fit(cls, loss, documents):
    X, y = documents
    whole = cls(loss=loss, random_state=0).fit(X[:600], y[:600]).score(X[600:], y[600:])
    stream, after = cls(loss=loss), cls(loss=loss, random_state=0).fit(X[:300], y[:300])
    half = after.score(X[600:], y[600:])
    for start in range(0, 600, 50):
        stream.partial_fit(X[start : start + 50], y[start : start + 50], classes=range(4))
    for start in range(300, 600, 50):
        after.partial_fit(X[start : start + 50], y[start : start + 50])
    assert stream.score(X[600:], y[600:]) > whole - 0.08
    assert after.score(X[600:], y[600:]) > half - 0.02


@pytest.mark.parametrize("cls", [MultinomialNB, ComplementNB, BernoulliNB])
@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_a_stream_of_real_documents_beats_naive_bayes(cls, loss, data_folder):
    data = datasets.load("r8")
    order = np.random.default_rng(0).permutation(len(data.y_train))
    X, y, n = data.X_train[order], np.asarray(data.y_train)[order], len(order) * 4 // 5
    stream = cls(loss=loss)
    for start in range(0, n, 200):
        part = slice(start, min(start + 200, n))
        stream.partial_fit(X[part], y[part], classes=np.unique(y))
    plain = cls(loss="nll").fit(X[:n], y[:n])
    assert stream.score(X[n:], y[n:]) >= plain.score(X[n:], y[n:])
