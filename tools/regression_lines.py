"""Planted lines, where a mixture of experts has the least to say: NLL of 400 new rows, ours, GaussianRegressor and BayesianRidge.

python tools/regression_lines.py
"""

from __future__ import annotations

import warnings

import numpy as np

from suffice.evaluation.regression import RegressionScores
from suffice.experiments.regression.peers import linear
from suffice.regression import GaussianRegressor, MixtureRegressor

NEW = 400
TABLES = {  # rows, columns, deviation of the noise, columns that count
    "exact": (150, 4, 0.0, 4),
    "nearly exact": (200, 4, 1e-3, 4),
    "50 rows": (50, 3, 0.5, 3),
    "8 rows": (8, 2, 0.5, 2),
    "37 rows, 10 columns": (37, 10, 1.0, 4),
    "noise alone": (150, 5, 1.0, 0),
    "20 rows, 30 columns, exact": (20, 30, 0.0, 5),
    "60 rows, 100 columns": (60, 100, 0.5, 5),
    "120 rows, 150 columns": (120, 150, 1.0, 3),
    "120 rows, 40 columns": (120, 40, 1.0, 20),
}


def planted(n_rows: int, n_columns: int, noise: float, n_that_count: int, seed: int):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows + NEW, n_columns))
    slope = np.zeros(n_columns)
    slope[:n_that_count] = generator.normal(size=n_that_count) + 1
    y = 3.0 + X @ slope + noise * generator.normal(size=len(X))
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def main() -> None:
    warnings.simplefilter("ignore")
    for name, shape in TABLES.items():
        for seed in range(2):
            X, y, X_test, y_test = planted(*shape, seed)
            scores, model = RegressionScores(), MixtureRegressor(random_state=seed).fit(X, y)
            scores.update(model, X_test, y_test)
            found = scores.summary()
            line = -GaussianRegressor().fit(X, y).log_density(X_test, y_test).mean()
            ridge = linear(X, y, X_test, y_test, seed)["nll"]
            print(
                f"{name:28} {seed} ours {found['nll']:9.3f}  intervals cover {found['coverage_90']:.3f}  "
                f"GaussianRegressor {line:8.3f}  BayesianRidge {ridge:8.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
