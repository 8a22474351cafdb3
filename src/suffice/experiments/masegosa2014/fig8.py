"""Figure 8: Hinge-SGD and Hinge-MNB at different learning rates on imdb."""

from __future__ import annotations

from .. import Options, Report
from . import rates


def run(options: Options) -> Report:
    return rates.run(options, "hinge", "SVM", "masegosa2014-fig8")
