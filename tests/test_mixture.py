"""Mixtures: E-steps by enumeration, bounds that never fall, scikit-learn's trajectories, missing cells, weights, streams."""

from __future__ import annotations

import io
import itertools
import warnings
from functools import cache

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.special import gammaln, logsumexp
from sklearn import mixture as theirs
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import load, save
from suffice.engines import Engine
from suffice.learners.accelerated import AcceleratedEM
from suffice.learners.em import BatchEM, MixtureProblem
from suffice.learners.expectation import Rows
from suffice.learners.variational import VariationalEM, VariationalProblem
from suffice.losses import LOSSES, Loss
from suffice.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
    PoissonMixture,
)
from suffice.mixture.starts import start_shares
from suffice.models.component_priors import component_prior, default_amount
from suffice.models.coordinates import coordinates_of
from suffice.models.forms import form_of
from suffice.models.posteriors import posterior_family

COVARIANCES = ("full", "tied", "diag", "spherical")
MIXED_KINDS = ["gaussian", "categorical", "count", "gaussian"]
ESTIMATORS = {
    **{kind: GaussianMixture(3, covariance_type=kind, random_state=0) for kind in COVARIANCES},
    "bernoulli": BernoulliMixture(3, random_state=0),
    "categorical": CategoricalMixture(3, random_state=0),
    "multinomial": MultinomialMixture(3, random_state=0),
    "poisson": PoissonMixture(3, random_state=0),
    "mixed": MixedMixture(3, kinds=MIXED_KINDS, random_state=0),
}
NAMES = tuple(ESTIMATORS)


