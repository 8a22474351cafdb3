"""The estimators keep scikit-learn's contract, equal its models under `nll`, and do what their docstrings say."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from estimators import ESTIMATORS, LOSSES, rows_for, table
from scipy import integrate, sparse
from sklearn import discriminant_analysis, naive_bayes
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    LDAClassifier,
    MultinomialNB,
    PoissonNB,
)
from suffice.choosing.calibration import log_probabilities
from suffice.engines.threads import SHARD

NAMES = tuple(ESTIMATORS)
DENSITIES = tuple(name for name in NAMES if name != "ComplementNB")  # probability models of the rows
SPARSE = tuple(name for name in NAMES if name != "CategoricalNB")


@parametrize_with_checks(
    list(ESTIMATORS.values()),
    expected_failed_checks=lambda estimator: (
        {"check_class_weight_classifiers": "feeds negative numbers"}
        if isinstance(estimator, (MultinomialNB, PoissonNB))
        else {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [PoissonNB, MultinomialNB, ComplementNB, LDAClassifier])
def test_class_weights_of_counts_are_weights_of_rows(cls):
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.1).astype(int)
    X = rng.poisson(3.0 + np.outer(y, [4, 0, 0, 0]), (300, 4))
    weighted = cls(class_weight={0: 1.0, 1: 5.0}, random_state=0).fit(X, y)
    same = cls(random_state=0).fit(X, y, np.where(y, 5.0, 1.0))
    np.testing.assert_allclose(weighted.predict_proba(X), same.predict_proba(X))
    even, plain = (cls(class_weight=weight, random_state=0).fit(X, y).predict(X) for weight in ("balanced", None))
    assert even.mean() > plain.mean()


# -- maximum likelihood is scikit-learn's ------------------------------------------------------------------------------


def same_joint(ours, theirs, X, y, sample_weight=None):
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    ours, theirs = ours.fit(X, y, **weight), theirs.fit(X, y, **weight)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-6, atol=1e-8)
    return ours, theirs


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_gaussian_nb_is_scikit_learns(name):
    X, y = table(name)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    ours, theirs = same_joint(GaussianNB(loss="nll", prior=0), naive_bayes.GaussianNB(var_smoothing=0), X, y, weight)
    np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=1e-9)
    np.testing.assert_allclose(ours.var_, theirs.var_, rtol=1e-6)
    np.testing.assert_allclose(ours.class_prior_, theirs.class_prior_)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_multinomial_nb_is_scikit_learns(alpha, make):
    X, y = table("digits")
    ours, theirs = same_joint(
        MultinomialNB(loss="nll", prior=alpha), naive_bayes.MultinomialNB(alpha=alpha), make(X), y
    )
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-9)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_complement_nb_is_scikit_learns(alpha, make):
    X, y = table("digits")
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    ours, theirs = same_joint(
        ComplementNB(loss="nll", prior=alpha), naive_bayes.ComplementNB(alpha=alpha), make(X), y, weight
    )
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)
    np.testing.assert_allclose(ours.feature_count_, theirs.feature_count_, atol=1e-8)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_bernoulli_nb_is_scikit_learns(alpha, make):
    X, y = table("digits")
    ours, theirs = same_joint(
        BernoulliNB(loss="nll", prior=alpha, binarize=7.0),
        naive_bayes.BernoulliNB(alpha=alpha, binarize=7.0),
        make(X),
        y,
    )
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
def test_categorical_nb_is_scikit_learns(alpha):
    X, y = rows_for("CategoricalNB")
    ours, theirs = same_joint(CategoricalNB(loss="nll", prior=alpha), naive_bayes.CategoricalNB(alpha=alpha), X, y)
    for one, other in zip(ours.feature_log_prob_, theirs.feature_log_prob_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_full_discriminant_is_scikit_learns(name):
    """Older scikit-learns divide a covariance by n - 1, newer ones by n: compared after that known factor."""
    X, y = table(name)
    ours = GaussianDiscriminant(covariance="full", loss="nll", prior=0).fit(X, y)
    theirs = discriminant_analysis.QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    likelihood = np.array([np.cov(X[y == k].T, bias=True) for k in range(3)])
    shrink = np.array(
        [np.trace(one) / np.trace(other) for one, other in zip(likelihood, theirs.covariance_, strict=True)]
    )
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
    np.testing.assert_allclose(ours.covariance_, likelihood, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.covariance_, shrink[:, None, None] * theirs.covariance_, rtol=1e-8, atol=1e-10)
    d, logdets = X.shape[1], np.linalg.slogdet(np.array(theirs.covariance_))[1]
    distances = -2 * (theirs.decision_function(X) - np.log(theirs.priors_)) - logdets
    expected = np.log(theirs.priors_) - 0.5 * (
        d * np.log(2 * np.pi) + logdets + d * np.log(shrink) + distances / shrink
    )
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), expected, rtol=1e-8, atol=1e-7)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_tied_discriminant_is_scikit_learns(name):
    """LinearDiscriminantAnalysis(solver="lsqr") has the same covariance; scores up to a constant of the row."""
    X, y = table(name)
    ours = GaussianDiscriminant(covariance="tied", loss="nll", prior=0).fit(X, y)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    np.testing.assert_allclose(ours.means_, theirs.means_, rtol=1e-9)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-8, atol=1e-10)
    expected = theirs.decision_function(X)
    joint = ours.predict_joint_log_proba(X)
    np.testing.assert_allclose(joint - joint[:, :1], expected - expected[:, :1], rtol=1e-8, atol=1e-7)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-8, atol=1e-7)


def test_poisson_nb_is_the_closed_form():
    X, y = rows_for("PoissonNB")
    model = PoissonNB(loss="nll", prior=0).fit(X, y)
    np.testing.assert_allclose(model.rate_, [X[y == k].mean(axis=0) for k in range(3)], rtol=1e-10)
    np.testing.assert_allclose(np.exp(model.class_log_prior_), np.bincount(y) / len(y))


# -- input -------------------------------------------------------------------------------------------------------------


def fitted(name: str, loss: str = "ncll", **options):
    X, y = rows_for(name)
    return clone(ESTIMATORS[name]).set_params(loss=loss, random_state=0, **options).fit(X, y)


def same_predictions(one, other, X, atol=1e-9):
    np.testing.assert_allclose(one.predict_joint_log_proba(X), other.predict_joint_log_proba(X), rtol=1e-7, atol=atol)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_rows_equal_dense_rows(name, loss):
    X, y = rows_for(name)
    dense = fitted(name, loss)
    rows = clone(dense).fit(sparse.csr_matrix(X), y)
    same_predictions(dense, rows, X, atol=1e-6)
    np.testing.assert_allclose(rows.predict_proba(sparse.csr_matrix(X)), rows.predict_proba(X), atol=1e-9)
    if name in DENSITIES:
        np.testing.assert_allclose(rows.score_samples(sparse.csr_matrix(X)), rows.score_samples(X), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_frames_and_lists_equal_arrays(name):
    X, y = rows_for(name)
    array = fitted(name)
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    from_frame = clone(array).fit(frame, pd.Series(y))
    np.testing.assert_array_equal(array.predict_joint_log_proba(X), from_frame.predict_joint_log_proba(frame))
    assert list(from_frame.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(
        array.predict_proba(X), clone(array).fit(X.tolist(), y.tolist()).predict_proba(X.tolist())
    )


@pytest.mark.parametrize("name", NAMES)
def test_labels_may_be_strings(name):
    X, y = rows_for(name)
    words = np.array(["ash", "birch", "cedar"])[y]
    model = clone(fitted(name)).fit(X, words)
    np.testing.assert_array_equal(model.predict(X), np.array(["ash", "birch", "cedar"])[fitted(name).predict(X)])
    assert list(model.classes_) == ["ash", "birch", "cedar"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_weight_two_is_the_row_twice(name, loss):
    """At one prior (choosing it deals out rows, not weights) and at the optimum."""
    X, y = rows_for(name)
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    options = {"max_epochs": 400, "tol": 1e-7, "prior": 2.0}
    model = clone(ESTIMATORS[name]).set_params(loss=loss, random_state=0, **options)
    one, other = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[twice], y[twice])
    atol = 1e-8 if loss == "nll" else 2e-3 if loss == "ncll" else 5e-2
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=atol)


@pytest.mark.parametrize("name", NAMES)
def test_weight_zero_is_no_row(name):
    X, y = rows_for(name)
    keep = np.arange(len(y)) % 4 != 3
    one = clone(ESTIMATORS[name]).set_params(loss="nll").fit(X, y, sample_weight=keep.astype(float))
    other = clone(one).fit(X[keep], y[keep])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_shards_give_the_bits_of_the_whole(name):
    """Under the likelihood, batches of whole shards are the same sums in the same order."""
    X, y = rows_for(name, n=2 * SHARD + 500)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    whole = clone(ESTIMATORS[name]).set_params(loss="nll", prior=1.0).fit(X, y, weight)
    parts = clone(whole)
    for rows in (slice(0, SHARD), slice(SHARD, 2 * SHARD), slice(2 * SHARD, None)):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2], sample_weight=weight[rows])
    np.testing.assert_array_equal(parts.moments_.flat(), whole.moments_.flat())


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_jobs_changes_no_bit(name, loss):
    X, y = rows_for(name)
    one = fitted(name, loss)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.moments_.flat(), one.moments_.flat())
    assert two.choice_.setting == one.choice_.setting


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_rows_does_not_matter(name, loss):
    """At one prior (choosing it deals out rows by their place; words count in units of rows of length 10) and at the optimum."""
    X, y = rows_for(name)
    prior = 50.0 if name == "MultinomialNB" else 2.0
    order = np.random.default_rng(1).permutation(len(y))
    model = clone(ESTIMATORS[name]).set_params(loss=loss, random_state=0, max_epochs=400, tol=1e-7, prior=prior)
    one, other = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    atol = 1e-8 if loss == "nll" else 2e-3 if loss == "ncll" else 5e-2
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=atol)


# -- prediction --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAMES)
def test_probabilities_are_the_joint_normalised(name, loss):
    X, _ = rows_for(name)
    model = fitted(name, loss)
    scores = model.temperature_ * model.predict_joint_log_proba(X)
    expected = np.exp(
        log_probabilities(scores, model.rivalry_)
    )  # softmax where rivalry_ is 1: tests/test_calibration.py
    frequency = (model.class_count_ + 1) / (model.class_count_ + 1).sum()
    expected = (1 - model.background_) * expected + model.background_ * frequency
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("name", NAMES)
def test_a_cost_matrix_by_brute_force(name):
    X, _ = rows_for(name)
    model = fitted(name)
    cost = np.array([[0.0, 1.0, 20.0], [2.0, 0.0, 3.0], [1.0, 5.0, 0.0]])  # true class by said class
    said = []
    for probabilities in model.predict_proba(X):
        expected = [sum(p * cost[true, say] for true, p in enumerate(probabilities)) for say in range(3)]
        said.append(model.classes_[int(np.argmin(expected))])
    np.testing.assert_array_equal(model.predict(X, cost=cost), said)
    np.testing.assert_array_equal(
        model.predict(X, cost=1.0 - np.eye(3)), model.classes_[model.predict_proba(X).argmax(axis=1)]
    )


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["GaussianNB", "tied", "full", "diag"])
def test_density_of_one_column_integrates_to_one(name, loss):
    X, y = rows_for(name, n_features=1)
    model = clone(ESTIMATORS[name]).set_params(loss=loss, random_state=0).fit(X, y)
    total = integrate.quad(
        lambda x: float(np.exp(model.score_samples([[x]])[0])), -60, 60, points=[-2, 0, 2], limit=200
    )[0]
    assert total == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["BernoulliNB", "CategoricalNB"])
def test_probabilities_of_all_rows_add_up_to_one(name, loss):
    values = (0.0, 1.0) if name == "BernoulliNB" else (0.0, 1.0, 2.0)
    every = np.array(list(itertools.product(values, repeat=4)))
    assert np.exp(fitted(name, loss).score_samples(every)).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_of_all_counts_add_up_to_one(loss):
    X, y = rows_for("PoissonNB", n_features=2)
    model = PoissonNB(loss=loss, unit=1.0, random_state=0).fit(X, y)
    every = np.array(list(itertools.product(range(60), repeat=2)), dtype=float)
    assert np.exp(model.score_samples(every)).sum() == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize("name", DENSITIES)
def test_samples_have_the_moments_of_the_model(name):
    """Means of 20 000 rows a class within 5 standard errors; shares of classes within 5 as well (fixed seed)."""
    model = fitted(name)
    X, y = model.sample(20_000, random_state=1)
    share = model.moments_.mass / model.moments_.mass.sum()
    assert np.abs(np.bincount(y, minlength=3) / len(y) - share).max() < 5 * np.sqrt(0.25 / len(y))
    n = 20_000
    for k, label in enumerate(model.classes_):
        X, y = model.sample(n, y=label, random_state=2)
        assert (y == label).all()
        assert np.isfinite(X).all()
        expected = column_means(model, k)
        if name == "MultinomialNB":
            X = X / X.sum(axis=1).mean()
        assert (np.abs(X.mean(axis=0) - expected) <= 5 * X.std(axis=0) / np.sqrt(n) + 1e-12).all()


def column_means(model, k: int) -> np.ndarray:
    if hasattr(model, "theta_"):
        return model.theta_[k]
    if hasattr(model, "means_"):
        return model.means_[k]
    if hasattr(model, "rate_"):
        return model.rate_[k]
    if hasattr(model, "categories_"):
        pairs = zip(model.feature_log_prob_, model.categories_, strict=True)
        return np.array([np.exp(logs[k]) @ values for logs, values in pairs])
    return np.exp(model.feature_log_prob_[k])


def test_sample_is_reproducible_and_takes_labels():
    model = fitted("GaussianNB")
    np.testing.assert_array_equal(model.sample(5, random_state=3)[0], model.sample(5, random_state=3)[0])
    assert list(model.sample(3, y=[2, 0, 1])[1]) == [2, 0, 1]


# -- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_partial_fit_of_nll_is_fit(name):
    X, y = rows_for(name)
    whole = fitted(name, "nll", prior=1.0)
    parts = clone(whole)
    for rows in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
@pytest.mark.parametrize("name", NAMES)
def test_partial_fit_of_a_stream_classifies(name, loss):
    """Ten calls over the same rows: finite, and at most 5 points below what maximum likelihood reaches in training."""
    X, y = rows_for(name, n=600)
    model = clone(ESTIMATORS[name]).set_params(loss=loss, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in np.array_split(np.arange(len(y)), 10):
            model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
            assert model.moments_.is_finite()
    likelihood = clone(model).set_params(loss="nll").fit(X, y)
    assert model.score(X, y) >= likelihood.score(X, y) - 0.05


@pytest.mark.parametrize("name", NAMES)
def test_warm_start_begins_at_the_last_fit(name):
    X, y = rows_for(name)
    model = (
        clone(ESTIMATORS[name])
        .set_params(prior=2.0, warm_start=True, random_state=0, tol=1e-4, max_epochs=1000)
        .fit(X, y)
    )
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= max(2, cold // 2)
    assert model.converged_


@pytest.mark.parametrize("name", NAMES)
def test_class_prior_takes_the_place_of_the_learned_one(name):
    X, _ = rows_for(name)
    share = np.array([0.2, 0.3, 0.5])
    model = fitted(name, "nll", class_prior=share)
    plain = fitted(name, "nll")
    found = plain.moments_.mass / plain.moments_.mass.sum()
    expected = plain.predict_joint_log_proba(X) + np.log(share / found)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["auto", "incremental", "stochastic", "batch"])
@pytest.mark.parametrize("name", NAMES)
def test_history_says_what_happened(name, algorithm):
    model = fitted(name, prior=2.0, algorithm=algorithm)
    for column in ("objective", "nll", "ncll", "hinge", "accuracy", "shortened", "seconds"):
        assert len(model.history_[column]) == model.n_iter_ >= 1
        assert np.isfinite(model.history_[column]).all()
    best = np.array(model.history_["best"])
    assert (best <= model.history_["objective"]).all() and best[-1] == best.min()
    assert isinstance(model.stopped_, str)


@pytest.mark.parametrize(
    ("name", "algorithm"),
    [
        *itertools.product(NAMES, ["auto", "stochastic", "batch"]),
        *itertools.product(DENSITIES, ["paper"]),
    ],
)
def test_seeds_reproduce(name, algorithm):
    prior = "auto" if algorithm == "auto" else 2.0  # choosing a prior is part of the default; once is enough
    one, other = (fitted(name, algorithm=algorithm, prior=prior, max_epochs=5) for _ in range(2))
    np.testing.assert_array_equal(one.moments_.flat(), other.moments_.flat())


def test_verbose_prints_a_line_a_pass(capsys):
    model = fitted("GaussianNB", prior=2.0, verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == model.n_iter_


def test_missing_cells_of_categories_unseen_in_training():
    X, _ = rows_for("CategoricalNB")
    model = fitted("CategoricalNB")
    row = X[:1].copy()
    row[0, 1] = 77.0
    with pytest.warns(UserWarning, match="not seen in training"):
        assert np.isfinite(model.predict_proba(row)).all()


def test_one_class_is_always_predicted():
    for name in NAMES:
        X, _ = rows_for(name)
        model = clone(ESTIMATORS[name]).fit(X, np.full(len(X), "only"))
        assert (model.predict(X) == "only").all()
        np.testing.assert_allclose(model.predict_proba(X), 1.0)


@pytest.mark.parametrize("covariance", ["tied", "full", "diag"])
def test_one_class_with_missing_cells_is_a_density(covariance):
    """There is nothing to discriminate, so every loss gives the maximum-likelihood estimate; one row is enough."""
    X = np.random.default_rng(0).standard_normal((50, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + 3
    X[::3, 0] = np.nan
    fits = [GaussianDiscriminant(covariance=covariance, loss=loss).fit(X, np.zeros(50)) for loss in LOSSES]
    for other in fits[1:]:
        np.testing.assert_allclose(other.score_samples(X), fits[0].score_samples(X), rtol=1e-9)
    one = GaussianDiscriminant(covariance=covariance).fit([[np.nan, 0.0]], [0])
    assert np.isfinite(one.moments_.flat()).all()


# -- messages ----------------------------------------------------------------------------------------------------------

BAD_ARGUMENTS = [
    ({"loss": "ncl"}, "loss='ncl' is not one of 'nll', 'ncll', 'hinge'"),
    ({"prior": "jeffreys"}, "prior='jeffreys'"),
    ({"prior": -1.0}, r"prior=-1\.0"),
    ({"prior": np.inf}, "prior=inf"),
    ({"prior": True}, "prior=True"),
    ({"prior": 0}, "prior=0"),
    ({"algorithm": "adam"}, "algorithm='adam'"),
    ({"max_epochs": 0}, "max_epochs=0"),
    ({"max_epochs": 2.5}, r"max_epochs=2\.5"),
    ({"tol": -1.0}, r"tol=-1\.0"),
    ({"tol": "small"}, "tol='small'"),
    ({"n_jobs": 0}, "n_jobs=0"),
    ({"step_size": "fast"}, "step_size='fast'"),
    ({"class_prior": [0.5, 0.5]}, "class_prior="),
    ({"class_prior": [0.5, 0.5, 0.5]}, "class_prior="),
]


@pytest.mark.parametrize(("options", "message"), BAD_ARGUMENTS, ids=[str(options) for options, _ in BAD_ARGUMENTS])
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_argument_is_named_and_the_fit_is_kept(name, options, message):
    X, y = rows_for(name)
    model = fitted(name)
    before = model.predict_joint_log_proba(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(X, y)
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)


OWN_ARGUMENTS = [
    (MultinomialNB(row_norm=-1.0), "row_norm="),
    (MultinomialNB(row_norm="long"), "row_norm="),
    (ComplementNB(algorithm="paper"), "algorithm="),
    (ComplementNB(prior=0), "prior=0"),
    (PoissonNB(unit=-1.0), "unit="),
    (PoissonNB(unit="metre"), "unit="),
    (CategoricalNB(min_categories=1.5), "min_categories="),
    (BernoulliNB(binarize=None), "binarize="),
    (GaussianDiscriminant(covariance="spherical"), "covariance='spherical'"),
]


@pytest.mark.parametrize(("model", "message"), OWN_ARGUMENTS, ids=[message for _, message in OWN_ARGUMENTS])
def test_a_wrong_argument_of_its_own_is_named(model, message):
    X, y = rows_for("PoissonNB")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("name", ["MultinomialNB", "ComplementNB", "PoissonNB"])
def test_negative_counts_are_named(name):
    X, y = rows_for(name)
    with pytest.raises(ValueError, match=r"Negative values.*-3"):
        clone(ESTIMATORS[name]).fit(np.where(np.arange(4) == 1, -3.0, X), y)


def test_wrong_costs_are_named():
    X, _ = rows_for("GaussianNB")
    for cost in (np.eye(2), np.ones(3), np.full((3, 3), np.nan)):
        with pytest.raises(ValueError, match=r"cost has shape .*\(3, 3\)"):
            fitted("GaussianNB").predict(X, cost=cost)


def test_an_unknown_class_is_named():
    with pytest.raises(ValueError, match=r"y=.*7.* is not one of the classes"):
        fitted("GaussianNB").sample(2, y=7)
    X, y = rows_for("GaussianNB")
    with pytest.raises(ValueError, match="classes="):
        GaussianNB().partial_fit(X, y)
    with pytest.raises(ValueError, match=r"labels.*2.*classes"):
        GaussianNB().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="classes="):
        GaussianNB().partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("name", NAMES)
def test_data_that_cannot_be_fitted_leave_a_fitted_estimator_as_it_was(name):
    X, y = rows_for(name)
    bad = [
        (np.empty((0, 4)), np.empty(0), {}),
        (np.where(np.arange(4) == 2, np.inf, X), y, {}),
        (X, y[:-1], {}),
        (X, np.linspace(0, 1, len(y)), {}),
        (X, y, {"sample_weight": np.zeros(len(y))}),
        (X, y, {"sample_weight": -np.ones(len(y))}),
    ]
    if name in ("MultinomialNB", "ComplementNB", "PoissonNB"):
        bad.append((-1.0 - X, y, {}))
    for rows, labels, options in bad:
        model = fitted(name)
        before, classes = model.predict_joint_log_proba(X), model.classes_.copy()
        with pytest.raises(ValueError):
            model.fit(rows, labels, **options)
        np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)
        np.testing.assert_array_equal(model.classes_, classes)
        model.predict(X)


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_fit_on_other_data_leaves_a_fitted_estimator_as_it_was(name):
    """Other classes, another number of columns: nothing of them may stay behind."""
    X, y = rows_for(name)
    model = fitted(name)
    before = model.predict_joint_log_proba(X)
    wide, more = np.hstack([X, X]), np.arange(len(y)) % 5
    with pytest.raises(ValueError):
        model.set_params(class_prior=[0.5, 0.5]).fit(wide, more)
    assert model.n_features_in_ == 4
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), before)
