"""Held-out fit, always with the name of the estimator, its samples and a standard error."""

from .belief_network import annealed_importance_sampling, exact, importance_weighted_bound, variational_bound
from .perplexity import Perplexity, completion_perplexity
from .results import Estimate

__all__ = [
    "Estimate",
    "Perplexity",
    "annealed_importance_sampling",
    "completion_perplexity",
    "exact",
    "importance_weighted_bound",
    "variational_bound",
]
