"""Compile now what fits would compile later: `python -m suffice.warm_up`, once after an installation.

Kernels are compiled on first use and kept on disk, which costs the first fit of every kind of rows some seconds. Here small fits of
every estimator, loss and layout of rows (complete, with missing cells, sparse) ask for all of them.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

import suffice
from suffice.losses import LOSSES

CLASSIFIERS = {
    "numbers": ("GaussianNB", "GaussianDiscriminant", "MixtureClassifier"),
    "counts": ("PoissonNB", "MultinomialNB", "ComplementNB", "LDAClassifier"),
    "codes": ("CategoricalNB", "BernoulliNB"),
}
DENSITIES = {
    "numbers": (("GaussianMixture", {"n_components": 2}), ("GaussianHMM", {"n_states": 2})),
    "counts": (
        ("PoissonMixture", {"n_components": 2}), ("MultinomialMixture", {"n_components": 2}), ("PoissonHMM", {"n_states": 2}),
        ("LatentDirichletAllocation", {"n_topics": 2}),
    ),
    "codes": (
        ("CategoricalMixture", {"n_components": 2}), ("BernoulliMixture", {"n_components": 2}), ("CategoricalHMM", {"n_states": 2}),
        ("SigmoidBeliefNetwork", {"hidden": (2,), "max_iter": 2}),
    ),
}  # fmt: skip


def fits() -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
    """What is fitted, on which rows and labels."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    numbers = rng.standard_normal((60, 4)) + y[:, None]
    counts = rng.poisson(1.0 + y[:, None], (60, 4)).astype(float)
    tables = {"numbers": numbers, "counts": counts, "codes": (numbers > y[:, None]).astype(float)}
    for kind, rows in tables.items():
        for name in CLASSIFIERS[kind]:
            for loss in LOSSES:
                yield getattr(suffice, name)(loss=loss), rows, y
        for name, parameters in DENSITIES[kind]:
            yield getattr(suffice, name)(**parameters), rows, None


def use(model: Any, X: np.ndarray, y: np.ndarray | None) -> None:
    """Fit and predict, on every layout that the model takes."""
    tags = model.__sklearn_tags__().input_tags
    holes = np.where(np.arange(X.size).reshape(X.shape) % 11, X, np.nan)
    layouts = [X, *([holes] if tags.allow_nan else []), *([sparse.csr_matrix(X)] if tags.sparse else [])]
    for rows in layouts:
        model.fit(rows) if y is None else model.fit(rows, y)
        for method in ("predict_proba", "score_samples", "transform"):
            if hasattr(model, method):
                getattr(model, method)(rows)
                break


def main() -> int:
    began, last = time.perf_counter(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model, rows, y in fits():
            if (name := type(model).__name__) != last:
                print(f"{time.perf_counter() - began:6.1f} s  {name}", flush=True)
                last = name
            use(model, rows, y)
    print(f"{time.perf_counter() - began:6.1f} s  all kernels are compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
