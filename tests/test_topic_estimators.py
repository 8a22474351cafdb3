"""The topic estimators keep scikit-learn's contract and do what their docstrings say."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import load, save
from suffice.engines.threads import in_company
from suffice.kernels.machine import atomic
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
    ],
    expected_failed_checks=lambda estimator: (
        {"check_class_weight_classifiers": "feeds negative numbers"} if isinstance(estimator, LDAClassifier) else {}
    ),
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
        ({"n_topics": 0}, "n_topics=0 is not a positive whole number"),
        ({"inference": "magic"}, "inference='magic' is not one of"),
        ({"loss": "squared"}, "loss='squared' is not one of"),
        ({"loss": "squared", "inference": "gibbs"}, "loss='squared' is not one of"),
        ({"n_sweeps": "five", "inference": "gibbs"}, "n_sweeps='five' is not a positive whole number"),
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


# -- unsupervised -------------------------------------------------------------------------------------------------------

UNSUPERVISED = (
    {"inference": "variational"},
    {"inference": "variational", "algorithm": "batch"},
    {"inference": "map", "algorithm": "batch"},
    {"inference": "gibbs"},
)


def corpus(n=400, seed=0):
    """Three topics of ten words each, and what is left of every document when a fifth of its words are held out."""
    generator = np.random.default_rng(seed)
    topics = np.kron(np.eye(3), np.full(10, 0.09)) + 0.1 / 30
    phi = generator.dirichlet(np.full(3, 0.3), n)
    X = np.array([generator.multinomial(40, p @ topics) for p in phi], dtype=float)
    held = generator.binomial(X.astype(int), 0.2).astype(float)
    return X, X - held, held, topics, phi


@pytest.mark.parametrize("options", UNSUPERVISED)
def test_topics_are_found(options):
    X, observed, held, topics, phi = corpus()
    model = LatentDirichletAllocation(3, random_state=0, **options).fit(X[:300])
    match = [int(np.abs(model.topics_ - topic).sum(axis=1).argmin()) for topic in topics]
    assert sorted(match) == [0, 1, 2]
    assert np.abs(model.topics_[match] - topics).sum(axis=1).max() < 0.25
    proportions = model.transform(X[300:])
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0)
    assert np.abs(proportions[:, match] - phi[300:]).mean() < 0.08
    completed = model.perplexity(observed[300:], held[300:])
    ideal = np.exp(-(held[300:] * np.log(phi[300:] @ topics)).sum() / held[300:].sum())
    assert ideal < completed.mean < 1.1 * ideal
    assert "document completion" in completed.estimator
    left = model.left_to_right(X[300:320])
    assert left.estimator == "left-to-right" and np.isfinite(left.per_sample).all()
    if options["inference"] == "variational":  # a lower bound of what is estimated without bias
        assert model.score(X[300:320]) <= left.per_sample.mean() + 1.0
    assert model.coherence(X).mean > 0.1


def test_batch_em_never_falls():
    X, *_ = corpus(120)
    for inference in ("variational", "map"):
        options = {"algorithm": "batch", "tol": 0.0, "max_iter": 30, "random_state": 0}
        history = LatentDirichletAllocation(3, inference=inference, **options).fit(X).history_
        assert len(history) > 5 and np.diff(history).min() >= -1e-6 * abs(history[0])


@pytest.mark.parametrize("options", UNSUPERVISED)
def test_unsupervised_threads_seeds_streams_and_files(options, tmp_path):
    X, observed, held, *_ = corpus(300)
    one = LatentDirichletAllocation(3, random_state=1, max_iter=8, **options).fit(X)
    two = LatentDirichletAllocation(3, random_state=1, max_iter=8, n_jobs=2, **options).fit(sparse.csr_matrix(X))
    assert np.array_equal(one.components_, two.components_)
    save(one, tmp_path / "topics.suffice")
    np.testing.assert_array_equal(load(tmp_path / "topics.suffice").transform(X), one.transform(X))
    stream = LatentDirichletAllocation(3, random_state=1, **options)
    for _ in range(6):
        for first in range(0, 300, 50):
            stream.partial_fit(X[first : first + 50])
    assert stream.perplexity(observed, held).mean < 1.15 * one.perplexity(observed, held).mean
    assert stream.sample(7, random_state=0).shape == (7, 30)


def test_gibbs_classifier_options():
    X, y = documents()
    for options in (
        {},
        {"loss": "hinge"},
        {"loss": "nll"},
        {"share_word_topic": False},
        {"likelihood": "variational"},
        {"likelihood": "left-to-right"},
    ):
        model = LDAClassifier(inference="gibbs", random_state=0, **options).fit(X[:160], y[:160])
        assert model.score(X[160:], y[160:]) > 0.8
        np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X))
    model = LDAClassifier(inference="gibbs", train_likelihood="left-to-right", n_sweeps=3, max_epochs=2, random_state=0)
    assert model.fit(X[:160], y[:160]).score(X[160:], y[160:]) > 0.75
    with pytest.raises(ValueError, match="train_likelihood='variational' is not one of"):
        LDAClassifier(train_likelihood="variational").fit(X, y)


def test_threads_in_company_share_work_and_an_error_ends_all():
    done = [0, 0, 0]

    def work(thread):
        done[thread] += 1
        return done[thread] == 3  # "no" twice

    in_company(work, 3)
    assert done == [3, 3, 3]

    def fail(thread):
        if thread == 1:
            raise ZeroDivisionError("of a thread")
        return False  # would wait for ever

    with pytest.raises(ZeroDivisionError, match="of a thread"):
        in_company(fail, 3)


def test_counters_lose_nothing():
    counters = np.zeros(16, dtype=np.int64)
    found = [0] * 4

    def work(thread):
        found[thread] = taken(counters, 20_000)
        return True

    in_company(work, 4)
    assert counters[8] == sum(found) == 20_000 * 20_001 // 2  # each number once, and the sum of them all


@numba.njit(nogil=True)
def taken(counters, n):
    total = 0
    while True:
        number = atomic.add(counters, 0, 1) + 1
        if number > n:
            return total
        total += number
        atomic.add(counters, 8, number)


def test_a_document_of_billions_of_words_takes_the_memory_of_its_different_words():
    """Occurrences share a topic: what is sampled for is a word. (Found by the fuzzer: 100 GB of tokens were asked for.)"""
    X = np.full((4, 3), 1e9)
    X[:2, 0] *= 2
    model = LDAClassifier(inference="gibbs", max_epochs=2, n_sweeps=2, random_state=0).fit(X, [0, 0, 1, 1])
    assert np.isfinite(model.predict_proba(X)).all()
