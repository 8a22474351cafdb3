"""Generative models learned from expected sufficient statistics.

One exponential-family core (moments, natural parameters, losses as signed weights, one update) and the learners on top of it:
classifiers with the accuracy of logistic regression that still are probability models.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "BernoulliNB": "naive_bayes",
    "CategoricalNB": "naive_bayes",
    "ComplementNB": "naive_bayes",
    "FamilyNB": "naive_bayes",
    "GaussianNB": "naive_bayes",
    "MixedNB": "naive_bayes",
    "MultinomialNB": "naive_bayes",
    "PoissonNB": "naive_bayes",
    "GaussianDiscriminant": "discriminant",
    "TableClassifier": "table",
    "LDAClassifier": "topic",
    "LatentDirichletAllocation": "topic",
    "SigmoidBeliefNetwork": "sbn",
    "BernoulliMixture": "mixture",
    "CategoricalMixture": "mixture",
    "FamilyMixture": "mixture",
    "GaussianMixture": "mixture",
    "MixedMixture": "mixture",
    "MixtureClassifier": "mixture",
    "MultinomialMixture": "mixture",
    "PoissonMixture": "mixture",
    "GaussianRegressor": "regression",
    "MixtureRegressor": "regression",
    "register_family": "estimators.families",
    "register_loss": "losses",
    "BernoulliHMM": "hmm",
    "CategoricalHMM": "hmm",
    "GaussianHMM": "hmm",
    "HMMClassifier": "hmm",
    "HMMTagger": "hmm",
    "MixedHMM": "hmm",
    "PoissonHMM": "hmm",
    "save": "saving",
    "load": "saving",
    "TextClassifier": "text",
    "TextTagger": "text",
    "ConvergenceDisplay": "figures",
    "DensityDisplay": "figures",
    "ReliabilityDisplay": "figures",
    "StatesDisplay": "figures",
    "TransitionsDisplay": "figures",
    "report": "reporting",
    "TopicDisplay": "figures",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name.removesuffix("_loss"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
