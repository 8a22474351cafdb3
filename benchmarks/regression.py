"""Regression: default fits of ours and of the peers on a small and a large UCI table, and predictions of 100,000 rows; CPU seconds.

`make bench NAME=regression`; of some tables: `python -c "from benchmarks import regression; regression.run(['yacht'])"`. Peers that
are not installed, and the Gaussian process on many rows, are left out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence

import numpy as np

from suffice.datasets import regression
from suffice.evaluation.regression import RegressionScores
from suffice.experiments.regression.peers import PEERS
from suffice.regression import MixtureRegressor


def timed(function, *arguments):
    start = time.process_time()
    return function(*arguments), time.process_time() - start


TABLES = ("yacht", "boston", "concrete", "energy", "power", "kin8nm")


def run(names: Sequence[str] = TABLES) -> None:
    warnings.simplefilter("ignore")
    for name in names:
        for share in (0.0, 0.3):
            X, y, X_test, y_test = regression.load(name).split(0)
            generator = np.random.default_rng(0)
            X = np.where(generator.random(X.shape) < share, np.nan, X)
            X_test = np.where(generator.random(X_test.shape) < share, np.nan, X_test)
            model, seconds = timed(MixtureRegressor(random_state=0).fit, X, y)
            scores = RegressionScores()
            scores.update(model, X_test, y_test)
            found = scores.summary()
            print(f"{name} ({len(y)} rows, {share:.0%} missing)")
            print(
                f"  {'ours':24} {seconds:7.2f} s  " + "  ".join(f"{k} {found[k]:.3f}" for k in ("nll", "crps", "rmse"))
            )
            for label, peer in PEERS.items():
                try:
                    own, seconds = timed(peer, X, y, X_test, y_test, 0)
                except ImportError:
                    continue
                if not own:  # too many rows
                    continue
                print(f"  {label:24} {seconds:7.2f} s  " + "  ".join(f"{k} {v:.3f}" for k, v in own.items()))
            if not share:
                many = np.resize(X_test, (100_000, X.shape[1]))
                seconds = timed(model.predict, many)[1]
                print(f"  {'predict 100,000 rows':24} {seconds:7.2f} s", flush=True)
