"""Hidden Markov models behind scikit-learn's interface."""

from .classifier import HMMClassifier
from .families import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

__all__ = ["BernoulliHMM", "CategoricalHMM", "GaussianHMM", "HMMClassifier", "MixedHMM", "PoissonHMM"]
