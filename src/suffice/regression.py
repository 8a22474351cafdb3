"""Regression: the density of a target given a table, missing cells included."""

from .estimators.regression import GaussianRegressor, MixtureRegressor

__all__ = ["GaussianRegressor", "MixtureRegressor"]
