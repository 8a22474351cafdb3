"""Hidden Markov models: sequences of numbers, symbols, counts or all of them, learned by every kind of EM."""

from .estimators.hmm import BernoulliHMM, CategoricalHMM, GaussianHMM, HMMTagger, MixedHMM, PoissonHMM, TextTagger

__all__ = ["BernoulliHMM", "CategoricalHMM", "GaussianHMM", "HMMTagger", "MixedHMM", "PoissonHMM", "TextTagger"]
