"""The topic estimators keep scikit-learn's contract and do what their docstrings say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import load, save
from suffice.topic import LatentDirichletAllocation, LDAClassifier

LOSSES = ("nll", "ncll", "hinge")


@parametrize_with_checks(
    [
        LDAClassifier(),
        LDAClassifier(inference="variational"),
        LDAClassifier(inference="gibbs", max_epochs=3),
        LatentDirichletAllocation(3),
        LatentDirichletAllocation(3, inference="gibbs", max_iter=20),
        LatentDirichletAllocation(3, inference="map", algorithm="batch"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def documents(n=240, seed=0, n_words=40, length=40):
    """Two classes of two topics each, which overlap."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(n_words, 0.2), (2, 2)) * 0.7 + 0.3 * generator.dirichlet(np.ones(n_words))
    y = generator.integers(0, 2, n)
    phi = generator.dirichlet([0.5, 0.5], n)
    X = np.array([generator.multinomial(length, phi[i] @ topics[y[i]]) for i in range(n)], dtype=float)
    return X, np.array(["sport", "trade"])[y]


@pytest.mark.parametrize("inference", ("map", "variational"))
@pytest.mark.parametrize("loss", LOSSES)
def test_it_learns_whatever_the_form_of_the_rows(loss, inference):
    X, y = documents()
    model = LDAClassifier(loss=loss, inference=inference, random_state=0).fit(X[:160], y[:160])
    assert model.score(X[160:], y[160:]) > 0.85
    want = model.predict_log_proba(X[160:])
    for form in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, list):
        other = clone(model).fit(form(X[:160]), y[:160])
        np.testing.assert_array_equal(other.predict_log_proba(form(X[160:])), want)
    frame = pd.DataFrame(X, columns=[f"word{j}" for j in range(X.shape[1])])
    np.testing.assert_array_equal(clone(model).fit(frame[:160], y[:160]).predict_log_proba(frame[160:]), want)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repetitions_and_the_order_of_documents_does_not_matter(loss):
    X, y = documents(120)
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    model = LDAClassifier(loss=loss, random_state=3)
    weighted = clone(model).fit(X, y, sample_weight=weights).predict_log_proba(X)
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(len(y)), weights.astype(int)))
    np.testing.assert_array_equal(clone(model).fit(X[order], y[order]).predict_log_proba(X), weighted)


def test_threads_and_seeds_fix_the_result():
    X, y = documents()
    one = LDAClassifier(random_state=5, n_jobs=1).fit(X, y).topics_
    assert np.array_equal(one, LDAClassifier(random_state=5, n_jobs=2).fit(X, y).topics_)
    assert not np.array_equal(one, LDAClassifier(random_state=6).fit(X, y).topics_)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stream_learns_about_as_well(loss):
    X, y = documents(600)
    whole = LDAClassifier(loss=loss, random_state=0).fit(X[:450], y[:450])
    stream = LDAClassifier(loss=loss, random_state=0)
    for start in range(0, 450, 90):
        stream.partial_fit(X[start : start + 90], y[start : start + 90], classes=["sport", "trade"])
    assert stream.score(X[450:], y[450:]) > whole.score(X[450:], y[450:]) - 0.04


def test_documents_without_a_label_take_part():
    X, y = documents(400)
    some = np.array(y, dtype=object)
    some[40:] = None
    for loss in LOSSES:
        model = LDAClassifier(loss=loss, unlabelled_weight=0.1, random_state=0).fit(X[:300], some[:300])
        assert model.unlabelled_weight_ == 0.1
        assert model.score(X[300:], y[300:]) > 0.75
    model = LDAClassifier(random_state=0).fit(X[:300], some[:300])
    assert 0 <= model.unlabelled_weight_ <= 1


@pytest.mark.parametrize("loss", LOSSES)
def test_saved_and_loaded(loss, tmp_path):
    X, y = documents(100)
    model = LDAClassifier(loss=loss, random_state=0).fit(X, y)
    save(model, tmp_path / "model.suffice")
    np.testing.assert_array_equal(load(tmp_path / "model.suffice").predict_proba(X), model.predict_proba(X))


def test_samples_are_documents_of_the_class():
    X, y = documents(400)
    model = LDAClassifier(loss="nll", random_state=0).fit(X, y)
    for label in model.classes_:
        drawn, labels = model.sample(200, y=label, random_state=1)
        assert (labels == label).all() and drawn.shape == (200, 40) and (drawn == np.floor(drawn)).all()
        assert model.score(drawn, labels) > 0.8
        own = X[y == label].mean(axis=0)
        assert np.corrcoef(drawn.mean(axis=0), own)[0, 1] > 0.95


def test_top_words_name_the_classes_topics():
    X, y = documents()
    model = LDAClassifier(random_state=0).fit(X, y)
    names = [f"w{j}" for j in range(X.shape[1])]
    words = model.top_words(names, 5)
    assert list(words) == ["sport", "trade"]
    assert all(len(topics) == 2 and all(len(topic) == 5 for topic in topics) for topics in words.values())
    with pytest.raises(ValueError, match="the vocabulary has 3 words, the model 40 columns"):
        model.top_words(["a", "b", "c"])


def test_errors_say_what_is_wrong_and_change_nothing():
    X, y = documents(60)
    for options, message in [
        ({"n_topics": 0}, "n_topics=0 is not a whole number of at least 1"),
        ({"inference": "magic"}, "inference='magic' is not one of"),
        ({"loss": "squared"}, "loss='squared' is not one of"),
        ({"concentration": -1.0}, "concentration=-1.0 is neither a positive number"),
        ({"row_norm": 0}, "row_norm=0 is neither a positive number, None"),
        ({"n_jobs": 0}, "n_jobs=0 is neither None"),
    ]:
        with pytest.raises(ValueError, match=message):
            LDAClassifier(**options).fit(X, y)
    model = LDAClassifier(random_state=0).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match="Negative values in data"):
        model.fit(-X, y)
    with pytest.raises(ValueError, match="missing counts"):
        model.fit(np.where(X > 3, np.nan, X), y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("loss", LOSSES)
def test_hard_rows_give_finite_parameters(loss):
    generator = np.random.default_rng(0)
    rows = [
        np.zeros((6, 3)),
        np.eye(6)[:, :3] * 1e6,
        generator.poisson(1e4, (6, 3)).astype(float),
        generator.random((6, 3)) * 1e-9,
        np.ones((6, 1)),
    ]
    for X in rows:
        model = LDAClassifier(loss=loss, random_state=0).fit(X, [0, 1, 2, 0, 1, 2])
        assert model.moments_.is_finite() and model._stored_model.in_domain(model.moments_)
        assert np.isfinite(model.predict_log_proba(X)).all()
