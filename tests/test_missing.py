"""A missing cell is a latent variable: brute-force marginalisation as the oracle, for every family and loss."""

import itertools
from dataclasses import fields

import numpy as np
import pytest
import registry
from scipy import sparse
from scipy.special import logsumexp

from suffice import BernoulliNB, CategoricalNB, GaussianDiscriminant, GaussianNB, MultinomialNB, PoissonNB
from suffice.families.bernoulli import Bernoulli
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.poisson import Poisson
from suffice.losses import loss_named
from suffice.structures.joint import Joint
from suffice.structures.words import BernoulliWords

GRID = np.linspace(-14.0, 14.0, 561)  # the trapezoid rule is exact to rounding for a Gaussian that dies out inside
COUNTS = np.arange(60.0)
K = 3
NUMBER, COUNT = (GRID, GRID[1] - GRID[0]), (COUNTS, 1.0)


def categories(n):
    return np.arange(float(n)), 1.0


FAMILIES = {
    "gaussian_diagonal": (GaussianDiagonal(K, 3, np.array([0.1, 0.0, -0.2])), [NUMBER] * 3),
    "gaussian_full": (GaussianFull(K, 3, np.array([0.1, 0.0, -0.2])), [NUMBER] * 3),
    "gaussian_tied": (GaussianTied(K, 3, np.array([0.1, 0.0, -0.2])), [NUMBER] * 3),
    "categorical": (Categorical(K, 3, np.array([2, 4, 3])), [categories(2), categories(4), categories(3)]),
    "bernoulli": (Bernoulli(K, 3, np.array([2, 2, 2])), [categories(2)] * 3),
    "poisson": (Poisson(K, 3), [COUNT] * 3),
}
FAMILIES = {
    name: ((BernoulliWords if name == "bernoulli" else Joint).of(family), domains)
    for name, (family, domains) in FAMILIES.items()
}
FAMILIES["mixed"] = (
    Joint.of(GaussianDiagonal(K, 1, np.array([0.1])), Categorical(K, 1, np.array([4])), Poisson(K, 1)),
    [NUMBER, categories(4), COUNT],
)
FAMILIES["correlated and categories"] = (
    Joint.of(GaussianFull(K, 2, np.array([0.1, 0.0])), Categorical(K, 1, np.array([4]))),
    [NUMBER, NUMBER, categories(4)],
)
HOLES = [(), (0,), (2,), (0, 1), (1, 2)]


def rows_of(domains, n, generator):
    columns = []
    for values, _ in domains:
        if values is GRID:
            columns.append(generator.normal(size=n))
        else:
            columns.append(generator.integers(0, min(len(values), 5), size=n).astype(float))
    return np.column_stack(columns)


def example(name):
    """A model, moments inside its domain, and rows with every pattern of holes."""
    model, domains = FAMILIES[name]
    generator = np.random.default_rng(7)
    X, y = rows_of(domains, 60, generator), generator.integers(0, K, 60)
    statistics = model.statistics(X, y, np.ones(60))
    moments = statistics + model.pseudo_counts(statistics, 2.0)
    rows = rows_of(domains, len(HOLES), generator)
    for row, holes in zip(rows, HOLES, strict=True):
        row[list(holes)] = np.nan
    return model, domains, moments, rows


def completions(row, domains):
    """All ways to fill the missing cells, and the log of the volume each stands for."""
    holes = np.flatnonzero(np.isnan(row))
    grids = [domains[j][0] for j in holes]
    filled = np.repeat(row[None], int(np.prod([len(grid) for grid in grids])), axis=0)
    if len(holes):
        filled[:, holes] = np.array(list(itertools.product(*grids)))
    return filled, float(np.sum([np.log(domains[j][1]) for j in holes]))


def brute(model, moments, row, domains):
    """log p(observed cells, k), and p(completion | observed cells, k) with the completions."""
    filled, volume = completions(row, domains)
    joint = model.log_joint(moments, filled) + volume
    base = model.log_base_measure(filled)
    joint = joint + (base[:, None] if isinstance(base, np.ndarray) else base)
    marginal = logsumexp(joint, axis=0)
    return marginal, np.exp(joint - marginal), filled


