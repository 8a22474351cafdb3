r"""Does an event that was given the probability p happen in a share p of the cases? Bins of p with what happened in them.

In a bin of n rows of which s are of the class, the observed share is s / n, and the 95 % interval that of Wilson (1927):

    [ s/n + z^2/2n -+ z sqrt(s/n (1 - s/n) / n + z^2/4n^2) ] / (1 + z^2/n)          z = 1.96
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Z = 1.959963984540054


@dataclass(frozen=True)
class Reliability:
    """Non-empty bins in the order of the probability; every field is an array with an entry a bin.

    Examples
    --------
    >>> from suffice.evaluation import reliability
    >>> reliability([0, 1], [0.2, 0.7], n_bins=2).predicted
    array([0.2, 0.7])
    """

    predicted: np.ndarray  # mean probability
    observed: np.ndarray  # share of the rows that are of the class
    count: np.ndarray  # rows
    low: np.ndarray  # 95 % interval of the observed share
    high: np.ndarray


def reliability(
    is_class: ArrayLike, probability: ArrayLike, n_bins: int = 10, strategy: str = "uniform"
) -> Reliability:
    """Bins as `sklearn.calibration.calibration_curve` makes them, with counts and intervals.

    Examples
    --------
    >>> from suffice.evaluation import reliability
    >>> found = reliability([0, 0, 1, 1, 1], [0.1, 0.1, 0.6, 0.9, 0.9], n_bins=2)
    >>> found.observed, found.count
    (array([0., 1.]), array([2, 3]))
    """
    hit, p = np.asarray(is_class, dtype=bool), np.asarray(probability, dtype=float)
    if hit.shape != p.shape or p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(
            f"is_class and probability have the shapes {hit.shape} and {p.shape}; give as many truths as probabilities, from 0 to 1"
        )
    if strategy == "uniform":
        edges = np.linspace(0.0, 1.0, n_bins + 1)
    elif strategy == "quantile":
        edges = np.percentile(p, np.linspace(0, 1, n_bins + 1) * 100)
    else:
        raise ValueError(f"strategy={strategy!r} is not one of 'uniform', 'quantile'")
    bins = np.searchsorted(edges[1:-1], p)
    n, s, total = (np.bincount(bins, weights, minlength=n_bins) for weights in (None, hit.astype(float), p))
    some = n > 0
    n, s, total = n[some], s[some], total[some]
    low, high = wilson(s, n)
    return Reliability(total / n, s / n, n, low, high)


def wilson(successes: Any, n: Any) -> tuple[np.ndarray, np.ndarray]:
    """The 95 % interval of a share."""
    share = successes / n
    middle, half = share + Z**2 / (2 * n), Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    scale = 1 + Z**2 / n
    return np.where(share == 0, 0.0, (middle - half) / scale), np.where(share == 1, 1.0, (middle + half) / scale)
