"""What safety costs: the share of a default fit that checks of its input and of its result take, and `load` beside reading the bytes.

    SUFFICE_DATA=... python tools/border_costs.py            # 20ng (MultinomialNB), adult (MixedNB), a model of 100 MB

The time of a check is that of the functions in CHECKS, counted once where one calls another.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import warnings
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

import suffice
from suffice import datasets
from suffice.datasets import tabular
from suffice.estimators import classifier, contract
from suffice.reading import guards, mixed

CHECKS = [
    (contract.Contract, "_validated"),
    (classifier, "checked_weights"),
    (classifier, "split_labels"),
    (classifier, "check_class_prior"),
    (guards, "refuse_infinite"),
    (mixed, "refuse_huge"),
]


class Clock:
    """Seconds inside of the checks."""

    def __init__(self) -> None:
        self.seconds, self.depth = 0.0, 0

    def timed(self, function: Any) -> Any:
        @wraps(function)
        def inner(*args: Any, **options: Any) -> Any:
            began, self.depth = time.perf_counter(), self.depth + 1
            try:
                return function(*args, **options)
            finally:
                self.depth -= 1
                if not self.depth:
                    self.seconds += time.perf_counter() - began

        return inner


def shares(clock: Clock) -> None:
    news, adult = datasets.load("20ng"), tabular.load("adult")
    for name, model, X, y in (
        ("20ng", suffice.MultinomialNB(random_state=0), news.X_train, news.y_train),
        ("adult", suffice.MixedNB(random_state=0), adult.X, adult.y),
    ):
        model.fit(X, y)  # compiled now
        clock.seconds, began = 0.0, time.perf_counter()
        model.fit(X, y)
        whole = time.perf_counter() - began
        print(f"{name}: fit {whole:.2f} s, checks {1000 * clock.seconds:.1f} ms, {100 * clock.seconds / whole:.2f} %")


def loading(megabytes: int = 100, times: int = 7) -> None:
    n_classes = 20
    n_words = megabytes * 2**20 // (8 * n_classes * 5)  # five tables of words and classes are stored
    generator = np.random.default_rng(0)
    X = generator.poisson(0.5, (n_classes, n_words)).astype(float)
    model = suffice.MultinomialNB(loss="nll", prior=1.0).fit(X, np.arange(n_classes))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sfc"
        suffice.save(model, path)
        ways = {
            "read": path.read_bytes,
            "read and sha256": lambda: hashlib.sha256(path.read_bytes()).digest(),
            "load": lambda: suffice.load(path),
        }
        least = dict.fromkeys(ways, np.inf)
        for _ in range(times):
            for name, function in ways.items():
                began = time.perf_counter()
                function()
                least[name] = min(least[name], time.perf_counter() - began)
        said = ", ".join(f"{name} {1000 * seconds:.0f} ms" for name, seconds in least.items())
        print(f"a model of {path.stat().st_size / 2**20:.0f} MB: {said}")


if __name__ == "__main__":
    clock = Clock()
    for home, name in CHECKS:
        setattr(home, name, clock.timed(getattr(home, name)))
    warnings.simplefilter("ignore")
    loading()
    shares(clock)
