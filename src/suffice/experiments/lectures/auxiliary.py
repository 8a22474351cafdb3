"""The lecture's example of the auxiliary function: rows of 0.4 N(1, 1) + 0.6 N(-1, 1), the first mean moved from its estimate 0.5.

The lecture: the auxiliary function peaks about 0.8, the likelihood at 1.0, their slopes are equal at 0.5, and the difference of the
auxiliary function is always the lower one.
"""

from __future__ import annotations

import numpy as np

from ... import figures
from ...bounds import Bound
from ...estimators.mixture import GaussianMixture
from .. import Options, Report, Row

CURRENT = 0.5


def mixture(mean: float) -> GaussianMixture:
    return GaussianMixture.of([0.4, 0.6], [[mean], [-1.0]], [1.0, 1.0], "spherical")


def run(options: Options) -> Report:
    n = 5_000 if options.quick else 200_000
    X, _ = mixture(1.0).sample(n, random_state=0)
    bound = Bound(mixture(CURRENT), X)
    means = np.linspace(-0.5, 2.5, 16 if options.quick else 61)
    at = [mixture(mean) for mean in means]
    likelihood = np.array([bound.log_likelihood(theta) for theta in at]) - bound.log_likelihood()
    auxiliary = np.array([bound.auxiliary(theta) for theta in at]) - bound.auxiliary()

    def slope(function) -> float:
        return (function(mixture(CURRENT + 1e-4)) - function(mixture(CURRENT - 1e-4))) / 2e-4

    rows = [
        Row("peak of the auxiliary function", 0.8, peak(means, auxiliary)),
        Row("peak of the log-likelihood", 1.0, peak(means, likelihood)),
        Row("slope of the auxiliary function at 0.5", None, slope(bound.auxiliary)),
        Row("slope of the log-likelihood at 0.5", None, slope(bound.log_likelihood)),
        Row(
            "largest excess of the auxiliary function over the log-likelihood",
            0.0,
            float((auxiliary - likelihood).max()),
        ),
    ]
    picture = options.folder / "lecture-auxiliary.png"
    with figures.figure(picture, 1, 1, (5.2, 3.6)) as axes:
        plot = axes[0, 0]
        plot.plot(means, likelihood, color=figures.COLOURS[0], label="log-likelihood")
        plot.plot(means, auxiliary, color=figures.COLOURS[1], label="auxiliary function")
        plot.axvline(CURRENT, color="#b0b0b0", linewidth=0.8)
        plot.legend(frameon=False)
        figures.tidy(plot, "difference from the current estimate (0.5)", "mean of component 1")
    return Report(rows, [f"{n:,} rows; means over rows"], [picture])


def peak(x: np.ndarray, y: np.ndarray) -> float:
    """Of the parabola through the highest point and its neighbours."""
    i = int(np.clip(y.argmax(), 1, len(x) - 2))
    a, b, _ = np.polyfit(x[i - 1 : i + 2], y[i - 1 : i + 2], 2)
    return float(-b / (2 * a))
