"""Any table in one line: the best of naive Bayes, discriminants and mixtures, chosen on held-out rows."""

from .estimators.table import TableClassifier

__all__ = ["TableClassifier"]
