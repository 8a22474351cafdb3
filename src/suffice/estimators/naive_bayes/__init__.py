"""Naive Bayes classifiers, one file each."""

from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .complement import ComplementNB
from .gaussian import GaussianNB
from .mixed import MixedNB
from .multinomial import MultinomialNB
from .poisson import PoissonNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MixedNB", "MultinomialNB", "PoissonNB"]
