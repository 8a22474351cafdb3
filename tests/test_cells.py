"""Any column given the others: conditionals of a mixture of a mixed table against densities, and planted wrong cells."""

import numpy as np
import pandas as pd
import pytest

from suffice import load, save
from suffice.mixture import (
    BernoulliMixture,
    CategoricalMixture,
    GaussianMixture,
    MixedMixture,
    MultinomialMixture,
    PoissonMixture,
)

COVARIANCES = ("full", "tied", "diag", "spherical")


def table(n=400, seed=0):
    generator = np.random.default_rng(seed)
    group = generator.integers(0, 3, n)
    return pd.DataFrame(
        {
            "size": np.array([0.0, 4.0, 8.0])[group] + 0.5 * generator.normal(size=n),
            "colour": np.array(["red", "green", "blue"])[
                np.where(generator.random(n) < 0.9, group, generator.integers(0, 3, n))
            ],
            "weight": np.array([5.0, 1.0, 9.0])[group] + 0.5 * generator.normal(size=n),
            "visits": generator.poisson(np.array([1, 10, 40])[group]),
        }
    )


@pytest.fixture(scope="module")
def model():
    return MixedMixture(3, kinds={"visits": "count"}, random_state=0).fit(table())


def test_cells_are_scored_by_their_density_given_the_rest(model):
    X = table(5, 1)
    found = model.score_cells(X)
    shares, means, variances = model.conditional(X, "size")
    value = X["size"].to_numpy()[:, None]
    density = (shares * np.exp(-0.5 * (value - means) ** 2 / variances) / np.sqrt(2 * np.pi * variances)).sum(axis=1)
    np.testing.assert_allclose(found[:, 0], np.log(density), rtol=1e-6)
    share = model.conditional(X, "colour")
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    places = [model.categories_["colour"].index(colour) for colour in X["colour"]]
    np.testing.assert_allclose(found[:, 1], np.log(share[np.arange(5), places]), rtol=1e-6)


def test_what_a_column_holds_is_not_looked_at(model):
    X = table(20, 2)
    other = X.assign(size=100.0)
    np.testing.assert_array_equal(model.predict_column(X, "size"), model.predict_column(other, "size"))
    assert np.abs(model.predict_column(X, "size") - X["size"]).mean() < 1.0
    assert (model.predict_column(X, "colour") == X["colour"]).mean() > 0.8
    with pytest.raises(ValueError, match="no column 'height'"):
        model.predict_column(X, "height")


def test_planted_wrong_cells_are_found(model):
    generator = np.random.default_rng(3)
    X = table(300, 3)
    wrong = generator.choice(300, 12, replace=False)
    size = X["size"].to_numpy().copy()
    size[wrong] = np.array([8.0, 0.0, 0.0])[np.clip(size[wrong] // 3, 0, 2).astype(int)] + 2.0
    scores = model.score_cells(X.assign(size=size))
    worst = np.argsort(scores[:, 0])[:12]
    assert len(set(worst) & set(wrong)) >= 11
    X.loc[0, "size"] = np.nan
    assert np.isnan(model.score_cells(X)[0, 0])


def test_relative_scores_do_not_depend_on_units(model):
    X, factors = table(), {"size": 1000.0, "weight": 0.01}
    other = X.assign(**{name: factor * X[name] for name, factor in factors.items()})
    again = MixedMixture(3, kinds={"visits": "count"}, random_state=0).fit(other)
    np.testing.assert_allclose(again.score_cells(other, relative=True), model.score_cells(X, relative=True), atol=1e-4)
    shift = (again.score_cells(other) - model.score_cells(X))[:, 0]
    np.testing.assert_allclose(shift, -np.log(1000.0), atol=1e-4)


def test_relative_scores_are_the_odds_that_a_value_was_not_taken_from_another_row(model):
    """Wrong cells hold a value of the column that is not their own: by enumeration of what they could have held."""
    X = table(40, 6)
    X.loc[3, "colour"] = None
    found, said = model.score_cells(X, relative=True), model.conditional(X, "colour")
    nothing = X[:1].astype(object).mask(np.ones((1, 4), dtype=bool))
    column, colours = model.conditional(nothing, "colour")[0], list(model.categories_["colour"])
    for row in set(range(40)) - {3}:
        v = colours.index(X["colour"][row])
        taken = sum(said[row, t] * column[v] / (1 - column[t]) for t in range(3) if t != v)
        assert found[row, 1] == pytest.approx(np.log(said[row, v] / taken), rel=1e-6)
    assert np.isnan(found[3, 1])
    plain, alone = model.score_cells(X), model.score_cells(X[["size"]].reindex(columns=X.columns))
    np.testing.assert_allclose(found[:, 0], plain[:, 0] - alone[:, 0], rtol=1e-6)  # numbers


def test_of_two_categories_the_rare_one_is_no_less_suspect():
    generator = np.random.default_rng(0)
    X = (generator.random((300, 5)) < np.where(generator.random((300, 1)) < 0.5, 0.02, 0.3)).astype(float)
    model = BernoulliMixture(2, random_state=0).fit(X)
    p = np.exp(model.score_cells(X))
    np.testing.assert_allclose(model.score_cells(X, relative=True), np.log(p) - np.log1p(-p), rtol=1e-6)


# -- every mixture, against enumeration --------------------------------------------------------------------------------


def enumerated(model, rows, place):
    """log p(cell | rest) of one column by the readable joint densities, cell by cell."""
    without = rows.copy()
    without[:, place] = np.nan
    structure, moments = model._stored_model, model.moments_
    whole, rest = (
        np.logaddexp.reduce(structure.log_joint(moments, part), axis=1) + structure.log_base_measure(part)
        for part in (rows, without)
    )
    return whole - rest


def numbers(n=60, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.5, 0.0], [0.0, 0.3, 1.0]])
    return X + 4.0 * (generator.random(n) < 0.5)[:, None]


