"""`explain`: parts that add up for naive Bayes, effects of missing cells for the others, and planted columns come first."""

import numpy as np
import pytest
from estimators import ESTIMATORS, rows_for
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import clone

import suffice

NAIVE = ("GaussianNB", "BernoulliNB", "CategoricalNB", "PoissonNB", "MultinomialNB", "ComplementNB", "diag")
LOSSES = ("nll", "ncll", "hinge")


def odds(probabilities: np.ndarray, classes, labels) -> np.ndarray:
    own = np.searchsorted(classes, labels)
    p = probabilities[np.arange(len(own)), own]
    others = np.where(np.arange(len(classes)) == own[:, None], 0.0, probabilities).sum(axis=1)
    return np.log(p) - np.log(others)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NAIVE)
def test_parts_of_naive_bayes_add_up(name, loss):
    X, y = rows_for(name)
    for labels in (y, np.minimum(y, 1)):
        model = clone(ESTIMATORS[name]).set_params(loss=loss, prior=1.0, random_state=0).fit(X, labels)
        found = model.explain(X)
        assert found.is_additive
        np.testing.assert_array_equal(found.labels, model.predict(X))
        np.testing.assert_allclose(
            found.log_odds, odds(model.predict_proba(X), model.classes_, found.labels), atol=1e-9
        )
        total = np.asarray(found.parts.sum(axis=1)).ravel() + found.constant
        np.testing.assert_allclose(total, found.log_odds, atol=1e-9)
        # the constant is what its formula says, from the log-joint alone
        if model.background_ == 0 and name not in ("ComplementNB",):
            prior = model._stored_model.log_masses(model.moments_)
            own = np.searchsorted(model.classes_, found.labels)
            rivals = np.where(
                np.arange(len(prior)) == own[:, None], -np.inf, model.temperature_ * model.predict_joint_log_proba(X)
            )
            shares = softmax(model.rivalry_ * rivals, axis=1)
            entropy = -np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1)), 0).sum(axis=1)
            wanted = model.temperature_ * (prior[own] - shares @ prior) - entropy / model.rivalry_
            np.testing.assert_allclose(found.constant, wanted, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_mixed_columns_keep_their_places(loss):
    pd = pytest.importorskip("pandas")
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 300)
    X = pd.DataFrame(
        {
            "noise": generator.choice(["a", "b"], 300),
            "number": generator.normal(size=300) + 3 * y,
            "word": np.where(y == 1, "yes", "no")[np.where(generator.random(300) < 0.1, generator.permutation(300), np.arange(300))],
            "count": generator.poisson(2, 300),
        }
    )  # fmt: skip
    X.loc[:20, "number"] = np.nan
    model = suffice.MixedNB({"count": "count"}, loss=loss, prior=1.0, random_state=0).fit(X, y)
    found = model.explain(X)
    np.testing.assert_allclose(found.parts.sum(axis=1) + found.constant, found.log_odds, atol=1e-9)
    np.testing.assert_allclose(found.log_odds, odds(model.predict_proba(X), model.classes_, found.labels), atol=1e-9)
    assert {name for name, _ in found.ranked(2)} == {"number", "word"}
    assert (found.parts[:20, 1] == 0).all() and found.names == list(X.columns)
    for j, name in enumerate(X.columns):  # a part is the effect of making the cell missing: of two classes exactly
        hidden = model.explain(
            X.assign(**{name: None}) if name == "noise" or name == "word" else X.assign(**{name: np.nan}),
            y=found.labels,
        )
        assert (hidden.parts[:, j] == 0).all()
        np.testing.assert_allclose(hidden.parts.sum(axis=1) + hidden.constant, hidden.log_odds, atol=1e-9)
        if loss != "ncll":  # there the other columns tell of the missing cell (`structures.gaps`)
            np.testing.assert_allclose(found.log_odds - hidden.log_odds, found.parts[:, j], atol=1e-8)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["tied", "full", "mixture", "holes"])
def test_other_models_give_the_effect_of_a_missing_cell(name):
    X, y = rows_for("GaussianNB")
    X = X.copy()
    if name == "holes":
        X[::3, 1] = np.nan
    model = (
        suffice.MixtureClassifier(2, prior=1.0, max_epochs=10, random_state=0)
        if name == "mixture"
        else suffice.GaussianDiscriminant("tied" if name == "tied" else "full", loss="nll")
    ).fit(X, y)
    found = model.explain(X)
    assert not found.is_additive
    for j in range(X.shape[1]):
        hidden = X.copy()
        hidden[:, j] = np.nan
        after = odds(model.predict_proba(hidden), model.classes_, found.labels)
        np.testing.assert_allclose(found.parts[:, j], found.log_odds - after, atol=1e-7)
    if name == "holes":
        assert (found.parts[::3, 1] == 0).all()


