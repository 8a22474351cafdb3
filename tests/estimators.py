"""Every estimator, and data each can take."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn import datasets

from suffice import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianDiscriminant,
    GaussianNB,
    MultinomialNB,
    PoissonNB,
)

ESTIMATORS = {
    "GaussianNB": GaussianNB(),
    "MultinomialNB": MultinomialNB(),
    "ComplementNB": ComplementNB(),
    "BernoulliNB": BernoulliNB(),
    "CategoricalNB": CategoricalNB(),
    "PoissonNB": PoissonNB(),
    "tied": GaussianDiscriminant(covariance="tied"),
    "full": GaussianDiscriminant(covariance="full"),
    "diag": GaussianDiscriminant(covariance="diag"),
}
LOSSES = ("nll", "ncll", "hinge")


@cache
def rows_for(name: str, n: int = 150, n_features: int = 4, seed: int = 0):
    """Three classes that overlap, in the form the estimator takes: (X, y)."""
    generator = np.random.default_rng(seed)
    y = np.concatenate([np.arange(3), generator.integers(0, 3, n - 3)])
    if name in ("GaussianNB", "tied", "full", "diag"):
        X = generator.normal(size=(3, n_features))[y] + generator.normal(size=(n, n_features))
    elif name == "BernoulliNB":
        X = (generator.random((n, n_features)) < generator.uniform(0.2, 0.8, (3, n_features))[y]).astype(float)
    elif name == "CategoricalNB":
        tables = generator.dirichlet(np.ones(3), (3, n_features))
        X = np.array([[generator.choice(3, p=tables[k, j]) for j in range(n_features)] for k in y], dtype=float)
        X[:3] = np.arange(3)[:, None]
    else:
        X = generator.poisson(generator.uniform(0.5, 4.0, (3, n_features))[y]).astype(float)
        X[:, 0] += 1.0
    return X, y


@cache
def table(name: str):
    """(X, y) of a set that ships with scikit-learn."""
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def quantised(X: np.ndarray, n_bins: int = 5) -> np.ndarray:
    """Codes of equal-frequency bins of every column: the same whatever the units."""
    cuts = np.quantile(X, np.linspace(0, 1, n_bins + 1)[1:-1], axis=0)
    return (X[:, None, :] > cuts[None]).sum(axis=1).astype(float)


def assert_finite(machine, X) -> None:
    """Parameters and scores of a fitted classifier of words are finite, and its counts positive."""
    assert machine.moments_.is_finite()
    assert machine.natural_.is_finite()
    assert (machine.moments_.columns[0].count > 0).all()
    assert np.isfinite(machine.predict_joint_log_proba(X)).all()
