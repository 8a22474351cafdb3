"""Writes the model files that every later version must read: `python tests/saved/make.py`, once a format version.

Run it again only while version 0.1.0 is unreleased; afterwards add files under a new name and keep these.
"""

import json
from pathlib import Path

import numpy as np

from suffice import storage
from suffice.discriminant import GaussianDiscriminant
from suffice.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB

ROWS = np.array(
    [[1.0, 0, 3, 2], [2, 1, 0, 1], [0, 2, 1, 0], [3, 0, 2, 2], [1, 1, 1, 1], [0, 3, 0, 0], [2, 0, 1, 3], [1, 2, 0, 1]]
)
LABELS = np.array(["yes", "no", "no", "yes", "yes", "no", "yes", "no"])
MODELS = [GaussianNB, MultinomialNB, BernoulliNB, CategoricalNB, PoissonNB, GaussianDiscriminant]


def main() -> None:
    folder = Path(__file__).parent
    for cls in MODELS:
        model = cls(loss="nll", prior=1.0).fit(ROWS, LABELS)
        storage.save(model, folder / f"{cls.__name__}-1.sfc")
        expected = {"rows": ROWS.tolist(), "joint": model.predict_joint_log_proba(ROWS).tolist()}
        (folder / f"{cls.__name__}-1.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
