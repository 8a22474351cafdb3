"""What people expect of an estimator by habit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import suffice
from suffice.cli import main

CLASSIFIERS = {
    "GaussianNB": lambda loss: suffice.GaussianNB(loss=loss, random_state=0),
    "MultinomialNB": lambda loss: suffice.MultinomialNB(loss=loss, random_state=0),
    "MixedNB": lambda loss: suffice.MixedNB(loss=loss, random_state=0),
    "GaussianDiscriminant": lambda loss: suffice.GaussianDiscriminant(loss=loss, random_state=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@pytest.mark.parametrize("name", CLASSIFIERS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), rare=st.sampled_from([0.01, 0.05, 0.3]), n_classes=st.integers(2, 4))
def test_predict_is_the_argmax_of_predict_proba(name, loss, seed, rare, n_classes):
    generator = np.random.default_rng(seed)
    shares = np.r_[1 - rare, np.full(n_classes - 1, rare / (n_classes - 1))]
    y = np.r_[np.repeat(np.arange(n_classes), 2), generator.choice(n_classes, 140, p=shares)]
    X = generator.poisson(3 + generator.random((n_classes, 3))[y]).astype(float)
    model = CLASSIFIERS[name](loss).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])
    flat = np.full((3, 3), 2.0) + generator.normal(scale=1e-9, size=(3, 3)).clip(0)
    np.testing.assert_array_equal(model.predict(flat), model.classes_[model.predict_proba(flat).argmax(axis=1)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", ["nll", "ncll", "hinge"])
@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 10**6), n_rare=st.integers(2, 100), model=st.sampled_from(["gaussian-nb", "mixed-nb", "discriminant"])
)  # fmt: skip
def test_the_command_line_says_the_argmax_too(loss, seed, n_rare, model, tmp_path_factory):
    """200 rows, 2 to 100 of them of the rare class: classes to 99 : 1."""
    folder, generator = tmp_path_factory.mktemp("argmax"), np.random.default_rng(seed)
    rare = np.arange(200) < n_rare
    table = pd.DataFrame({"a": generator.normal(size=200) + rare, "b": generator.poisson(3 + rare) * 0.5})
    table.assign(kind=np.where(rare, "rare", "common")).to_csv(folder / "a.csv", index=False)
    asked = ["--model", model, "--loss", loss, "--holdout", "0", "--target", "kind"]
    assert main(["train", str(folder / "a.csv"), *asked, "-o", str(folder / "a.sfc")]) == 0
    assert (
        main(["predict", str(folder / "a.sfc"), str(folder / "a.csv"), "--proba", "-o", str(folder / "out.csv")]) == 0
    )
    said = pd.read_csv(folder / "out.csv")
    trained = suffice.load(folder / "a.sfc").model
    shares = said.iloc[:, 1:].to_numpy()
    assert shares.shape == (200, 2) and list(trained.classes_) == ["common", "rare"]
    np.testing.assert_array_equal(said.iloc[:, 0], trained.classes_[shares.argmax(axis=1)])
    np.testing.assert_array_equal(said.iloc[:, 0], trained.predict(table))
    np.testing.assert_allclose(shares, trained.predict_proba(table), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_predict_and_probabilities_agree_where_a_background_turns_rows():
    """A share of the class frequencies that is mixed in can change which class is most probable: `predict` follows."""
    generator = np.random.default_rng(0)
    y = (np.arange(300) < 30).astype(int)
    X = generator.normal(size=(300, 1)) + y[:, None]
    model = suffice.GaussianNB(loss="nll", class_weight="balanced").fit(X, y)
    model.background_ = 0.4
    model.class_count_ = np.array([270.0, 30.0])
    turned = model.predict(X) != model.classes_[model.predict_joint_log_proba(X).argmax(axis=1)]
    assert turned.any()
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.predict_proba(X).argmax(axis=1)])


def test_labels_minus_one_zero_and_one_can_be_classes():
    X, y = np.arange(30.0)[:, None] % 10, np.tile([-1, 0, 1], 10)
    with pytest.warns(UserWarning, match="unlabelled"):
        assert suffice.GaussianNB(loss="nll", random_state=0).fit(X, y).classes_.tolist() == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = suffice.GaussianNB(loss="nll", unlabelled=None).fit(X, y)
        assert model.classes_.tolist() == [-1, 0, 1]
        other = suffice.GaussianNB(loss="nll", unlabelled=-1, random_state=0).fit(X, y)
        assert other.classes_.tolist() == [0, 1]
        texts = np.array(["?", "a", "b"])[y + 1]
        named = suffice.GaussianNB(loss="nll", unlabelled="?", random_state=0).fit(X, texts)
        assert named.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(named.predict_proba(X), other.predict_proba(X))
    stream = suffice.GaussianNB(loss="nll", unlabelled=None)
    assert stream.partial_fit(X, y, classes=[-1, 0, 1]).classes_.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: suffice.GaussianNB(var_smoothing=1e-9), "prior"),
        (lambda: suffice.GaussianNB(priors=[0.5, 0.5]), "class_prior"),
        (lambda: suffice.MultinomialNB(alpha=1.0), "prior"),
        (lambda: suffice.BernoulliNB(fit_prior=False), "class_prior"),
        (lambda: suffice.MixedNB(C=1.0), "prior"),
        (lambda: suffice.GaussianNB(max_iter=5), "max_epochs"),
        (lambda: suffice.LDAClassifier(n_components=3), "n_topics"),
        (lambda: suffice.LatentDirichletAllocation(n_components=3), "n_topics"),
        (lambda: suffice.GaussianHMM(n_components=3), "n_states"),
        (lambda: suffice.GaussianDiscriminant(covariance_type="full"), "covariance"),
        (lambda: suffice.BernoulliMixture(reg_covar=1e-6), "prior"),
        (lambda: suffice.TextClassifier(ngram_range=(1, 2)), "ngrams"),
        (lambda: suffice.GaussianNB(losss="nll"), "loss"),
    ],
)
def test_names_of_scikit_learn_are_answered_with_ours(make, says):
    with pytest.raises(TypeError, match=rf"has no parameter .*{says}") as caught:
        make()
    assert "__init__" not in str(caught.value) and "GenerativeClassifier" not in str(caught.value)


DOCUMENTS = ["a good film", "a fine good plot", "dull and bad", "a bad film, dull plot"] * 10
LABELS = ["up", "up", "down", "down"] * 10


def test_texts_are_saved(tmp_path):
    model = suffice.TextClassifier(random_state=0, ngrams=(1, 2), stop_words=["and"], prior=1.0).fit(DOCUMENTS, LABELS)
    suffice.save(model, tmp_path / "text.sfc")
    again = suffice.load(tmp_path / "text.sfc")
    np.testing.assert_array_equal(again.predict_proba(DOCUMENTS), model.predict_proba(DOCUMENTS))
    assert "good film" in again.vocabulary_ and again.explain("good film")[0][1] > 0


def test_texts_are_weighed_by_class():
    few = DOCUMENTS[:2] + [text for text in DOCUMENTS if "bad" in text]
    labels = ["up", "up"] + ["down"] * (len(few) - 2)
    plain = suffice.TextClassifier(loss="nll", weighing="count").fit(few, labels)
    even = suffice.TextClassifier(loss="nll", weighing="count", class_weight="balanced").fit(few, labels)
    up = list(plain.classes_).index("up")
    assert even.predict_proba(["film"])[0, up] > plain.predict_proba(["film"])[0, up]
    weight = np.where(np.array(labels) == "up", len(few) / 4, len(few) / (2 * (len(few) - 2)))
    given = suffice.TextClassifier(loss="nll", weighing="count").fit(few, labels, sample_weight=weight)
    np.testing.assert_allclose(given.predict_proba(few), even.predict_proba(few))


@pytest.mark.filterwarnings("ignore")
def test_texts_as_a_stream():
    model = suffice.TextClassifier(weighing="count", random_state=0)
    for start in range(0, 40, 8):
        model.partial_fit(DOCUMENTS[start : start + 8], LABELS[start : start + 8], classes=["down", "up"])
    assert model.predict(["a fine film", "dull"]).tolist() == ["up", "down"]
    fitted = suffice.TextClassifier(random_state=0, prior=1.0).fit(DOCUMENTS, LABELS)
    words = list(fitted.vocabulary_)
    assert list(fitted.partial_fit(DOCUMENTS[:4], LABELS[:4]).vocabulary_) == words


def test_type_checkers_see_every_public_name():
    """What `__getattr__` gives at run time is imported under TYPE_CHECKING from the same place."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(suffice.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname: node.module
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == suffice._HOMES
