"""Section 4.1 of Masegosa (2014): one Gaussian against a mixture of two. Spreads are standard deviations.

The paper's accuracies: likelihood 78.6 %, conditional likelihood 90.4 %, hinge 90.6 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from suffice import GaussianNB
from suffice.learners.step_sizes import InverseTime

SEEDS = range(10)
N_ROWS = 30_000


def toy(seed: int, n: int = N_ROWS):
    """Class 0: N(0, 3). Class 1: N(-5, 0.1) four times in five, else N(5, 0.1). Equal classes."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, 2, n)
    centre = np.where(generator.random(n) < 0.8, -5.0, 5.0)
    x = np.where(y == 0, generator.normal(0.0, 3.0, n), generator.normal(centre, 0.1))
    return x[:, None], y


def mean_accuracy(seeds=SEEDS, **options) -> float:
    accuracies = []
    for seed in seeds:
        X, y = toy(seed)
        model = GaussianNB(random_state=seed, **options).fit(X, y)
        accuracies.append(model.score(*toy(1000 + seed)))
    return 100 * float(np.mean(accuracies))


def test_likelihood_is_the_papers():
    assert mean_accuracy(loss="nll") == pytest.approx(78.6, abs=1.0)


@pytest.mark.slow
def test_conditional_likelihood_beats_the_papers():
    assert mean_accuracy(loss="ncll") >= 92.0


@pytest.mark.slow
def test_hinge_beats_the_papers():
    assert mean_accuracy(range(3), loss="hinge") >= 90.6


@pytest.mark.slow
def test_the_papers_own_algorithm_reproduces_its_figure():
    """Its largest rate of the grid comes within 1.5 points of 90.4 %: the median of ten seeds, because about one order of the rows in
    ten sends the printed algorithm astray (71 % instead of 90 to 92)."""
    found = [
        mean_accuracy([seed], loss="ncll", algorithm="paper", step_size=InverseTime(1.0), max_epochs=10)
        for seed in range(10)
    ]
    assert abs(np.median(found) - 90.4) <= 1.5, found
