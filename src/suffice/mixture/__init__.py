"""Mixtures: densities with a latent component, learned by every kind of EM; alone, and inside classifiers."""

from .families import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
    PoissonMixture,
)

__all__ = [
    "BernoulliMixture",
    "CategoricalMixture",
    "GaussianMixture",
    "MixedMixture",
    "MultinomialMixture",
    "PoissonMixture",
]
