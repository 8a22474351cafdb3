"""Regressors: densities of a target given a table."""

from .mixture import MixtureRegressor

__all__ = ["MixtureRegressor"]
