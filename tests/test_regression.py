"""Regressors: scikit-learn's contract, densities against numerical integration, missing cells and targets, streams, files."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.stats import poisson
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GaussianRegressor, MixtureRegressor, load, save
from suffice.families.gaussian_diagonal import GaussianDiagonal
from suffice.structures.expert_prior import pooled_line
from suffice.structures.experts import Experts
from suffice.structures.joint import Joint
from suffice.structures.targets import GaussianTarget


def bent(n=300, seed=0, share_missing=0.0):
    """A target that bends, with a spread that grows."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2, 2, (n, 3))
    y = 3.0 + 2 * np.abs(X[:, 0]) + X[:, 1] + (0.1 + 0.3 * (X[:, 0] > 0)) * generator.normal(size=n)
    X[generator.random(X.shape) < share_missing] = np.nan
    return X, y


@pytest.fixture(scope="module")
def model():
    X, y = bent(share_missing=0.1)
    return MixtureRegressor(4, n_members=4, max_iter=30, random_state=0).fit(X, y)


@parametrize_with_checks([MixtureRegressor(2, n_members=1, max_iter=15, random_state=0), GaussianRegressor()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_density_integrates_to_one_and_agrees_with_the_cdf(model):
    X, _ = bent(5, 1, 0.2)
    grid = np.linspace(-15, 25, 8001)
    for x in X:
        density = np.exp(model.log_density(np.repeat(x[None], len(grid), axis=0), grid))
        assert trapezoid(density, grid) == pytest.approx(1.0, abs=1e-5)
        assert trapezoid(density * grid, grid) == pytest.approx(model.predict(x[None])[0], abs=1e-4)
        below = trapezoid(density[:4001], grid[:4001])
        assert model.cdf(x[None], [5.0])[0] == pytest.approx(below, abs=1e-4)


def test_quantiles_invert_the_cdf_and_crps_is_the_integral(model):
    X, y = bent(6, 2)
    levels = (0.05, 0.3, 0.5, 0.95)
    quantiles = model.predict_quantiles(X, levels)
    assert (np.diff(quantiles, axis=1) > 0).all()
    for place, level in enumerate(levels):
        np.testing.assert_allclose(model.cdf(X, quantiles[:, place]), level, atol=1e-8)
    lower, upper = model.predict_interval(X, 0.9)
    np.testing.assert_allclose(lower, quantiles[:, 0], rtol=1e-12)
    np.testing.assert_allclose(upper, quantiles[:, 3], rtol=1e-12)
    found = model.crps(X, y)
    for i in range(3):

        def squared(t, i=i):
            return (model.cdf(X[i : i + 1], [t])[0] - (y[i] <= t)) ** 2

        whole = quad(squared, y[i] - 12, y[i], limit=100)[0] + quad(squared, y[i], y[i] + 12, limit=100)[0]
        assert found[i] == pytest.approx(whole, abs=2e-4)


def test_mean_and_std_are_those_of_components_and_of_draws(model):
    X, _ = bent(4, 3, 0.2)
    mean, std = model.predict(X, return_std=True)
    shares, means, variances = model.components(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose((shares * means).sum(axis=1), mean)
    np.testing.assert_allclose(np.sqrt((shares * (variances + means**2)).sum(axis=1) - mean**2), std, rtol=1e-8)
    draws = model.sample_y(X, 4000, random_state=0)
    assert draws.shape == (4, 4000)
    assert (np.abs(draws.mean(axis=1) - mean) < 5 * std / np.sqrt(4000)).all()  # five standard errors
    np.testing.assert_array_equal(draws, model.sample_y(X, 4000, random_state=0))


def test_held_out_rows_choose_and_the_choice_is_said(model):
    assert "candidates" in model.choice_ and "width" in model.choice_
    assert sum(each["weight"] for each in model.candidates_) == pytest.approx(1.0)
    assert np.isfinite(model.held_out_log_density_)


def test_a_row_without_any_cell_has_the_density_of_all_rows(model):
    mean, std = model.predict(np.full((1, 3), np.nan), return_std=True)
    _, y = bent(share_missing=0.1)
    assert abs(mean[0] - y.mean()) < y.std() and 0.5 * y.std() < std[0] < 2 * y.std()


def test_files_hold_the_regressor(model):
    buffer = io.BytesIO()
    save(model, buffer)
    buffer.seek(0)
    again = load(buffer)
    X, y = bent(20, 4, 0.2)
    np.testing.assert_array_equal(again.log_density(X, y), model.log_density(X, y))
    more, other = bent(100, 5)
    np.testing.assert_array_equal(
        again.partial_fit(more, other).predict(X), _copy(model).partial_fit(more, other).predict(X)
    )


def _copy(model):
    buffer = io.BytesIO()
    save(model, buffer)
    buffer.seek(0)
    return load(buffer)


def test_members_of_a_file_see_the_same_of_a_row(model):
    """Rows are read once for all members: one with other knots would be answered wrongly."""
    other = _copy(model)
    part = other.committees_[0].members[-1].structure.design.parts[0]
    object.__setattr__(part, "knots", part.knots + 0.1)
    with pytest.raises(ValueError, match="sees other numbers of a row"):
        _copy(other)


def test_a_stream_gets_better():
    X, y = bent(3000, 6)
    test, truth = bent(500, 7)
    model = MixtureRegressor(4, n_members=1, random_state=0).partial_fit(X[:60], y[:60])
    before = model.log_density(test, truth).mean()
    for first in range(60, 3000, 490):
        model.partial_fit(X[first : first + 490], y[first : first + 490])
    assert model.log_density(test, truth).mean() > before + 0.05


def test_threads_change_no_bit():
    X, y = bent(120)
    options = {"n_components": 2, "n_members": 2, "max_iter": 10, "random_state": 0}
    one, two = (MixtureRegressor(**options, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.log_density(X, y), two.log_density(X, y))


def test_a_checkpoint_of_an_interrupted_fit_goes_on(tmp_path):
    X, y = bent(100)
    options = {"n_components": 2, "n_members": 2, "max_iter": 10, "random_state": 0}
    whole = MixtureRegressor(**options).fit(X, y)
    path = tmp_path / "fit.ckpt"
    MixtureRegressor(**options, checkpoint=path, checkpoint_minutes=0).fit(X, y)
    again = MixtureRegressor(**options, checkpoint=path, resume=True).fit(X, y)
    np.testing.assert_array_equal(again.log_density(X, y), whole.log_density(X, y))


def test_rows_without_a_target_help_the_joint_likelihood_and_are_left_out_of_the_conditional_one():
    X, y = bent(200)
    y[100:] = np.nan
    options = {"n_components": 2, "n_members": 1, "max_iter": 20, "random_state": 0}
    with_rows, without = MixtureRegressor(**options).fit(X, y), MixtureRegressor(**options).fit(X[:100], y[:100])
    a, b = with_rows.predict(X), without.predict(X)
    assert np.corrcoef(a, b)[0, 1] > 0.95
    joint = MixtureRegressor(**options, loss="nll").fit(X, y)
    assert not np.array_equal(
        joint.predict(X), MixtureRegressor(**options, loss="nll").fit(X[:100], y[:100]).predict(X)
    )


def test_columns_of_several_kinds_and_imputation():
    pd = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    n = 300
    colour = generator.choice(["red", "blue", "green"], n)
    count = generator.poisson(4, n)
    size = generator.normal(size=n)
    y = np.where(colour == "red", 5.0, 0.0) + size + 0.3 * count + 0.1 * generator.normal(size=n)
    table = pd.DataFrame({"colour": colour, "size": size, "count": count})
    table.loc[:20, "size"] = np.nan
    table.loc[21:40, "colour"] = None
    model = MixtureRegressor(2, n_members=1, kinds={"count": "count"}, random_state=0).fit(table, y)
    assert model.kinds_ == {"colour": "categorical", "size": "gaussian", "count": "count"}
    complete = table.iloc[50:]
    assert np.sqrt(np.mean((model.predict(complete) - y[50:]) ** 2)) < 0.2
    _, std = model.predict(table, return_std=True)
    assert std[:20].mean() > 3 * std[60:].mean()
    filled = model.impute(table, y)
    assert not filled.isna().any().any() and filled.shape == table.shape
    effect = model.explain(complete)
    assert effect.shape == complete.shape and np.abs(effect[:, 0]).mean() > 0.5
    assert np.isfinite(model.score_samples(table)).all()


def test_several_targets_have_a_joint_density():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2))
    noise = generator.normal(size=300)
    Y = np.column_stack([X[:, 0] + noise, X[:, 1] + noise + 0.2 * generator.normal(size=300)])
    model = MixtureRegressor(2, n_members=1, max_iter=40, random_state=0).fit(X, Y)
    assert model.predict(X).shape == (300, 2)
    alone = sum(MixtureRegressor(2, n_members=1, max_iter=40, random_state=0).fit(X, y).log_density(X, y) for y in Y.T)
    assert model.log_density(X, Y).mean() > alone.mean() + 0.5  # the noise is shared
    draws = model.sample_y(X, 3, random_state=0)
    assert draws.shape == (300, 3, 2)
    rest = (draws - model.predict(X)[:, None]).reshape(-1, 2)
    assert np.corrcoef(rest.T)[0, 1] > 0.8
    assert model.predict_quantiles(X, (0.1, 0.5)).shape == (300, 2, 2)
    assert model.explain(X[:3]).shape == (3, 2, 2)


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "bernoulli"])
def test_counts_and_flags(family):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 2))
    if family == "bernoulli":
        y = (generator.random(400) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(float)
    else:
        noise = generator.gamma(2.0, 0.5, 400) if family == "negative_binomial" else 1.0
        y = generator.poisson(np.exp(1 + 0.5 * X[:, 0]) * noise).astype(float)
    model = MixtureRegressor(family=family, n_components=2, n_members=2, max_iter=30, random_state=0).fit(X, y)
    test = generator.normal(size=(50, 2))
    total = sum(
        np.exp(model.log_density(test, np.full(50, float(t)))) for t in range(2 if family == "bernoulli" else 400)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-6)
    cdf = model.cdf(test, np.full(50, 0.0))
    np.testing.assert_allclose(cdf, np.exp(model.log_density(test, np.zeros(50))), rtol=1e-8)
    median = model.predict_quantiles(test, 0.5)[:, 0]
    assert (model.cdf(test, median) >= 0.5).all() and (model.cdf(test, median - 1) < 0.5).all()
    assert np.corrcoef(model.predict(test), test[:, 0])[0, 1] > 0.8
    assert np.isneginf(model.log_density(test[:1], [0.5])).all()
    with pytest.raises(ValueError, match="family="):
        MixtureRegressor(family=family).fit(X, y - 0.5)


def test_what_is_wrong_is_said_and_changes_nothing(model):
    X, y = bent(50)
    before = model.predict(X)
    for arguments, options, words in [
        ((X, y), {"n_components": 0}, "n_components=0"),
        ((X, y), {"loss": "hinge"}, "'ncll', 'nll'"),
        ((X, y), {"family": "gamma"}, "family='gamma'"),
        ((X, np.full(50, np.nan)), {}, "no target"),
        ((X, ["a"] * 50), {}, "needs numbers"),
        ((X, np.where(np.arange(50) == 3, np.inf, y)), {}, "infinity"),
        ((X, y[:-1]), {}, "inconsistent"),
    ]:
        other = _copy(model).set_params(**options)
        with pytest.raises(ValueError, match=words):
            other.fit(*arguments)
        np.testing.assert_array_equal(other.predict(X), before)
    with pytest.raises(ValueError, match="coverage=2"):
        model.predict_interval(X, 2)


@pytest.mark.parametrize(
    "X, y",
    [
        (np.ones((30, 2)), np.arange(30.0)),
        (np.arange(60.0).reshape(30, 2), np.ones(30)),
        (1e8 + np.arange(60.0).reshape(30, 2), 1e-8 * np.arange(30.0)),
        (np.repeat(np.eye(2), 15, axis=0), np.repeat([0.0, 1.0], 15)),
        (np.array([[0.0], [1.0]]), np.array([0.0, 1.0])),
        (np.where(np.arange(60).reshape(30, 2) % 3, np.nan, 1e60), np.arange(30.0)),
    ],
)
def test_odd_tables_give_finite_answers(X, y):
    model = MixtureRegressor(random_state=0, max_iter=20).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all() and np.isfinite(std).all() and np.isfinite(model.log_density(X, y)).all()
    assert np.isfinite(model.predict_quantiles(X)).all()


def test_a_planted_bimodal_heteroscedastic_target_is_recovered():
    """5,000 rows of two bent branches whose spread and shares depend on x: within .05 nats of the truth on held-out rows."""
    train, test = planted(5000, 0), planted(5000, 1)
    model = MixtureRegressor(random_state=0).fit(train[0], train[1])
    assert model.log_density(test[0], test[1]).mean() > test[2].mean() - 0.05


def planted(n, seed):
    generator = np.random.default_rng(seed)
    x = generator.uniform(-2, 2, n)
    share, spread = 1 / (1 + np.exp(-3 * x)), 0.1 + 0.15 * np.abs(x)
    means = np.column_stack([np.where(x < 0, -1 - x, -1 + 0.5 * x), np.where(x < 0.5, 1.5, 1.5 + 2 * (x - 0.5))])
    second = generator.random(n) < share
    y = np.where(second, means[:, 1], means[:, 0]) + spread * generator.normal(size=n)
    each = np.exp(-0.5 * ((y[:, None] - means) / spread[:, None]) ** 2) / (spread[:, None] * np.sqrt(2 * np.pi))
    truth = np.log((np.column_stack([1 - share, share]) * each).sum(axis=1))
    return np.column_stack([x, generator.normal(size=n)]), y, truth


def test_it_is_importable_from_the_package():
    assert suffice.MixtureRegressor is MixtureRegressor


def test_one_gaussian_is_bayesian_ridge_where_nothing_is_missing():
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import BayesianRidge

    X, y = load_diabetes(return_X_y=True)
    Z = (X - X[:300].mean(axis=0)) / X[:300].std(axis=0)
    ours, theirs = GaussianRegressor().fit(X[:300], y[:300]), BayesianRidge().fit(Z[:300], y[:300])
    (mean, std), (their_mean, their_std) = (
        ours.predict(X[300:], return_std=True),
        theirs.predict(Z[300:], return_std=True),
    )
    np.testing.assert_allclose(mean, their_mean, rtol=0.01)
    np.testing.assert_allclose(std, their_std, rtol=0.02)


def test_one_gaussian_completes_cells_through_correlations():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 1)) + 0.1 * generator.normal(size=(500, 3))
    y = X.sum(axis=1) + 0.1 * generator.normal(size=500)
    hidden = X.copy()
    hidden[generator.random(X.shape) < 0.4] = np.nan
    y_some = y.copy()
    y_some[:50] = np.nan
    model = GaussianRegressor().fit(hidden, y_some)
    seen = ~np.isnan(hidden).all(axis=1)
    assert np.sqrt(np.mean((model.predict(hidden) - y)[seen] ** 2)) < 0.35
    _, std = model.predict(hidden, return_std=True)
    assert std[~seen].mean() > 3 * std[seen].mean()
    lower, upper = model.predict_interval(hidden, 0.9)
    assert 0.85 < np.mean((y >= lower) & (y <= upper)) < 0.95
    stream = GaussianRegressor().partial_fit(X[:250], y[:250]).partial_fit(X[250:], y[250:])
    np.testing.assert_allclose(stream.predict(X), GaussianRegressor().fit(X, y).predict(X), atol=1e-2)


