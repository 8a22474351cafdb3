"""Naive Bayes classifiers: columns independent given the class, trained for the likelihood or for classification.

They are drop-in replacements of scikit-learn's: with `loss="nll"` they are the same models; with the default `loss="ncll"` the
same family of densities is fitted so that it classifies well.
"""

from .bernoulli import BernoulliNB
from .categorical import CategoricalNB
from .complement import ComplementNB
from .gaussian import GaussianNB
from .multinomial import MultinomialNB
from .poisson import PoissonNB

__all__ = ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB", "PoissonNB"]
