"""Figure 7: NCLL-SGD and NCLL-MNB at different learning rates on imdb."""

from __future__ import annotations

from .. import Options, Report
from . import rates


def run(options: Options) -> Report:
    return rates.run(options, "ncll", "LR", "masegosa2014-fig7")