def test_a_candidate_without_weight_is_not_fitted_in_the_next_deal():
    from suffice.choosing.stacking import stacked

    generator = np.random.default_rng(0)
    y, calls = generator.normal(size=90), []
    parts = np.stack([generator.permutation(90) % 3 for _ in range(2)])

    def fit(candidate, number, part):
        calls.append((candidate, number, part))
        return (-0.5, 0.5, 9.0)[candidate]

    def judge(centre, rows):
        return -0.5 * (y[rows] - centre) ** 2

    found = stacked(["low", "high", "far"], parts, np.ones(90), fit, judge, np.ones(90, dtype=bool))
    assert found.candidates == ["low", "high"] and [len(fits) for fits in found.fits] == [6, 6]
    assert sorted({number for candidate, number, _ in calls if candidate == 2}) == [0]
    shares = found.weights[:, None] * np.exp(-0.5 * (y - np.array([[-0.5], [0.5]])) ** 2)
    assert found.held_out == pytest.approx(np.log(shares.sum(axis=0)).mean())
    np.testing.assert_allclose((shares / shares.sum(axis=0)).mean(axis=1), found.weights, atol=1e-4)  # EM's fixed point


def test_the_fits_of_a_candidate_share_its_weight(model):
    members = model.committees_[0].members
    total = sum(member.weight for member in members)
    kept = {each["n_components"] for each in model.candidates_ if each["weight"] >= 0.02}
    assert total == pytest.approx(1.0) and {m.structure.n_outcomes for m in members} <= kept


