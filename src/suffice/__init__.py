"""Generative models learned from expected sufficient statistics.

One exponential-family core (moments, natural parameters, losses as signed weights, one update) and the learners on top of it:
classifiers with the accuracy of logistic regression that still are probability models.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "DaskEngine": "engines.dask",
    "engine": "engines.blocks",
    "save": "saving",
    "to_onnx": "estimators.onnx",
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

if TYPE_CHECKING:  # for type checkers and editors; at run time `__getattr__` imports what is asked for
    from .discriminant import GaussianDiscriminant as GaussianDiscriminant
    from .engines.blocks import engine as engine
    from .engines.dask import DaskEngine as DaskEngine
    from .estimators.families import register_family as register_family
    from .estimators.onnx import to_onnx as to_onnx
    from .figures import ConvergenceDisplay as ConvergenceDisplay
    from .figures import DensityDisplay as DensityDisplay
    from .figures import ReliabilityDisplay as ReliabilityDisplay
    from .figures import StatesDisplay as StatesDisplay
    from .figures import TopicDisplay as TopicDisplay
    from .figures import TransitionsDisplay as TransitionsDisplay
    from .hmm import BernoulliHMM as BernoulliHMM
    from .hmm import CategoricalHMM as CategoricalHMM
    from .hmm import GaussianHMM as GaussianHMM
    from .hmm import HMMClassifier as HMMClassifier
    from .hmm import HMMTagger as HMMTagger
    from .hmm import MixedHMM as MixedHMM
    from .hmm import PoissonHMM as PoissonHMM
    from .losses import register as register_loss  # noqa: F401
    from .mixture import BernoulliMixture as BernoulliMixture
    from .mixture import CategoricalMixture as CategoricalMixture
    from .mixture import FamilyMixture as FamilyMixture
    from .mixture import GaussianMixture as GaussianMixture
    from .mixture import MixedMixture as MixedMixture
    from .mixture import MixtureClassifier as MixtureClassifier
    from .mixture import MultinomialMixture as MultinomialMixture
    from .mixture import PoissonMixture as PoissonMixture
    from .naive_bayes import BernoulliNB as BernoulliNB
    from .naive_bayes import CategoricalNB as CategoricalNB
    from .naive_bayes import ComplementNB as ComplementNB
    from .naive_bayes import FamilyNB as FamilyNB
    from .naive_bayes import GaussianNB as GaussianNB
    from .naive_bayes import MixedNB as MixedNB
    from .naive_bayes import MultinomialNB as MultinomialNB
    from .naive_bayes import PoissonNB as PoissonNB
    from .regression import GaussianRegressor as GaussianRegressor
    from .regression import MixtureRegressor as MixtureRegressor
    from .reporting import report as report
    from .saving import load as load
    from .saving import save as save
    from .sbn import SigmoidBeliefNetwork as SigmoidBeliefNetwork
    from .table import TableClassifier as TableClassifier
    from .text import TextClassifier as TextClassifier
    from .text import TextTagger as TextTagger
    from .topic import LatentDirichletAllocation as LatentDirichletAllocation
    from .topic import LDAClassifier as LDAClassifier

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name.removesuffix("_loss"))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
