"""Gaussian discriminants: numeric columns that depend on each other."""

from .estimators.discriminant import GaussianDiscriminant

__all__ = ["GaussianDiscriminant"]
