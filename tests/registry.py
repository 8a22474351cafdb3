"""One small case for every family, and a joint of several: the properties of the other files run over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from suffice.choosing import priors
from suffice.families.bernoulli import Bernoulli
from suffice.families.categorical import Categorical
from suffice.families.complement import Complement
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_spherical import GaussianSpherical
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson
from suffice.learners.driver import Problem
from suffice.losses import Loss, loss_named
from suffice.structures.joint import Joint
from suffice.structures.words import BernoulliWords, ComplementWords, Words

N_OUTCOMES, N_ROWS, LENGTH = 3, 60, 8
NATURAL_TO_MOMENT = {
    "linear": "first",
    "quadratic": "second",
    "logit": "count",
    "log_rate": "count",
}


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    model: Any
    X: Any
    y: np.ndarray
    weights: np.ndarray
    moments: Any  # inside the domain, total mass 1
    prior: Any  # pseudo-statistics whose block weights are the masses of their outcomes, so that F is convex

    @property
    def statistics(self):
        return self.model.statistics(self.X, self.y, self.weights)

    def problem(self, loss: str | Loss, prior=None, y=None) -> Problem:
        loss = loss_named(loss)
        prior = self.prior if prior is None else prior
        return Problem(self.model, self.X, self.y if y is None else y, self.weights, loss, prior)

    def __str__(self) -> str:
        return self.name


def _labels(generator) -> np.ndarray:
    return np.concatenate([np.arange(N_OUTCOMES), generator.choice(N_OUTCOMES, N_ROWS - N_OUTCOMES, p=[0.5, 0.3, 0.2])])


def _gaussian_rows(generator, y):
    means = generator.normal(0, 1.0, (N_OUTCOMES, 3))
    mix = generator.normal(0, 1, (3, 3)) * 0.5 + np.eye(3)
    return 10.0 + means[y] + generator.standard_normal((len(y), 3)) @ mix


def _categorical_rows(generator, y, sizes):
    tables = [generator.dirichlet(np.ones(size), N_OUTCOMES) for size in sizes]
    return np.array(
        [[generator.choice(size, p=table[k]) for size, table in zip(sizes, tables, strict=True)] for k in y], float
    )


def _count_rows(generator, y):
    return generator.poisson(generator.uniform(0.5, 4.0, (N_OUTCOMES, 3))[y]).astype(float)


def _word_rows(generator, y):
    topics = generator.dirichlet(np.ones(5), N_OUTCOMES)
    return np.array([generator.multinomial(LENGTH, topics[k]) for k in y], float)


def _make(name, for_data, rows, seed) -> Case:
    generator = np.random.default_rng(seed)
    y = _labels(generator)
    X = rows(generator, y)
    weights = generator.uniform(0.5, 2.0, len(y))
    model = for_data(X)
    own = priors.interior(model, model.statistics(X, y, weights))
    if name in WORDS:  # rows of one length: a block's weight is the length times the mass of its outcome
        own = model.at_masses(own, own.mass)
    return Case(name, model, X, y, weights, own, 2.0 * own + 4.0 * model.pooled(own))


def _of(family, structure=Joint):
    return lambda X: structure.of(family.for_data(X, N_OUTCOMES))


def _categorical(X):
    return Joint.of(Categorical(N_OUTCOMES, 3, np.array([2, 3, 4])))


def _several(X):
    """Columns of three kinds side by side, the first of them correlated."""
    categories = Categorical(N_OUTCOMES, 2, np.array([3, 2]))
    return Joint.of(GaussianFull.for_data(X[:, :3], N_OUTCOMES), categories, Poisson(N_OUTCOMES, 3))


def _several_rows(generator, y):
    return np.hstack([_gaussian_rows(generator, y), _categorical_rows(generator, y, [3, 2]), _count_rows(generator, y)])


def _sparse_words(generator, y):
    return sparse.csr_matrix(_word_rows(generator, y))


@cache
def cases() -> dict[str, Case]:
    made = [
        _make("gaussian_diagonal", _of(GaussianDiagonal), _gaussian_rows, 1),
        _make("gaussian_full", _of(GaussianFull), _gaussian_rows, 2),
        _make("gaussian_tied", _of(GaussianTied), _gaussian_rows, 3),
        _make("categorical", _categorical, lambda g, y: _categorical_rows(g, y, [2, 3, 4]), 4),
        _make("bernoulli", _of(Bernoulli, BernoulliWords), lambda g, y: _categorical_rows(g, y, [2] * 4), 5),
        _make("multinomial", _of(Multinomial, Words), _sparse_words, 6),
        _make("poisson", _of(Poisson), _count_rows, 7),
        _make("gaussian_spherical", _of(GaussianSpherical), _gaussian_rows, 8),
        _make("several", _several, _several_rows, 9),
    ]
    return {case.name: case for case in made}


@cache
def complement() -> Case:
    """No density, so not among the others: for what kernels and steps must do all the same."""
    return _make("complement", _of(Complement, ComplementWords), _sparse_words, 10)


FAMILIES = (
    "gaussian_diagonal", "gaussian_full", "gaussian_tied", "categorical", "bernoulli", "multinomial", "poisson", "gaussian_spherical",
)  # fmt: skip
NAMES = (*FAMILIES, "several")
WORDS = ("multinomial", "complement")
WITH_MISSING = ("gaussian_diagonal", "gaussian_spherical", "categorical", "bernoulli", "poisson")


def dense(X) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()


def natural_pairs(natural, moments) -> list[tuple[str, np.ndarray, np.ndarray, Callable]]:
    """(name, natural parameters, the moments they go with, natural with other values in their place) for every array of a natural."""
    found = [("constant", natural.constant, moments.mass, lambda values: replace(natural, constant=values))]
    for place, (own, own_moments) in enumerate(zip(natural.columns, moments.columns, strict=True)):
        for field in fields(own):

            def changed(values, place=place, own=own, name=field.name):
                columns = list(natural.columns)
                columns[place] = replace(own, **{name: values})
                return replace(natural, columns=tuple(columns))

            values = getattr(own, field.name), getattr(own_moments, NATURAL_TO_MOMENT[field.name])
            found.append((field.name, *values, changed))
    return found


def assert_records_close(one, other, rtol=1e-9, atol=1e-12) -> None:
    for a, b in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
