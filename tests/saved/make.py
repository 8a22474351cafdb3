"""Writes the model files that every later version must read: `python tests/saved/make.py`, once a format version.

Run it again only while version 0.1.0 is unreleased; afterwards add files under a new name and keep these.
"""

import json
from pathlib import Path

import numpy as np

import suffice
from suffice import saving as storage

ROWS = np.array(
    [[1.0, 0, 3, 2], [2, 1, 0, 1], [0, 2, 1, 0], [3, 0, 2, 2], [1, 1, 1, 1], [0, 3, 0, 0], [2, 0, 1, 3], [1, 2, 0, 1]]
)
LABELS = np.array(["yes", "no", "no", "yes", "yes", "no", "yes", "no"])
TABLES = [
    "GaussianNB",
    "MultinomialNB",
    "ComplementNB",
    "BernoulliNB",
    "CategoricalNB",
    "PoissonNB",
    "GaussianDiscriminant",
]
LIKELIHOOD = {"loss": "nll", "prior": 1.0}
MODELS = {name: LIKELIHOOD for name in TABLES} | {
    "MixedNB": LIKELIHOOD | {"kinds": {"x0": "gaussian", "x1": "categorical"}},
    "FamilyNB": LIKELIHOOD | {"family": "poisson"},
    "FamilyMixture": {"n_components": 2, "family": "poisson", "random_state": 0},
    "MixtureClassifier": {"n_components": 1, "loss": "nll", "random_state": 0},
    "GaussianMixture": {"n_components": 2, "random_state": 0},
    "BernoulliMixture": {"n_components": 2, "binarize": 0.5, "random_state": 0},
    "CategoricalMixture": {"n_components": 2, "random_state": 0},
    "MultinomialMixture": {"n_components": 2, "random_state": 0},
    "PoissonMixture": {"n_components": 2, "random_state": 0},
    "MixedMixture": {"n_components": 2, "random_state": 0},
    "GaussianRegressor": {},
    "MixtureRegressor": {"n_components": 2, "n_members": 1, "max_iter": 5, "random_state": 0},
    "TableClassifier": {"max_seconds": 5.0, "random_state": 0},
    "HMMClassifier": {"n_states": 2, "loss": "nll", "random_state": 0},
    "HMMTagger": {"loss": "nll", "prior": 1.0},
    "LDAClassifier": {"n_topics": 1, "loss": "nll", "random_state": 0},
    "LatentDirichletAllocation": {"n_topics": 2, "random_state": 0},
    "SigmoidBeliefNetwork": {"hidden": (2,), "data": "count", "max_iter": 2, "random_state": 0},
    "BernoulliHMM": {"n_states": 2, "random_state": 0, "max_iter": 3, "tol": 0.1},
    "CategoricalHMM": {"n_states": 2, "random_state": 0, "max_iter": 3, "tol": 0.1},
    "GaussianHMM": {"n_states": 2, "random_state": 0, "max_iter": 3, "tol": 0.1},
    "MixedHMM": {"n_states": 2, "random_state": 0, "max_iter": 3, "tol": 0.1},
    "PoissonHMM": {"n_states": 2, "random_state": 0, "max_iter": 3, "tol": 0.1},
}


TARGETS = ROWS @ [1.0, -0.5, 0.2, 0.0]


def answer_of(model, said: str = "") -> list:
    """What the file must still say: the joint scores of a classifier, the density of a mixture, the parts of a transformer."""
    for method in (said, "predict_joint_log_proba", "transform", "score_samples", "predict_proba"):
        if hasattr(model, method):
            return np.asarray(getattr(model, method)(ROWS)).tolist()
    raise TypeError(f"{type(model).__name__} has no answer to compare")


def main() -> None:
    folder = Path(__file__).parent
    for name, options in MODELS.items():
        model = getattr(suffice, name)(**options).fit(ROWS, TARGETS if name.endswith("Regressor") else LABELS)
        storage.save(model, folder / f"{name}-1.sfc")
        expected = {"rows": ROWS.tolist(), "answer": answer_of(model)}
        (folder / f"{name}-1.json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
