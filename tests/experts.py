"""Small problems of gates and experts, for the tests of regression."""

from __future__ import annotations

import numpy as np

from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.poisson import Poisson
from suffice.learners.experts import ExpertProblem, ExpertSetting, start
from suffice.structures.expert_prior import ExpertPrior
from suffice.structures.experts import Experts
from suffice.structures.joint import Joint
from suffice.structures.targets import TARGETS


def table(n=60, share_missing=0.0, target="gaussian", seed=0, kinds="ncp"):
    """(families of one outcome, X, y): two numbers, two columns of categories and a count, as `kinds` names them."""
    generator = np.random.default_rng(seed)
    numbers, codes = generator.normal(size=(n, 2)), generator.integers(0, 3, (n, 2)).astype(float)
    codes[:3] = np.arange(3)[:, None]
    counts = generator.poisson(3.0, (n, 1)).astype(float)
    pieces = {"n": numbers, "c": codes, "p": counts}
    families = {
        "n": GaussianDiagonal(1, 2, np.zeros(2)),
        "c": Categorical(1, 2, np.array([3, 3])),
        "p": Poisson(1, 1),
    }
    X = np.hstack([pieces[kind] for kind in kinds])
    eta = 0.8 * numbers[:, 0] - 0.5 * numbers[:, 1] ** 2 + 0.5 * (codes[:, 0] == 1) + 0.1 * counts[:, 0]
    y = {
        "gaussian": lambda: eta + 0.3 * generator.normal(size=n),
        "poisson": lambda: generator.poisson(np.exp(eta)).astype(float),
        "negative_binomial": lambda: generator.poisson(np.exp(eta) * generator.gamma(2.0, 0.5, n)).astype(float),
        "bernoulli": lambda: (generator.random(n) < 1 / (1 + np.exp(-eta))).astype(float),
    }[target]()
    X[generator.random(X.shape) < share_missing] = np.nan
    return tuple(families[kind] for kind in kinds), X, y


def problem(
    n=60, share_missing=0.0, target="gaussian", is_conditional=True, n_components=3, seed=0, kinds="ncp", bent=False
):
    """A problem, and moments inside the domain."""
    families, X, y = table(n, share_missing, target, seed, kinds)
    generator = np.random.default_rng(seed + 1)
    y[generator.random(n) < 0.1] = np.nan  # rows without a target
    structure = Experts.of(Joint.of(*families), X, TARGETS[target](), np.ones(n) if bent else None)
    structure = structure.with_outcomes(n_components)
    rows = structure.rows(X, y, generator.uniform(0.5, 2.0, n))
    setting = ExpertSetting(n_components, steps=5)
    found = ExpertProblem(structure, rows, ExpertPrior.of(structure, rows, 1.0, 0.5), is_conditional)
    moments = start(found, setting, generator)
    return found.around(moments, setting), moments
