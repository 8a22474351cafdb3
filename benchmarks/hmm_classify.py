"""Classifiers of sequences: accuracy, log-loss and CPU seconds, ours and aeon's MiniRocket (where installed).

Also what a step of the minimiser costs: the loss and its gradient on surnames of 18 languages. `python -m benchmarks hmm_classify`.
"""

from __future__ import annotations

import importlib
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from suffice.datasets import series
from suffice.datasets.files import DataNotFound
from suffice.hmm import HMMClassifier

SETS = ("italy-power-demand", "gun-point", "japanese-vowels")


def scored(model: Any, X: Any, y: np.ndarray) -> str:
    said = f"accuracy {np.mean(model.predict(X) == y):.4f}"
    if isinstance(model, HMMClassifier):
        p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        said += f", log-loss {-np.log(np.maximum(p, 1e-15)).mean():.4f}"
    return said


def fitted(label: str, model: Any, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> None:
    began = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    print(f"  {label}: {scored(model, X_test, y_test)}, {seconds:.1f} s of CPU", flush=True)


def rocket() -> Any:
    """aeon's MiniRocket classifier; None where it is not installed."""
    try:
        found = importlib.import_module("aeon.classification.convolution_based")
    except ImportError:
        return None
    kind = getattr(found, "MiniRocketClassifier", None)
    return None if kind is None else kind(random_state=0, n_jobs=1)


def of_aeon(X: list) -> Any:
    """(N, D, T) array, as aeon takes series of one length; None where lengths differ."""
    return np.stack([steps.T for steps in X]) if len({len(steps) for steps in X}) == 1 else None


def step_of_surnames() -> None:
    """CPU seconds of one evaluation of the loss and its gradient."""
    data = series.load("surnames")
    for n_states in (8, 16):
        times = []
        for steps in (1, 6):
            began = time.process_time()
            HMMClassifier(n_states, has_end=True, prior=1.0, max_epochs=steps, random_state=0).fit(data.X, data.y)
            times.append(time.process_time() - began)
        print(f"surnames, {n_states} states: {(times[1] - times[0]) / 5:.2f} s of CPU a step of L-BFGS", flush=True)


def run() -> None:
    warnings.simplefilter("ignore")
    if rocket() is None:
        print("aeon is not installed: ours alone")
    with threadpool_limits(1):
        for name in SETS:
            try:
                data = series.load(name)
            except DataNotFound as error:
                print(f"{name}: {error}")
                continue
            parts = (data.X, data.y, data.X_test, data.y_test)
            print(name)
            fitted("EM", HMMClassifier(loss="nll", random_state=0), *parts)
            fitted("ncll", HMMClassifier(random_state=0), *parts)
            model, X, X_test = rocket(), of_aeon(data.X), of_aeon(data.X_test)
            if model is not None and X is not None and X_test is not None:
                fitted("MiniRocket", model, X, data.y, X_test, data.y_test)
        step_of_surnames()


if __name__ == "__main__":
    run()
