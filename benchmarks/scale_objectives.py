"""Conditional likelihood over 2, 8 and 64 blocks, as given and sorted by label, beside one process at the same prior.

python -m benchmarks.scale_objectives [adult letter r8 20ng r8:1000]: how far F ends above that of one process, in units of
n max(.1, loss); rounds over the blocks until that is a thousandth; all rounds; the difference of the accuracies on the test part.
The number after a colon is that of the rows in the sample with which a fit begins.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

SHARE = 1e-3
BLOCKS = (2, 8, 64)


@dataclass(frozen=True)
class Rows:
    """A block in memory."""

    X: Any
    y: np.ndarray

    def load(self):
        from suffice.files.pieces import Part

        return Part(self.X, self.y)


def task(name: str) -> tuple[Any, ...]:
    """Rows and labels to train on, to test on, and an estimator with a given prior."""
    from suffice import GaussianNB, MixedNB, MultinomialNB, datasets
    from suffice.datasets import tabular

    if name in ("r8", "20ng"):
        data = datasets.load(name)
        parts = (data.X_train, data.y_train, data.X_test, data.y_test)
        return *parts, MultinomialNB(loss="ncll", prior=1.0, random_state=0, max_epochs=300)
    data = tabular.load(name)
    if data.X_test is not None:
        parts = (data.X, data.y, data.X_test, data.y_test)
    else:
        mixed = np.random.default_rng(0).permutation(len(data.y))
        train, test = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
        parts = (data.X.iloc[train], data.y[train], data.X.iloc[test], data.y[test])
    return *parts, (MixedNB if name == "adult" else GaussianNB)(prior=20.0, random_state=0, max_epochs=300)


def taken(X: Any, rows: np.ndarray) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def measured(model: Any, X: Any, y: np.ndarray, n_blocks: int, order: np.ndarray, best: float, scale: float) -> tuple:
    """(the model, F above the best in units of `scale`, rounds to within SHARE of that, all rounds)."""
    import suffice
    from suffice.engines.blocks import Threads
    from suffice.files.dataset import Blocks

    seen: list[tuple[int, float]] = []
    with suffice.engine(Threads(1)) as chosen:
        model.verbose = 1
        model._report = lambda number, line: seen.append((chosen.rounds, line["objective"]))
        model.fit(Blocks([Rows(taken(X, own), y[own]) for own in np.array_split(order, n_blocks)]))
    near = [rounds for rounds, F in seen if best + SHARE * scale >= F]
    return model, (min(F for _, F in seen) - best) / scale, near[0] if near else np.inf, chosen.rounds


def run(names: tuple[str, ...] = ("adult", "letter", "r8", "20ng")) -> None:
    from sklearn.base import clone

    from suffice.files import dataset, survey

    warnings.simplefilter("ignore")
    for given in names:
        name, _, rows = given.partition(":")
        dataset.ROWS = int(rows or survey.ROWS)
        X, y, X_test, y_test, plain = task(name)
        began = time.process_time()
        whole = clone(plain).set_params(tol=1e-6).fit(X, y)
        best = min(whole.history_["objective"])
        accuracy = whole.score(X_test, y_test)
        scale = len(y) * max(
            0.1, whole.history_["ncll"][-1]
        )  # of the rows' losses: F has what the prior loses anyway, too
        print(f"{given}: F {best:.4f}, accuracy {accuracy:.4f}, {time.process_time() - began:.1f} CPU s", flush=True)
        for n_blocks in BLOCKS:
            for title, order in (("as given", np.arange(len(y))), ("sorted", np.argsort(y, kind="stable"))):
                for algorithm in ("auto", "incremental"):
                    began = time.process_time()
                    model = clone(plain).set_params(algorithm=algorithm)
                    same = algorithm == "auto" or name in ("r8", "20ng")  # tables by dual passes minimise another F
                    goal = best if same else whole_by_duals(plain, X, y)
                    found, share, near, rounds = measured(model, X, y, n_blocks, order, goal, scale)
                    gained = found.score(X_test, y_test) - accuracy
                    print(
                        f"  {n_blocks:3} blocks {title} {algorithm:11} F {share:+.1e}, rounds {near} of {rounds}, accuracy "
                        f"{gained:+.4f}, {time.process_time() - began:.1f} CPU s",
                        flush=True,
                    )


def whole_by_duals(plain: Any, X: Any, y: np.ndarray) -> float:
    from sklearn.base import clone

    key = id(X)
    if key not in _DUALS:
        model = clone(plain).set_params(algorithm="incremental", tol=1e-5).fit(X, y)
        _DUALS[key] = min(model.history_["objective"])
    return _DUALS[key]


_DUALS: dict[int, float] = {}

if __name__ == "__main__":
    run(tuple(sys.argv[1:]) or ("adult", "letter", "r8", "20ng"))
