"""Raw texts in, labels and calibrated probabilities out; sentences in, tags out."""

from .estimators.hmm.tagger_text import TextTagger
from .estimators.text import TextClassifier

__all__ = ["TextClassifier", "TextTagger"]
