"""What a predictive density is worth: error of its mean, log density, CRPS and coverage of its intervals, added up over chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

COVERAGE = 0.9


class RegressionScores:
    """Add chunks by `update`; `summary` gives means per row."""

    def __init__(self) -> None:
        self.sums = dict.fromkeys(("squares", "nll", "crps", "coverage", "first", "second"), 0.0)
        self.n_rows: int = 0

    def update(self, model: Any, X: Any, y: np.ndarray) -> None:
        """Score the answers of a regressor of one target (`predict`, `log_density`, `crps`, `cdf`)."""
        y = np.asarray(y, dtype=float)
        tail = 0.5 * (1.0 - COVERAGE)
        below = model.cdf(X, y)
        self.sums["squares"] += float(((model.predict(X) - y) ** 2).sum())
        self.sums["nll"] -= float(model.log_density(X, y).sum())
        self.sums["crps"] += float(model.crps(X, y).sum())
        self.sums["coverage"] += float(((below >= tail) & (below <= 1.0 - tail)).sum())
        self.sums["first"] += float(y.sum())
        self.sums["second"] += float((y**2).sum())
        self.n_rows += len(y)

    def summary(self) -> dict[str, float]:
        """Means per row: rmse, r2, nll, crps, coverage_90."""
        n = max(1, self.n_rows)
        mean = {name: value / n for name, value in self.sums.items()}
        variance = mean["second"] - mean["first"] ** 2
        return {
            "rows": self.n_rows,
            "rmse": float(np.sqrt(mean["squares"])),
            "r2": float(1.0 - mean["squares"] / variance) if variance > 0 else float("nan"),
            "nll": mean["nll"],
            "crps": mean["crps"],
            "coverage_90": mean["coverage"],
        }


def gaussian_scores(mean: np.ndarray, deviation: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The same scores of Gaussian predictions: what peers are compared by."""
    z = (y - mean) / deviation
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return {
        "rmse": float(np.sqrt(np.mean((y - mean) ** 2))),
        "nll": float(np.mean(0.5 * np.log(2 * np.pi) + np.log(deviation) + 0.5 * z**2)),
        "crps": float(np.mean(deviation * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi)))),
        "coverage_90": float(np.mean(np.abs(z) <= 1.6448536269514722)),
    }
