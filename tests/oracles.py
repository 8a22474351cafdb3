"""What a general optimiser finds: L-BFGS over unconstrained parameters of each family, on the same objective.

Masses are a softmax, variances exponentials, covariances L L' with a positive diagonal, probabilities a softmax. The
objective is written here anew over `log_joint` and `log_likelihood` (both tested against scipy.stats elsewhere). Its
gradient is the chain rule, -<statistics + prior, d theta>, with d theta by central differences; a test checks it.
"""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module

import numpy as np
from registry import NATURAL_TO_MOMENT
from scipy.optimize import minimize
from scipy.special import softmax

from suffice.families import gaussian_diagonal, gaussian_full, gaussian_tied
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import rates
from suffice.learners.driver import Problem


class Parameters:
    """An unconstrained vector <-> moments of total mass 1."""

    def __init__(self, model):
        self.model, self.K, self.d = model, model.n_outcomes, model.n_features
        self.lower = np.tril_indices(self.d)
        self.kind = import_module(type(model).__module__).Moments

    def vector(self, moments) -> np.ndarray:
        model, logits = self.model, np.log(moments.mass)
        if isinstance(model, GaussianDiagonal):
            mean, variance = gaussian_diagonal.mean_and_variance(moments)
            return np.concatenate([logits, mean.ravel(), np.log(variance).ravel()])
        if isinstance(model, (GaussianFull, GaussianTied)):
            module = gaussian_full if isinstance(model, GaussianFull) else gaussian_tied
            mean, covariance = module.mean_and_covariance(moments)
            factors = np.linalg.cholesky(np.atleast_3d(covariance).reshape(-1, self.d, self.d))
            for factor in factors:
                np.fill_diagonal(factor, np.log(np.diag(factor)))
            return np.concatenate([logits, mean.ravel(), factors[:, *self.lower].ravel()])
        if isinstance(model, (Categorical, Multinomial)):
            return np.concatenate([logits, np.log(moments.count).ravel()])
        return np.concatenate([logits, np.log(rates(moments)).ravel()])

    def moments(self, vector: np.ndarray):
        model, K, d = self.model, self.K, self.d
        mass, rest = softmax(vector[:K]), vector[K:]
        if isinstance(model, GaussianDiagonal):
            mean, variance = rest[: K * d].reshape(K, d), np.exp(rest[K * d :].reshape(K, d))
            return gaussian_diagonal.from_parameters(mass, model.spread(mass), mean, variance)
        if isinstance(model, (GaussianFull, GaussianTied)):
            mean, values = rest[: K * d].reshape(K, d), rest[K * d :].reshape(-1, len(self.lower[0]))
            factors = np.zeros((len(values), d, d))
            factors[:, *self.lower] = values
            factors[:, np.arange(d), np.arange(d)] = np.exp(factors[:, np.arange(d), np.arange(d)])
            covariance = factors @ factors.transpose(0, 2, 1)
            if isinstance(model, GaussianFull):
                return gaussian_full.from_parameters(mass, mass.copy(), mean, covariance)
            return gaussian_tied.from_parameters(mass, mass.copy(), mean, covariance[0])
        if isinstance(model, Categorical):
            cells = np.exp(rest.reshape(-1, K))
            return self.kind(mass, mass * cells / model.block_sums(cells)[model.column_of], model.spread(mass))
        if isinstance(model, Multinomial):
            return self.kind(mass, mass * model.length * softmax(rest.reshape(-1, K), axis=0))
        weight = model.spread(mass)
        return self.kind(mass, weight, weight * np.exp(rest.reshape(K, d)))


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
    pairs = [getattr(pulled, NATURAL_TO_MOMENT[field.name]).ravel() for field in fields(natural)]
    dual = np.concatenate(pairs)
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
