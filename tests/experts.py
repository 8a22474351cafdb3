"""Small problems of gates and experts, for the tests of regression."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

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
    n=60, share_missing=0.0, target="gaussian", conditional=1.0, n_components=3, seed=0, kinds="ncp", bent=False
):
    """A problem, and moments inside the domain."""
    families, X, y = table(n, share_missing, target, seed, kinds)
    generator = np.random.default_rng(seed + 1)
    y[generator.random(n) < 0.1] = np.nan  # rows without a target
    structure = Experts.of(Joint.of(*families), X, TARGETS[target](), np.ones(n) if bent else None)
    structure = structure.with_outcomes(n_components)
    rows = structure.rows(X, y, generator.uniform(0.5, 2.0, n))
    setting = ExpertSetting(n_components, steps=5)
    found = ExpertProblem(structure, rows, ExpertPrior.of(structure, rows, 1.0, 0.5), conditional)
    moments = start(found, setting, generator)
    return found.around(moments, setting), moments


class PlainBends:
    """Moments of missing cells under bends, and their derivatives, in NumPy: the readable twin of `kernels.structures.hinges`."""

    def __init__(self, cells, slope, mean, variance):
        self.has_knot, self.mean, self.variance = cells.has_knot, mean, variance
        self.knots = np.where(self.has_knot, cells.knots, 0.0)
        nothing = np.zeros((*mean.shape, 1))
        self.bends = np.zeros((len(slope), *self.knots.shape))
        self.bends[:, self.has_knot] = slope[:, cells.n_columns :]
        self.beta = slope[:, : cells.n_columns, None] + np.concatenate([nothing, np.cumsum(self.bends, 2)], axis=2)
        self.alpha = np.concatenate([nothing, -np.cumsum(self.bends * self.knots, axis=2)], axis=2)
        m, s = mean[:, :, None], np.sqrt(variance)[:, :, None]
        t = (self.knots - m) / s
        height = np.where(self.has_knot, np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi), 0.0)
        below = np.concatenate([nothing, np.where(self.has_knot, ndtr(t), 1.0), nothing + 1.0], axis=2)
        edge, pull = (np.concatenate([nothing, own, nothing], axis=2) for own in (height, t * height))
        self.share, first = np.diff(below, axis=2), -np.diff(edge, axis=2)  # P
        self.first = m * self.share + s * first  # M1
        self.second = m**2 * self.share + 2 * m * s * first + s**2 * (self.share - np.diff(pull, axis=2))  # M2
        self.height = height / s
        self.centre = (self.alpha * self.share + self.beta * self.first).sum(axis=2)

    def moments(self):
        alpha, beta = self.alpha, self.beta
        square = (alpha**2 * self.share + 2 * alpha * beta * self.first + beta**2 * self.second).sum(axis=2)
        return self.centre, square - self.centre**2

    def pulls(self, d_mean, d_variance):
        """Derivatives in the slopes, and statistics of z and z^2."""
        alpha, beta, centre = self.alpha, self.beta, self.centre
        times = alpha * self.share + beta * self.first  # E[f; piece]
        moved = alpha * self.first + beta * self.second  # E[z f; piece]

        def above(values):
            """Sums over the pieces above each knot."""
            return np.cumsum(values[:, :, ::-1], axis=2)[:, :, ::-1][:, :, 1:]

        straight = d_mean * self.mean + 2 * d_variance * (moved.sum(axis=2) - self.mean * centre)
        lift = above(self.first) - self.knots * above(self.share)  # E (z - q)+
        bent = above(moved) - self.knots * above(times)  # E[(z - q)+ f]
        bent = d_mean[:, :, None] * lift + 2 * d_variance[:, :, None] * (bent - lift * centre[:, :, None])
        at_knots = alpha[:, :, 1:] + beta[:, :, 1:] * self.knots - centre[:, :, None]  # f(q) - C
        slope_1 = (beta * self.share).sum(axis=2)  # E f'
        bend_1 = (self.bends * self.height).sum(axis=2)  # E f''
        slope_2 = 2 * ((beta * times).sum(axis=2) - centre * slope_1)
        bend_2 = 2 * ((beta**2 * self.share).sum(axis=2) + (self.bends * at_knots * self.height).sum(axis=2))
        own = -self.variance * (d_mean * slope_1 + d_variance * slope_2)
        curved = -(self.variance**2) * (d_mean * bend_1 + d_variance * bend_2)
        return np.hstack([straight, bent[:, self.has_knot]]), own, 2 * self.mean * own + curved
