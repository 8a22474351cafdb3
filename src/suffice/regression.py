"""Regression: the density of a target given a table, missing cells included."""

from .estimators.regression import MixtureRegressor

__all__ = ["MixtureRegressor"]
