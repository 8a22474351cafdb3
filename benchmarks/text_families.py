"""The three families of words on text: `python -m benchmarks.text_families r8 webkb 20ng`.

Columns: accuracy on the test documents and CPU seconds of a fit with its choice of the prior; CPU milliseconds of an incremental pass
(mean of the first five from the prior that was chosen, best of three) and of a stochastic one. MultinomialNB on binary counts and on
counts, BernoulliNB on binary counts, ComplementNB on counts; scikit-learn's beside them. Nothing is chosen on test documents.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from sklearn import naive_bayes as peers

from suffice import BernoulliNB, ComplementNB, MultinomialNB, datasets
from suffice.choosing import priors
from suffice.losses import loss_named

SETS = ("webkb", "r8", "20ng")
CASES = (
    (MultinomialNB, "binary", peers.MultinomialNB),
    (BernoulliNB, "binary", peers.BernoulliNB),
    (MultinomialNB, "counts", peers.MultinomialNB),
    (ComplementNB, "counts", peers.ComplementNB),
)


def features(X, kind: str):
    return X if kind == "counts" else (X > 0).astype(np.float64).tocsr()


def pass_times(machine, X, y, n_passes: int = 5, repeats: int = 3) -> tuple[float, float]:
    """Milliseconds of an incremental and of a stochastic pass at the prior that was chosen."""
    model, setting = machine._stored_model, machine.choice_.setting or priors.Setting(1.0)
    X, y = machine._new_rows(X), np.searchsorted(machine.classes_, y)
    weights, shape = np.ones(len(y)), (len(y), model.n_outcomes)
    statistics = model.statistics(X, y, weights)
    if model.table_prior:
        prior = priors.blended(model, statistics, setting)
    else:
        common = priors.commonness(X, weights) if setting.common else None
        prior = priors.uniform(model, statistics, setting, priors.mean_squared_row(X, weights), common=common)
    loss = loss_named(machine.loss, softness=machine._softness)
    tolerance = model.row_tolerance(loss, prior, 1e-3)
    incremental, stochastic = [], []
    for _ in range(repeats):
        state, multipliers, slack = model.state_of(prior), np.zeros(shape), np.zeros(len(y))
        generator, took = np.random.default_rng(0), []
        for _ in range(n_passes):
            order = generator.permutation(len(y))
            began = time.process_time()
            model.incremental_pass(X, y, weights, order, multipliers, state, loss, tolerance, slack)
            took.append(time.process_time() - began)
        incremental.append(np.mean(took))
        state, took = model.state_of(prior), []
        for t in range(n_passes):
            rates = model.row_rate / (1.0 + t + np.arange(len(y)) / len(y))
            began = time.process_time()
            model.stochastic_pass(X, y, weights, generator.permutation(len(y)), rates, state, loss)
            took.append(time.process_time() - began)
        stochastic.append(np.mean(took))
    return 1e3 * min(incremental), 1e3 * min(stochastic)


def run(names=SETS) -> None:
    print("| set, features | model | loss | accuracy | plain | fit CPU s | incremental pass ms | stochastic pass ms |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        data = datasets.load(name)
        for cls, kind, peer in CASES:
            X, test = features(data.X_train, kind), features(data.X_test, kind)
            plain = peer().fit(X, data.y_train).score(test, data.y_test)
            for loss in ("ncll", "hinge"):
                machine = cls(loss=loss, random_state=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    cls(loss=loss, random_state=0, prior=10.0, max_epochs=2).fit(X[::2], data.y_train[::2])  # compiles
                    began = time.process_time()
                    machine.fit(X, data.y_train)
                seconds = time.process_time() - began
                accuracy = machine.score(test, data.y_test)
                incremental, stochastic = pass_times(machine, X, data.y_train)
                print(
                    f"| {name}, {kind} | {cls.__name__} | {loss} | {accuracy:.4f} | {plain:.4f} | {seconds:.2f} | {incremental:.1f} | "
                    f"{stochastic:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    run(sys.argv[1:] or SETS)
