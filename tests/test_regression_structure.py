"""Gates and experts: gradients, kernels and their twins, densities, expectations given the target and given nothing."""

from __future__ import annotations

import numpy as np
import pytest
from experts import PlainBends, problem
from scipy.integrate import quad, trapezoid
from scipy.special import logsumexp

from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_diagonal import Moments as GaussianMoments
from suffice.learners.experts import ExpertSetting, improved
from suffice.learners.watch import SILENT
from suffice.structures.base import Given
from suffice.structures.hinges import HingeCells, knots_of

TARGETS = ("gaussian", "poisson", "negative_binomial", "bernoulli")


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("conditional", [1.0, 0.7, 0.0])
@pytest.mark.parametrize("target", TARGETS)
def test_gradients_are_those_of_finite_differences(target, conditional, share_missing):
    check_gradient(*problem(40, share_missing, target, conditional))


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("target", ["gaussian", "poisson"])
def test_gradients_of_experts_with_bends(target, share_missing):
    found, moments = problem(120, share_missing, target, bent=True)
    assert np.isfinite(found.structure.design.parts[0].knots).all()
    check_gradient(found, moments)


def check_gradient(found, moments):
    chart = found.coordinates.chart
    generator = np.random.default_rng(0)
    vector = chart.vector(moments)
    vector = vector + 0.05 * generator.normal(size=len(vector))
    _, gradient = found.objective(vector, chart)
    for place in generator.permutation(len(vector))[:40]:
        step = 1e-5 * max(1.0, abs(vector[place]))
        above, below = vector.copy(), vector.copy()
        above[place] += step
        below[place] -= step
        slope = (found.objective(above, chart)[0] - found.objective(below, chart)[0]) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=2e-6)


