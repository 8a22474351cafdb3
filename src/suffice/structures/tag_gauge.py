r"""Which of the hidden Markov models with the posterior of a tagger: the one whose columns look like the data.

Adding the same f_m(x) to the weights of all tags changes no posterior of complete steps, but it changes the emissions
q_m(x | k) = exp(f_m(x) + <theta_k, phi(x)> - Z_m(k)), so densities, samples, and what a missing cell means. Given the tags of some
steps, the likelihood of their cells is concave in f, and its maximum has the margins of the data:

    categories   sum_k n_k q(v | k) = n_v              matrix scaling (Sinkhorn 1967):  exp f_v <- n_v / sum_k n_k exp(theta_vk - Z_k)
    numbers      sum_k n_k E[phi | k] = sum_t phi(x_t)         f = <lambda, phi>, found by L-BFGS

One pseudo-step of what the columns look like on the whole keeps every category and every variance positive.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..families.categorical import Categorical

SCALINGS = 200
CLOSE = 1e-6  # relative difference of margins that ends the scaling


def shift_of(family: Any, natural: Any, first: Any, statistics: Any, units: tuple) -> Any:
    """A record of natural parameters: what to add to those of all tags. `first` are those of the columns' own distribution,
    `statistics` sums of steps with their tags."""
    pseudo = family.moments_of(first, np.full(family.n_outcomes, 1.0 / family.n_outcomes))
    own = statistics + pseudo
    if family.takes_codes:
        return type(natural)(scaled(family, natural.logit, own))
    return tilted(family, natural, own, units)


def scaled(family: Categorical, logits: np.ndarray, own: Any) -> np.ndarray:
    """(cells, K) array: f_v in every tag's column."""
    top = family.column_maxima(logits)
    table, margin, mass = np.exp(logits - top), own.count.sum(axis=1, keepdims=True), family.block_sums(own.count)
    factor = np.ones_like(margin)
    for _ in range(SCALINGS):
        sums = family.block_sums(factor * table)
        new = margin / np.maximum((table * (mass / sums)[family.column_of]).sum(axis=1, keepdims=True), 1e-300)
        change = float(np.abs(new / factor - 1.0).max(initial=0.0))
        factor = new
        if change < CLOSE:
            break
    return np.repeat(np.log(factor), logits.shape[1], axis=1)


def tilted(family: Any, natural: Any, own: Any, units: tuple) -> Any:
    """Arrays (K, d) that are equal for all tags; every column has a problem of its own, so one search does all."""
    weight, *sums = own.arrays()
    wanted = np.stack([array.sum(axis=0) for array in sums])
    steps = np.stack([np.where(unit > 0, unit, 1.0) for unit in units])
    total = max(float(weight.sum()), 1e-300)

    def value(vector: np.ndarray) -> tuple[float, np.ndarray]:
        shift = steps * vector.reshape(steps.shape)
        moved = [array + own_shift for array, own_shift in zip(natural.arrays(), shift, strict=True)]
        with np.errstate(all="ignore"):
            norms, means = family.log_norm(*moved), family.means(*moved)
            found = float((weight * norms).sum() - (wanted * shift).sum()) / total
        if not np.isfinite(found) or (len(moved) > 1 and (moved[1] >= 0).any()):
            return 1e30, np.zeros_like(vector)
        expected = np.stack([(weight * mean).sum(axis=0) for mean in means])
        return found, (steps * (expected - wanted)).ravel() / total

    start = np.zeros(steps.size)
    vector = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 200, "maxls": 50}).x
    shift = steps * vector.reshape(steps.shape)
    return type(natural)(*(np.repeat(part[None], len(weight), axis=0) for part in shift))
