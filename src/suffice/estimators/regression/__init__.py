"""Regressors: densities of a target given a table."""

from .gaussian import GaussianRegressor
from .mixture import MixtureRegressor

__all__ = ["GaussianRegressor", "MixtureRegressor"]
