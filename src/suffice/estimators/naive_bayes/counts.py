"""What the classifiers of words share."""

from __future__ import annotations

from ..classifier import GenerativeClassifier


class CountClassifier(GenerativeClassifier):
    """They take `sample_weight` but no `class_weight`: scikit-learn's check of that parameter feeds negative numbers."""

    class_weight = None
