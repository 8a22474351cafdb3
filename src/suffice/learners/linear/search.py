"""The search for the optimum of a conditional problem, to its end: L-BFGS through the driver, with a certificate."""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax

from ..driver import run
from ..problem import Problem
from ..quasi_newton import QuasiNewton
from ..state import Fit, Stop
from ..watch import Watch
from .conditional import CERTIFIED, Conditional, Goal


def searched(goal: Conditional, vector: np.ndarray, generator, watch: Watch, most: int) -> tuple[Fit, list[np.ndarray]]:
    """The fit after at most so many steps, taken up again with less tolerance until the certificate holds, and its parameters."""
    history, n_iter, watched = dict[str, list](), 0, Goal(goal)
    for number in range(goal.searches):
        tol = goal.tol * 0.1**number
        fit = run(QuasiNewton(tol), watched, vector, generator, max_epochs=max(most - n_iter, 1), watch=watch)
        vector, n_iter = fit.moments, n_iter + fit.n_iter
        history = {name: history.get(name, []) + values for name, values in fit.history.items()}
        certificate = watched.certificate(vector)
        if certificate <= CERTIFIED or fit.n_iter == 0 or n_iter >= most or watch.is_interrupted:
            break
    fit.history, fit.n_iter = history, n_iter
    fit.history["gap"] = [np.inf] * (len(history["objective"]) - 1) + [certificate * goal.total]
    if certificate <= CERTIFIED:
        fit.ended(Stop.CERTIFIED, gain=certificate)
    elif (fit.converged or n_iter >= most) and goal.searches > 1:
        fit.ended(Stop.PASSES, n=n_iter)
    return fit, goal.unpacked(vector)


def keeps_posteriors(problem: Problem, moments, goal: Conditional, T: list[np.ndarray]) -> bool:
    """Whether the density has the posteriors that were trained (masses of classes may underflow)."""
    if not problem.model.in_domain(moments):
        return False
    some = np.unique(np.linspace(0, len(problem.y) - 1, 200).astype(int))
    trained = log_softmax(goal.scores(T, goal.design.part(some)), axis=1)
    return bool(
        np.abs(np.exp(log_softmax(problem.model.scores(moments, problem.X[some]), axis=1)) - np.exp(trained)).max()
        < 1e-5
    )