def test_the_common_line_is_as_stiff_as_the_evidence_says():
    from sklearn.linear_model import BayesianRidge

    generator = np.random.default_rng(0)
    X = generator.normal(size=(90, 40))
    for slope, least in ((np.zeros(40), 0.0), (np.repeat([1.0, 0.0], [5, 35]), 0.9)):
        y = X @ slope + generator.normal(size=90)
        y = (y - y.mean()) / y.std()
        structure = Experts.of(Joint.of(GaussianDiagonal(1, 40, np.zeros(40))), X, GaussianTarget())
        found, theirs = pooled_line(structure, structure.rows(X, y))[1:], BayesianRidge().fit(X, y).coef_
        np.testing.assert_allclose(found, theirs, atol=0.05)
        assert np.linalg.norm(found) < 0.3 or np.corrcoef(found, slope)[0, 1] > least


def test_few_rows_do_not_make_it_sure():
    """Intervals of 90 % of 8 tables of 30 rows and 8 columns cover at least 80 % of new rows."""
    inside = []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        X = generator.normal(size=(230, 8))
        y = X[:, 0] + generator.normal(size=230)
        lower, upper = MixtureRegressor(random_state=0).fit(X[:30], y[:30]).predict_interval(X[30:], 0.9)
        inside.append(np.mean((y[30:] >= lower) & (y[30:] <= upper)))
    assert np.mean(inside) > 0.8