CASES = {
    **{kind: (GaussianMixture(3, covariance_type=kind, random_state=0), numbers()) for kind in COVARIANCES},
    "bernoulli": (BernoulliMixture(3, random_state=0), np.random.default_rng(0).integers(0, 2, (60, 4)).astype(float)),
    "categorical": (
        CategoricalMixture(3, random_state=0),
        np.random.default_rng(1).integers(0, 3, (60, 4)).astype(float),
    ),
    "poisson": (PoissonMixture(3, random_state=0), np.random.default_rng(2).poisson(3.0, (60, 3)).astype(float)),
    "mixed": (MixedMixture(3, kinds={"visits": "count", "weight": "histogram"}, random_state=0), table(80)),
}


@pytest.mark.parametrize("name", CASES)
def test_every_mixture_scores_its_cells(name):
    model, X = CASES[name]
    model = model.fit(X)
    holed = X.astype(object).mask(np.arange(X.size).reshape(X.shape) % 7 == 3) if name == "mixed" else X.copy()
    if name != "mixed":
        holed[np.arange(X.size).reshape(X.shape) % 7 == 3] = np.nan
    found, rows = model.score_cells(holed), model._rows(holed)
    for column in range(X.shape[1]):
        place = model._reader_.place_of(column)
        wanted = np.where(np.isnan(rows[:, place]), np.nan, enumerated(model, rows, place))
        np.testing.assert_allclose(found[:, column], wanted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", [*COVARIANCES, "poisson"])
def test_a_number_given_the_others_is_the_mixture_it_is_said_to_be(name):
    model, X = CASES[name]
    model, X = model.fit(X), X.copy()
    X[0, 2] = np.nan
    shares, means, variances = model.conditional(X, 1)
    assert shares.shape == means.shape == variances.shape == (len(X), 3)
    without = X.copy()
    without[:, 1] = np.nan
    filled, std = model.impute(without, return_std=True)
    mean, own_std = model.predict_column(X, 1, return_std=True)
    np.testing.assert_allclose(mean, filled[:, 1], rtol=1e-8)
    np.testing.assert_allclose(own_std, std[:, 1], rtol=1e-6)
    if name != "poisson":
        density = np.exp(-0.5 * (X[:, [1]] - means) ** 2 / variances) / np.sqrt(2 * np.pi * variances)
        np.testing.assert_allclose(
            np.log((shares * density).sum(axis=1)), model.score_cells(X)[:, 1], rtol=1e-7, atol=1e-7
        )


def test_categories_given_the_others_add_up_to_one_and_are_scored_so():
    model, X = CASES["categorical"]
    model = model.fit(X)
    share = model.conditional(X, "x2")
    np.testing.assert_allclose(share.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(share[np.arange(60), X[:, 2].astype(int)]), model.score_cells(X)[:, 2], rtol=1e-9)
    assert set(model.predict_column(X, 2)) <= {0.0, 1.0, 2.0}


def test_several_columns_together(model):
    X = table(30, 4)
    both = model.conditional(X, ["size", "colour"])
    assert set(both) == {"size", "colour"} and both["colour"].shape == (30, 3)
    blind = model.conditional(X.assign(size=np.nan), "colour")
    np.testing.assert_allclose(both["colour"], blind)  # neither is looked at
    chain = model.log_conditional(X, "size") + model.log_conditional(X.assign(size=np.nan), "colour")
    np.testing.assert_allclose(model.log_conditional(X, ["size", "colour"]), chain, rtol=1e-9)
    np.testing.assert_allclose(model.log_conditional(X, "size"), model.score_cells(X)[:, 0], rtol=1e-9)


def test_draws_of_missing_cells_have_the_moments_that_imputation_gives(model):
    X = table(1, 5)
    X.loc[0, ["size", "colour"]] = np.nan, None
    mean, std = model.impute(X, return_std=True)
    draws = model.sample_missing(pd.concat([X] * 4000, ignore_index=True), random_state=0)
    assert abs(draws["size"].mean() - mean["size"][0]) < 4 * std[0, 0] / np.sqrt(4000)
    assert abs(draws["size"].std() / std[0, 0] - 1) < 0.1
    assert (draws["weight"] == X["weight"][0]).all()
    share = model.conditional(X, ["size", "colour"])["colour"][0]
    seen = [(draws["colour"] == colour).mean() for colour in model.categories_["colour"]]
    np.testing.assert_allclose(seen, share, atol=0.03)


def test_words_are_no_columns():
    model = MultinomialMixture(2, random_state=0).fit([[3, 1], [0, 2], [1, 1]])
    with pytest.raises(ValueError, match="counts words"):
        model.score_cells([[1, 1]])


# -- members and their number ------------------------------------------------------------------------------------------


def test_pooled_members_are_the_even_mixture_of_them():
    X = numbers(100)
    whole = GaussianMixture(2, n_members=3, random_state=0, tol=1e-6).fit(X)
    assert whole.n_components_ == len(whole.weights_) == 6
    structure = whole._stored_model.with_outcomes(2)
    parts = []
    for first in (0, 2, 4):
        weights = whole.weights_[first : first + 2]
        assert weights.sum() == pytest.approx(1 / 3)
        own = GaussianMixture.of(3 * weights, whole.means_[first : first + 2], whole.covariances_[first : first + 2])
        parts.append(own.score_samples(X))
    assert structure.n_outcomes == 2
    np.testing.assert_allclose(whole.score_samples(X), np.logaddexp.reduce(parts, axis=0) - np.log(3), rtol=1e-9)
    assert whole.lower_bound_ == pytest.approx(whole.score(X))


def test_components_are_chosen_by_held_out_cells():
    model = MixedMixture(kinds={"visits": "count"}, random_state=0).fit(table(600))
    tried = {each["n_components"]: each["held_out"] for each in model.candidates_}
    best = max(tried, key=tried.get)
    assert model.n_components_ == 24 * best and f"24 fits of {best} components" in model.choice_
    assert tried[4] > tried[2] > tried[1]  # there are three groups
    alone = CategoricalMixture("auto", random_state=0).fit(np.random.default_rng(0).integers(0, 3, (200, 4)))
    assert alone.n_components_ == 1  # nothing to be found, and members of one component are the same
    rows = GaussianMixture("auto", n_members=1, random_state=0).fit(numbers(200))
    assert rows.n_components_ in (1, 2, 4) and "rows" in rows.choice_


def test_chosen_mixtures_are_saved_and_go_on(tmp_path):
    X = table(200)
    model = MixedMixture(kinds={"visits": "count"}, random_state=0).fit(X)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.score_cells(X), model.score_cells(X))
    assert again.n_components_ == model.n_components_ and again.candidates_ == model.candidates_
    before = model.n_components_
    assert model.partial_fit(table(100, 7)).n_components_ == before
    stream = MixedMixture(kinds={"visits": "count"}, random_state=0).partial_fit(X)
    assert stream.n_components_ == again.n_components_


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (GaussianMixture("many"), "n_components='many'"),
        (GaussianMixture(2, n_members=0), "n_members=0"),
        (GaussianMixture("auto", algorithm="variational"), "empties the components"),
        (GaussianMixture(2, n_members=2, covariance_type="tied"), "n_members=1"),
    ],
)
def test_what_cannot_be_is_refused(model, said):
    with pytest.raises(ValueError, match=said):
        model.fit(numbers())
    with pytest.raises(ValueError, match="labels are of the components"):
        GaussianMixture("auto").fit(numbers(), labels=np.zeros(60))


