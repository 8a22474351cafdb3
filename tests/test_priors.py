"""How the prior of words is shaped, and how a setting is searched for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from suffice import ComplementNB, MultinomialNB, datasets
from suffice.choosing import priors
from suffice.choosing.priors import Setting
from suffice.choosing.recipes import words as recipe
from suffice.choosing.search import Axis, Plan
from suffice.choosing.search import search as walk
from suffice.families.complement import Complement
from suffice.families.multinomial import Multinomial
from suffice.structures.words import ComplementWords, Words

STRUCTURES = {Multinomial: Words, Complement: ComplementWords}


def search(evaluate, plan):
    """(setting, score) of a search whose questions `evaluate` answers."""
    asking = walk(plan)
    question = next(asking)
    while True:
        try:
            question = asking.send(evaluate(*question))
        except StopIteration as end:
            return end.value


COMMON = Axis("common", ((-0.2, -0.4), (0.2, 0.4)), evidence=1.0)


def test_the_search_ends_where_gains_are_too_small_to_count():
    """Larger tilts that gain less than counts were once tried for ever."""
    tried = []

    def evaluate(setting, rival):
        tried.append(setting)
        return np.array([1.0 - 1e-6 * setting.second])

    search(evaluate, Plan([3.0, 1.0], recipe.axes("hinge"), extend=3.0, halve=True))
    assert len(tried) < 40


@pytest.mark.parametrize("optimum", [-0.4, 0.0, 0.2])
def test_an_axis_is_walked_either_way_to_its_optimum(optimum):
    """Rows agree, so every gain is evidence."""

    def evaluate(setting, rival):
        return np.full(100, 0.01 + 0.01 * (setting.common - optimum) ** 2 + 0.001 * np.log(setting.strength) ** 2)

    found, score = search(evaluate, Plan([3.0, 1.0, 0.3], [COMMON]))
    assert found == Setting(1.0, 0.0, optimum)
    assert score == pytest.approx(1.0)


def test_a_gain_that_rows_do_not_agree_on_is_none():
    """One row gains what another loses half of: within a standard error."""

    def evaluate(setting, rival):
        rows = np.full(100, 0.01)
        rows[0] *= 1.0 - abs(setting.common)
        rows[1] *= 1.0 + 0.5 * abs(setting.common)
        return rows

    assert search(evaluate, Plan([1.0], [COMMON]))[0] == Setting(1.0)
    keen = Axis("common", COMMON.ways)
    assert search(evaluate, Plan([1.0], [keen]))[0].common != 0.0


def test_stronger_settings_are_tried_while_the_strongest_wins_and_half_ways_at_the_end():
    def evaluate(setting, rival):
        return np.array([1.0 + 0.1 * np.log(setting.strength / 15.0) ** 2])

    found, _ = search(evaluate, Plan([1.0, 0.3], base=Setting(0.0, telling=0.5), extend=3.0, halve=True))
    assert found.strength == pytest.approx(np.sqrt(9.0 * 27.0))
    assert found.telling == 0.5


def words(seed=0, n=400, n_words=30):
    generator = np.random.default_rng(seed)
    return sparse.csr_matrix(generator.poisson(2.0 * generator.random(n_words) ** 3, size=(n, n_words)).astype(float))


def test_commonness_is_that_of_dense_rows_and_centred_over_their_squares():
    X, weights = words(), np.random.default_rng(1).random(400)
    dense = X.toarray()
    logs = np.log1p(weights @ (dense > 0))
    share = weights @ dense**2
    np.testing.assert_allclose(priors.commonness(X, weights), logs - share @ logs / share.sum(), rtol=1e-12)
    np.testing.assert_allclose(priors.commonness(7.0 * X, weights), priors.commonness(X, weights), rtol=1e-12)


@pytest.mark.parametrize("power", [-0.4, 0.2])
def test_a_prior_follows_a_power_of_the_rows_that_have_a_word(power):
    X, y = words(), np.arange(400) % 3
    model = Words.of(Multinomial.for_data(X, 3))
    statistics = model.statistics(X, y, np.ones(400))
    common = priors.commonness(X, np.ones(400))
    shaped = priors.uniform(model, statistics, Setting(0.5, common=power), 10.0, common=common).columns[0]
    n_rows = 1.0 + (X.toarray() > 0).sum(axis=0)
    ratio = shaped.count[:, 0] / n_rows**power
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
    np.testing.assert_array_equal(shaped.count, shaped.count[:, :1] * np.ones(3))
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
    assert squares @ np.log(shaped.count[:, 0]) / squares.sum() == pytest.approx(np.log(5.0))


@pytest.mark.parametrize("family", [Multinomial, Complement])
@pytest.mark.parametrize("scale", [1.0, 0.07])
def test_what_a_word_tells_is_its_information_about_the_outcome(family, scale):
    """Against a loop over words and outcomes; whatever the units, and for the words of the other outcomes too."""
    X, y, weights = words(), np.arange(400) % 3 // 2, np.random.default_rng(1).random(400)
    model = STRUCTURES[family].of(family.for_data(scale * X, 3, weights))  # nobody has the third outcome
    found = priors.tellings(model, model.statistics(scale * X, y, weights))
    dense = X.toarray()
    typical = weights @ (dense**2).sum(axis=1) / (weights @ dense.sum(axis=1))
    count = np.array([(weights * (y == k)) @ dense for k in range(3)]).T / typical
    usual = count.sum(axis=0) / count.sum()
    for w, row in enumerate(count):
        shares = (row + 3 * priors.DOUBT * usual) / (row.sum() + 3 * priors.DOUBT)
        information = sum(share * np.log(share / usual[k]) for k, share in enumerate(shares) if share > 0)
        assert np.exp(found[w]) == pytest.approx(np.sqrt(2 * information) + priors.LEAST_TOLD, abs=1e-6)


@pytest.mark.parametrize("family", [Multinomial, Complement])
def test_words_that_tell_get_less_and_rows_stay_as_loose(family):
    generator = np.random.default_rng(0)
    y = np.arange(600) % 2
    rates = np.where(np.arange(40) < 4, 1.5 * (np.arange(40) % 2 == y[:, None]), 0.5)
    X = sparse.csr_matrix(generator.poisson(rates).astype(float))
    model = STRUCTURES[family].of(family.for_data(X, 2))
    prior = priors.uniform(model, model.statistics(X, y, np.ones(600)), Setting(0.5, telling=1.0), 10.0).columns[0]
    assert prior.count[:4].max() < 0.5 * prior.count[4:].min()
    total = np.asarray(X.sum(axis=0)).ravel()
    assert total @ (1.0 / prior.count[:, 0]) / total.sum() == pytest.approx(1.0 / 5.0)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
@pytest.mark.parametrize("light", [1.0, 1e-233, 1e-310])
def test_tellings_are_finite_for_numbers_of_any_size(scale, light):
    """One outcome of denormal weight, another that nobody has."""
    X, y = scale * words(), np.arange(400) % 2
    weights = np.where(y == 1, light, 1.0)
    model = Words.of(Multinomial.for_data(X, 3, weights))
    told = priors.tellings(model, model.statistics(X, y, weights))
    assert np.isfinite(told).all()


@pytest.mark.parametrize("family", [Multinomial, Complement])
def test_rows_without_words_tell_nothing(family):
    X, y = sparse.csr_matrix((60, 5)), np.arange(60) % 2
    model = STRUCTURES[family].of(family.for_data(X, 2))
    prior = priors.uniform(model, model.statistics(X, y, np.ones(60)), Setting(0.5, telling=1.0), 10.0).columns[0]
    np.testing.assert_array_equal(prior.count, 5.0)
    machine = {Multinomial: MultinomialNB, Complement: ComplementNB}[family](loss="hinge", random_state=0).fit(X, y)
    assert np.isfinite(machine.predict_proba(X)).all()


def test_reviews_are_told_better_by_words_that_tell(data_folder, monkeypatch):
    """A fifth of the training documents of imdb, held out, against a fit that knows no telling words."""
    data = datasets.load("imdb")
    y = np.unique(data.y_train, return_inverse=True)[1]
    held_out = np.arange(len(y)) % 12500 >= 10000  # neighbours stay together
    X, rest = data.X_train[~held_out], data.X_train[held_out]

    def losses(machine):
        said = machine.fit(X, y[~held_out]).predict_proba(rest)
        return -np.log(said[np.arange(len(rest.indptr) - 1), y[held_out]])

    shaped = losses(MultinomialNB(loss="hinge", random_state=0))
    axes = tuple(axis for axis in recipe.axes("hinge", 2) if axis.name != "telling")
    monkeypatch.setattr(recipe, "BASE", Setting(0.0))
    monkeypatch.setattr(recipe, "axes", lambda loss, max_roots: axes)
    gain = losses(MultinomialNB(loss="hinge", random_state=0)) - shaped
    assert gain.mean() > 4.0 * gain.std() / np.sqrt(len(gain))


def bursts():
    """Twenty rare words a class tell, fifty common ones come in bursts."""
    generator = np.random.default_rng(3)
    y = np.arange(1500) % 3
    noise = generator.poisson(15.0 * generator.gamma(0.2, size=(1500, 50)))
    telling = generator.poisson(0.15 * (np.arange(60) % 3 == y[:, None]))
    X = sparse.csr_matrix(np.hstack([noise, telling]).astype(float))
    return X, y


def test_common_words_that_only_make_noise_are_held_tighter():
    X, y = bursts()
    chosen = MultinomialNB(loss="hinge", count_power=1, random_state=0).fit(X, y).choice_.setting
    assert chosen.common > 0.0


@pytest.mark.parametrize("estimator", [MultinomialNB, ComplementNB])
@pytest.mark.parametrize("loss", ["ncll", "hinge"])
def test_bursts_of_words_are_damped_where_held_out_rows_gain_by_it(estimator, loss):
    X, y = bursts()
    train, test = slice(0, 1000), slice(1000, None)
    damped = estimator(loss=loss, random_state=0).fit(X[train], y[train])
    plain = estimator(loss=loss, count_power=1, random_state=0).fit(X[train], y[train])
    assert damped.count_power_ < 1.0 == plain.count_power_
    assert damped.score(X[test], y[test]) > plain.score(X[test], y[test])


@pytest.mark.parametrize("estimator", [MultinomialNB, ComplementNB])
@pytest.mark.parametrize(
    "settings", [{"loss": "hinge"}, {"loss": "ncll", "prior": 5.0}, {"loss": "nll"}, {"row_norm": None}]
)
def test_a_given_power_is_that_of_the_counts(estimator, settings):
    X, y = bursts()
    ours = estimator(count_power=0.25, random_state=0, **settings).fit(X, y)
    powers = X.copy()
    powers.data = powers.data**0.25
    expected = estimator(count_power=1, random_state=0, **settings).fit(powers, y)
    assert ours.count_power_ == 0.25
    np.testing.assert_allclose(ours.predict_proba(X), expected.predict_proba(powers), atol=2e-3)


def test_a_stream_goes_on_with_the_power_that_was_chosen():
    X, y = bursts()
    model = MultinomialNB(loss="hinge", random_state=0).fit(X[:1000], y[:1000])
    power = model.count_power_
    model.partial_fit(X[1000:], y[1000:])
    assert model.count_power_ == power < 1.0


def test_batches_with_a_power_give_what_one_fit_gives():
    X, y = bursts()
    whole = MultinomialNB(loss="nll", count_power=0.5).fit(X, y)
    stream = MultinomialNB(loss="nll", count_power=0.5).partial_fit(X[:700], y[:700], classes=[0, 1, 2])
    stream.partial_fit(X[700:], y[700:])
    np.testing.assert_allclose(stream.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-6)


def test_rows_without_a_label_are_read_as_the_others():
    X, y = bursts()
    partly = np.where(np.arange(1500) < 1200, y, -1)
    model = MultinomialNB(loss="hinge", unlabelled_weight=0.01, random_state=0).fit(X, partly)
    assert model.count_power_ < 1.0
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("power", [0, 2, 0.3, "half"])
def test_other_powers_are_refused(power):
    with pytest.raises(ValueError, match="count_power"):
        MultinomialNB(count_power=power).fit(*bursts())


def test_a_search_ends_where_every_score_is_zero():
    asked = walk(Plan([1.0, 0.1], extend=3.0))
    next(asked)
    with pytest.raises(StopIteration):
        for _ in range(20):
            asked.send(np.zeros(5))
