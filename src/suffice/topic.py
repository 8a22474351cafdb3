"""Topic models: a classifier whose classes have their own topics, and unsupervised latent Dirichlet allocation."""

from .estimators.topic import LatentDirichletAllocation, LDAClassifier

__all__ = ["LDAClassifier", "LatentDirichletAllocation"]