def line_of(n_rows, n_columns, noise, seed=0):
    """Rows whose target is a line of some columns, and 400 more of them."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows + 400, n_columns))
    y = 3.0 + X[:, :4] @ [1.0, 2.0, -1.0, 0.5] + noise * generator.normal(size=len(X))
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


@pytest.mark.parametrize("n_rows, n_columns, noise", [(60, 4, 0.0), (60, 4, 1e-3), (60, 90, 0.5), (20, 30, 0.0)])
def test_a_line_is_answered_by_a_line(n_rows, n_columns, noise):
    """Exact lines, and rows that are fewer than their columns: mixtures alone lose from 1 nat to thousands of them."""
    X, y, X_test, y_test = line_of(n_rows, n_columns, noise)
    model, line = MixtureRegressor(random_state=0).fit(X, y), GaussianRegressor().fit(X, y)
    assert model.committees_[0].line_weight > 0.5
    lost = line.log_density(X_test, y_test).mean() - model.log_density(X_test, y_test).mean()
    assert lost < 0.25


def test_a_committee_with_a_line_answers_everything():
    X, y, X_test, y_test = line_of(40, 6, 0.3)
    model = MixtureRegressor(random_state=0).fit(X, y)
    committee = model.committees_[0]
    assert committee.line is not None and committee.members  # gates say what missing cells are
    total = committee.line_weight + sum(member.weight for member in committee.members)
    assert total == pytest.approx(1.0)
    X_test[::3, 1] = np.nan
    mean, std = model.predict(X_test, return_std=True)
    shares, means, variances = model.components(X_test)
    np.testing.assert_allclose(mean, (shares * means).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(std**2, (shares * (variances + (means - mean[:, None]) ** 2)).sum(axis=1), rtol=1e-8)
    density = np.exp(-0.5 * (y_test[:, None] - means) ** 2 / variances) / np.sqrt(2 * np.pi * variances)
    np.testing.assert_allclose(model.log_density(X_test, y_test), np.log((shares * density).sum(axis=1)), rtol=1e-8)
    assert np.isfinite(model.impute(X_test)).all() and np.isfinite(model.score_samples(X_test)).all()
    buffer = io.BytesIO()
    save(model, buffer)
    buffer.seek(0)
    again = load(buffer)
    np.testing.assert_array_equal(again.log_density(X_test, y_test), model.log_density(X_test, y_test))
    before = committee.line.statistics.weight.sum()
    again.partial_fit(X_test[:200], y_test[:200])
    assert again.committees_[0].line.statistics.weight.sum() == pytest.approx(before + 200)
    assert np.isfinite(again.predict(X_test)).all()


def test_a_file_whose_line_is_of_other_columns_is_refused():
    X, y, _, _ = line_of(40, 6, 0.3)
    model = MixtureRegressor(random_state=0).fit(X, y)
    committee = model.committees_[0]
    model.committees_[0] = replace(committee, line=replace(committee.line, slope=np.zeros(5)))
    buffer = io.BytesIO()
    save(model, buffer)
    buffer.seek(0)
    with pytest.raises(ValueError, match=r"line\.slope"):
        load(buffer)


def test_a_row_beyond_all_numbers_is_answered_without_a_word():
    """Its deviation is huge; nothing is multiplied that overflows with a warning (the suite makes those errors)."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(30, 2)) * 1e-80
    model = suffice.GaussianRegressor().fit(X, X[:, 0] * 1e80 + generator.normal(size=30))
    mean, deviation = model.predict(np.array([[1e90, -1e90]]), return_std=True)
    assert np.isfinite(mean).all() and deviation[0] > 1e100


def test_rows_of_few_values_are_held_out_one_by_one():
    """Counts in twelve cells of a table: equal rows were held out together, and the interaction was not learned (.06 nats short)."""
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.integers(0, 4, 1500), generator.integers(0, 3, 1500)]).astype(float)
    rate = np.exp(0.3 + 0.8 * (X[:, 0] == 1) - 0.6 * (X[:, 1] == 1) + 1.0 * ((X[:, 0] == 2) & (X[:, 1] == 2)))
    y = generator.poisson(rate)
    model = MixtureRegressor(family="poisson", kinds="categorical", random_state=0).fit(X[:1000], y[:1000])
    truth = poisson(rate[1000:]).logpmf(y[1000:]).mean()
    assert model.log_density(X[1000:], y[1000:]).mean() > truth - 0.02
