"""Mixtures: densities with a latent component, learned by every kind of EM; alone, and inside classifiers."""

from .classifier import MixtureClassifier
from .families import (
    BernoulliMixture,
    CategoricalMixture,
    MixedMixture,
    MultinomialMixture,
    PoissonMixture,
)
from .family import FamilyMixture
from .gaussian import GaussianMixture

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
