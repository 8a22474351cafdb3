"""Hidden Markov models behind scikit-learn's interface."""

from .classifier import HMMClassifier
from .families import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM
from .tagger import HMMTagger
from .tagger_text import TextTagger

__all__ = [
    "BernoulliHMM", "CategoricalHMM", "GaussianHMM", "HMMClassifier", "HMMTagger", "MixedHMM", "PoissonHMM", "TextTagger",
]  # fmt: skip