@cache
def rows_for(name: str, missing: bool = False, n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three overlapping components, and weights."""
    generator = np.random.default_rng(seed)
    z = generator.integers(3, size=n)
    if name in COVARIANCES:
        mix = np.eye(4) + 0.4 * generator.normal(size=(4, 4))
        X = 5.0 + 2.0 * generator.normal(size=(3, 4))[z] + generator.normal(size=(n, 4)) @ mix
    elif name == "bernoulli":
        X = (generator.random((n, 4)) < generator.uniform(0.1, 0.9, (3, 4))[z]).astype(float)
    elif name == "categorical":
        tables = generator.dirichlet(np.ones(3), (3, 4))
        X = np.array([[generator.choice(3, p=tables[k, j]) for j in range(4)] for k in z], dtype=float)
    else:
        X = generator.poisson(generator.uniform(0.5, 6.0, (3, 4))[z]).astype(float)
    if name == "mixed":
        X[:, 0] = generator.normal(size=n) + 2.0 * z
        X[:, 1] = np.minimum(X[:, 1], 3)
        X[:, 3] = generator.normal(size=n) - z
    if missing:
        X = np.where(generator.random(X.shape) < 0.25, np.nan, X)
    return X, generator.uniform(0.5, 2.0, n)


def cases():
    for name in NAMES:
        yield pytest.param(name, False, id=name)
        if name != "multinomial":
            yield pytest.param(name, True, id=f"{name}-missing")


CASES = list(cases())


def problem_for(name: str, missing: bool, labels=None, n_jobs: int = 1):
    """(estimator, problem, start) with weights, as `fit` makes them."""
    X, weights = rows_for(name, missing)
    model = clone(ESTIMATORS[name])
    model._check_parameters()
    rows, weights, labels = model._training_rows(X, weights, labels, reset=True)
    family = model._model(rows, 3, weights)
    problem = MixtureProblem(Rows(form_of(family, rows), weights, labels, engine=Engine(n_jobs)), None)
    statistics = model._start_statistics(problem, np.random.default_rng(0))
    prior = component_prior(family, statistics, default_amount(family), 1 / 3)
    problem.prior = prior
    return model, problem, prior.posterior(statistics)


# -- the E-step by enumeration -----------------------------------------------------------------------------------------


def naive_log_joint(name: str, model, X: np.ndarray) -> np.ndarray:
    """log p(observed cells of x, k) from the parameters that the estimator shows, one component and column at a time."""
    K = len(model.weights_)
    result = np.tile(np.log(model.weights_), (len(X), 1))
    if name in ("full", "tied"):
        for i, k in itertools.product(range(len(X)), range(K)):
            seen = np.flatnonzero(~np.isnan(X[i]))
            covariance = (model.covariances_[k] if name == "full" else model.covariances_)[np.ix_(seen, seen)]
            z = X[i, seen] - model.means_[k, seen]
            square = z @ np.linalg.solve(covariance, z) if len(seen) else 0.0
            result[i, k] -= 0.5 * (square + np.linalg.slogdet(2 * np.pi * covariance)[1])
        return result
    for k, j in itertools.product(range(K), range(X.shape[1])):
        seen = ~np.isnan(X[:, j])
        x, kind = X[seen, j], name if name != "mixed" else MIXED_KINDS[j]
        column = j if name != "mixed" else f"x{j}"
        if kind in ("diag", "spherical"):
            variance = model.covariances_[k, j] if kind == "diag" else model.covariances_[k]
            cells = stats.norm.logpdf(x, model.means_[k, j], np.sqrt(variance))
        elif kind == "gaussian":
            cells = stats.norm.logpdf(x, model.means_[column][k], np.sqrt(model.variances_[column][k]))
        elif kind == "bernoulli":
            cells = stats.bernoulli.logpmf(x, model.probabilities_[k, j])
        elif kind == "categorical":
            cells = np.log(
                [model.probabilities_[column][k, list(model.categories_[column]).index(value)] for value in x]
            )
        elif kind in ("poisson", "count"):
            cells = stats.poisson.logpmf(x, model.rates_[k, j] if kind == "poisson" else model.rates_[column][k])
        else:
            cells = x * np.log(model.probabilities_[k, j]) - gammaln(x + 1)
        result[seen, k] += cells
    return result + gammaln(X.sum(axis=1, keepdims=True) + 1) if name == "multinomial" else result


def naive_statistics(name: str, estimator, X: np.ndarray, shares: np.ndarray) -> list[np.ndarray]:
    """Sums of shares times statistics, one column (or row, where columns are correlated) at a time; in the order of the records."""
    model, K, d = estimator._stored_model, shares.shape[1], X.shape[1]
    seen, mass = ~np.isnan(X), shares.sum(axis=0)
    if name in ("full", "tied"):
        weight, first, second = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
        for i, k in itertools.product(range(len(X)), range(K)):
            o, m = np.flatnonzero(seen[i]), np.flatnonzero(~seen[i])
            if not len(o):
                continue
            V, mean = estimator.covariances_[k] if name == "full" else estimator.covariances_, estimator.means_[k]
            x, extra = X[i].copy(), np.zeros((d, d))
            gain = V[np.ix_(m, o)] @ np.linalg.inv(V[np.ix_(o, o)])
            x[m] = mean[m] + gain @ (x[o] - mean[o])  # conditional mean and covariance of the missing cells
            extra[np.ix_(m, m)] = V[np.ix_(m, m)] - gain @ V[np.ix_(o, m)]
            z = x - model.location
            weight[k] += shares[i, k]
            first[k] += shares[i, k] * z
            second[k] += shares[i, k] * (np.outer(z, z) + extra)
        return [mass, weight, first, second if name == "full" else second.sum(axis=0)]
    cells = np.where(seen, X, 0.0)
    if name in ("diag", "spherical"):
        z = np.where(seen, X - model.location, 0.0)
        return [mass, shares.T @ seen, shares.T @ z, shares.T @ z**2]
    if name == "poisson":
        return [mass, shares.T @ seen, shares.T @ cells]
    if name == "multinomial":
        return [mass, X.T @ shares]
    if name in ("bernoulli", "categorical"):
        values = [[0.0, 1.0]] * d if name == "bernoulli" else estimator.categories_
        count = [shares.T @ (X[:, j] == value) for j in range(d) for value in values[j]]
        return [mass, np.array(count), seen.T @ shares]
    z, numbers = cells[:, [0, 3]] - model.location * seen[:, [0, 3]], seen[:, [0, 3]]
    count = np.array([shares.T @ (X[:, 1] == value) for value in estimator.categories_["x1"]])
    gaussian = [shares.T @ numbers, shares.T @ z, shares.T @ z**2]
    return [mass, *gaussian, count, seen[:, [1]].T @ shares, shares.T @ seen[:, [2]], shares.T @ cells[:, [2]]]


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize(("name", "missing"), CASES)
def test_the_e_step_equals_enumeration(name, missing, labelled):
    """Log-likelihood and every expected statistic of weighted rows, to 1e-10."""
    X, weights = rows_for(name, missing)
    labels = np.where(np.arange(150) % 10 == 0, np.arange(150) % 3, -1) if labelled else None
    estimator, problem, start = problem_for(name, missing, labels)
    estimator._stored_model, estimator.moments_ = problem.model, start
    estimator._finish(problem.model)
    joint = naive_log_joint(name, estimator, X)
    if labelled:
        joint[(labels[:, None] >= 0) & (np.arange(3) != labels[:, None])] = -np.inf
    whole = logsumexp(joint, axis=1)
    expected, base = problem.expected(start), estimator._base(problem.rows.form.X)
    np.testing.assert_allclose(expected.log_likelihood, weights @ (whole - base), rtol=1e-10)
    shares = weights[:, None] * np.exp(joint - whole[:, None])
    given, arrays = expected.statistics, naive_statistics(name, estimator, X, shares)
    found = (
        [given.mass, *(array for part in given.parts for array in part.arrays()[1:])]
        if name == "mixed"
        else given.arrays()
    )
    for one, other in zip(found, arrays, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("name", "missing"), CASES)
def test_scores_posteriors_and_densities_equal_enumeration(name, missing):
    X, weights = rows_for(name, missing)
    model = clone(ESTIMATORS[name]).set_params(max_iter=3, tol=0.0).fit(X, sample_weight=weights)
    expected = naive_log_joint(name, model, X)
    np.testing.assert_allclose(model.score_samples(X), logsumexp(expected, axis=1), rtol=1e-10, atol=1e-10)
    posterior = np.exp(expected - logsumexp(expected, axis=1, keepdims=True))
    np.testing.assert_allclose(model.predict_proba(X), posterior, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), posterior.argmax(axis=1))


@pytest.mark.parametrize("name", ["diag", "poisson", "bernoulli", "categorical", "multinomial"])
@pytest.mark.parametrize("missing", [False, True])
def test_one_pass_is_the_textbooks_m_step(name, missing):
    """Weighted means over observed cells, shrunk by the stated pseudo-rows, from naive posteriors."""
    if name == "multinomial" and missing:
        pytest.skip("words are never missing")
    X, weights = rows_for(name, missing)
    estimator, problem, start = problem_for(name, missing)
    learner = BatchEM()
    state = learner.init(problem, start, None)
    estimator._stored_model, estimator.moments_ = problem.model, start
    estimator._finish(problem.model)
    joint = naive_log_joint(name, estimator, X)
    shares = weights[:, None] * np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    state = learner.step(problem, state)
    estimator.moments_ = state.moments
    estimator._finish(problem.model)
    mass = shares.sum(axis=0) + 1 / 3
    np.testing.assert_allclose(estimator.weights_, mass / mass.sum(), rtol=1e-10)
    seen = ~np.isnan(X)
    for k, j in itertools.product(range(3), range(4)):
        r, x = shares[seen[:, j], k], X[seen[:, j], j]
        typical = problem.prior.typical
        if name == "diag":
            mean = r @ x / r.sum()
            np.testing.assert_allclose(estimator.means_[k, j], mean, rtol=1e-10)
            variance = (r @ (x - mean) ** 2 + typical[j]) / (r.sum() + 1)
            np.testing.assert_allclose(estimator.covariances_[k, j], variance, rtol=1e-10)
        elif name == "poisson":
            np.testing.assert_allclose(estimator.rates_[k, j], (r @ x + typical[j]) / (r.sum() + 1), rtol=1e-10)
        elif name == "bernoulli":
            expected = (r @ x + typical[2 * j + 1]) / (r.sum() + 1)
            np.testing.assert_allclose(estimator.probabilities_[k, j], expected, rtol=1e-10)
        elif name == "categorical":
            for place, value in enumerate(estimator.categories_[j]):
                cell = problem.model.offset[j] + place
                expected = (r @ (x == value) + typical[cell]) / (r.sum() + 1)
                np.testing.assert_allclose(estimator.probabilities_[j][k, place], expected, rtol=1e-10)
        else:
            expected = (shares[:, k] @ X[:, j] + typical[j]) / ((shares[:, k] @ X).sum() + typical.sum())
            np.testing.assert_allclose(estimator.probabilities_[k, j], expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["full", "tied"])
def test_the_m_step_of_correlated_columns_with_missing_cells(name):
    """Weighted moments of the completed rows, shrunk by the stated pseudo-rows."""
    X, weights = rows_for(name, True)
    estimator, problem, start = problem_for(name, True)
    estimator._stored_model, estimator.moments_ = problem.model, start
    estimator._finish(problem.model)
    joint = naive_log_joint(name, estimator, X)
    shares = weights[:, None] * np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    _, counts, sums, squares = naive_statistics(name, estimator, X, shares)
    state = BatchEM().step(problem, BatchEM().init(problem, start, None))
    estimator.moments_ = state.moments
    estimator._finish(problem.model)
    mean = sums / counts[:, None]
    np.testing.assert_allclose(estimator.means_, mean + problem.model.location, rtol=1e-10)
    own = counts[:, None, None] * mean[:, :, None] * mean[:, None, :]
    typical, amount = np.diag(problem.prior.typical), problem.prior.amount
    if name == "full":
        expected = (squares - own + amount * typical) / (counts[:, None, None] + amount)
    else:
        expected = (squares - own.sum(axis=0) + amount * typical) / (counts.sum() + amount)
    np.testing.assert_allclose(estimator.covariances_, expected, rtol=1e-10, atol=1e-10)


# -- bounds never fall -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [BatchEM(), AcceleratedEM(coordinates_of)], ids=["em", "accelerated"])
@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize(("name", "missing"), CASES)
def test_em_never_raises_its_objective(name, missing, labelled, learner):
    labels = np.where(np.arange(150) % 10 == 0, np.arange(150) % 3, -1) if labelled else None
    _, problem, start = problem_for(name, missing, labels)
    problem.reseeds = False
    state = learner.init(problem, start, None)
    for _ in range(30):
        before = state.measure.objective
        state = learner.step(problem, state)
        assert state.measure.objective <= before + 1e-9 * abs(before)
        assert state.moments.is_finite()


def passes_until(learner, name: str, target: float) -> tuple[int, float]:
    """E-steps until F is at the target or a step gains less than 1e-4, leaps that were not kept among them; and F."""
    _, problem, start = problem_for(name, False)
    count, own = [], problem.rows.expected
    problem.rows.expected = lambda coefficients: count.append(1) or own(coefficients)
    problem.reseeds, state, gain = False, learner.init(problem, start, None), np.inf
    while gain > 1e-4 and state.measure.objective > target:
        before, state = state.measure.objective, learner.step(problem, state)
        gain = before - state.measure.objective
    return len(count), state.measure.objective


def test_acceleration_comes_where_em_comes_in_fewer_passes():
    total = np.zeros(2)
    for name in NAMES:
        plain, target = passes_until(BatchEM(), name, -np.inf)
        passes, reached = passes_until(AcceleratedEM(coordinates_of), name, target)
        assert reached <= target + 1e-3 and passes <= plain + 1, name
        total += plain, passes
    assert total[0] > 1.5 * total[1]


@pytest.mark.parametrize(("name", "missing"), CASES)
def test_the_variational_bound_never_falls(name, missing):
    _, problem, _ = problem_for(name, missing)
    statistics = problem.expected(
        problem.prior.posterior(problem.expected(start_of(name, missing)).statistics)
    ).statistics
    problem = VariationalProblem(problem.rows, posterior_family(problem.model, problem.rows.form, statistics, 1 / 3))
    learner = VariationalEM()
    state = learner.init(problem, problem.prior.posterior(statistics), None)
    for _ in range(30):
        before = state.measure.objective
        state = learner.step(problem, state)
        assert state.measure.objective <= before + 1e-9 * abs(before)


def start_of(name, missing):
    return problem_for(name, missing)[2]


@pytest.mark.parametrize("name", [*COVARIANCES, "bernoulli", "poisson"])
def test_the_variational_bound_is_below_the_evidence(name):
    """One component: the bound after the M-step equals log p(X), found by chains of posterior predictive densities."""
    X, _ = rows_for(name, n=12)
    model = clone(ESTIMATORS[name]).set_params(n_components=1, algorithm="variational", tol=0.0, max_iter=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    rows = Rows(form_of(model._stored_model, X), np.ones(12), np.full(12, -1))
    start = rows.form.model.statistics(X, np.zeros(12, dtype=np.int64), np.ones(12))
    prior = posterior_family(model._stored_model, rows.form, start, 1.0)
    location = getattr(model._stored_model, "location", np.zeros(4))
    total = 0.0
    for i in range(12):
        seen = rows.form.model.statistics(X[:i], np.zeros(i, dtype=np.int64), np.ones(i))
        total += predictive(name, prior.updated(seen), X[i] - location)
    np.testing.assert_allclose(12 * model.lower_bound_, total, rtol=1e-8)


def predictive(name: str, q: tuple, z: np.ndarray) -> float:
    """log p(next row | posterior), by textbook predictive distributions."""
    if name in ("diag",):
        kappa, mean, shape, rate = (array[0] for array in q)
        scale = np.sqrt(rate * (kappa + 1) / (kappa * shape))
        return float(stats.t.logpdf(z, 2 * shape, mean, scale).sum())
    if name == "spherical":
        kappa, mean, shape, rate = (array[0] for array in q)
        spread = np.diag((rate / shape) * (kappa + 1) / kappa)
        return float(stats.multivariate_t.logpdf(z, mean, spread, df=2 * float(shape[0])))
    if name in ("full", "tied"):
        kappa, mean, dof, scatter = (array[0] for array in q)
        df = dof - len(z) + 1
        return float(stats.multivariate_t.logpdf(z, mean, scatter * (kappa + 1) / (kappa * df), df=df))
    if name == "bernoulli":
        counts = q[0][:, 0].reshape(-1, 2)
        return float(np.log(counts[np.arange(4), z.astype(int)] / counts.sum(axis=1)).sum())
    shape, rate = (array[0] for array in q)
    return float(stats.nbinom.logpmf(z, shape, rate / (rate + 1)).sum())


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
        other = theirs.GaussianMixture(3, **options, **start).fit(X)
    n = min(30, len(ours.lower_bounds_))  # ours stops where nothing is gained any more, to the last digit
    assert n == 30 or abs(np.diff(other.lower_bounds_[n - 2 :])).max() < 1e-10
    np.testing.assert_allclose(ours.lower_bounds_[:n], other.lower_bounds_[:n], rtol=0, atol=1e-8)
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
    monkeypatch.setattr("suffice.mixture.starts.MAX_ROWS", most)
    X, _ = rows_for(name, name not in ("multinomial", "full", "tied"))
    model = ESTIMATORS[name]._model(X, 3, np.ones(len(X))) if name in COVARIANCES else problem_for(name, False)[1].model
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
            value, statistics = rows.loss(coefficients, Loss(loss))
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
