"""Mixtures as a user meets them: scikit-learn's trajectories and checks, weights, missing cells, odd rows, streams, files."""

from __future__ import annotations

import io
import itertools
import warnings

import numpy as np
import pytest
from mixture_cases import CASES, COVARIANCES, ESTIMATORS, NAMES, problem_for, rows_for
from scipy import sparse
from scipy.stats import poisson
from sklearn import mixture as theirs
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import load, save
from suffice.learners.starts import start_shares
from suffice.losses import LOSSES, loss_named
from suffice.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
    PoissonMixture,
)

# -- scikit-learn ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", COVARIANCES)
def test_trajectories_are_scikit_learns(kind):
    X, _ = rows_for("full", n=400)
    generator = np.random.default_rng(3)
    precisions = {
        "full": np.tile(np.eye(4), (3, 1, 1)),
        "tied": np.eye(4),
        "diag": np.ones((3, 4)),
        "spherical": np.ones(3),
    }
    start = {
        "weights_init": [0.2, 0.3, 0.5],
        "means_init": X[generator.choice(len(X), 3, replace=False)],
        "precisions_init": precisions[kind],
    }
    options = {"covariance_type": kind, "tol": 0.0, "max_iter": 30, "reg_covar": 1e-6, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = GaussianMixture(3, **options, **start).fit(X)
        fits = [theirs.GaussianMixture(3, **options | {"max_iter": n}, **start).fit(X) for n in range(1, 31)]
    other, bounds = fits[-1], [fit.lower_bound_ for fit in fits]
    n = min(30, len(ours.lower_bounds_))  # ours stops where nothing is gained any more, to the last digit
    assert n == 30 or abs(np.diff(bounds[n - 2 :])).max() < 1e-10
    np.testing.assert_allclose(ours.lower_bounds_[:n], bounds[:n], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.means_, other.means_, rtol=1e-7)
    np.testing.assert_allclose(ours.covariances_, other.covariances_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours.precisions_cholesky_, other.precisions_cholesky_, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ours.score_samples(X), other.score_samples(X), rtol=1e-6)
    np.testing.assert_allclose([ours.bic(X), ours.aic(X)], [other.bic(X), other.aic(X)], rtol=1e-9)


@parametrize_with_checks(
    [
        GaussianMixture(2),
        GaussianMixture(2, covariance_type="diag"),
        BernoulliMixture(2, binarize=0.0),
        CategoricalMixture(2),
        MultinomialMixture(2),
        PoissonMixture(2),
        MixedMixture(2),
        GaussianMixture(2, algorithm="variational"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- rows, weights, threads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["em", "variational"])
@pytest.mark.parametrize(("name", "missing"), CASES)
def test_weight_two_is_the_row_twice(name, missing, algorithm):
    X, _ = rows_for(name, missing)
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.random.default_rng(0).permutation(np.repeat(np.arange(len(X)), weight.astype(int)))
    model = clone(ESTIMATORS[name]).set_params(algorithm=algorithm, max_iter=20, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = clone(model).fit(X, sample_weight=weight), clone(model).fit(X[twice])
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("most", [10_000, 60])
@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
@pytest.mark.parametrize("name", NAMES)
def test_starts_see_distinct_rows_and_their_weights_alone(name, how, most, monkeypatch):
    """The same start, to rounding, from weights and from repeated rows in any order, dense or sparse, some drawn or all."""
    monkeypatch.setattr("suffice.learners.starts.MAX_ROWS", most)
    X, _ = rows_for(name, name not in ("multinomial", "full", "tied"))
    model = (
        ESTIMATORS[name]._structure(None, X, 3, np.ones(len(X)))
        if name in COVARIANCES
        else problem_for(name, False)[1].model
    )
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.random.default_rng(0).permutation(np.repeat(np.arange(len(X)), weight.astype(int)))
    same = [(X, weight), (X[twice], np.ones(len(twice)))]
    same += [] if name in ("mixed", "categorical") else [(sparse.csr_matrix(X), weight)]
    found = [start_shares(model, rows, own, how, np.random.default_rng(5))[:2] for rows, own in same]
    for rows, shares in found[1:]:
        np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, found[0][0])
        np.testing.assert_allclose(shares, found[0][1], rtol=1e-12)


@pytest.mark.parametrize("name", ["full", "tied", "diag", "bernoulli", "multinomial", "poisson"])
def test_sparse_rows_equal_dense_rows(name):
    X, weights = rows_for(name)
    dense = clone(ESTIMATORS[name]).fit(X, sample_weight=weights)
    rows = clone(ESTIMATORS[name]).fit(sparse.csr_matrix(X), sample_weight=weights)
    np.testing.assert_allclose(rows.score_samples(sparse.csr_matrix(X)), dense.score_samples(X), rtol=1e-9)


@pytest.mark.parametrize(("name", "missing"), CASES)
def test_the_number_of_threads_does_not_change_a_bit(name, missing, monkeypatch):
    monkeypatch.setattr("suffice.learners.expectation.PART", 32)
    X, _ = rows_for(name, missing)
    model = clone(ESTIMATORS[name]).set_params(max_iter=3, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = clone(model).set_params(n_jobs=1).fit(X)
        two = clone(model).set_params(n_jobs=3).fit(X)
    np.testing.assert_array_equal(one.moments_.flat(), two.moments_.flat())


@pytest.mark.parametrize("loss", [None, *LOSSES])
@pytest.mark.parametrize(("name", "missing"), CASES)
def test_one_compiled_call_for_a_shard_equals_its_readable_twin(name, missing, loss, monkeypatch):
    """Sums, likelihoods, losses and the worst row of `kernels.mixture_sums` and of the steps of the forms, one after another."""
    _, problem, start = problem_for(name, missing, np.arange(150) % 4 - 1)
    rows, coefficients = problem.rows, problem.coefficients(start)

    def found():
        if loss is not None:
            value, statistics = rows.loss(coefficients, loss_named(loss))
            return value, 0, statistics.flat()
        expected = rows.expected(coefficients)
        return expected.log_likelihood, expected.worst_row, expected.statistics.flat()

    monkeypatch.setattr(type(rows.form), "chunk", 64)
    compiled = found()
    monkeypatch.setattr(type(rows.form), "kernel", lambda self: None)
    for one, other in zip(compiled, found(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_labels_of_components_are_kept():
    X, _ = rows_for("diag")
    truth = GaussianMixture(3, covariance_type="diag", random_state=0).fit_predict(X)
    labels = np.where(np.arange(len(X)) % 5 == 0, (truth + 1) % 3, -1).astype(float)
    model = GaussianMixture(3, covariance_type="diag", random_state=1).fit(
        X, labels=np.where(labels < 0, np.nan, labels)
    )
    assert (model.predict(X) == (truth + 1) % 3).mean() > 0.9
    with pytest.raises(ValueError, match=r"labels has the value 3"):
        model.fit(X, labels=np.full(len(X), 3))
    with pytest.raises(ValueError, match=r"labels has shape"):
        model.fit(X, labels=[0, 1])


def test_thirty_percent_missing_recovers_a_planted_mixture():
    """Every parameter within five standard errors of what was planted; the standard errors are those of complete data over .7."""
    generator = np.random.default_rng(1)
    n, means = 20_000, np.array([[0.0, 0.0, 0.0], [4.0, -4.0, 2.0]])
    factor = np.array(
        [[[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.3, 1.0]], [[1.0, 0, 0], [-0.6, 0.8, 0.0], [0, 0.0, 2.0]]]
    )
    z = (generator.random(n) < 0.4).astype(int)
    X = means[z] + np.einsum("iab,ib->ia", factor[z], generator.standard_normal((n, 3)))
    X[generator.random(X.shape) < 0.3] = np.nan
    model = GaussianMixture(2, random_state=0, tol=1e-6, max_iter=500).fit(X)
    order = np.argsort(model.means_[:, 0])
    covariance = factor @ factor.transpose(0, 2, 1)
    for k, share in enumerate((0.6, 0.4)):
        seen = 0.7 * share * n
        variance = np.diag(covariance[k])
        error = np.sqrt(variance / seen)
        assert (np.abs(model.means_[order][k] - means[k]) < 5 * error).all()
        spread = np.sqrt((np.outer(variance, variance) + covariance[k] ** 2) / (0.7 * seen))
        assert (np.abs(model.covariances_[order][k] - covariance[k]) < 5 * spread).all()
        assert abs(model.weights_[order][k] - share) < 5 * np.sqrt(0.24 / n) / 0.7


def test_impute_draws_and_criteria():
    X, _ = rows_for("full", True)
    model = clone(ESTIMATORS["full"]).fit(X)
    filled, std = model.impute(X, return_std=True)
    seen = ~np.isnan(X)
    np.testing.assert_array_equal(filled[seen], X[seen])
    assert np.isfinite(filled).all() and (std[~seen] > 0).all() and (std[seen] == 0).all()
    rows, components = model.sample(20_000, random_state=1)
    assert (np.diff(components) >= 0).all()
    np.testing.assert_allclose(rows.mean(axis=0), model.weights_ @ model.means_, atol=0.1)
    assert model.bic(X) > model.aic(X)


# -- what could go wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_odd_rows_never_give_a_parameter_that_is_not_finite(name):
    generator = np.random.default_rng(0)
    constant = np.tile(rows_for(name)[0][:1], (30, 1))
    few = rows_for(name)[0][:3]
    one_differs = constant.copy()
    one_differs[0] = rows_for(name)[0][5]
    holes = np.where(generator.random((40, 4)) < 0.9, np.nan, rows_for(name)[0][:40])
    wide = rows_for(name)[0] * (1e6 if name in COVARIANCES else 1)
    odd = [constant, few, one_differs, wide] + ([holes] if name != "multinomial" else [])
    for algorithm, X in itertools.product(("em", "accelerated", "online", "variational"), odd):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = clone(ESTIMATORS[name]).set_params(algorithm=algorithm, max_iter=20)
            model.fit(X)
        assert model.moments_.is_finite(), (algorithm, X[:2])
        assert np.isfinite(model.score_samples(X)).all()


def test_a_dying_component_begins_anew_and_is_reported():
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(0, 1, (300, 2)), generator.normal(8, 1, (300, 2))])
    start = {"means_init": [[0.0, 0.0], [8.0, 8.0], [500.0, 500.0]], "precisions_init": np.ones((3, 2))}
    model = GaussianMixture(3, covariance_type="diag", random_state=0, **start).fit(X)
    assert 2 in model.reseeded_
    assert model.weights_[2] * 600 > 1
    assert (np.diff(model.history_["objective"]) <= 1e-9).all()


def test_a_collapse_without_a_prior_says_what_to_do():
    X = np.concatenate([np.zeros((20, 2)), np.random.default_rng(0).normal(5, 1, (20, 2))])
    with pytest.raises(ValueError, match="prior='auto'"):
        GaussianMixture(2, covariance_type="diag", reg_covar=0.0, random_state=0).fit(X)


BAD = [
    ({"n_components": 0}, "n_components=0"),
    ({"algorithm": "gibbs"}, "algorithm='gibbs'"),
    ({"init_params": "zeros"}, "init_params='zeros'"),
    ({"tol": -1.0}, r"tol=-1\.0"),
    ({"prior": "weak"}, "prior='weak'"),
    ({"batch_size": 0}, "batch_size=0"),
    ({"n_jobs": 0}, "n_jobs=0"),
    ({"weight_concentration_prior": 0}, "weight_concentration_prior=0"),
    ({"n_components": 1000}, "n_components = 1000"),
]


@pytest.mark.parametrize(("options", "message"), BAD, ids=[str(options) for options, _ in BAD])
def test_a_wrong_argument_is_named_and_the_fit_is_kept(options, message):
    X, _ = rows_for("poisson")
    model = clone(ESTIMATORS["poisson"]).fit(X)
    before = model.score_samples(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**options).fit(X)
    np.testing.assert_array_equal(model.score_samples(X), before)


GAUSSIAN_BAD = [
    ({"covariance_type": "round"}, "covariance_type='round'"),
    ({"reg_covar": -1.0}, "reg_covar="),
    ({"weights_init": [0.5, 0.6]}, "weights_init="),
    ({"means_init": [[0.0]]}, "means_init has shape"),
    ({"precisions_init": np.ones((1, 1))}, "precisions_init has shape"),
    ({"precisions_init": -np.tile(np.eye(4), (2, 1, 1))}, "positive definite"),
]


@pytest.mark.parametrize(("options", "message"), GAUSSIAN_BAD, ids=[message for _, message in GAUSSIAN_BAD])
def test_a_wrong_argument_of_gaussians_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        GaussianMixture(2, **options).fit(rows_for("full")[0])


# -- streams, files, starts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_comes_near_batch_em(name):
    X, _ = rows_for(name, n=6000, seed=2)
    batch = clone(ESTIMATORS[name]).set_params(tol=1e-5, max_iter=300).fit(X[:5000])
    stream = clone(ESTIMATORS[name]).set_params(batch_size=200)
    for part in np.array_split(X[:5000], 5):
        stream.partial_fit(part)
    assert stream.score(X[5000:]) > batch.score(X[5000:]) - 0.05
    online = clone(ESTIMATORS[name]).set_params(algorithm="online", batch_size=200, max_iter=3).fit(X[:5000])
    assert online.score(X[5000:]) > batch.score(X[5000:]) - 0.05


@pytest.mark.parametrize("name", [name for name in NAMES if name != "multinomial"])
def test_mini_batches_with_and_without_missing_cells(name):
    X = rows_for(name, n=40)[0].copy()
    X[3, 0] = X[17, 1] = np.nan  # in two of the batches only
    model = clone(ESTIMATORS[name]).set_params(algorithm="online", batch_size=2, max_iter=2).fit(X)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("name", NAMES)
def test_files_keep_everything_and_a_stream_goes_on(name):
    X, _ = rows_for(name)
    model = clone(ESTIMATORS[name])
    model.partial_fit(X[:100])
    buffer = io.BytesIO()
    save(model, buffer)
    buffer.seek(0)
    again = load(buffer)
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    np.testing.assert_array_equal(
        again.partial_fit(X[100:]).score_samples(X), model.partial_fit(X[100:]).score_samples(X)
    )
    np.testing.assert_array_equal(again.sample(3)[0], model.sample(3)[0])


@pytest.mark.parametrize("how", ["kmeans", "k-means++", "random", "random_from_data"])
@pytest.mark.parametrize("name", ["diag", "mixed"])
def test_every_start_works_with_missing_cells(name, how):
    X, weights = rows_for(name, True)
    X, weights = X[:80], weights[:80]
    model = clone(ESTIMATORS[name]).set_params(init_params=how, n_init=2, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, sample_weight=weights)
        single = clone(model).set_params(n_init=1).fit(X, sample_weight=weights)
    assert model.moments_.is_finite()
    assert model.history_["objective"][-1] <= single.history_["objective"][-1] + 1e-9
    np.testing.assert_array_equal(model.moments_.flat(), clone(model).fit(X, sample_weight=weights).moments_.flat())


@pytest.mark.parametrize("algorithm", ["em", "variational"])
@pytest.mark.parametrize(("name", "missing"), CASES)
def test_warm_start_goes_on_where_the_last_fit_ended(name, missing, algorithm):
    """Twice three passes are six; on other rows too it begins at the last solution."""
    X, weights = rows_for(name, missing)
    model = clone(ESTIMATORS[name]).set_params(algorithm=algorithm, max_iter=3, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        six = clone(model).set_params(max_iter=6).fit(X, sample_weight=weights)
        model.set_params(warm_start=True).fit(X, sample_weight=weights)
        before = model.score_samples(X)
        model.fit(X, sample_weight=weights)
        np.testing.assert_allclose(model.score_samples(X), six.score_samples(X), rtol=1e-7)
        model.set_params(max_iter=1).fit(X[::-1] if name in ("categorical", "mixed") else X[20:])
    if algorithm == "em":
        assert model.lower_bounds_[0] > before.mean() - 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(model.set_params(n_components=2).fit(X).weights_) == 2  # another number of components begins anew


def test_superfluous_components_are_emptied():
    generator = np.random.default_rng(0)
    X = np.concatenate([generator.normal(c, 1.0, (300, 2)) for c in (0.0, 7.0, 14.0)])
    model = GaussianMixture(8, algorithm="variational", max_iter=1000, random_state=0).fit(X)
    assert (model.weights_ > 0.01).sum() == 3


@pytest.mark.parametrize("kind", [CategoricalMixture, PoissonMixture], ids=lambda kind: kind.__name__)
def test_components_of_few_values_are_found(kind):
    """Answers to six questions have 63 distinct rows of 5,000, counts 38: held out together they said that one component was best."""
    generator = np.random.default_rng(0)
    z = generator.integers(0, 3, 9000)
    if kind is CategoricalMixture:
        chance = generator.beta(0.5, 0.5, (3, 6))
        X = (generator.random((9000, 6)) < chance[z]).astype(int)
        truth = np.prod(np.where(X[:, None] == 1, chance, 1.0 - chance), axis=2).mean(axis=1)
    else:
        X = generator.poisson(np.array([1.0, 8.0, 20.0])[z])[:, None]
        truth = poisson(np.array([1.0, 8.0, 20.0])).pmf(X).mean(axis=1)
    model = kind("auto", random_state=0).fit(X[:5000])
    assert np.log(truth[5000:]).mean() - model.score(X[5000:]) < 0.02
