"""Topic models: a classifier whose classes have their own topics, and unsupervised latent Dirichlet allocation."""

from .allocation import LatentDirichletAllocation
from .classifier import LDAClassifier

__all__ = ["LDAClassifier", "LatentDirichletAllocation"]