@pytest.mark.filterwarnings("ignore")
def test_topics_give_the_effect_of_taking_a_word_out():
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 60)
    X = generator.poisson(np.where(y[:, None] == 0, [3, 1, 1, 0.2, 1], [0.2, 1, 1, 3, 1])).astype(float)
    model = suffice.LDAClassifier(2, prior=1.0, max_epochs=3, random_state=0).fit(X, y)
    found = model.explain(X[:5])
    parts = found.parts.toarray()
    for i in range(5):
        for j in np.flatnonzero(X[i]):
            out = X[[i]].copy()
            out[0, j] = 0
            after = odds(model.predict_proba(out), model.classes_, found.labels[[i]])[0]
            if model.row_norm_ is None:
                assert parts[i, j] == pytest.approx(found.log_odds[i] - after, abs=1e-6)
    assert {name for name, _ in model.explain(X).ranked(2)} == {"x0", "x3"}


@pytest.mark.parametrize("name", ["GaussianNB", "tied"])
def test_two_planted_columns_among_a_thousand_come_first(name):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 2, 400)
    X = generator.normal(size=(400, 1002))
    X[:, [17, 700]] += 2.0 * y[:, None]
    model = (
        suffice.GaussianNB(loss="ncll", prior=1.0, random_state=0)
        if name == "GaussianNB"
        else suffice.GaussianDiscriminant(prior=1.0, random_state=0)
    )
    model.fit(X, y)
    assert {name for name, _ in model.explain(X).ranked(2)} == {"x17", "x700"}


def test_sparse_and_dense_rows():
    generator = np.random.default_rng(1)
    y = generator.integers(0, 3, 80)
    X = (generator.random((80, 12)) < 0.2 + 0.1 * y[:, None]).astype(float)
    X[0] = 0
    for model in (suffice.BernoulliNB(loss="nll"), suffice.MultinomialNB(loss="nll"), suffice.PoissonNB(loss="nll")):
        model.fit(X, y)
        one, other = model.explain(X), model.explain(sparse.csr_matrix(X))
        np.testing.assert_allclose(one.log_odds, other.log_odds, atol=1e-9)
        np.testing.assert_allclose(
            np.asarray(other.parts.sum(axis=1)).ravel() + other.constant, other.log_odds, atol=1e-9
        )


def test_texts():
    documents = ["a good film", "a fine good plot", "dull and bad", "a bad film, dull plot"] * 10
    model = suffice.TextClassifier(random_state=0, prior=1.0).fit(documents, ["up", "up", "down", "down"] * 10)
    found = model.explain(["good plot", "dull"])
    assert list(found.labels) == ["up", "down"]
    assert found.of_row(0)[0][0] == "good" and found.of_row(0)[0][1] > 0
    np.testing.assert_allclose(np.asarray(found.parts.sum(axis=1)).ravel() + found.constant, found.log_odds, atol=1e-9)
    assert model.explain("good plot", top=1)[0][0] == "good"
    words = model.telling_words(2)
    assert [{word for word, _ in words[label]} for label in ("up", "down")] == [{"good", "fine"}, {"dull", "bad"}]


def test_one_class_and_a_class_of_choice():
    X, y = rows_for("GaussianNB")
    model = suffice.GaussianNB(loss="nll").fit(X, y)
    asked = model.explain(X, y=2)
    logs = model.predict_log_proba(X)
    np.testing.assert_allclose(asked.log_odds, logs[:, 2] - logsumexp(logs[:, :2], axis=1), atol=1e-9)
    np.testing.assert_allclose(asked.parts.sum(axis=1) + asked.constant, asked.log_odds, atol=1e-9)
    with pytest.raises(ValueError, match="not one of the classes"):
        model.explain(X, y="other")


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_imdb_lists_words_that_a_person_expects(data_folder):
    from suffice.datasets import text
    from suffice.estimators.explaining import telling_columns

    data = text.load("imdb")
    rows = np.random.default_rng(0).permutation(data.X_train.shape[0])[:6000]
    for model in (suffice.MultinomialNB(random_state=0), suffice.MultinomialNB(loss="nll")):
        model.fit(data.X_train[rows], data.y_train[rows])
        found = telling_columns(model, data.vocabulary, 20)
        bad, good = ({word for word, _ in found[label]} for label in (0, 1))
        assert {"worst", "bad", "waste", "awful", "terrible"} <= bad
        assert {"great", "wonderful", "excellent", "perfect"} <= good


def test_sequences_are_explained_by_columns_made_missing():
    generator = np.random.default_rng(3)
    y = np.arange(30) % 2
    X = [generator.normal(size=(6, 3)) + np.array([0.0, 2.0 * label, 0.0]) for label in y]
    model = suffice.HMMClassifier(2, prior=1.0, changes=False, max_epochs=20, random_state=0).fit(X, y)
    found = model.explain(X)
    p = model.predict_proba(X)[np.arange(30), model.predict(X)]
    np.testing.assert_allclose(found.log_odds, np.log(p) - np.log1p(-p), rtol=1e-6)
    assert found.ranked(1)[0][0] == "x1"
    gone = [np.column_stack([one[:, 0], np.full(len(one), np.nan), one[:, 2]]) for one in X]
    q = model.predict_proba(gone)[np.arange(30), model.predict(X)]
    np.testing.assert_allclose(found.parts[:, 1], found.log_odds - np.log(q) + np.log1p(-q), atol=1e-6)
