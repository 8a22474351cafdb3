"""Hidden Markov models: sequences of numbers, symbols, counts or all of them, learned by every kind of EM; classifiers and taggers."""

from .estimators.hmm import (
    BernoulliHMM,
    CategoricalHMM,
    GaussianHMM,
    HMMClassifier,
    HMMTagger,
    MixedHMM,
    PoissonHMM,
    TextTagger,
)

__all__ = [
    "BernoulliHMM", "CategoricalHMM", "GaussianHMM", "HMMClassifier", "HMMTagger", "MixedHMM", "PoissonHMM", "TextTagger",
]  # fmt: skip
