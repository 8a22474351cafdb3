"""What the tables and figures share: data, training within a budget, the same test images for all methods."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ...datasets.images import Images, load_binarized_mnist, load_ocr_letters
from ...estimators.belief_network import SigmoidBeliefNetwork
from ...learners.network import passes
from ...learners.network.monte_carlo import VisibleRows
from ...learners.network.settings import Settings
from ...learners.watch import Watch
from ...reading.guards import one_blas_thread
from ...structures.network import Network
from .. import Options, Report

ENDLESS = 100_000  # passes: the time budget ends training first

# The same recognition network for all of its learners; `step` is the M-step's rate (of NVIL with Adam: the top units' bias only).
RECOGNITION: dict[str, Any] = {"batch_size": 200, "learning_rate": 3e-2, "activity": 0.03, "step": 0.05}

# Step sizes and batches of each method, chosen on the validation part of OCR letters (docs/notes/sbn.md).
METHODS: dict[str, dict[str, Any]] = {
    "SGD": {"learner": "sgd", "learning_rate": 1.0},
    "Gibbs": {"learner": "gibbs", "batch_size": 5000, "average": 0.3},
    "VB": {"learner": "vb"},
    "NVIL": {"learner": "nvil", **RECOGNITION},  # with Adam, which the paper kept for its two-layer networks
    "NVIL, plain gradients": {"learner": "nvil", "m_step": "sgd", **RECOGNITION},
    "Rec-MCEM-ML": {"learner": "rec-mcem", **RECOGNITION, "step": 0.1},
    "Rec-MCEM-MAP": {"learner": "rec-mcem", **RECOGNITION, "step": 0.1, "penalty": 1e-2},
    "MCEM-ML": {"learner": "mcem"},
    "MCEM-MAP": {"learner": "mcem", "penalty": 1e-2},
}

RECOGNITION_RATES = {"OCR": 3e-2, "MNIST": 1e-2}  # best of .003 to .03 on validation images, for both learners
PLAIN_STEPS = {"OCR": 0.2, "MNIST": 0.05}  # of plain gradients: best of .05 to .5 on validation images


def settings_of(method: str, data_name: str) -> dict[str, Any]:
    settings = METHODS[method]
    if settings.get("m_step") == "sgd":
        settings = settings | {"step": PLAIN_STEPS[data_name]}
    has_recognition = settings["learner"] in ("nvil", "rec-mcem")
    return settings | {"learning_rate": RECOGNITION_RATES[data_name]} if has_recognition else settings


def images_for(name: str, options: Options, report: Report) -> Images | None:
    """The data set, cut down for a quick run; None (with a note) when it is not there."""
    try:
        data = load_binarized_mnist() if name == "MNIST" else load_ocr_letters()
    except FileNotFoundError as error:
        report.notes.append(str(error))
        return None
    if options.quick:
        data = data._replace(train=data.train[:1000], valid=data.valid[:200], test=data.test[:200],
                             train_labels=data.train_labels[:1000], valid_labels=data.valid_labels[:200])  # fmt: skip
    return data


def random_rows(X: np.ndarray, n_rows: int, seed: int = 1) -> np.ndarray:
    """The same random rows for every method (test sets are sorted by class)."""
    return X[np.random.default_rng(seed).permutation(len(X))[:n_rows]]


def train(
    X: np.ndarray, minutes: float, seed: int = 0, watch=None, data: str = "binary", **settings
) -> SigmoidBeliefNetwork:
    """A fitted estimator after `minutes` of training; `watch(model, seconds)` is called after passes, off the clock.

    The clock is the process's own time on one thread, so that methods compare equally on a busy machine.
    """
    chosen = Settings(**{"hidden": (200,), "data": data, "max_iter": ENDLESS, "monitor": 0, "seed": seed,
                         "max_minutes": minutes, **settings})  # fmt: skip
    observer = Observer(watch, chosen, X.shape[1])
    with one_blas_thread():
        fit = passes.train(VisibleRows(X, data), chosen, observer)
    return as_estimator(chosen, fit.moments, fit.memory, X.shape[1])


class Observer(Watch):
    """Shows the model after every pass; the time this takes does not count."""

    def __init__(self, show, settings: Settings, n_columns: int):
        super().__init__(clock=lambda: time.process_time() - self.shown)
        self.show, self.settings, self.n_columns, self.shown = show, settings, n_columns, 0.0

    def passed(self, number: int, line: dict, state: Any) -> bool:
        if self.show is not None:
            began = time.process_time()
            self.show(as_estimator(self.settings, state.moments, state.memory, self.n_columns), line["seconds"])
            self.shown += time.process_time() - began
        return True


def as_estimator(settings: Settings, network: Network, memory, n_columns: int) -> SigmoidBeliefNetwork:
    """A network and its recognition network as an estimator."""
    s = settings
    model = SigmoidBeliefNetwork(s.hidden, data=s.data, learner=s.learner, dispersion=s.dispersion, random_state=s.seed)
    model.network_ = network
    model.weights_, model.biases_, model.top_bias_ = network.weights, network.biases, network.top_bias
    model.components_, model.recognition_ = network.weights[0], passes.recognition_of(memory)
    model.n_features_in_ = n_columns
    return model
