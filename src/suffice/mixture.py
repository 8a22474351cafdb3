"""Mixtures: densities with a latent component, learned by every kind of EM; alone, and inside classifiers."""

from .estimators.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    FamilyMixture,
    GaussianMixture,
    MixedMixture,
    MixtureClassifier,
    MultinomialMixture,
    PoissonMixture,
)

__all__ = [
    "BernoulliMixture",
    "CategoricalMixture",
    "FamilyMixture",
    "GaussianMixture",
    "MixedMixture",
    "MixtureClassifier",
    "MultinomialMixture",
    "PoissonMixture",
]