def graded(n=400, seed=0):
    """Six columns of whole numbers 0 .. 11 that lie near a plane."""
    generator = np.random.default_rng(seed)
    heights = generator.uniform(-1, 1, (n, 2)) @ generator.normal(size=(2, 6)) + 0.1 * generator.normal(size=(n, 6))
    return pd.DataFrame(np.clip(np.round(5.5 + 3 * heights), 0, 11).astype(int), columns=list("abcdef"))


def test_few_whole_numbers_are_levels_where_hidden_cells_say_so(tmp_path):
    X, path = graded(), tmp_path / "m.sfc"
    model = MixedMixture(random_state=0, n_members=2).fit(X)
    assert list(model.kinds_.values()).count("ordinal") >= 5
    shuffled = np.random.default_rng(0).permutation(12)[X.to_numpy() % 12]
    codes = MixedMixture(random_state=0, n_members=2).fit(pd.DataFrame(shuffled, columns=list("abcdef")))
    assert list(codes.kinds_.values()).count("categorical") >= 5  # numbers without order
    given = MixedMixture(random_state=0, n_members=1, kinds={"a": "categorical"}).fit(X)
    assert given.kinds_["a"] == "categorical" and given.kinds_["b"] == "ordinal"
    assert set(MixedMixture(2, random_state=0).fit(X).kinds_.values()) == {"categorical"}
    holed = X.astype({"a": "Int64"})
    holed.loc[:49, "a"] = pd.NA
    filled = np.asarray(model.impute(holed))[:50, 0].astype(float)
    assert set(filled) <= set(X["a"]) and np.abs(filled - X["a"][:50]).mean() < 1.0
    levels = np.array(model.categories_["a"], dtype=float)
    draws = np.array([np.asarray(model.sample_missing(holed, random_state=s))[:50, 0].astype(float) for s in range(60)])
    assert np.abs(draws.mean(axis=0) - model.conditional(holed[:50], "a") @ levels).mean() < 0.5
    save(model, path)
    np.testing.assert_array_equal(load(path).conditional(X, "a"), model.conditional(X, "a"))


