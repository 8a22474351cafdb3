"""The contract of a loss: signed expectations of the statistics, the one table that makes EM, online EM and discriminative EM the
same update (Masegosa 2014, Tables 1 and 2).

    d loss / d theta = pull * mu - sum_g sign_g E[s | x, g] = pull * mu - sum_k w_k s(x, k)

| loss               | terms: given, with its sign                          | weights w over outcomes                 | pull |
|--------------------|------------------------------------------------------|-----------------------------------------|------|
| nll                | (label, +1)                                          | one-hot of the label                    | 1    |
| ncll               | (label, +1), (nothing, -1)                           | one-hot minus posterior                 | 0    |
| hinge              | (label, +1), (best rival, -1) below the margin       | one-hot minus one-hot of the rival, or 0| 0    |
| any, without label | (nothing, +1): the marginal likelihood (EM)          | posterior                               | 1    |

A loss is a class in a file of its own with a `name`, its `terms`, its values and weights for labelled rows, and the module of its
compiled kernels (`suffice.kernels.losses` says which functions that has; `weigh` is enough). All else follows. See
`suffice.losses.register`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp
from typing_extensions import override

LABEL, NOTHING, RIVAL = "label", "nothing", "rival"  # what an expectation is given, besides the row


@dataclass(frozen=True)
class Loss(ABC):
    """Settings of a loss. `y` are labels of the rows (-1: none), `scores` are log p(x, outcome), (n, K).

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.losses import loss_named
    >>> scores = np.log([[0.6, 0.2], [0.1, 0.1]])
    >>> loss_named("ncll").labelled_values(scores, np.array([0, 1])).round(4)
    array([0.2877, 0.6931])
    """

    margin: float = 1.0  # in log-odds, of losses that have one, and of the hinge that is reported under every loss
    softness: float = 0.0  # how much learners that keep multipliers round a corner (see `suffice.losses.hinge`)
    width: int = 1  # outcomes come in groups of so many neighbours (the components of a class), and labels name groups

    settings: tuple[float, ...] = field(
        init=False, repr=False, compare=False, default=()
    )  # the numbers that its kernels take

    name: ClassVar[str]
    terms: ClassVar[tuple[tuple[str, int], ...]]
    kernels: ClassVar[str]  # the dotted path of the module of its compiled kernels

    is_discriminative: ClassVar[
        bool
    ]  # it tells outcomes apart: its signs add up to zero, so nothing pulls towards the model's own expectation
    has_dual: ClassVar[bool] = False  # its kernels include the dual's, which incremental learners need
    has_corner: ClassVar[bool] = (
        False  # piecewise linear: a row counts or not, multipliers are as large as the prior lets them
    )
    calibrates_itself: ClassVar[bool] = False  # at its minimum the posterior is that of the data

    # -- what a loss says ----------------------------------------------------------------------------------------------

    @abstractmethod
    def labelled_values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n,) array: the loss of every row; all have labels."""

    @abstractmethod
    def labelled_weights(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, K) array: w, minus the gradient of the loss in the scores; all rows have labels."""

    def labelled_curvatures(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray | None:
        """(n, K) array: second derivatives of the loss in the scores; None where it has a corner, or none are known."""
        return None

    def as_printed(self) -> Loss:
        """The loss whose weights are those of the paper's pseudo-code (Algorithms 1 to 7) where they are other than its tables'."""
        return self

    # -- what follows --------------------------------------------------------------------------------------------------

    @override
    def __init_subclass__(cls) -> None:
        cls.is_discriminative = sum(sign for _, sign in cls.terms) == 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", (float(self.margin), float(self.softness)))

    def pull(self, y: np.ndarray, weights: np.ndarray) -> float:
        """Total weight of the rows whose likelihood (joint or marginal) is fitted."""
        return float(weights[y < 0].sum()) if self.is_discriminative else float(weights.sum())

    def grouped(self, scores: np.ndarray) -> np.ndarray:
        """(n, K / width) array: log p(x, group)."""
        return scores if self.width == 1 else logsumexp(scores.reshape(len(scores), -1, self.width), axis=2)

    def values(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n,) array: the loss of every row."""
        groups = self.grouped(scores)
        values = -logsumexp(groups, axis=1)
        labelled = np.flatnonzero(y >= 0)
        values[labelled] = self.labelled_values(groups[labelled], y[labelled])
        return values

    def weights(self, scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, K) array: the signed weights w. Outcomes share the weight of their group by their posterior."""
        groups = self.grouped(scores)
        weights = posteriors(groups)
        labelled = np.flatnonzero(y >= 0)
        weights[labelled] = self.labelled_weights(groups[labelled], y[labelled])
        if self.width == 1:
            return weights
        return np.repeat(weights, self.width, axis=1) * np.exp(scores - np.repeat(groups, self.width, axis=1))


def log_posteriors(scores: np.ndarray, otherwise: np.ndarray | None = None) -> np.ndarray:
    """(n, K) array: log p(k | x); `otherwise` (K,) are the shares of a row that no k can have (uniform where they are not given).

    The best score is taken off first: added to log sum exp of huge scores, the logarithm of how many tie for the best would be lost.
    """
    best = scores.max(axis=1, keepdims=True)
    impossible = np.isneginf(best)
    shifted = np.where(impossible, 0.0, scores) - np.where(impossible, 0.0, best)
    if otherwise is not None and impossible.any():
        with np.errstate(divide="ignore"):
            shifted = np.where(impossible, np.log(otherwise) - np.log(otherwise.max()), shifted)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def posteriors(scores: np.ndarray, otherwise: np.ndarray | None = None) -> np.ndarray:
    """(n, K) array: p(k | x)."""
    return np.exp(log_posteriors(scores, otherwise))


def one_hot(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n, K) array: 1 at the label."""
    result = np.zeros_like(scores)
    result[np.arange(len(y)), y] = 1.0
    return result


def own_scores(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,) array: the label's score."""
    return scores[np.arange(len(y)), y]


def best_rivals(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((n,) best wrong outcomes, (n,) their scores)."""
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    rivals = others.argmax(axis=1)
    return rivals, others[np.arange(len(y)), rivals]
