"""Several settings in the place of the best one: those that held-out rows cannot tell apart answer together.

The lowest of many held-out scores is partly luck, the more so the fewer rows are held out. Settings of different shapes whose held-out
losses are not clearly higher are as good a choice, their errors differ, and the mean of their probabilities loses less than any one of
them. On much data a difference is clear, and one is left.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from scipy.special import logsumexp

TELLS = 2.0  # standard errors of a difference that is clear
MOST = 5  # members


def alike(losses: dict[Any, np.ndarray], kind: Callable[[Any], Hashable], most: int = MOST) -> list:
    """The best setting of every kind that is not clearly worse than the best of all; the best ones first, at most so many.

    losses[setting] (n,): what every held-out row adds to the score of a setting.
    """
    order = sorted(losses, key=lambda setting: float(losses[setting].sum()))
    found: dict[Hashable, Any] = {}
    for setting in order:
        more = losses[setting] - losses[order[0]]
        if kind(setting) not in found and float(more.sum()) <= TELLS * float(np.linalg.norm(more)):
            found[kind(setting)] = setting
    return list(found.values())[:most]


def mean_of(logs: list[np.ndarray]) -> np.ndarray:
    """log of the mean of probabilities, given their logarithms."""
    return logsumexp(np.stack(logs), axis=0) - np.log(len(logs))