@pytest.mark.parametrize("name", FAMILIES)
def test_likelihood_and_posterior_equal_marginalisation(name):
    model, domains, moments, rows = example(name)
    base = np.broadcast_to(model.log_base_measure(rows), len(rows))
    for scores in (model.scores(moments, rows), model.log_joint(moments, rows)):
        for i, row in enumerate(rows):
            expected, _, _ = brute(model, moments, row, domains)
            np.testing.assert_allclose(scores[i] + base[i], expected, rtol=1e-9, atol=1e-8)
            posterior = np.exp(scores[i] - logsumexp(scores[i]))
            np.testing.assert_allclose(posterior, np.exp(expected - logsumexp(expected)), atol=1e-8)


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("name", FAMILIES)
def test_gradient_equals_marginalisation(name, loss):
    """d loss / d theta = pull mu - sum_k w_k E[s | observed, k], with the expectation by enumeration or quadrature."""
    model, domains, moments, rows = example(name)
    y = np.array([0, 1, 2, 0, -1])  # the last row has no label
    loss = loss_named(loss)
    weights = np.full(len(y), 1.5)
    prior = 0.1 * moments
    shares = weights[:, None] * loss.weights(model.scores(moments, rows), y)
    ours = model.direction(model.completed_statistics(rows, shares, moments), prior, moments, loss.pull(y, weights))
    marginals = np.array([brute(model, moments, row, domains)[0] for row in rows])
    expected = None
    for row, share in zip(rows, weights[:, None] * loss.weights(marginals, y), strict=True):
        _, chances, filled = brute(model, moments, row, domains)
        part = model.expected_statistics(filled, chances * share)
        expected = part if expected is None else expected + part
    theirs = model.direction(expected, prior, moments, loss.pull(y, weights))
    scale = max(np.abs(theirs.flat()).max(), 1.0)
    np.testing.assert_allclose(ours.mass, theirs.mass, atol=1e-8 * scale)
    for one, other in zip(ours.columns, theirs.columns, strict=True):
        for field in fields(one):
            if field.name != "weight":  # a block's own count takes no part in the gradient where cells are missing
                np.testing.assert_allclose(getattr(one, field.name), getattr(other, field.name), atol=1e-8 * scale)


def test_full_covariance_from_data_missing_at_random():
    """30 % of two columns missing where a third is high: EM is within sampling error of the complete data, the shortcuts are not."""
    generator = np.random.default_rng(3)
    n, d = 4000, 3
    covariance = np.array([[1.0, 0.8, 0.5], [0.8, 1.5, 0.6], [0.5, 0.6, 1.0]])
    complete = generator.multivariate_normal(np.zeros(d), covariance, size=n)
    y = np.zeros(n, dtype=int)
    y[: n // 2] = 1
    complete[y == 1] += [1.0, 0.0, 0.0]
    X = complete.copy()
    hidden = generator.random((n, 2)) < 0.6 * (complete[:, :1] - y[:, None] > 0)  # 30 %, more where column 0 is high
    X[:, 1:][hidden] = np.nan
    model = GaussianDiscriminant("full", loss="nll", prior=1e-3).fit(X, y)
    whole = GaussianDiscriminant("full", loss="nll", prior=1e-3).fit(complete, y)
    kept = X[~np.isnan(X).any(axis=1)]
    labels = y[~np.isnan(X).any(axis=1)]
    dropped = GaussianDiscriminant("full", loss="nll", prior=1e-3).fit(kept, labels)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    mean_filled = GaussianDiscriminant("full", loss="nll", prior=1e-3).fit(filled, y)
    error = np.sqrt(
        np.diag(covariance) / (n / 2)
    )  # standard error of a mean; that of a covariance is about sqrt(2) of it

    def distance(other):
        means = np.abs(other.means_ - whole.means_) / error
        spread = np.abs(other.covariance_ - whole.covariance_) / (
            np.sqrt(2) * np.outer(error, np.sqrt(np.diag(covariance)))
        )
        return max(means.max(), spread.max())

    assert distance(model) < 3.0
    assert distance(dropped) > 6.0
    assert distance(mean_filled) > 6.0


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("covariance", ["full", "tied"])
def test_discriminants_learn_from_holes(covariance, loss):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 400)
    X = generator.normal(size=(400, 3)) @ generator.normal(size=(3, 3)) + 1.5 * y[:, None]
    X[generator.random(X.shape) < 0.2] = np.nan
    model = GaussianDiscriminant(covariance, loss=loss, prior=2.0, random_state=0, max_epochs=30).fit(X, y)
    objective = model.history_["objective"]
    assert np.isfinite(model.covariance_).all() and all(np.diff(objective) <= 1e-8 * np.abs(objective[:-1]))
    assert model.score(X, y) > 0.7  # 0.5 is chance
    with pytest.raises(ValueError, match="algorithm='incremental'"):
        GaussianDiscriminant(covariance, algorithm="incremental").fit(X, y)


ESTIMATORS = [
    GaussianNB, BernoulliNB, CategoricalNB, PoissonNB, GaussianDiscriminant,
]  # fmt: skip


