"""Hidden Markov models behind scikit-learn's interface."""

from .families import BernoulliHMM, CategoricalHMM, GaussianHMM, MixedHMM, PoissonHMM

__all__ = ["BernoulliHMM", "CategoricalHMM", "GaussianHMM", "MixedHMM", "PoissonHMM"]
