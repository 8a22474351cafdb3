"""From the same start and without priors, EM follows hmmlearn's log-likelihood step by step (where hmmlearn is installed)."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_spherical import GaussianSpherical
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.poisson import Moments as PoissonMoments
from suffice.families.poisson import Poisson
from suffice.learners.chain_em import ChainProblem
from suffice.learners.chain_steps import ChainSteps
from suffice.learners.em import BatchEM
from suffice.structures.base import Moments
from suffice.structures.chain import Chain, ChainMoments, ChainPrior, topology_cells
from suffice.structures.joint import Joint

peer = pytest.importorskip("hmmlearn.hmm")
S, D, LENGTHS = 3, 2, [40, 25, 60, 1, 30]
GAUSSIANS = {"diag": GaussianDiagonal, "full": GaussianFull, "tied": GaussianTied, "spherical": GaussianSpherical}


def paths(family, own, X, start, A, model):
    """Log-likelihoods before every one of 20 steps: ours and theirs."""
    chain = Chain(Joint.of(family), *topology_cells("ergodic", S))
    moments = ChainMoments(start, A, np.zeros(S), Moments(np.ones(S), (own,)))
    rows = ChainSteps(chain, chain.emissions.form(X), np.concatenate([[0], np.cumsum(LENGTHS)]), np.ones(len(LENGTHS)))
    problem = ChainProblem(rows, ChainPrior.of(chain, moments, 0.0), reseeds=False)
    state = BatchEM().init(problem, moments, None)
    base = np.sum(np.broadcast_to(chain.emissions.log_base_measure(X), len(X)))
    found = []
    for _ in range(20):
        found.append(base - state.measure.objective)
        state = BatchEM().step(problem, state)
    model.startprob_, model.transmat_ = start, A
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, LENGTHS)
    return np.array(found), np.array(model.monitor_.history)


def start_of(generator):
    return generator.dirichlet(np.ones(S)), generator.dirichlet(np.ones(S), size=S)


@pytest.mark.parametrize("kind", list(GAUSSIANS))
def test_gaussians(kind):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(sum(LENGTHS), D)) + 2 * generator.integers(0, 3, size=(sum(LENGTHS), 1))
    start, A = start_of(generator)
    means = generator.normal(size=(S, D)) + np.arange(S)[:, None]
    covars = {
        "diag": np.ones((S, D)),
        "spherical": np.ones((S, D)),
        "tied": np.eye(D),
        "full": np.tile(np.eye(D), (S, 1, 1)),
    }[kind]
    family = GAUSSIANS[kind](S, D, np.zeros(D))
    own = family.from_parameters(family.weight_of(np.ones(S)), means, covars)
    model = peer.GaussianHMM(
        S,
        kind,
        init_params="",
        n_iter=20,
        tol=-np.inf,
        covars_prior=0.0,
        covars_weight=0.0,
        min_covar=0.0,
        implementation="log",
    )
    model.means_, model.covars_ = means, np.ones(S) if kind == "spherical" else covars
    ours, theirs = paths(family, own, X, start, A, model)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_categorical():
    generator = np.random.default_rng(1)
    X = generator.integers(0, 5, size=(sum(LENGTHS), 1))
    X[:5, 0] = np.arange(5)
    start, A = start_of(generator)
    shares = generator.dirichlet(np.ones(5), size=S)
    model = peer.CategoricalHMM(S, init_params="", n_iter=20, tol=-np.inf, implementation="log")
    model.emissionprob_ = shares
    family = Categorical(S, 1, np.array([5]))
    ours, theirs = paths(family, family.of_counts(shares.T.copy()), X.astype(float), start, A, Codes(model))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)


class Codes:
    """hmmlearn wants whole numbers."""

    def __init__(self, model):
        self.model = model

    def __setattr__(self, name, value):
        if name == "model":
            super().__setattr__(name, value)
        else:
            setattr(self.model, name, value)

    def fit(self, X, lengths):
        self.model.fit(X.astype(int), lengths)

    @property
    def monitor_(self):
        return self.model.monitor_


def test_poisson():
    generator = np.random.default_rng(2)
    X = generator.poisson(1 + 4 * generator.integers(0, 3, size=(sum(LENGTHS), 1)), size=(sum(LENGTHS), D))
    start, A = start_of(generator)
    rates = generator.random((S, D)) * 5 + 1
    model = peer.PoissonHMM(
        S, init_params="", n_iter=20, tol=-np.inf, lambdas_prior=0.0, lambdas_weight=0.0, implementation="log"
    )
    model.lambdas_ = rates
    ours, theirs = paths(Poisson(S, D), PoissonMoments(np.ones((S, D)), rates), X.astype(float), start, A, Codes(model))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
