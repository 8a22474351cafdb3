"""TextClassifier, the loaders, and the automatic prior of words."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from suffice import MultinomialNB, datasets
from suffice.datasets import files
from suffice.datasets.text import counts, is_available, libsvm_counts
from suffice.text import TextClassifier

needs_data = pytest.mark.skipif(not is_available("r8"), reason="r8 is not on this machine: set SUFFICE_DATA")
DOCUMENTS = ["a good film", "a fine good plot", "dull and bad", "a bad film, dull plot"] * 10
LABELS = ["up", "up", "down", "down"] * 10


@pytest.mark.parametrize("weighing", ["tfidf", "count", "binary"])
@pytest.mark.parametrize("loss", ["hinge", "ncll", "nll"])
def test_strings_in_labels_and_probabilities_out(loss, weighing):
    machine = TextClassifier(loss=loss, weighing=weighing, random_state=0).fit(DOCUMENTS, LABELS)
    assert list(machine.predict(["a fine film", "bad and dull", ""]))[:2] == ["up", "down"]
    probabilities = machine.predict_proba(["a fine film", "", "unheard words"])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert machine.explain("a fine film")[0][0] in ("fine", "good")


def test_it_is_cloned_and_pickled():
    machine = TextClassifier(random_state=0).fit(DOCUMENTS, LABELS)
    copy = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(copy.predict_proba(DOCUMENTS), machine.predict_proba(DOCUMENTS))
    assert not hasattr(clone(machine), "model_")


@pytest.mark.parametrize(
    ("documents", "message"), [("one", "one string"), ([1, 2], "is a int"), (np.ones((2, 2)), "dimensions")]
)
def test_wrong_documents_are_named(documents, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier().fit(documents, ["a", "b"])
    with pytest.raises(ValueError, match="weighing='idf'"):
        TextClassifier(weighing="idf").fit(DOCUMENTS, LABELS)


def test_counts_and_libsvm_lines():
    X = counts(["b a b", "", "c z"], {"a": 0, "b": 1, "c": 2})
    np.testing.assert_array_equal(X.toarray(), [[1, 2, 0], [0, 0, 0], [0, 0, 1]])
    X, y = libsvm_counts(b"9 0:2 3:1\n1 1:4\n3\n", 4)
    np.testing.assert_array_equal(X.toarray(), [[2, 0, 0, 1], [0, 4, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(y, [1, 0, 0])


def test_a_missing_file_says_where_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SUFFICE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(files.DataNotFound, match="SGMWeka"):
        datasets.load("amazon12")
    with pytest.raises(ValueError, match="no data set 'r9'"):
        datasets.load("r9")


def test_a_download_that_was_altered_is_not_kept(tmp_path):
    source = tmp_path / "source.txt"
    source.write_text("hello")
    with pytest.raises(ValueError, match="md5"):
        files.download(source.as_uri(), tmp_path / "target.txt", md5="0" * 32)
    assert not (tmp_path / "target.txt").exists() and not (tmp_path / "target.txt.part").exists()
    assert files.download(source.as_uri(), tmp_path / "target.txt").read_text() == "hello"


def test_the_unit_of_the_rows_does_not_matter():
    """Rows are scaled to one length, so counts and twice the counts give the same model."""
    generator = np.random.default_rng(0)
    X = sparse.csr_matrix(generator.poisson(0.3, (300, 40)).astype(float))
    y = (np.asarray(X[:, :5].sum(axis=1)).ravel() > 1).astype(int)
    machine = MultinomialNB(loss="hinge", prior=10.0, random_state=0)
    one, two = (clone(machine).fit(factor * X, y).predict_proba(X) for factor in (1.0, 2.0))
    np.testing.assert_allclose(one, two, atol=1e-6)


@needs_data
@pytest.mark.data
def test_r8_has_the_papers_counts():
    data = datasets.load("r8")
    assert data.X_train.shape == (5485, 14575) and data.X_test.shape == (2189, 14575)
    raw = datasets.load("r8", raw=True)
    assert len(raw.X_train) == 5485 and raw.X_train[0].startswith("champion product")


@needs_data
@pytest.mark.data
def test_webkb_drops_empty_training_documents_only():
    data = datasets.load("webkb")
    assert data.X_train.shape == (2785, 7287) and data.X_test.shape == (1396, 7287)


@needs_data
@pytest.mark.data
def test_r8_is_classified_well_and_calibrated():
    """Floors of issue 4 for stemmed counts, less three standard errors of a test accuracy."""
    data = datasets.load("r8")
    machine = MultinomialNB(loss="hinge", random_state=0).fit(data.X_train, data.y_train)
    probabilities = machine.predict_proba(data.X_test)
    own = probabilities[np.arange(len(data.y_test)), np.searchsorted(machine.classes_, data.y_test)]
    assert machine.score(data.X_test, data.y_test) > 0.971 - 3 * 0.0033
    assert -np.log(own).mean() < 0.642 / 3  # plain naive Bayes: .642