@pytest.mark.parametrize("share_missing", [0.0, 0.3])
@pytest.mark.parametrize("conditional", [1.0, 0.7, 0.0])
def test_the_kernel_agrees_with_its_readable_twin(conditional, share_missing):
    found, moments = problem(50, share_missing, conditional=conditional)
    structure, rows = found.structure, found.rows
    scores = structure.scores(moments, rows)
    plain = structure.weigh_plainly(*scores, moments.spread, rows, conditional)
    fast = structure.weigh(*(part.copy() for part in scores), moments.spread, rows, conditional)
    for one, other in zip(plain, fast, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


def test_the_kernels_of_predictions_agree_with_components():
    found, moments = problem(50, 0.3)
    structure, rows = found.structure, found.rows
    shares, mean, variance = structure.components(moments, rows)
    first, second = structure.two_moments(moments, rows)
    np.testing.assert_allclose(first, (shares * mean).sum(axis=1))
    np.testing.assert_allclose(second, (shares * (variance + mean**2)).sum(axis=1), rtol=1e-8)
    y = rows.y[:, None]
    value = logsumexp(np.log(shares) - 0.5 * (np.log(2 * np.pi * variance) + (y - mean) ** 2 / variance), axis=1)
    np.testing.assert_allclose(structure.log_density(moments, rows), value)


@pytest.mark.parametrize("target", TARGETS)
def test_densities_integrate_to_one(target):
    found, moments = problem(30, 0.3, target)
    structure = found.structure
    X = np.repeat(found.rows.form.X[:5], 4001 if target == "gaussian" else 400, axis=0)
    grid = {"gaussian": np.linspace(-40, 40, 4001), "bernoulli": np.array([0.0, 1.0] + [np.nan] * 398)}
    y = np.tile(grid.get(target, np.arange(400.0)), 5)
    density = np.exp(structure.log_density(moments, structure.rows(X, y))).reshape(5, -1)
    if target == "gaussian":
        np.testing.assert_allclose(trapezoid(density, grid["gaussian"], axis=1), 1.0, rtol=1e-6)
    else:
        np.testing.assert_allclose(np.nansum(density, axis=1), 1.0, rtol=1e-6)


def test_missing_numbers_are_integrated_out_exactly():
    """p(y, observed | missing) of the structure against a numerical integral over the missing cell of the complete density."""
    found, moments = problem(20, 0.0, kinds="n")
    structure = found.structure
    x, y = np.array([[0.4, np.nan]]), np.array([0.2])

    def log_joint(row):
        rows = structure.rows(row, y)
        return structure.log_rows(moments, rows)[0] + structure.log_density(moments, rows)[0]

    whole = quad(lambda cell: np.exp(log_joint(np.array([[0.4, cell]]))), -12, 12, epsabs=1e-10)[0]
    assert log_joint(x) == pytest.approx(np.log(whole), abs=1e-7)


def test_expectations_given_the_target_less_those_given_nothing_are_the_gradient():
    """Table 2 of Masegosa (2014) for a continuous label: clamped less free statistics are minus the gradient of ncll in theta."""
    found, moments = problem(40, 0.3)
    structure, rows = found.structure, found.rows
    X, y, weights = rows.form.X, np.where(np.isnan(rows.y), 0.0, rows.y), rows.weights
    given = [structure.expect(moments, X, y, weights, kind) for kind in (Given.LABEL, Given.NOTHING)]
    clamped, free = (part.statistics for part in given)
    whole = structure.rows(X, y, weights)
    scores = structure.scores(moments, whole)
    _, d_gates, d_eta, d_variance, _ = structure.weigh(*scores, moments.spread, whole, True)
    pulls = d_eta.T @ whole.missing, d_variance.T @ whole.missing
    theta = whole.form.coefficients(moments.gates)[1]
    signed = structure.signed(whole, theta, d_gates)
    signed = signed + structure.design.pulled(structure.gates.families, moments.gates, moments.slope, *pulls)[1]
    chart = structure.gates.chart(moments.gates)
    vector = chart.vector(moments.gates)
    np.testing.assert_allclose(
        chart.gradient(vector, clamped - free), chart.gradient(vector, signed), rtol=1e-8, atol=1e-9
    )
    log_density = structure.log_density(moments, whole)
    np.testing.assert_allclose(given[0].log_probability - given[1].log_probability, log_density, atol=1e-9)


def test_the_driver_only_accepts_steps_that_lower_the_objective():
    found, moments = problem(60, 0.2)
    fit = improved(found, moments, ExpertSetting(3, steps=60), np.random.default_rng(0), SILENT, 1e-9)
    assert (np.diff(fit.history["objective"]) <= 0).all()
    assert fit.history["objective"][-1] < found.measure(moments).objective


def test_whitened_coordinates_converge_faster_than_plain_ones():
    from suffice.structures.expert_chart import Whitened

    found, moments = problem(300, 0.0, n_components=4, seed=3)
    setting = ExpertSetting(4, steps=30)
    white = improved(found, moments, setting, np.random.default_rng(0), SILENT, 1e-12)
    plain = found.around(moments, setting)
    coordinates: Whitened = plain.coordinates
    coordinates.widths = np.ones_like(coordinates.widths)
    coordinates.linear = np.broadcast_to(np.eye(coordinates.linear.shape[1]), coordinates.linear.shape)
    coordinates.logs = np.ones_like(coordinates.logs)
    from suffice.learners.driver import run
    from suffice.learners.quasi_newton import QuasiNewton

    other = run(QuasiNewton(1e-12), plain, moments, np.random.default_rng(0), max_epochs=30, tol=0.0)
    assert white.measure.objective < other.measure.objective


def test_a_missing_cell_of_an_expert_with_bends_has_the_moments_of_its_integral():
    generator = np.random.default_rng(0)
    mean, variance = generator.normal(size=(3, 2)), generator.uniform(0.1, 2.0, (3, 2))
    moments = GaussianMoments(np.ones((3, 2)), mean, variance + mean**2)
    cells = HingeCells(2, np.array([[-0.5, 0.2, 1.0], [0.3, np.nan, np.nan]]))
    slope = generator.normal(size=(3, cells.size))
    family = GaussianDiagonal(3, 2, np.zeros(2))
    centre, spread = cells.expected(family, moments, slope)
    z = np.linspace(-15, 15, 60_001)
    for k in range(3):
        for j in range(2):
            other = np.zeros((len(z), 2))
            other[:, j] = z
            values = cells.vectors(other) @ slope[k] - cells.vectors(np.where(np.arange(2) == j, 0.0, other)) @ slope[k]
            at_zero = cells.vectors(np.zeros((1, 2)))[0]
            own = [j, *(2 + place for place, column in enumerate(np.nonzero(cells.has_knot)[0]) if column == j)]
            values = values + at_zero[own] @ slope[k, own]
            density = np.exp(-0.5 * (z - mean[k, j]) ** 2 / variance[k, j]) / np.sqrt(2 * np.pi * variance[k, j])
            first = trapezoid(values * density, z)
            assert centre[k, j] == pytest.approx(first, abs=1e-6)
            assert spread[k, j] == pytest.approx(trapezoid((values - first) ** 2 * density, z), rel=1e-5)


def test_the_kernels_of_bends_agree_with_their_readable_twin():
    generator = np.random.default_rng(1)
    mean, variance = generator.normal(size=(4, 3)), generator.uniform(0.01, 2.0, (4, 3))
    moments = GaussianMoments(np.ones((4, 3)), mean, variance + mean**2)
    cells = HingeCells(3, np.array([[-0.5, 0.2, 1.0], [np.nan] * 3, [0.3, 40.0, np.nan]]))
    slope = generator.normal(size=(4, cells.size))
    plain = PlainBends(cells, slope, mean, variance)
    family = GaussianDiagonal(4, 3, np.zeros(3))
    for one, other in zip(cells.expected(family, moments, slope), plain.moments(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    pulls = generator.normal(size=(2, 4, 3))
    d_slope, statistics = cells.pulled(family, moments, slope, *pulls)
    found = d_slope, statistics.first, statistics.second
    for one, other in zip(found, plain.pulls(*pulls), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)
    nothing = GaussianMoments(np.zeros((4, 3)), np.zeros((4, 3)), np.zeros((4, 3)))  # a block of no weight: variance 0
    assert all(np.isfinite(part).all() for part in cells.expected(family, nothing, slope))
    assert np.isfinite(cells.pulled(family, nothing, slope, *pulls)[0]).all()


def test_knots_are_weighted_quantiles_of_columns_with_enough_values():
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.normal(size=200), generator.integers(0, 3, 200), np.ones(200)])
    knots = knots_of(X, np.ones(200))
    assert np.isfinite(knots).all(axis=1).tolist() == [True, False, False]
    assert not np.isfinite(knots[1:]).any() and (np.diff(knots[0]) > 0).all()
    some = generator.integers(1, 3, 200)
    np.testing.assert_array_equal(
        knots_of(X, some.astype(float)), knots_of(np.repeat(X, some, axis=0), np.ones(some.sum()))
    )
    assert not np.isfinite(knots_of(X[:50], np.ones(50))).any()
