"""A structure from outside of the library: components that all classes share, in proportions of their own.

    p(x, k) = sum_z p(k, z) f_z(x)          statistics: the pair (k, z), and the family's of component z

It is no mixture per class (those have components of their own). All it says is what it expects; every loss trains it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import stepping
from scipy import stats
from scipy.special import logsumexp

from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.records import Record
from suffice.learners.driver import run
from suffice.learners.structured import Structured, StructuredProblem
from suffice.losses import LOSSES, loss_named
from suffice.structures.base import Expectation, Given, Structure

# -- the structure ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Moments(Record):
    mass: np.ndarray  # of (class, component)
    columns: Any  # the family's, an outcome is a component


@dataclass(frozen=True, eq=False)
class SharedComponents(Structure):
    family: GaussianDiagonal
    n_outcomes: int

    def log_joint(self, moments, X):
        """(n, K, H) array: log p(x, k, z)."""
        log_mass = np.log(moments.mass) - np.log(moments.mass.sum())
        return self.family.log_densities(moments.columns, X)[:, None, :] + log_mass[None]

    def expect(self, moments, X, y, weights, given):
        joint = self.log_joint(moments, X)
        if given is not Given.NOTHING:
            classes = logsumexp(joint, axis=2)
            if given is Given.RIVAL:
                classes[np.arange(len(y)), y] = -np.inf
                y = classes.argmax(axis=1)
            joint = np.where(np.arange(self.n_outcomes)[None, :, None] == y[:, None, None], joint, -np.inf)
        norm = logsumexp(joint, axis=(1, 2))
        shares = weights[:, None, None] * np.exp(joint - norm[:, None, None])
        return Expectation(Moments(shares.sum(axis=0), self.family.statistics(X, shares.sum(axis=1))), norm)

    def in_domain(self, moments):
        return bool((moments.mass > 0).all()) and self.family.in_domain(moments.columns)

    def log_likelihood(self, statistics, moments):
        log_mass = np.log(moments.mass) - np.log(moments.mass.sum())
        own = self.family.log_likelihood(statistics.columns, moments.columns)
        return float((statistics.mass * log_mass).sum()) + own


# -- what follows -------------------------------------------------------------------------------------------------------

K, H = 3, 4


def made(loss: str, unlabelled: bool = False):
    generator = np.random.default_rng(0)
    y = generator.integers(0, K, 240)
    z = np.array(
        [
            generator.choice(H, p=p)
            for p in np.array([[0.6, 0.3, 0.05, 0.05], [0.1, 0.1, 0.7, 0.1], [0.25, 0.25, 0.0, 0.5]])[y]
        ]
    )
    X = generator.normal(size=(240, 2)) + np.array([[0, 0], [3, 0], [0, 3], [3, 3]])[z]
    structure = SharedComponents(GaussianDiagonal.for_data(X, H), K)
    shares = generator.dirichlet(np.ones(H), 240)
    columns = structure.family.statistics(X, shares)
    own = Moments(np.stack([shares[y == k].sum(axis=0) for k in range(K)]) + 1.0, columns)
    prior = 0.02 * own
    labels = np.where(np.arange(240) % 4 == 0, -1, y) if unlabelled else y
    return StructuredProblem(structure, X, labels, generator.uniform(0.5, 2, 240), loss_named(loss), prior), own, y


def enumerated(problem, moments) -> np.ndarray:
    """(n, K) array: log p(x, class), component by component with scipy."""
    mean, variance = problem.structure.family.cell_moments(moments.columns)
    mass = moments.mass / moments.mass.sum()
    parts = [
        stats.norm.logpdf(problem.X, mean[z], np.sqrt(variance[z])).sum(axis=1)[:, None] + np.log(mass[:, z])
        for z in range(H)
    ]
    return logsumexp(np.stack(parts, axis=2), axis=2)


@pytest.mark.parametrize("unlabelled", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_the_enumerated_one(loss, unlabelled):
    problem, moments, _ = made(loss, unlabelled)
    scores = enumerated(problem, moments)
    expected = problem.weights @ problem.loss.values(scores, problem.y)
    measure = problem.measure(moments)
    assert measure.loss * problem.weights.sum() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("unlabelled", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_training_lowers_the_objective_at_every_step_and_classifies(loss, unlabelled):
    problem, start, y = made(loss, unlabelled)
    stepping.assert_falls(stepping.objectives(Structured(), problem, start, 40))
    generator = np.random.default_rng(0)
    likelihood = replace(problem, loss=loss_named("nll"))
    em = run(Structured(), likelihood, start, generator, max_epochs=150, tol=1e-6)
    fit = run(Structured(), problem, em.moments, generator, max_epochs=150, tol=1e-6)
    right, before = ((enumerated(problem, found.moments).argmax(axis=1) == y).mean() for found in (fit, em))
    assert right > 0.6 and before > 0.6  # at most 0.7 is possible: classes share components
    if problem.loss.is_discriminative:
        assert fit.measure.objective < problem.measure(em.moments).objective


@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_the_statistics_are_minus_the_gradient(loss):
    """In the logarithms of the masses, by finite differences: d loss / d log p(k, z) = minus the signed statistics (and a constant)."""
    problem, moments, _ = made(loss)
    _, statistics = problem.judged(moments)
    n, h = problem.weights.sum(), 1e-5
    found = np.empty((K, H))
    for place in np.ndindex(K, H):
        shifted = []
        for sign in (1, -1):
            mass = moments.mass.copy()
            mass[place] *= np.exp(sign * h)
            mass *= moments.mass.sum() / mass.sum()
            shifted.append(problem.measure(Moments(mass, moments.columns)).loss * n)
        found[place] = (shifted[0] - shifted[1]) / (2 * h)
    np.testing.assert_allclose(found, -statistics.mass, atol=1e-5 * np.abs(statistics.mass).max())
