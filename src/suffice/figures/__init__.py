"""Pictures: displays in scikit-learn's manner, and one style sheet. matplotlib is an extra and imported when a picture is drawn."""

from __future__ import annotations

from .convergence import ConvergenceDisplay
from .density import DensityDisplay
from .reliability import ReliabilityDisplay
from .states import StatesDisplay
from .style import COLOURS, QUIET, STYLE, figure, style, tidy
from .topics import TopicDisplay
from .transitions import TransitionsDisplay

__all__ = [
    "COLOURS",
    "QUIET",
    "STYLE",
    "ConvergenceDisplay",
    "DensityDisplay",
    "ReliabilityDisplay",
    "StatesDisplay",
    "TopicDisplay",
    "TransitionsDisplay",
    "figure",
    "style",
    "tidy",
]
