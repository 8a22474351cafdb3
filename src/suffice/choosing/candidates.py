"""Kinds of models compared on held-out rows: which one is kept, and whether it is averaged with another."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .stacking import mixture_weights

GAIN = 1e-3  # share of the log-loss by which more components must be better
TRUST, LEAST, MOST = 20.0, 0.1, 3  # rows, the smallest share, members
NATS = 4.0  # that the whole losses of two models must differ by for the better one to count e times as much: fits share most rows
PLENTY, LEAST_FITS = 1000.0, 10.0  # fits by maximum likelihood: there is time for all, and none for training
SAMPLE, LEAST_COMPARED = 1_000, 3.0  # rows that tell how long a default fit takes, and how many of them a comparison is


@dataclass
class Candidate:
    """A kind of model, and what it lost on the rows held out."""

    name: str
    kind: str  # "naive Bayes", "discriminant" or "mixture"
    setting: Any = None
    losses: np.ndarray = field(default_factory=lambda: np.zeros(0))
    accuracy: float = np.nan
    seconds: float = 0.0
    fit_seconds: float = 0.0  # of a fit to all rows, as far as a fit to some of them tells
    is_behind: bool = False  # so clearly that it was not judged on all rows held out

    @property
    def loss(self) -> float:
        return float(self.losses.mean()) if len(self.losses) else np.inf


def complete(tried: list[Candidate]) -> list[Candidate]:
    """Those that were judged on all rows held out."""
    return [each for each in tried if len(each.losses) and not each.is_behind]


def affordable(members: list[tuple[Candidate, float]], seconds: float) -> list[tuple[Candidate, float]]:
    """The first of the members, and those after it whose last fits are in time too."""
    kept, needed = members[:1], members[0][0].fit_seconds
    for each, share in members[1:]:
        needed += each.fit_seconds
        if needed < seconds:
            kept.append((each, share))
    whole = sum(share for _, share in kept)
    return [(each, share / whole) for each, share in kept]


def weighed(tried: list[Candidate]) -> list[tuple[Candidate, float]]:
    """The models that answer together with their shares, the largest first: one alone where more of them lose.

    Shares w maximise  sum_i log sum_c w_c p_c(y_i | x_i)  over the rows held out and TRUST more rows, which are shared out by the
    models' whole losses, q_c ~ exp(-sum_i loss_ci / NATS): few rows cannot tell more than which models are the better ones.
    """
    losses = np.stack([each.losses for each in tried])
    n = losses.shape[1]
    whole = losses.sum(axis=1)
    trusted = np.exp((whole.min() - whole) / NATS)
    trusted = np.maximum(TRUST * trusted / trusted.sum(), 1e-9)
    row_weights = np.full(n + len(tried), 1.0)
    row_weights[n:] = trusted
    alone = np.where(
        np.eye(len(tried)) > 0, 0.0, -np.inf
    )  # a row that only one model explains counts as a row of that model
    shares = mixture_weights(np.hstack([-losses, alone]), row_weights / row_weights.sum())
    order = [place for place in np.argsort(-shares, kind="stable")[:MOST] if shares[place] >= LEAST]
    return [(tried[place], float(shares[place] / shares[order].sum())) for place in order]


def hurried(fit: Callable[[Candidate, np.ndarray], Any], n: int, end: float) -> Candidate | None:
    """What to fit to n rows without a comparison where that would go on after `end`; None if there is time. `fit` fits some rows."""
    quick = Candidate("naive Bayes at maximum likelihood, for want of time", "naive Bayes", "nll")
    plain = Candidate("naive Bayes, not compared for want of time", "naive Bayes")

    def seconds(candidate: Candidate, rows: np.ndarray) -> float:
        start = time.monotonic()
        fit(candidate, rows)
        return time.monotonic() - start

    own = seconds(quick, np.arange(n))
    if 3.0 * own < end - time.monotonic() <= PLENTY * own:  # it may have compiled
        own = seconds(quick, np.arange(n))
    left = end - time.monotonic()
    if left > PLENTY * own or left < LEAST_FITS * own:
        return None if left > PLENTY * own else quick
    rows = np.random.default_rng(0).permutation(n)[: max(1, min(n // 4, SAMPLE))]
    for _ in range(2):  # the first may have compiled
        whole = seconds(plain, rows) * n / len(rows)
        if end - time.monotonic() > LEAST_COMPARED * whole:
            return None
    return plain if end - time.monotonic() > whole else quick
