"""Naive Bayes classifiers: columns independent given the class, trained for the likelihood or for classification.

They are drop-in replacements of scikit-learn's: with `loss="nll"` they are the same models; with the default `loss="ncll"` the
same family of densities is fitted so that it classifies well.
"""

from .estimators.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    FamilyNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "FamilyNB",
    "GaussianNB",
    "MixedNB",
    "MultinomialNB",
    "PoissonNB",
]
