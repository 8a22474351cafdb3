"""Sequences of every family with classes, for the tests of classifiers of sequences."""

import numpy as np

from suffice.families.bernoulli import Bernoulli
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_spherical import GaussianSpherical
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.poisson import Poisson
from suffice.learners.chain_classes import ClassRows, fitted_by_classes
from suffice.structures.chain_classes import ChainClasses, SequenceRows, Shape
from suffice.structures.joint import Joint

KINDS = {
    "diag": (GaussianDiagonal,),
    "full": (GaussianFull,),
    "tied": (GaussianTied,),
    "spherical": (GaussianSpherical,),
    "categorical": (Categorical,),
    "bernoulli": (Bernoulli,),
    "poisson": (Poisson,),
    "mixed": (GaussianDiagonal, Categorical, Poisson),
}
SHAPES = [Shape(2), Shape(3, "left-right"), Shape(2, "ergodic", True), Shape(3, ("left-right", 1), True)]


def cells(kind, n: int, generator) -> np.ndarray:
    if kind is Categorical:
        return generator.integers(3, size=(n, 2)).astype(float)
    if kind is Bernoulli:
        return generator.integers(2, size=(n, 2)).astype(float)
    if kind is Poisson:
        return generator.poisson(3.0, size=(n, 2)).astype(float)
    return generator.normal(size=(n, 2))


def emissions(kind: str, X: np.ndarray) -> Joint:
    families = []
    for number, family in enumerate(KINDS[kind]):
        own = X[:, 2 * number : 2 * number + 2]
        if family is Categorical:
            families.append(Categorical(1, 2, np.array([3, 3])))
        else:
            families.append(family.for_data(own, 1))
    return Joint.of(*families)


def case(kind: str, shape: Shape, n: int = 9, missing: float = 0.2, seed: int = 0, n_classes: int = 2) -> ClassRows:
    """Short sequences of all classes; the last two have no label, some cells and a whole step are missing."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(1, 6, size=n)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    X = np.hstack([cells(family, int(offsets[-1]), generator) for family in KINDS[kind]])
    labels = np.arange(n) % n_classes
    X += np.repeat(labels, lengths)[:, None] * (0 if kind in ("categorical", "bernoulli", "mixed") else 1)
    model = ChainClasses.of(n_classes, emissions(kind, X)).at_shape(shape)
    if missing:
        X[generator.random(X.shape) < missing] = np.nan
        X[0] = np.nan
    y = np.where(np.arange(n) >= n - 2, -1, labels)
    return ClassRows(model, SequenceRows(X, offsets), y, generator.uniform(0.5, 2.0, size=n))


def fitted(rows: ClassRows, passes: int = 3):
    """(moments, statistics, prior) of a few passes of EM."""
    how = "parts" if np.isfinite(rows.model.chain.start_cells).all() else "random"
    return fitted_by_classes(rows, how, 2.0, np.random.default_rng(1), passes, 0.0)
