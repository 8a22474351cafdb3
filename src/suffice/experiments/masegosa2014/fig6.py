"""Figure 6: convergence of Hinge-MNB with the priors P1 (1) and P2 (ln |W|)."""

from __future__ import annotations

from .. import Options, Report
from . import convergence


def run(options: Options) -> Report:
    return convergence.run(options, "hinge", "SVM", "masegosa2014-fig6")
