"""Table 2: average test variational lower bound."""

from __future__ import annotations

from .. import Options, Report
from .images_table import run_table

ONE, TWO = (200,), (200, 200)
PAPER = {
    ("MNIST", ONE, "VB"): -117.04, ("OCR", ONE, "VB"): -47.70,
    ("MNIST", ONE, "NVIL"): -117.48, ("OCR", ONE, "NVIL"): -43.65,
    ("MNIST", ONE, "Rec-MCEM-ML"): -116.70, ("OCR", ONE, "Rec-MCEM-ML"): -42.10,
    ("MNIST", ONE, "Rec-MCEM-MAP"): -116.58, ("OCR", ONE, "Rec-MCEM-MAP"): -41.83,
    ("MNIST", TWO, "VB"): -113.93, ("OCR", TWO, "VB"): -45.98,
    ("MNIST", TWO, "Rec-MCEM-ML"): -106.54, ("OCR", TWO, "Rec-MCEM-ML"): -41.18,
    ("MNIST", TWO, "Rec-MCEM-MAP"): -106.42, ("OCR", TWO, "Rec-MCEM-MAP"): -40.84,
    ("MNIST", TWO, "NVIL"): -105.50, ("OCR", TWO, "NVIL"): -39.20,
}  # fmt: skip


def run(options: Options) -> Report:
    return run_table(options, PAPER, ["VB", "NVIL", "Rec-MCEM-ML", "Rec-MCEM-MAP"], "bound")
