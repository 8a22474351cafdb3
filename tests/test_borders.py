"""Borders: a sparse matrix that is not whole, and parameters that were changed after `fit`, never reach compiled code."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import suffice
from suffice.choosing.calibration import log_probabilities
from suffice.losses.base import posteriors
from suffice.reading.sparse import checked_sparse

GENERATOR = np.random.default_rng(0)
COUNTS = sparse.csr_matrix(GENERATOR.poisson(1.0, (60, 6)).astype(float))
LABELS = np.arange(60) % 3
TAKES_SPARSE = {
    "GaussianNB": {}, "MultinomialNB": {}, "ComplementNB": {}, "BernoulliNB": {}, "CategoricalNB": {}, "PoissonNB": {},
    "GaussianDiscriminant": {}, "LDAClassifier": {"max_epochs": 2, "nll_passes": 2}, "MixtureClassifier": {"prior": 1.0},
    "GaussianMixture": {"n_components": 2}, "BernoulliMixture": {"n_components": 2, "binarize": 0.5},
    "PoissonMixture": {"n_components": 2}, "MultinomialMixture": {"n_components": 2},
    "LatentDirichletAllocation": {"n_topics": 2, "max_iter": 2},
    "SigmoidBeliefNetwork": {"hidden": (2,), "max_iter": 1, "data": "count"},
}  # fmt: skip


def made(name: str):
    options = {"loss": "nll"} if name.endswith("NB") or name == "GaussianDiscriminant" else {}
    return getattr(suffice, name)(random_state=0, **options, **TAKES_SPARSE[name])


def damaged(way: str, X=COUNTS):
    X = X.copy()
    if way == "high":
        X.indices[7] = 10**6
    elif way == "negative":
        X.indices[7] = -5
    elif way == "just above":
        X.indices[-1] = X.shape[1]
    elif way == "falls":
        X.indptr[30] = X.indptr[31] + 10
    elif way == "not from 0":
        X.indptr[0] = 3
    elif way == "negative pointer":
        X.indptr[5] = -4
    elif way == "beyond":
        X.indptr[-1] += 1000
    elif way == "short pointers":
        X.indptr = X.indptr[:-3]
    elif way == "short data":
        X.data = X.data[:-3]
    elif way == "float indices":
        X.indices = X.indices.astype(float)
    return X


WAYS = (
    "high",
    "negative",
    "just above",
    "falls",
    "not from 0",
    "negative pointer",
    "beyond",
    "short pointers",
    "short data",
)


@pytest.mark.parametrize("way", [*WAYS, "float indices"])
def test_a_damaged_matrix_is_refused_by_every_estimator(way):
    for name in TAKES_SPARSE:
        with pytest.raises(ValueError, match=r"\bX\b"):
            made(name).fit(damaged(way), LABELS)
    model = suffice.MultinomialNB(loss="nll").fit(COUNTS, LABELS)
    for method in (model.predict, model.predict_proba, model.score_samples, lambda X: model.partial_fit(X, LABELS)):
        with pytest.raises(ValueError, match=r"\bX\b"):
            method(damaged(way))


@pytest.mark.parametrize("kind", ["csc", "coo"])
def test_damage_in_other_formats_is_refused(kind):
    X = COUNTS.asformat(kind)
    if kind == "csc":
        X.indices[3] = 10**6
    else:
        X.row = X.row.copy()
        X.row[3] = 10**6
    with pytest.raises(ValueError, match=r"\bX\b"):
        suffice.MultinomialNB().fit(X, LABELS)


def with_duplicates(X):
    """The same matrix, every cell in two halves, rows in no order."""
    entries = X.tocoo()
    order = np.random.default_rng(1).permutation(2 * X.nnz)
    rows, columns, values = (np.tile(part, 2)[order] for part in (entries.row, entries.col, entries.data / 2))
    by_row = np.argsort(rows, kind="stable")
    pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=X.shape[0]))])
    return sparse.csr_matrix((values[by_row], columns[by_row], pointers), X.shape)


@pytest.mark.parametrize("name", [name for name in TAKES_SPARSE if name != "SigmoidBeliefNetwork"])
def test_cells_given_twice_are_added(name):
    twice = with_duplicates(COUNTS)
    before = twice.nnz
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = made(name).fit(COUNTS, LABELS), made(name).fit(twice, LABELS)
        answer = "predict_proba" if hasattr(one, "predict_proba") else "transform"
        expected = getattr(one, answer)(COUNTS)
        np.testing.assert_array_equal(getattr(other, answer)(COUNTS), expected)
        np.testing.assert_array_equal(getattr(one, answer)(twice), expected)
    assert twice.nnz == before, "the caller's matrix was changed"


def test_a_whole_matrix_is_not_copied():
    assert checked_sparse(COUNTS) is COUNTS
    stale = with_duplicates(COUNTS)
    stale.has_canonical_format = True  # what a matrix says of itself may be old
    np.testing.assert_array_equal(checked_sparse(stale).toarray(), COUNTS.toarray())


def with_long_indices(X):
    long = X.copy()
    long.indices, long.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return long


def test_indices_of_64_bits_become_shorter_where_they_fit():
    """Loops were compiled once more for them."""
    long = with_long_indices(COUNTS)
    found = checked_sparse(long)
    assert found.indices.dtype == found.indptr.dtype == np.int32 and found.has_canonical_format
    assert np.shares_memory(found.data, long.data) and long.indices.dtype == np.int64
    np.testing.assert_array_equal(found.toarray(), COUNTS.toarray())
    assert checked_sparse(sparse.csr_array(long)).indices.dtype == np.int32


def test_indices_that_do_not_fit_give_the_same_bits(monkeypatch):
    model = suffice.MultinomialNB(prior=1.0, random_state=0)
    expected = clone(model).fit(COUNTS, LABELS).predict_proba(COUNTS)
    monkeypatch.setattr("suffice.reading.sparse.MOST", 1)
    long = with_long_indices(COUNTS)
    assert checked_sparse(long) is long
    np.testing.assert_array_equal(clone(model).fit(long, LABELS).predict_proba(long), expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_verdict_is_that_of_scipy(data):
    """Whatever passes, scipy's own full check passes too."""
    X = COUNTS[:8].copy()
    for _ in range(data.draw(st.integers(0, 3))):
        array = data.draw(st.sampled_from([X.indices, X.indptr]))
        array[data.draw(st.integers(0, len(array) - 1))] = data.draw(
            st.sampled_from([-7, -1, 0, 1, 3, 5, 6, 40, 10**6])
        )
    try:
        found = checked_sparse(X)
    except ValueError:
        return
    found.check_format(full_check=True)
    assert found.has_canonical_format


