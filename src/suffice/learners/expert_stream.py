"""Experts in a stream: a few natural-gradient steps for every batch, shorter as more rows have been seen (sdEM).

In whitened coordinates the Hessian of a row's loss is about one, so a step -rate * gradient with rate = batch / rows seen so far
is what adding the batch's statistics to those of all rows before would do. A step that raises the loss of its batch is halved.
"""

from __future__ import annotations

import numpy as np

from ..structures.expert_prior import ExpertPrior
from ..structures.experts import ExpertMoments, Experts
from .experts import ExpertProblem, ExpertSetting

STEPS, HALVINGS = 3, 12


def moved(
    structure: Experts,
    moments: ExpertMoments,
    X: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray,
    seen: float,
    conditional: float,
) -> ExpertMoments:
    """The moments after a batch; `seen` is the weight of the rows before it."""
    total = float(weights.sum())
    share = total / (seen + total)
    rows = structure.rows(X, y, weights)
    setting = ExpertSetting(structure.n_outcomes, slope_rows=0.1 * share, gate_rows=share)
    prior = ExpertPrior.of(structure, rows, setting.gate_rows, setting.slope_rows)
    problem = ExpertProblem(structure, rows, prior, conditional)
    for _ in range(STEPS):
        local = problem.around(moments, setting)
        value, gradient = local.value_and_gradient(np.zeros_like(local.coordinates.centre))
        rate = share
        for _ in range(HALVINGS):
            point = -rate * gradient
            found = local.value_and_gradient(point)[0] if np.isfinite(point).all() else np.inf
            if np.isfinite(found) and found <= value:
                moments = local.coordinates.moments(point)
                break
            rate *= 0.5
    return moments
