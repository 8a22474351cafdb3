"""One mixture of every kind, with rows for it: what the tests of mixtures share."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln
from sklearn.base import clone

from suffice.engines.threads import Engine
from suffice.learners.em import MixtureProblem
from suffice.learners.expectation import Rows
from suffice.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
    PoissonMixture,
)
from suffice.structures.component_prior import ComponentPrior, default_amount

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
    reader = model._reader()
    given = model._validated(reader, X, reset=True)
    rows, weights, labels = model._training_rows(reader, given, weights, labels, reset=True)
    model._reader_ = reader
    family = model._structure(reader, rows, 3, weights)
    problem = MixtureProblem(Rows(family.form(rows), weights, labels, engine=Engine(n_jobs)), None)
    statistics = model._start_statistics(problem, np.random.default_rng(0))
    prior = ComponentPrior.of(family, statistics, default_amount(family), 1 / 3)
    problem.prior = prior
    return model, problem, prior.posterior(statistics)


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
