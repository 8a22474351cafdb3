"""From scores to probabilities: three numbers, found where the log-loss of held-out rows is lowest.

    odds = (sum_k exp(rivalry * temperature * (s_k - s_best)))^(1 / rivalry)        over the rivals k of the best class
    p(best | x) = 1 / (1 + odds),   and what is left is shared as exp(rivalry * temperature * s_k)
    p <- (1 - background) p + background * class frequencies

With rivalry 1 it is the softmax of `temperature * s`. A hinge compares a class with its best rival only, and softmax counts fifty
hopeless rivals as if each were a chance to be wrong: with a larger rivalry (a nested logit, all rivals in one nest) they count less.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, ndtr

from ..losses.base import log_posteriors
from .priors import ENOUGH

CLIP = 1e-3  # share of the uniform distribution mixed into held-out probabilities
MAX_RIVALRY = 20.0
MOST_SURE = 50.0  # nats between a class and its best rival that count
MOST_MARGIN = 1e6


def log_probabilities(scores: np.ndarray, rivalry: float = 1.0) -> np.ndarray:
    """log p of every class from scores that are multiplied by the temperature already."""
    if rivalry == 1.0 or scores.shape[1] < 3:
        return log_posteriors(scores)
    row, best = np.arange(len(scores)), scores.argmax(axis=1)
    rivals = rivalry * (scores - scores[row, best, None])
    rivals[row, best] = -np.inf
    total = logsumexp(rivals, axis=1, keepdims=True)
    log_odds = total / rivalry
    total = np.where(np.isfinite(total), total, 0.0)  # every rival is impossible
    logs = rivals - total - np.logaddexp(0.0, -log_odds)
    logs[row, best] = -np.logaddexp(0.0, log_odds[:, 0])
    return logs


def clipped_losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """-log((1 - CLIP) p + CLIP / K) of the label."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    posterior = shifted[np.arange(len(y)), y] / shifted.sum(axis=1)
    return -np.log((1 - CLIP) * posterior + CLIP / scores.shape[1])


def doubted_losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The losses of rows held out, and of `doubt` more that are wrong: what the label's best rival would cost, the mean over all rows.

    Rows that are held out and all right prove nothing of the next one, and the weaker the prior, the less they seem to lose. By the
    rule of succession one of n + 2 is wrong. Fewer are where all margins m are alike, because a column gives the class away:

        doubt = min(1, n Phi(-mean(m) / deviation(m))),   the same at every temperature
    """
    rows, others, n = np.arange(len(y)), scores.copy(), len(y)
    others[rows, y] = -np.inf
    margin = np.clip(scores[rows, y] - others.max(axis=1), -MOST_MARGIN, MOST_MARGIN)
    doubt = min(1.0, n * float(ndtr(-margin.mean() / max(margin.std(), 1e-9))))
    return clipped_losses(scores, y) + doubt * np.logaddexp(0.0, np.minimum(margin, MOST_SURE)) / (n + 2.0)


def best_temperature(
    scores, y, weights, background: float = CLIP, frequency: np.ndarray | None = None, *, precision: float = 1e-3
) -> float:
    """The factor on the scores with the lowest log-loss (`background` of it uniform, or as frequent as given)."""
    from ..kernels.loops.measure import tempered_loss, told_apart

    frequency = shares(np.zeros(scores.shape[1])) if frequency is None else frequency
    apart, often = told_apart(scores, y), frequency[y]

    def loss(log_factor: float) -> float:
        return tempered_loss(apart, weights, np.exp(log_factor), 1.0, background, often)

    return float(np.exp(minimize_scalar(loss, bounds=(-2.5, 3.0), method="bounded", options={"xatol": precision}).x))


def shares(class_counts: np.ndarray) -> np.ndarray:
    """Class frequencies, none of them zero: what is known of a document whose words say nothing."""
    return (class_counts + 1.0) / (class_counts + 1.0).sum()


def best_background(scores, y, weights, temperature: float, frequency, *, free: bool) -> tuple[float, float]:
    """The share of the class frequencies mixed into p(y | x), and the temperature if it is `free`, with the lowest log-loss together.

    A label that nothing in the row speaks for (a mistake, a document in another language, a number far outside the rest) costs a
    confident classifier without bound; the share says how often that happens. It is zero where it gains too little to count.
    """
    from ..kernels.loops.measure import tempered_loss, told_apart

    background, apart, often = 0.0, told_apart(scores, y), frequency[y]
    for _ in range(2 if free else 1):
        factor = temperature

        def loss(log_share: float, factor: float = factor) -> float:
            return tempered_loss(apart, weights, factor, 1.0, np.exp(log_share), often)

        found = minimize_scalar(loss, bounds=(-12.0, -1.0), method="bounded", options={"xatol": 1e-2})
        background = float(np.exp(found.x))
        if not free and found.fun >= tempered_loss(apart, weights, factor, 1.0, 0.0, often) * (1 - ENOUGH):
            return 0.0, temperature
        if free:
            temperature = best_temperature(scores, y, weights, background, frequency)
    return background, temperature


def best_rivalry(scores, y, weights, temperature: float, background: float, frequency) -> tuple[float, float, float]:
    """Temperature, rivalry and background with the lowest log-loss together; rivalry 1 where more gains too little to count."""
    from ..kernels.loops.measure import tempered_loss, told_apart

    given = (temperature, 1.0, background)
    if scores.shape[1] < 3:
        return given
    apart, often = told_apart(scores, y), frequency[y]

    def loss(logs: np.ndarray) -> float:
        return tempered_loss(apart, weights, *np.exp(logs), often)

    start = np.log([temperature, 1.2, max(background, 1e-4)])
    corners = np.vstack([start, start + np.diag([-0.1, 0.5, 1.0])])
    options = {"initial_simplex": corners, "xatol": 1e-2, "fatol": 1e-5, "maxfev": 150}
    limits = [(None, None), (0.0, np.log(MAX_RIVALRY)), (-12.0, -1.0)]
    found = minimize(loss, start, method="Nelder-Mead", bounds=limits, options=options)
    if not found.fun < tempered_loss(apart, weights, *given, often) * (1 - ENOUGH):
        return given
    temperature, rivalry, background = map(float, np.exp(found.x))
    return temperature, rivalry, background
