"""Rows without a label: what they look like, EM's posterior weights, their weight; weights of classes."""

import warnings

import numpy as np
import pytest
from scipy.special import logsumexp

from suffice import BernoulliNB, GaussianDiscriminant, GaussianNB, MultinomialNB, PoissonNB
from suffice.reading.labels import split_labels


@pytest.fixture
def blobs():
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 300)
    return generator.normal(size=(300, 4)) + 1.3 * y[:, None], y


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 1, 2, -1], [0, 0, 0, 1]),
        ([-1, 1, 1, -1], [0, 0, 0, 0]),  # two classes
        ([-2, -1, 0, 1], [0, 0, 0, 0]),  # other negative labels: -1 is one too
        ([0.0, 1.0, np.nan, 1.0], [0, 0, 1, 0]),
        (["a", "b", None, "a"], [0, 0, 1, 0]),
        (["a", "b", np.nan, "a"], [0, 0, 1, 0]),
        (np.array(["a", None, float("nan"), "b"], dtype=object), [0, 1, 1, 0]),
    ],
)
def test_which_rows_have_no_label(y, expected):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(split_labels(y)[1], np.array(expected, dtype=bool))


def test_pandas_labels():
    pd = pytest.importorskip("pandas")
    X = np.arange(8.0).reshape(4, 2)
    for y in (
        pd.Series(["a", pd.NA, "b", "b"]),
        pd.Series([0, None, 1, 1], dtype="Int64"),
        pd.Categorical(["a", None, "b", "b"]),
    ):
        model = GaussianNB(loss="nll").fit(X, y)
        assert len(model.classes_) == 2 and model.class_count_.sum() == 3


def test_minus_one_is_said_aloud(blobs):
    X, y = blobs
    with pytest.warns(UserWarning, match="-1"):
        model = GaussianNB(loss="nll").fit(X, np.where(np.arange(300) < 100, -1, y))
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="y has no label"):
        GaussianNB().fit(X, np.full(300, np.nan))


@pytest.mark.parametrize("cls", [GaussianNB, BernoulliNB, PoissonNB, MultinomialNB, GaussianDiscriminant])
def test_em_is_a_fixed_point(cls, blobs):
    """Under nll the moments are the prior plus the labelled statistics plus posterior-weighted statistics."""
    X, y = np.abs(blobs[0]), blobs[1]
    labels = np.where(np.arange(300) < 60, y, -1).astype(object)
    labels[60:] = None
    model = cls(loss="nll", unlabelled_weight=0.5, tol=1e-9, max_epochs=2000, prior=1.0).fit(X, labels)
    core, moments = model._stored_model, model.moments_
    rows = model._new_rows(X)
    scores = core.scores(moments, rows)
    shares = 0.5 * np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    shares[:60] = 0.0
    shares[np.arange(60), y[:60]] = 1.0
    labelled = core.statistics(rows[:60], y[:60], np.ones(60))
    expected = core.expected_statistics(rows, shares) + core.pseudo_counts(labelled, 1.0)
    np.testing.assert_allclose(moments.mass, expected.mass, rtol=1e-3)
    np.testing.assert_allclose(core.scores(expected, rows), scores, atol=0.05)
    objective = np.array(model.history_["objective"])
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
def test_weight_zero_leaves_them_out(loss, blobs):
    X, y = blobs
    labels = y.astype(object)
    labels[100:] = None
    only = GaussianNB(loss=loss, prior=1.0, random_state=0).fit(X[:100], y[:100])
    without = GaussianNB(loss=loss, prior=1.0, random_state=0, unlabelled_weight=0).fit(X, labels)
    np.testing.assert_allclose(without.predict_proba(X), only.predict_proba(X), atol=1e-2)
    assert without.unlabelled_weight_ == 0
    with_them = GaussianNB(loss=loss, prior=1.0, random_state=0, unlabelled_weight=1.0).fit(X, labels)
    assert with_them.score_samples(X).mean() > only.score_samples(X).mean()


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
def test_auto_helps_where_the_model_is_right_and_never_hurts(loss):
    """Two well-separated classes, three labels each: the rows without a label find the means."""
    generator = np.random.default_rng(5)
    y = generator.integers(0, 2, 1000)
    X = generator.normal(size=(1000, 6)) + 1.2 * y[:, None]
    labels = y[:500].astype(object)
    chosen = np.concatenate([np.flatnonzero(y[:500] == k)[:6] for k in (0, 1)])
    labels[np.setdiff1d(np.arange(500), chosen)] = None
    alone = GaussianNB(loss=loss, random_state=0).fit(X[chosen], y[chosen])
    model = GaussianNB(loss=loss, random_state=0).fit(X[:500], labels)

    def log_loss(fitted):
        return -fitted.predict_log_proba(X[500:])[np.arange(500), y[500:]].mean()

    assert log_loss(model) <= log_loss(alone) + 0.02
    assert 0 <= model.unlabelled_weight_ <= 1


@pytest.mark.parametrize("loss", ["nll", "ncll"])
def test_class_weight(loss, blobs):
    X, y = blobs
    X, y = X[(y < 2)][:150], y[y < 2][:150]
    keep = (y == 0) | (np.arange(len(y)) % 5 == 0)
    X, y = X[keep], y[keep]
    options = {"loss": loss, "prior": 1.0, "random_state": 0}
    balanced = GaussianNB(class_weight="balanced", **options).fit(X, y)
    np.testing.assert_allclose(balanced.class_count_, len(y) / 2)
    by_hand = GaussianNB(**options).fit(X, y, sample_weight=len(y) / (2 * np.bincount(y)[y]))
    np.testing.assert_allclose(balanced.predict_proba(X), by_hand.predict_proba(X))
    triple = GaussianNB(class_weight={1: 3.0}, **options).fit(X, y)
    np.testing.assert_allclose(triple.class_count_, np.bincount(y) * [1, 3])
    for wrong in ("even", {7: 1.0}, {0: -1.0}, 3):
        with pytest.raises(ValueError, match="class_weight"):
            GaussianNB(class_weight=wrong).fit(X, y)
    for wrong in ("some", -1, np.inf, True):
        with pytest.raises(ValueError, match="unlabelled_weight"):
            GaussianNB(unlabelled_weight=wrong).fit(X, y)
