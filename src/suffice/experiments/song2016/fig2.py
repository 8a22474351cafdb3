"""Figure 2: learning curves of Rec-MCEM and NVIL on MNIST."""

from __future__ import annotations

from .. import Options, Report
from .curves import run_curves


def run(options: Options) -> Report:
    return run_curves(options, "MNIST", "fig2")
