"""Table 1: average test log-likelihood by annealed importance sampling."""

from __future__ import annotations

from .. import Options, Report
from .images_table import run_table

ONE, TWO = (200,), (200, 200)
PAPER = {
    ("MNIST", ONE, "SGD"): -118.85, ("OCR", ONE, "SGD"): -49.67,
    ("MNIST", ONE, "Gibbs"): -111.79, ("OCR", ONE, "Gibbs"): -49.45,
    ("MNIST", ONE, "VB"): -106.37, ("OCR", ONE, "VB"): -45.20,
    ("MNIST", ONE, "NVIL"): -104.76, ("OCR", ONE, "NVIL"): -40.35,
    ("MNIST", ONE, "MCEM-ML"): -99.08, ("OCR", ONE, "MCEM-ML"): -37.58,
    ("MNIST", ONE, "MCEM-MAP"): -98.88, ("OCR", ONE, "MCEM-MAP"): -37.34,
    ("MNIST", TWO, "VB"): -103.78, ("OCR", TWO, "VB"): -43.43,
    ("MNIST", TWO, "MCEM-ML"): -98.90, ("OCR", TWO, "MCEM-ML"): -35.17,
    ("MNIST", TWO, "MCEM-MAP"): -98.37, ("OCR", TWO, "MCEM-MAP"): -34.89,
    ("MNIST", TWO, "NVIL"): -95.15, ("OCR", TWO, "NVIL"): -35.38,
}  # fmt: skip


def run(options: Options) -> Report:
    return run_table(options, PAPER, ["SGD", "Gibbs", "VB", "NVIL", "MCEM-ML", "MCEM-MAP"], "annealing")