def small_table(n=90, share=0.2, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 3, n)
    X = generator.poisson(1.0 + y[:, None] * [1, 0, 0.5, 1]).astype(float)
    X[generator.random(X.shape) < share] = np.nan
    X[0, 0] = 1.0
    return X, y


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_row_that_is_all_nan_changes_nothing_but_the_count(cls, loss):
    X, y = small_table()
    extended, labels = np.vstack([X, np.full((1, 4), np.nan)]), np.append(y, 2)
    options = {"loss": loss, "prior": 1.0, "random_state": 0, "max_epochs": 20}
    model, more = cls(**options).fit(X, y), cls(**options).fit(extended, labels)
    np.testing.assert_allclose(more.class_count_ - model.class_count_, [0, 0, 1])
    for one, other in zip(more.moments_.columns, model.moments_.columns, strict=True):
        registry.assert_records_close(one, other, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(more.predict_proba(extended[-1:])[0], more.moments_.mass / more.moments_.mass.sum())
    unlabelled = cls(**options).fit(extended, [*y.tolist(), None])
    np.testing.assert_array_equal(unlabelled.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("cls", [GaussianNB, BernoulliNB, CategoricalNB, PoissonNB])
def test_weight_two_is_the_row_twice(cls, loss):
    X, y = small_table(60, share=0.0 if loss == "hinge" else 0.2)  # with holes the hinge has several local optima
    weight = np.ones(60)
    weight[:20] = 2.0
    options = {"loss": loss, "prior": 2.0, "random_state": 0, "tol": 1e-7, "max_epochs": 2000}
    if cls is PoissonNB:
        options["unit"] = 1.0
    weighted = cls(**options).fit(X, y, sample_weight=weight)
    repeated = cls(**options).fit(np.vstack([X, X[:20]]), np.append(y, y[:20]))
    tolerance = {"nll": 1e-10, "ncll": 5e-3, "hinge": 5e-3}[loss]
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=tolerance)
    order = np.random.default_rng(1).permutation(60)
    permuted = cls(**options).fit(X[order], y[order], sample_weight=weight[order])
    np.testing.assert_allclose(weighted.predict_proba(X), permuted.predict_proba(X), atol=tolerance)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_impute_and_sample_missing(cls):
    X, y = small_table(300)
    model = cls(loss="nll", random_state=0).fit(X, y)
    missing = np.isnan(X)
    filled, std = model.impute(X, return_std=True)
    assert np.isfinite(filled).all() and (std[~missing] == 0).all() and (std[missing] > 0).all()
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    given = model.impute(X, y)
    assert np.isfinite(given).all()
    draws = np.array([model.sample_missing(X, y, random_state=seed) for seed in range(200)])
    np.testing.assert_array_equal(draws[:, ~missing], np.broadcast_to(X[~missing], draws[:, ~missing].shape))
    if cls in (GaussianNB, PoissonNB, GaussianDiscriminant):
        spread = draws.std(axis=0)[missing] / np.sqrt(200)
        assert np.mean(np.abs(draws.mean(axis=0)[missing] - given[missing]) < 3.5 * spread) > 0.97


def test_imputation_of_correlated_columns_is_regression():
    generator = np.random.default_rng(1)
    X = generator.multivariate_normal([1.0, -1.0], [[1.0, 0.9], [0.9, 1.0]], size=5000)
    y = np.arange(5000) % 2
    model = GaussianDiscriminant("tied", loss="nll").fit(X, y)
    filled, std = model.impute([[2.0, np.nan]], return_std=True)
    assert abs(filled[0, 1] - -0.1) < 0.05 and abs(std[0, 1] - np.sqrt(1 - 0.81)) < 0.03


def test_what_counts_as_missing():
    pd = pytest.importorskip("pandas")
    X = [[1.0, None], [2.0, 3.0], [None, 4.0], [5.0, 1.0]]
    y = [0, 0, 1, 1]
    expected = GaussianNB(loss="nll").fit(np.array(X, dtype=float), y).theta_
    frame = pd.DataFrame({"a": pd.array([1, 2, None, 5], dtype="Int64"), "b": [pd.NA, 3.0, 4.0, 1.0]})
    for rows in (X, frame, np.array(X, dtype=object)):
        np.testing.assert_array_equal(GaussianNB(loss="nll").fit(rows, y).theta_, expected)
    with pytest.raises(ValueError, match="infinity"):
        GaussianNB().fit([[np.inf], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="no observed cell"):
        GaussianNB().fit([[np.nan], [np.nan]], [0, 1])
    with pytest.raises(ValueError, match="PoissonNB"):
        MultinomialNB().fit([[np.nan, 1.0], [1.0, 2.0]], [0, 1])


@pytest.mark.parametrize("cls", [BernoulliNB, PoissonNB, GaussianNB])
@pytest.mark.parametrize("loss", ["nll", "ncll"])
def test_nan_in_sparse_rows_is_missing(cls, loss):
    X, y = small_table()
    options = {"loss": loss, "prior": 1.0, "random_state": 0}
    dense, thin = cls(**options).fit(X, y), cls(**options).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.predict_proba(X), thin.predict_proba(sparse.csr_matrix(X)), atol=1e-8)
    np.testing.assert_allclose(dense.score_samples(X), thin.score_samples(sparse.csr_matrix(X)), atol=1e-8)
