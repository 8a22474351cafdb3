"""Mixtures: E- and M-steps by enumeration, objectives that never get worse, variational bounds."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from mixture_cases import CASES, COVARIANCES, ESTIMATORS, NAMES, naive_log_joint, problem_for, rows_for
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone

from suffice.learners.accelerated import AcceleratedEM
from suffice.learners.em import BatchEM
from suffice.learners.expectation import Rows
from suffice.learners.variational import VariationalEM, VariationalProblem
from suffice.structures.posterior import ConjugatePrior

# -- the E-step by enumeration -----------------------------------------------------------------------------------------


def naive_statistics(name: str, estimator, X: np.ndarray, shares: np.ndarray) -> list[np.ndarray]:
    """Sums of shares times statistics, one column (or row, where columns are correlated) at a time; in the order of the records."""
    family, K, d = estimator._stored_model.families[0], shares.shape[1], X.shape[1]
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
            z = x - family.location
            weight[k] += shares[i, k]
            first[k] += shares[i, k] * z
            second[k] += shares[i, k] * (np.outer(z, z) + extra)
        return [mass, weight, first, second if name == "full" else second.sum(axis=0)]
    cells = np.where(seen, X, 0.0)
    if name in ("diag", "spherical"):
        z = np.where(seen, X - family.location, 0.0)
        return [mass, shares.T @ seen, shares.T @ z, shares.T @ z**2]
    if name == "poisson":
        return [mass, shares.T @ seen, shares.T @ cells]
    if name == "multinomial":
        return [mass, X.T @ shares]
    if name in ("bernoulli", "categorical"):
        values = [[0.0, 1.0]] * d if name == "bernoulli" else estimator.categories_
        count = [shares.T @ (X[:, j] == value) for j in range(d) for value in values[j]]
        return [mass, np.array(count), seen.T @ shares]
    z, numbers = cells[:, [0, 3]] - family.location * seen[:, [0, 3]], seen[:, [0, 3]]
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
    for one, other in zip(given.arrays(), arrays, strict=True):
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


TEXTBOOK = ("diag", "poisson", "bernoulli", "categorical", "multinomial")


@pytest.mark.parametrize(("name", "missing"), [case for case in CASES if case.values[0] in TEXTBOOK])
def test_one_pass_is_the_textbooks_m_step(name, missing):
    """Weighted means over observed cells, shrunk by the stated pseudo-rows, from naive posteriors."""
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
        typical = problem.prior.typical[0]
        typical = typical[0] if name == "poisson" else typical
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
                cell = problem.model.family.offset[j] + place
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
    np.testing.assert_allclose(estimator.means_, mean + problem.model.family.location, rtol=1e-10)
    own = counts[:, None, None] * mean[:, :, None] * mean[:, None, :]
    typical, amount = np.diag(problem.prior.typical[0]), problem.prior.amount
    if name == "full":
        expected = (squares - own + amount * typical) / (counts[:, None, None] + amount)
    else:
        expected = (squares - own.sum(axis=0) + amount * typical) / (counts.sum() + amount)
    np.testing.assert_allclose(estimator.covariances_, expected, rtol=1e-10, atol=1e-10)


# -- bounds never fall -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [BatchEM(), AcceleratedEM()], ids=["em", "accelerated"])
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
        passes, reached = passes_until(AcceleratedEM(), name, target)
        assert reached <= target + 1e-3 and passes <= plain + 1, name
        total += plain, passes
    assert total[0] > 1.5 * total[1]


@pytest.mark.parametrize(("name", "missing"), CASES)
def test_the_variational_bound_never_falls(name, missing):
    _, problem, _ = problem_for(name, missing)
    statistics = problem.expected(
        problem.prior.posterior(problem.expected(start_of(name, missing)).statistics)
    ).statistics
    problem = VariationalProblem(problem.rows, ConjugatePrior.of(problem.model, problem.rows.form, statistics, 1 / 3))
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
    rows = Rows(model._stored_model.form(X), np.ones(12), np.full(12, -1))
    start = rows.form.model.statistics(X, np.zeros(12, dtype=np.int64), np.ones(12))
    prior = ConjugatePrior.of(model._stored_model, rows.form, start, 1.0)
    location = getattr(model._stored_model.family, "location", np.zeros(4))
    total = 0.0
    for i in range(12):
        seen = rows.form.model.statistics(X[:i], np.zeros(i, dtype=np.int64), np.ones(i))
        total += predictive(name, prior.posterior(seen).columns[0], X[i] - location)
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
