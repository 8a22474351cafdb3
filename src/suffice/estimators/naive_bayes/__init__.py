"""Naive Bayes classifiers, one file each."""

from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .complement import ComplementNB
from .family import FamilyNB
from .gaussian import GaussianNB
from .mixed import MixedNB
from .multinomial import MultinomialNB
from .poisson import PoissonNB

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
