"""Figure 4: learning curves of Rec-MCEM and NVIL on OCR."""

from __future__ import annotations

from .. import Options, Report
from .curves import run_curves


def run(options: Options) -> Report:
    return run_curves(options, "OCR", "fig4")
