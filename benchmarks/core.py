"""Speed of the core against scikit-learn: fit, one discriminative pass, first fit in a new process, import."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB as PlainGaussianNB

from suffice import GaussianNB
from suffice.choosing import priors
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.learners.driver import Problem
from suffice.learners.incremental import Incremental
from suffice.losses import loss_named

FIRST_FIT = """
from sklearn.datasets import load_iris
import time
X, y = load_iris(return_X_y=True)
from suffice.naive_bayes import GaussianNB
began = time.process_time()
GaussianNB(prior=1.0, tol=0.1).fit(X, y)
print(time.process_time() - began)
"""
IMPORT = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"


def cpu_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def in_new_process(code: str, repeats: int = 5) -> float:
    """The best of several processes, as printed by the code (the first may compile)."""
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(repeats))


def run() -> None:
    warnings.simplefilter("ignore")
    X, y = make_classification(200_000, 50, n_informative=20, random_state=0)
    plain = cpu_seconds(lambda: PlainGaussianNB().fit(X, y))
    ours = cpu_seconds(lambda: GaussianNB(loss="nll").fit(X, y))
    print(f"200,000 x 50, 2 classes, CPU seconds. scikit-learn GaussianNB.fit {plain:.3f}")
    print(f"  GaussianNB(loss='nll').fit      {ours:.3f}  ratio {ours / plain:.2f}")
    model = GaussianDiagonal.for_data(X, 2)
    weights = np.ones(len(y))
    prior = priors.blended(model, model.statistics(X, y, weights), priors.Setting(600.0, 0.03))
    problem = Problem(model, X, y, weights, loss_named("ncll"), prior)
    passes = []
    for _ in range(3):
        state = Incremental().init(problem, None, np.random.default_rng(0))
        began = time.process_time()
        Incremental().step(problem, state)
        passes.append(time.process_time() - began)
    first = min(passes)
    print(
        f"  first ncll pass (every row moves) {first:.3f}  ratio {first / plain:.2f}, to our nll fit {first / ours:.2f}"
    )
    whole = cpu_seconds(lambda: GaussianNB(random_state=0).fit(X, y), 1)
    linear = cpu_seconds(lambda: LogisticRegression(max_iter=200).fit(X, y), 1)
    print(f"  GaussianNB().fit with choice of prior {whole:.2f}; scikit-learn LogisticRegression.fit {linear:.2f}")
    print(f"first fit in a second process: {in_new_process(FIRST_FIT):.3f} s CPU")
    us, them = in_new_process(IMPORT.format("suffice")), in_new_process(IMPORT.format("sklearn.naive_bayes"))
    print(f"import suffice {us:.3f} s, import sklearn.naive_bayes {them:.3f} s, ratio {us / them:.3f}")
