"""Figure 4: learning curves of Rec-MCEM and NVIL on OCR."""

from __future__ import annotations

from suffice.experiments import Options, Report
from suffice.experiments.song2016.curves import run_curves


def run(options: Options) -> Report:
    return run_curves(options, "OCR", "fig4")
