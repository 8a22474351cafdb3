"""Generative models learned from expected sufficient statistics."""

__version__ = "0.1.0"
