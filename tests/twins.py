"""The incremental epoch as a person would write it: over the models' own methods, every score from scratch."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax

from suffice.learners.driver import Problem
from suffice.structures.joint import kernels_of

BOUNDARY = 0.25  # the share of the way to the edge of the domain that one step may take
TINY = 1e-300


class RowKernels:
    """A joint's compiled kernels as the incremental epoch puts them together: what the masses say, and the families' kernels."""

    def __init__(self, model):
        self.own = kernels_of(model.modules).called("")

    def scratch_for(self, state):
        return self.own["scratch_for"](state[1])

    def score(self, state, row, scores, scratch) -> None:
        _, total, log_mass = state[0]
        scores[:] = log_mass - total[1]
        self.own["score"](state[1], row, scores, scratch)

    def slope(self, state, row, k, scratch) -> float:
        return 1.0 / state[0][0][k] + self.own["slope"](state[1], row, k, scratch)

    def reach(self, state, row, delta, scratch) -> float:
        falls = delta < 0
        own = self.own["reach"](state[1], row, delta, scratch)
        return min(own, (state[0][0][falls] / -delta[falls]).min(initial=np.inf))

    def curve(self, state, row, scores, delta, rate, moved, scratch) -> None:
        moved[:] = scores + np.log(1.0 + rate * delta / state[0][0])
        self.own["curve"](state[1], row, delta, rate, moved, scratch)

    def move(self, state, row, delta, scratch) -> None:
        mass, _, log_mass = state[0]
        mass += delta
        log_mass[:] = np.log(mass)
        self.own["move"](state[1], row, delta, scratch)


def epoch(problem: Problem, multipliers: np.ndarray, moments, order) -> object:
    """One pass; returns the moments and changes `multipliers` in place. For ncll, and for rows without a label."""
    model = problem.model
    for i in order:
        X, label, weight = problem.X[[i]], problem.y[i], problem.weights[i]
        posterior = softmax(model.log_joint(moments, X)[0])
        if label < 0:
            wanted = posterior - multipliers[i]
            rate = 1.0
        else:
            wanted = np.eye(model.n_outcomes)[label] - posterior - multipliers[i]
            if np.abs(wanted).max() < 1e-9:
                continue
            unit = model.expected_statistics(X, weight * wanted[None])
            rate = best_rate(model, moments, unit, X, label, multipliers[i], wanted)
        moments = moments + model.expected_statistics(X, rate * weight * wanted[None])
        multipliers[i] += rate * wanted
    return moments


def best_rate(model, moments, unit, X, label: int, own: np.ndarray, wanted: np.ndarray) -> float:
    """The maximum of the dual along `wanted`: where its slope, a falling function of the rate, crosses zero."""

    def slope(rate: float) -> float:
        share = -own - rate * wanted
        share[label] += 1.0
        scores = model.log_joint(moments + rate * unit, X)[0]
        return float(wanted @ (np.log(np.maximum(share, TINY)) - scores))

    highest = min(1.0, BOUNDARY * edge(model, moments, unit))
    if slope(highest) >= 0:
        return highest
    return brentq(slope, 0.0, highest, xtol=1e-7) if slope(0.0) > 0 else 0.0


def edge(model, moments, unit) -> float:
    """The largest step inside the domain, by bisection on `in_domain`; at most 8."""
    low, high = 0.0, 8.0
    if model.in_domain(moments + high * unit):
        return high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if model.in_domain(moments + middle * unit) else (low, middle)
    return low
