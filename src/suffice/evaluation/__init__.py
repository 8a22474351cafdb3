"""What a fitted model is worth: held-out fit with its estimator and standard error, calibration, and the numbers of pictures."""

from .belief_network import annealed_importance_sampling, exact, importance_weighted_bound, variational_bound
from .bins import Reliability, reliability
from .calibration import calibration_error
from .densities import ColumnDensity, column_density
from .perplexity import Perplexity, completion_perplexity
from .results import Estimate
from .topic_map import TopicMap, topic_map

__all__ = [
    "ColumnDensity",
    "Estimate",
    "Perplexity",
    "Reliability",
    "TopicMap",
    "annealed_importance_sampling",
    "calibration_error",
    "column_density",
    "completion_perplexity",
    "exact",
    "importance_weighted_bound",
    "reliability",
    "topic_map",
    "variational_bound",
]
