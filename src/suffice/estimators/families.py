"""Families by their names: how rows of each are read, and the structure of such rows. What mixtures are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from ..families.bernoulli import Bernoulli
from ..families.categorical import Categorical
from ..families.gaussian_diagonal import GaussianDiagonal
from ..families.gaussian_full import GaussianFull
from ..families.gaussian_spherical import GaussianSpherical
from ..families.gaussian_tied import GaussianTied
from ..families.multinomial import Multinomial
from ..families.poisson import Poisson
from ..losses import loss_named
from ..reading.base import Reader
from ..reading.mixed import Mixed
from ..reading.tables import Codes, Counts, Flags, Numbers
from ..reading.words import Words
from ..structures.joint import Joint
from ..structures.words import BernoulliWords
from ..structures.words import Words as WordStructure
from .naive_bayes.mixed import mixed_structure

COVARIANCES: dict[str, Any] = {
    "full": GaussianFull,
    "tied": GaussianTied,
    "diag": GaussianDiagonal,
    "spherical": GaussianSpherical,
}


class Kind(NamedTuple):
    """`reader(estimator)`, and `structure(estimator, reader, rows, n_outcomes, weights)`."""

    reader: Callable[[Any], Reader]
    structure: Callable[[Any, Any, Any, int, Any], Any]


def _words(estimator) -> Words:
    return Words(
        type(estimator).__name__, norm=10.0 if loss_named(estimator.loss).is_discriminative else None, is_copied=True
    )


def _multinomial(estimator, reader, rows, n_outcomes, weights):
    family = Multinomial.for_data(rows, n_outcomes, weights)
    return WordStructure.of(family if reader.norm is None else replace(family, unit=1.0))


FAMILIES: dict[str, Kind] = {
    "gaussian": Kind(
        lambda estimator: Numbers(),
        lambda e, reader, rows, n, weights: Joint.of(COVARIANCES[e.covariance_type].for_data(rows, n)),
    ),
    "bernoulli": Kind(
        lambda estimator: Flags(estimator.binarize),
        lambda e, reader, rows, n, weights: BernoulliWords.of(Bernoulli.for_data(rows, n)),
    ),
    "categorical": Kind(
        lambda estimator: Codes(estimator.min_categories),
        lambda e, reader, rows, n, weights: Joint.of(Categorical(n, rows.shape[1], reader.n_categories)),
    ),
    "multinomial": Kind(_words, _multinomial),
    "poisson": Kind(
        lambda estimator: Counts(type(estimator).__name__),
        lambda e, reader, rows, n, weights: Joint.of(Poisson.for_data(rows, n)),
    ),
    "mixed": Kind(
        lambda estimator: Mixed(estimator.kinds), lambda e, reader, rows, n, weights: mixed_structure(reader, rows, n)
    ),
}
