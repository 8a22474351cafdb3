"""Raw texts in, labels and calibrated probabilities out."""

from .estimators.text import TextClassifier

__all__ = ["TextClassifier"]
