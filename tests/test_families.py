"""Every model is an exponential family: both maps, its log-partition, its entropy, its density, its domain."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest
import registry
from registry import assert_records_close
from scipy import integrate, sparse, stats
from scipy.special import logsumexp

from suffice.families import gaussian_diagonal, gaussian_full, gaussian_tied
from suffice.families.categorical import Categorical
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.families.gaussian_full import GaussianFull
from suffice.families.gaussian_tied import GaussianTied
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson
from suffice.structures.joint import Joint


def test_moments_to_natural_and_back(case):
    model, moments = case.model, case.moments
    assert_records_close(model.moments_of(model.natural_of(moments)), moments)


def test_natural_to_moments_and_back(case):
    model = case.model
    natural = model.natural_of(case.moments)
    assert_records_close(model.natural_of(model.moments_of(natural, total=3.0)), natural, rtol=1e-8, atol=1e-10)


def test_a_normalised_natural_has_log_partition_zero(case):
    assert case.model.log_partition(case.model.natural_of(case.moments)) == pytest.approx(0.0, abs=1e-9)


def test_gradient_of_log_partition_is_the_moments(case):
    model = case.model
    natural = model.natural_of(case.moments)
    for name, values, expected, changed in registry.natural_pairs(natural, case.moments):
        gradient = np.empty_like(values)
        for index in np.ndindex(values.shape):
            step = np.zeros_like(values)
            step[index] += 1e-6
            if name == "quadratic" and not isinstance(model.families[0], GaussianDiagonal):
                step = 0.5 * (step + np.swapaxes(step, -1, -2))  # symmetric matrices only
            up, down = (model.log_partition(changed(values + sign * step)) for sign in (1, -1))
            gradient[index] = (up - down) / 2e-6
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


def test_entropy_is_log_partition_minus_inner_product(case):
    model, moments = case.model, case.moments
    natural = model.natural_of(moments)
    inner = sum(float((theta * mu).sum()) for _, theta, mu, _ in registry.natural_pairs(natural, moments))
    assert model.entropy(moments) == pytest.approx(model.log_partition(natural) - inner, rel=1e-9, abs=1e-9)
    assert model.entropy(7.0 * moments) == pytest.approx(model.entropy(moments), rel=1e-12)


def test_entropy_of_a_gaussian_is_the_closed_form():
    case = registry.cases()["gaussian_full"]
    mass = case.moments.mass
    mean, covariance = gaussian_full.mean_and_covariance(case.moments.columns[0])
    own = [stats.multivariate_normal(m, V).entropy() for m, V in zip(mean, covariance, strict=True)]
    assert case.model.entropy(case.moments) == pytest.approx(mass @ own - mass @ np.log(mass), rel=1e-9)


def test_log_likelihood_of_statistics_is_the_sum_of_log_joints(case):
    scores = case.model.log_joint(case.moments, case.X)
    expected = case.weights @ scores[np.arange(len(case.y)), case.y]
    assert case.model.log_likelihood(case.statistics, case.moments) == pytest.approx(expected, rel=1e-10)


def test_maximum_likelihood_is_the_statistics(case):
    """No model gives the data a higher likelihood than theta(statistics): neighbours are all lower."""
    model, statistics = case.model, case.statistics + 1e-3 * case.prior
    best = model.log_likelihood(statistics, statistics)
    for other in (case.moments, case.prior, statistics + case.prior, statistics + 0.01 * case.prior):
        assert model.log_likelihood(statistics, other) < best


# -- densities ---------------------------------------------------------------------------------------------------------


def scipy_log_joint(case, X) -> np.ndarray:
    """log p(x, k) by scipy.stats from the parameters of the moments."""
    model, mass, X = case.model, case.moments.mass, registry.dense(X)
    own = zip(model.families, case.moments.columns, model.split(X), strict=True)
    return np.log(mass / mass.sum()) + sum(scipy_log_densities(*part) for part in own)


def scipy_log_densities(model, moments, X) -> np.ndarray:
    """log p(x | k) of one family."""
    if isinstance(model, GaussianDiagonal):
        mean, variance = gaussian_diagonal.mean_and_variance(moments)
        parts = [
            stats.norm(m + model.location, np.sqrt(v)).logpdf(X).sum(axis=1)
            for m, v in zip(mean, variance, strict=True)
        ]
    elif isinstance(model, GaussianFull):
        mean, covariance = gaussian_full.mean_and_covariance(moments)
        parts = [
            stats.multivariate_normal(m + model.location, V).logpdf(X) for m, V in zip(mean, covariance, strict=True)
        ]
    elif isinstance(model, GaussianTied):
        mean, covariance = gaussian_tied.mean_and_covariance(moments)
        parts = [stats.multivariate_normal(m + model.location, covariance).logpdf(X) for m in mean]
    elif isinstance(model, Poisson):
        parts = [stats.poisson(rate).logpmf(X).sum(axis=1) for rate in model.rates(moments)]
    elif isinstance(model, Multinomial):
        parts = [stats.multinomial.logpmf(X, X.sum(axis=1), column / column.sum()) for column in moments.count.T]
    else:
        cells = model.offset + X.astype(int)
        parts = [np.log(column)[cells].sum(axis=1) for column in model.probabilities(moments).T]
    return np.array(parts).T


def test_log_joint_agrees_with_scipy(case):
    base = np.reshape(case.model.log_base_measure(case.X), (-1, 1))
    np.testing.assert_allclose(
        case.model.log_joint(case.moments, case.X) + base, scipy_log_joint(case, case.X), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", ["categorical", "bernoulli"])
def test_categories_add_up_to_one(name):
    case = registry.cases()[name]
    X = np.array(list(itertools.product(*(range(size) for size in case.model.family.n_categories))), dtype=float)
    assert logsumexp(case.model.log_joint(case.moments, X)) == pytest.approx(0.0, abs=1e-12)


def test_words_of_one_length_add_up_to_one():
    case = registry.cases()["multinomial"]
    rows = [row for row in itertools.product(range(5), repeat=5) if sum(row) == 4]
    X = sparse.csr_matrix(np.array(rows, dtype=float))
    total = logsumexp(logsumexp(case.model.log_joint(case.moments, X), axis=1) + case.model.log_base_measure(X))
    assert total == pytest.approx(0.0, abs=1e-12)


def test_counts_add_up_to_one():
    case = registry.cases()["poisson"]
    X = np.array(list(itertools.product(range(25), repeat=3)), dtype=float)
    total = logsumexp(logsumexp(case.model.log_joint(case.moments, X), axis=1) + case.model.log_base_measure(X))
    assert total == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("kind", [GaussianDiagonal, GaussianFull, GaussianTied])
def test_gaussians_integrate_to_one(kind):
    generator = np.random.default_rng(0)
    X, y = generator.normal(3.0, 2.0, (30, 1)), np.arange(30) % 2
    model = Joint.of(kind.for_data(X, 2))
    moments = model.statistics(X, y, np.ones(30))

    def density(x: float) -> float:
        return float(np.exp(logsumexp(model.log_joint(moments, np.array([[x]])))))

    assert integrate.quad(density, -40, 40, points=[3.0])[0] == pytest.approx(1.0, abs=1e-7)


# -- data --------------------------------------------------------------------------------------------------------------


def test_expected_statistics_of_one_hot_are_the_statistics(case):
    one_hot = case.weights[:, None] * np.eye(registry.N_OUTCOMES)[case.y]
    assert_records_close(case.model.expected_statistics(case.X, one_hot), case.statistics, rtol=1e-11, atol=1e-11)


def test_expected_statistics_are_linear_in_signed_weights(case):
    generator = np.random.default_rng(0)
    one, two = generator.normal(size=(2, registry.N_ROWS, registry.N_OUTCOMES))
    model = case.model
    together = model.expected_statistics(case.X, one - 2.0 * two)
    apart = model.expected_statistics(case.X, one) - 2.0 * model.expected_statistics(case.X, two)
    assert_records_close(together, apart, rtol=1e-9, atol=1e-9)


def test_rows_without_a_label_are_left_out(case):
    y = np.where(np.arange(len(case.y)) % 3 == 0, -1, case.y)
    keep = y >= 0
    expected = case.model.statistics(case.X[keep], y[keep], case.weights[keep])
    assert_records_close(case.model.statistics(case.X, y, case.weights), expected, rtol=1e-11, atol=1e-11)


def test_dense_and_sparse_rows_are_the_same(case):
    if case.name == "multinomial":
        pytest.skip("the multinomial only takes sparse rows")
    X = sparse.csr_matrix(case.X)
    model, responsibilities = case.model, np.random.default_rng(0).normal(size=(registry.N_ROWS, registry.N_OUTCOMES))
    assert_records_close(model.statistics(X, case.y, case.weights), case.statistics, atol=1e-10)
    assert_records_close(
        model.expected_statistics(X, responsibilities), model.expected_statistics(case.X, responsibilities), atol=1e-10
    )
    np.testing.assert_allclose(model.scores(case.moments, X), model.scores(case.moments, case.X), rtol=1e-12)
    np.testing.assert_allclose(model.log_joint(case.moments, X), model.log_joint(case.moments, case.X), rtol=1e-12)
    np.testing.assert_allclose(model.log_base_measure(X), model.log_base_measure(case.X), rtol=1e-12)


@pytest.mark.parametrize("name", registry.WITH_MISSING)
def test_a_missing_cell_is_integrated_out(name):
    """log_joint of a row without column 0 is that of the model without column 0."""
    case = registry.cases()[name]
    X = case.X.copy()
    X[:, 0] = np.nan
    scores = case.model.log_joint(case.moments, X)
    logs = np.log(case.moments.mass / case.moments.mass.sum())
    alone = np.array(case.X)
    alone[:, 1:] = np.nan
    both = scores + case.model.log_joint(case.moments, alone) - logs
    np.testing.assert_allclose(both, case.model.log_joint(case.moments, case.X), rtol=1e-10)
    np.testing.assert_allclose(case.model.scores(case.moments, X), scores, rtol=1e-10)


@pytest.mark.parametrize("name", registry.WITH_MISSING)
def test_a_missing_cell_adds_to_no_block(name):
    case = registry.cases()[name]
    X = case.X.copy()
    X[::2, 0] = np.nan
    statistics = case.model.statistics(X, case.y, case.weights)
    np.testing.assert_allclose(statistics.mass, case.statistics.mass)
    weight = statistics.columns[0].weight
    weight = weight if isinstance(case.model.family, Categorical) else weight.T
    odd = np.arange(len(case.y)) % 2 == 1
    np.testing.assert_allclose(weight[0], np.bincount(case.y[odd], case.weights[odd], minlength=registry.N_OUTCOMES))
    np.testing.assert_allclose(weight[1], case.statistics.mass)


# -- domain, steps, priors, samples ------------------------------------------------------------------------------------


def test_domain(case):
    model, moments = case.model, case.moments
    assert model.in_domain(moments)
    assert model.in_domain(case.prior)
    nothing = moments.mass.copy()
    nothing[0] = 0.0
    assert not model.in_domain(replace(moments, mass=nothing))
    assert not model.in_domain(replace(moments, mass=np.where(np.arange(len(nothing)) == 0, np.nan, moments.mass)))
    for place, own in enumerate(moments.columns):

        def is_inside(place=place, own=own, **values):
            columns = (*moments.columns[:place], replace(own, **values), *moments.columns[place + 1 :])
            return model.in_domain(replace(moments, columns=columns))

        assert is_inside()
        for field in fields(own):
            broken = getattr(own, field.name).copy()
            broken.flat[0] = np.nan
            assert not is_inside(**{field.name: broken})
        if hasattr(own, "second"):
            assert not is_inside(second=-own.second)
        else:
            empty = own.count.copy()
            empty.flat[0] = 0.0
            assert not is_inside(count=empty)


def test_records_are_a_vector_space(case):
    one, two = case.moments, case.prior
    assert_records_close((one + two) - two, one)
    assert_records_close(2.0 * one, one + one)
    assert_records_close(one * 0.25, 0.25 * one)
    assert (one - one).flat() == pytest.approx(0.0)
    assert len(one.flat()) == sum(array.size for array in one.arrays())
    copied = one.copy()
    copied.mass[0] += 1.0
    assert one.mass[0] != copied.mass[0]
    assert not (one * np.nan).is_finite()


@pytest.mark.parametrize("rate", [1e-3, 1.0, 1e3, 1e9])
def test_a_step_of_any_length_stays_inside(case, rate):
    """`move` shortens, keeps the total mass, and moves towards the target."""
    model, generator = case.model, np.random.default_rng(3)
    for _ in range(20):
        signed = generator.normal(size=(registry.N_ROWS, registry.N_OUTCOMES)) * generator.choice([0.01, 1.0, 100.0])
        statistics = model.expected_statistics(case.X, signed - signed.mean(axis=1, keepdims=True))
        direction = model.direction(statistics, case.prior, case.moments)
        moved, n_shortened = model.move(case.moments, direction, rate)
        assert model.in_domain(moved)
        assert moved.mass.sum() == pytest.approx(case.moments.mass.sum(), rel=1e-9)
        assert (moved.mass >= 0.5 * case.moments.mass * (1 - 1e-9)).all()
        assert n_shortened >= 0


def test_a_small_step_is_not_shortened(case):
    model = case.model
    direction = model.direction(case.statistics, case.prior, case.moments, pull=float(case.weights.sum()))
    moved, n_shortened = model.move(case.moments, direction, 1e-7)
    assert n_shortened == 0
    expected = case.moments + 1e-7 * direction
    np.testing.assert_allclose(model.natural_of(moved).flat(), model.natural_of(expected).flat(), rtol=1e-7, atol=1e-9)


def test_direction_vanishes_at_the_closed_form(case):
    model = case.model
    optimum = case.statistics + case.prior
    direction = model.direction(case.statistics, case.prior, optimum, pull=float(case.statistics.mass.sum()))
    scale = max(np.abs(optimum.flat()).max(), 1.0)
    assert np.abs(direction.flat()).max() < 1e-10 * scale


def test_priors_lie_inside_and_pooled_outcomes_look_alike(case):
    model, statistics = case.model, case.statistics
    pooled = model.pooled(statistics)
    scores = model.log_joint(pooled, case.X) - np.log(pooled.mass / pooled.mass.sum())
    np.testing.assert_allclose(scores, scores[:, :1].repeat(registry.N_OUTCOMES, axis=1), rtol=1e-9)
    np.testing.assert_allclose(pooled.mass, statistics.mass)
    smooth = statistics + model.pseudo_counts(statistics, model.default_pseudo_counts)
    assert model.in_domain(smooth)


def test_samples_have_the_moments(case):
    """Each mean of 20 000 rows lies within 5 standard errors of what the model expects (fixed seed)."""
    model, n = case.model, 20_000
    outcomes = np.repeat(np.arange(registry.N_OUTCOMES), n)
    drawn = model.sample(case.moments, outcomes, np.random.default_rng(11))
    X = sparse.csr_matrix(drawn) if model.takes_sparse else drawn
    assert drawn.shape == (len(outcomes), model.n_features)
    expected = model.at_masses(case.moments, np.ones(registry.N_OUTCOMES))
    found = model.statistics(X, outcomes, np.full(len(outcomes), 1.0 / n))
    for family, rows, own, seen in zip(model.families, model.split(X), expected.columns, found.columns, strict=True):
        for name in ("first", "second", "count"):
            if hasattr(own, name):
                spread = 5 * np.sqrt(largest_second_moment(family, rows, name) / n)
                assert np.abs(getattr(seen, name) - getattr(own, name)).max() < spread


def largest_second_moment(model, X, name: str) -> float:
    X = registry.dense(X)
    z = X - getattr(model, "location", 0.0)
    power = {"first": 2, "second": 4, "count": 2}[name]
    least = 1.0 if isinstance(model, Categorical) else 0.0
    return max(float((z**power).mean(axis=0).max()), least) * registry.N_OUTCOMES


def test_state_of_and_back(case):
    model = case.model
    assert_records_close(model.moments_of_state(model.state_of(case.prior)), case.prior, rtol=1e-9, atol=1e-9)
