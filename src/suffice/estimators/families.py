"""Families by their names: how rows of each are read, and the structure of such rows. What mixtures are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..families.base import Family
from ..families.bernoulli import Bernoulli
from ..families.categorical import Categorical
from ..families.gaussian_diagonal import GaussianDiagonal
from ..families.gaussian_full import GaussianFull
from ..families.gaussian_levels import GaussianLevels
from ..families.gaussian_spherical import GaussianSpherical
from ..families.gaussian_tied import GaussianTied
from ..families.histogram import Histogram
from ..families.multinomial import Multinomial
from ..families.poisson import Poisson
from ..losses import loss_named
from ..reading.base import Reader
from ..reading.ordered import Ordered
from ..reading.tables import Codes, Counts, Flags, Numbers
from ..reading.words import Words
from ..saving import names
from ..structures.gaps import CorrelatedGaps
from ..structures.joint import Joint
from ..structures.words import BernoulliWords
from ..structures.words import Words as WordStructure

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


def _words(estimator: Any) -> Words:
    return Words(
        type(estimator).__name__, norm=10.0 if loss_named(estimator.loss).is_discriminative else None, is_copied=True
    )


def _multinomial(estimator: Any, reader: Any, rows: Any, n_outcomes: int, weights: np.ndarray) -> Any:
    family = Multinomial.for_data(rows, n_outcomes, weights)
    return WordStructure.of(family if reader.norm is None else replace(family, unit=1.0))


def mixed_structure(reader: Any, rows: Any, n_outcomes: int) -> Any:
    """The structure of a table with columns of several kinds."""
    numbers, _, counts, bins = reader.sections
    sizes = reader.cell_sizes
    gaussian = GaussianDiagonal.for_data(rows[:, : len(numbers)], n_outcomes)
    gaps = reader.level_gaps(numbers)
    joint = Joint.of(
        GaussianLevels(n_outcomes, len(numbers), gaussian.location, gaps) if gaps.any() else gaussian,
        Categorical(n_outcomes, len(sizes), sizes),
        Poisson(n_outcomes, len(counts)),
    )
    if not bins:
        return joint
    cuts = [reader.bins[name] for name in bins]
    n_cells, left = np.array([len(own) for own in cuts]), np.concatenate([own.left for own in cuts])
    right = np.concatenate([own.right for own in cuts])
    return Joint.of(*joint.families, Histogram(n_outcomes, len(bins), n_cells, left=left, right=right))


def shown_columns(
    reader: Any, model: Any, moments: Any
) -> tuple[dict[Any, Any], dict[Any, Any], dict[Any, Any], dict[Any, Any]]:
    """By column: means, variances, probabilities of categories and rates, each an array with a row an outcome."""
    numbers, named, counts, _ = reader.sections
    gaussian, categorical, poisson, *_ = model.families
    mean, variance = gaussian.cell_moments(moments.columns[0])
    blocks = categorical.columns_of(categorical.probabilities(moments.columns[1]))
    return (
        dict(zip(numbers, mean.T, strict=True)),
        dict(zip(numbers, variance.T, strict=True)),
        {name: block.T for name, block in zip(named, blocks, strict=False)},
        dict(zip(counts, poisson.rates(moments.columns[2]).T, strict=True)),
    )


def shapes(reader: Any, model: Any, moments: Any) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """By column of bins: its edges, and what each bin adds to the scores of the classes, centred over classes and rows."""
    bins = reader.sections[3]
    if not bins:
        return {}
    family, own = model.families[3], moments.columns[3]
    found = {}
    for name, q, count in zip(
        bins, family.columns_of(family.probabilities(own)), family.columns_of(own.count), strict=True
    ):
        logs = np.log(q)
        logs = logs - logs.mean(axis=1, keepdims=True)
        weight = count.sum(axis=1) / count.sum()
        cuts = reader.bins[name]
        found[name] = np.concatenate([cuts.left[:1], cuts.cuts, cuts.right[-1:]]), (logs - weight @ logs).T
    return found


def gap_readings(reader: Any, answering: Any) -> dict[str, str]:
    """By column: what becomes of a missing cell where classes are asked for."""
    found = dict.fromkeys(reader.columns, "integrated")
    if isinstance(answering, CorrelatedGaps):
        for place in answering.column:
            found[reader.placed[place]] = "filled" if place in answering.filled else "averaged"
    return {**found, **dict.fromkeys(reader.told, "told")}


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
        lambda estimator: Ordered(estimator.kinds), lambda e, reader, rows, n, weights: mixed_structure(reader, rows, n)
    ),
}


def register_family(
    name: str, family: type[Family], *, reader: Callable[[Any], Reader] = lambda estimator: Numbers()
) -> None:
    """Make a family of your own known by a name: to `FamilyNB`, `FamilyMixture`, `MixtureClassifier` and to model files.

    `family.for_data(rows, n_outcomes)` makes one; `reader(estimator)` says how its rows are read (by default as numbers).
    docs/architecture.md has a family written from scratch.

    Examples
    --------
    >>> import suffice
    >>> from suffice.families.poisson import Poisson
    >>> class Arrivals(Poisson):
    ...     pass
    >>> suffice.register_family("arrivals", Arrivals)
    >>> model = suffice.FamilyNB(family="arrivals", loss="nll").fit([[1], [2], [8], [9]], [0, 0, 1, 1])
    >>> model.predict([[3], [7]])
    array([0, 1])
    """
    if name in FAMILIES and not getattr(FAMILIES[name].structure, "is_registered", False):
        raise ValueError(f"the name {name!r} is taken by a family of the library")

    def structure(estimator, reader, rows, n_outcomes, weights):
        return Joint.of(family.for_data(rows, n_outcomes))

    structure.is_registered = True  # type: ignore[attr-defined]
    FAMILIES[name] = Kind(reader, structure)
    for cls in (family, getattr(family, "record", None), getattr(family, "natural", None)):
        if isinstance(cls, type) and names.name_of(cls) is None:
            names.register(cls)
