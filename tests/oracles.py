"""What a general optimiser finds: L-BFGS over unconstrained parameters of each family, on the same objective.

Masses are a softmax, variances exponentials, covariances L L' with a positive diagonal, probabilities a softmax. The
objective is written here anew over `log_joint` and `log_likelihood` (both tested against scipy.stats elsewhere). Its
gradient is the chain rule, -<statistics + prior, d theta>, with d theta by central differences; a test checks it.
"""

from __future__ import annotations

import numpy as np
from registry import natural_pairs
from scipy.optimize import minimize
from scipy.special import softmax

from suffice.families.categorical import Categorical
from suffice.families.gaussian_correlated import GaussianCorrelated
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.multinomial import Multinomial
from suffice.learners.driver import Problem
from suffice.structures.base import Moments


class Columns:
    """Unconstrained parameters of one family."""

    def __init__(self, family):
        self.family, self.K, self.d = family, family.n_outcomes, family.n_features
        self.lower = np.tril_indices(self.d)

    def vector(self, moments) -> np.ndarray:
        family = self.family
        if isinstance(family, GaussianDiagonal):
            mean, variance = family.parameters(moments)
            return np.concatenate([mean.ravel(), np.log(variance).ravel()])
        if isinstance(family, GaussianCorrelated):
            mean, covariance = family.parameters(moments)
            factors = np.linalg.cholesky(np.atleast_3d(covariance).reshape(-1, self.d, self.d))
            for factor in factors:
                np.fill_diagonal(factor, np.log(np.diag(factor)))
            return np.concatenate([mean.ravel(), factors[:, *self.lower].ravel()])
        if isinstance(family, (Categorical, Multinomial)):
            return np.log(moments.count).ravel()
        return np.log(family.rates(moments)).ravel()

    def moments(self, rest: np.ndarray, mass: np.ndarray):
        family, K, d = self.family, self.K, self.d
        if isinstance(family, GaussianDiagonal):
            mean, variance = rest[: K * d].reshape(K, d), np.exp(rest[K * d :].reshape(K, d))
            return family.from_parameters(family.weight_of(mass), mean, variance)
        if isinstance(family, GaussianCorrelated):
            mean, values = rest[: K * d].reshape(K, d), rest[K * d :].reshape(-1, len(self.lower[0]))
            factors = np.zeros((len(values), d, d))
            factors[:, *self.lower] = values
            factors[:, np.arange(d), np.arange(d)] = np.exp(factors[:, np.arange(d), np.arange(d)])
            covariance = factors @ factors.transpose(0, 2, 1)
            return family.from_parameters(mass.copy(), mean, covariance[0] if family.is_tied else covariance)
        if isinstance(family, Categorical):
            cells = np.exp(rest.reshape(-1, K))
            return family.of_counts(mass * cells / family.block_sums(cells)[family.column_of])
        if isinstance(family, Multinomial):
            return family.from_sums(mass * family.length * softmax(rest.reshape(-1, K), axis=0))
        weight = family.weight_of(mass)
        return family.record(weight, weight * np.exp(rest.reshape(K, d)))


class Parameters:
    """An unconstrained vector <-> moments of total mass 1."""

    def __init__(self, model):
        self.model, self.K = model, model.n_outcomes
        self.parts = [Columns(family) for family in model.families]
        self.cuts = None

    def vector(self, moments) -> np.ndarray:
        blocks = [part.vector(own) for part, own in zip(self.parts, moments.columns, strict=True)]
        self.cuts = np.cumsum([self.K, *map(len, blocks)])[:-1]
        return np.concatenate([np.log(moments.mass), *blocks])

    def moments(self, vector: np.ndarray) -> Moments:
        logits, *blocks = np.split(vector, self.cuts)
        mass = softmax(logits)
        return Moments(mass, tuple(part.moments(block, mass) for part, block in zip(self.parts, blocks, strict=True)))


def objective(problem: Problem, moments, smoothing: float = 0.0) -> float:
    """F. With `smoothing` the hinge becomes the smooth s log(1 + sum over rivals of exp((1 - h)/s)), an upper bound."""
    scores = problem.model.log_joint(moments, problem.X)
    if smoothing:
        rows = np.arange(len(problem.y))
        violation = problem.loss.margin - scores[rows, problem.y][:, None] + scores
        violation[rows, problem.y] = 0.0
        values = smoothing * np.logaddexp.reduce(violation / smoothing, axis=1)
    else:
        values = problem.loss.values(scores, problem.y)
    return float(problem.weights @ values) - problem.model.log_likelihood(problem.prior, moments)


def gradient(problem: Problem, parameters: Parameters, vector: np.ndarray, smoothing: float = 0.0) -> np.ndarray:
    model, moments = problem.model, parameters.moments(vector)
    scores = model.log_joint(moments, problem.X)
    if smoothing:
        rows = np.arange(len(problem.y))
        violation = problem.loss.margin - scores[rows, problem.y][:, None] + scores
        violation[rows, problem.y] = 0.0
        weights = -softmax(violation / smoothing, axis=1)
        weights[rows, problem.y] += 1.0
    else:
        weights = problem.loss.weights(scores, problem.y)
    pulled = model.expected_statistics(problem.X, problem.weights[:, None] * weights) + problem.prior
    natural = model.natural_of(moments)
    dual = np.concatenate([given.ravel() for _, _, given, _ in natural_pairs(natural, pulled)])
    steps = 1e-5 * np.eye(len(vector))
    ahead, behind = (
        [model.natural_of(parameters.moments(vector + sign * step)).flat() for step in steps] for sign in (1, -1)
    )
    return -(np.array(ahead) - np.array(behind)) @ dual / 2e-5


def best(problem: Problem, start, smoothing: float = 0.0, max_iterations: int = 300) -> tuple[float, object]:
    """(F, moments) where L-BFGS stops."""
    parameters = Parameters(problem.model)

    def value(vector: np.ndarray) -> float:
        found = objective(problem, parameters.moments(vector), smoothing)
        return found if np.isfinite(found) else 1e300

    found = minimize(
        value, parameters.vector(start), method="L-BFGS-B",
        jac=lambda vector: gradient(problem, parameters, vector, smoothing),
        options={"maxiter": max_iterations, "ftol": 1e-10, "gtol": 1e-5, "maxcor": 30},
    )  # fmt: skip
    moments = parameters.moments(found.x)
    return objective(problem, moments), moments
