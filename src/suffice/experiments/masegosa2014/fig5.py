"""Figure 5: convergence of NCLL-MNB with the priors P1 (1) and P2 (ln |W|)."""

from __future__ import annotations

from .. import Options, Report
from . import convergence


def run(options: Options) -> Report:
    return convergence.run(options, "ncll", "LR", "masegosa2014-fig5")
