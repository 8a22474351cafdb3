"""Any column given the others: conditionals of a mixture of a mixed table against densities, and planted wrong cells."""

import numpy as np
import pandas as pd
import pytest

from suffice import MixedMixture


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