def test_levels_have_the_probability_of_the_numbers_nearest_to_them():
    X = graded()
    model = MixedMixture(3, kinds={"a": "ordinal"}, random_state=0).fit(X)
    found, levels = model.conditional(X, "a"), model.categories_["a"]
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    shares = model.predict_proba(X.assign(a=np.nan))
    numbers = 4.5 + (np.arange(2000) + 0.5) / 2000
    mean, variance = model.means_["a"], model.variances_["a"]
    density = np.exp(-0.5 * (numbers[:, None] - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)
    np.testing.assert_allclose(found[:, levels.index(5)], shares @ density.mean(axis=0), rtol=1e-5)
    assert set(model.predict_column(X, "a")) <= set(levels)


def test_levels_are_no_surer_than_rounding():
    """EM climbs with variances kept at the floor, and columns that are no levels are not kept."""
    generator = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.repeat([3, 9], 100), "size": np.repeat([3.0, 9.0], 100)})
    X.iloc[100:] += generator.integers(-2, 3, (100, 2))
    model = MixedMixture(2, kinds={"a": "ordinal"}, prior=0.01, tol=0.0, max_iter=30, random_state=0).fit(X)
    assert model.variances_["a"].min() == pytest.approx(1 / 12) and model.variances_["size"].min() < 0.01
    objectives = np.array(model.history_["objective"])
    assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[0])).all()