CHANGED = [
    ("MultinomialNB", {}, {"class_prior": np.full(100_000, 1e-5)}),
    ("MultinomialNB", {}, {"class_prior": [0.5, 0.5]}),
    ("ComplementNB", {}, {"class_prior": [0.5, 0.5]}),
    ("LDAClassifier", {}, {"class_prior": [0.5, 0.5]}),
    ("LDAClassifier", {}, {"n_topics": 9}),
    ("GaussianDiscriminant", {"covariance": "tied"}, {"covariance": "full"}),
    ("MixtureClassifier", {"n_components": 2}, {"n_components": 10**6}),
    ("MixtureClassifier", {}, {"family": "poisson"}),
    ("GaussianMixture", {}, {"n_components": 5}),
    ("GaussianMixture", {}, {"covariance_type": "diag"}),
    ("LatentDirichletAllocation", {}, {"n_topics": 10**4}),
    ("GaussianHMM", {"n_states": 2}, {"n_states": 3}),
]


@pytest.mark.parametrize(("name", "options", "change"), CHANGED, ids=lambda value: str(value)[:30])
def test_parameters_changed_after_fit_are_compared_with_the_model(name, options, change):
    (parameter,) = change
    model = getattr(suffice, name)(random_state=0, **(TAKES_SPARSE.get(name, {}) | options))
    X = COUNTS.toarray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, LABELS).set_params(**change)
        before = dict(vars(model))
        with pytest.raises(ValueError, match=parameter):
            model.partial_fit(X, LABELS)
    assert all(vars(model)[key] is value for key, value in before.items())


def test_a_network_answers_only_about_the_rows_it_was_fitted_to():
    X = (COUNTS.toarray() > 0).astype(float)
    model = suffice.SigmoidBeliefNetwork((2,), max_iter=1, random_state=0).fit(X).set_params(data="count")
    with pytest.raises(ValueError, match="data="):
        model.transform(X)


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 40), st.sampled_from([1.0, 2.5]), st.integers(0, 10**6))
def test_probabilities_add_up_to_one_however_large_the_scores(K, rivalry, seed):
    generator = np.random.default_rng(seed)
    scores = generator.choice([-1e300, -1e18, -1e9, -3.0, 0.0, 1e9, 1e18, 1e300, -np.inf], (20, K))
    found = np.exp(log_probabilities(np.where(np.isneginf(scores).all(axis=1)[:, None], 0.0, scores), rivalry))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    shares = posteriors(scores, np.ones(K))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_rows_far_outside_of_all_classes_still_have_probabilities():
    X = GENERATOR.normal(size=(60, 3))
    far = np.array([[-999999999.0, 0, 0], [1e99, 1e99, -1e99], [1e50, np.nan, 0]])
    for name in ("GaussianNB", "GaussianDiscriminant", "MixtureClassifier", "GaussianMixture"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(made(name)).fit(X, LABELS)
            found = model.predict_proba(far)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_a_checkpoint_that_cannot_be_written_is_found_before_training(tmp_path):
    X = GENERATOR.normal(size=(60, 3))
    with pytest.raises(ValueError, match="checkpoint="):
        suffice.GaussianNB(checkpoint=str(tmp_path / "no" / "c")).fit(X, LABELS)
    with pytest.raises(ValueError, match="checkpoint="):
        suffice.GaussianNB(checkpoint=str(tmp_path)).fit(X, LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = suffice.GaussianNB(max_epochs=np.int64(3), checkpoint=str(tmp_path / "c"), checkpoint_minutes=0).fit(
            X, LABELS
        )
        model.set_params(max_epochs=3, resume=True).fit(X, LABELS)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_a_command_ends_by_a_signal(number, code, monkeypatch, capsys):
    import os
    import signal

    from suffice import cli
    from suffice.cli import app

    monkeypatch.setattr(app, "run", lambda arguments: os.kill(os.getpid(), number))
    inherited = signal.signal(
        number, signal.default_int_handler
    )  # a job in the background of a shell ignores SIGINT, and so do we
    try:
        assert cli.main(["train"]) == code
    finally:
        signal.signal(number, inherited)


def test_the_library_works_without_asserts_and_docstrings():
    import subprocess
    import sys

    script = "import suffice; print(suffice.GaussianNB(loss='nll').fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]).predict([[4.5]]))"
    done = subprocess.run([sys.executable, "-OO", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == "[1]"
