"""Hidden Markov models: sequences of numbers, symbols, counts or all of them, learned by every kind of EM; classifiers of sequences."""

from .estimators.hmm import BernoulliHMM, CategoricalHMM, GaussianHMM, HMMClassifier, MixedHMM, PoissonHMM

__all__ = ["BernoulliHMM", "CategoricalHMM", "GaussianHMM", "HMMClassifier", "MixedHMM", "PoissonHMM"]
