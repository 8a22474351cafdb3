"""HMMTagger and TextTagger as users meet them."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_hmm_sklearn import CANNOT_APPLY, ORDER

import suffice
from suffice import HMMTagger, TextTagger
from suffice.saving import load, save

LOSSES = ("nll", "ncll", "hinge")
A = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.5, 0.0, 0.5]])
MEANS = np.array([0.0, 1.0, 2.5])
TABLE = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]])
TAGS = np.array(["a", "b", "c"])
KINDS = ["gaussian", "categorical"]


def chains(n: int, seed: int = 0) -> tuple[list, list]:
    """Sequences of a number and a category with their tags, drawn from a hidden Markov model."""
    generator = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        states = [int(generator.integers(3))]
        for _ in range(generator.integers(3, 15)):
            states.append(int(generator.choice(3, p=A[states[-1]])))
        numbers = MEANS[states] + 0.5 * generator.normal(size=len(states))
        symbols = [generator.choice(4, p=TABLE[k]) for k in states]
        X.append(np.column_stack([numbers, symbols]))
        y.append(TAGS[states])
    return X, y


@pytest.mark.parametrize("loss", LOSSES)
def test_it_tags_as_well_as_the_true_model_allows(loss):
    X, y = chains(150)
    test, truth = chains(100, seed=1)
    tagger = HMMTagger(KINDS, loss=loss, random_state=0).fit(X, y)
    assert tagger.score(test, truth) > 0.9
    assert tagger.choice_.reason.startswith("held-out")
    proba = tagger.predict_proba(test)
    np.testing.assert_allclose(np.concatenate(proba).sum(axis=1), 1.0)
    assert np.isfinite(tagger.score_samples(test)).all()
    drawn, tags = tagger.sample(5, random_state=0)
    assert [len(own) for own in drawn] == [len(own) for own in tags]
    assert set(np.concatenate(tags)) <= set(TAGS)


@pytest.mark.parametrize("loss", LOSSES)
def test_save_and_load_and_threads_keep_every_bit(loss, tmp_path):
    X, y = chains(60)
    tagger = HMMTagger(KINDS, loss=loss, random_state=0).fit(X, y)
    save(tagger, tmp_path / "tagger.sfc")
    again, two = load(tmp_path / "tagger.sfc"), HMMTagger(KINDS, loss=loss, random_state=0, n_jobs=2).fit(X, y)
    for other in (again, two):
        for one, own in zip(tagger.predict_proba(X), other.predict_proba(X), strict=True):
            np.testing.assert_array_equal(own, one)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_weight_of_two_is_the_sequence_twice(loss):
    X, y = chains(12)
    weights = np.where(np.arange(12) < 4, 2.0, 1.0)
    settings = {"loss": loss, "prior": 1.0, "tol": 1e-10, "max_iter": 500, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = HMMTagger(KINDS, **settings).fit(X, y, sample_weight=weights)
        twice = HMMTagger(KINDS, **settings).fit(X + X[:4], y + y[:4])
    if loss == "hinge":  # its scale is found on held-out sequences, and the folds differ
        assert min(weighted.history_["objective"]) == pytest.approx(min(twice.history_["objective"]), rel=1e-7)
        return
    for one, other in zip(weighted.predict_proba(X), twice.predict_proba(X), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_missing_tags_and_cells(loss):
    """A third of the tags and a tenth of the cells are gone; sequences without tags count for nothing bad."""
    X, y = chains(150)
    test, truth = chains(100, seed=1)
    generator = np.random.default_rng(2)
    gappy = [[tag if generator.random() > 0.3 else None for tag in own] for own in y]
    gappy[:20] = [None] * 20
    holes = [np.where(generator.random(own.shape) < 0.1, np.nan, own) for own in X]
    tagger = HMMTagger(KINDS, loss=loss, random_state=0).fit(holes, gappy)
    assert tagger.score(test, truth) > 0.88
    assert tagger.score(holes, gappy) > 0.8


def test_sequences_without_tags_raise_the_likelihood_of_new_ones_under_nll():
    X, y = chains(200)
    test, _ = chains(100, seed=1)
    some = y[:6] + [None] * 194
    alone = HMMTagger(KINDS, loss="nll", prior=1.0, unlabelled_weight=0.0).fit(X, some)
    all_of_them = HMMTagger(KINDS, loss="nll", prior=1.0, unlabelled_weight=1.0).fit(X, some)
    assert all_of_them.score_samples(test).mean() > alone.score_samples(test).mean() + 0.05


def test_em_of_missing_tags_never_lowers_its_objective():
    X, y = chains(60)
    gappy = [[tag if (i + t) % 3 else None for t, tag in enumerate(own)] for i, own in enumerate(y)]
    tagger = HMMTagger(KINDS, loss="nll", prior=1.0, tol=1e-9).fit(X, gappy)
    objective = np.array(tagger.history_["objective"])
    assert len(objective) > 3
    assert (np.diff(objective) <= 1e-9 * np.abs(objective[:-1])).all()


def test_counting_is_counting():
    X = [["x", "y"], ["x", "x", "y"]]
    y = [["a", "b"], ["a", "a", "b"]]
    tagger = HMMTagger("categorical", loss="nll", prior=1e-9).fit(X, y)
    np.testing.assert_allclose(tagger.startprob_, [1.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(tagger.transmat_, [[1 / 3, 2 / 3], [0.0, 0.0]], atol=1e-6)
    np.testing.assert_allclose(tagger.endprob_, [0.0, 1.0], atol=1e-6)


def test_every_shape_of_input_gives_the_same_tags_in_that_shape():
    X, y = chains(20)
    flat, tags, lengths = np.concatenate(X), np.concatenate(y), [len(own) for own in X]
    frame = pd.DataFrame(flat, columns=["x", "s"]).assign(who=np.repeat(np.arange(20), lengths), t=np.arange(len(flat)))
    settings = {"prior": 1.0, "random_state": 0}
    listed = HMMTagger(KINDS, **settings).fit(X, y)
    expected = np.concatenate(listed.predict(X))
    by_lengths = HMMTagger(KINDS, **settings).fit(flat, tags, lengths=lengths)
    np.testing.assert_array_equal(by_lengths.predict(flat, lengths=lengths), expected)
    shuffled = np.random.default_rng(0).permutation(len(flat))
    framed = HMMTagger(KINDS, sequence="who", time="t", **settings).fit(frame.iloc[shuffled], tags[shuffled])
    np.testing.assert_array_equal(framed.predict(frame), expected)
    padded, padded_tags = np.full((20, max(lengths), 2), np.nan), np.full((20, max(lengths)), None, dtype=object)
    for i, (own, named) in enumerate(zip(X, y, strict=True)):
        padded[i, : len(own)], padded_tags[i, : len(own)] = own, named
    found = HMMTagger(KINDS, **settings).fit(padded, padded_tags).predict(padded)
    assert found.shape == padded_tags.shape
    assert [tag for row in found for tag in row if isinstance(tag, str)] == expected.tolist()


def test_rare_values_are_one_category_and_new_ones_belong_to_it():
    X, y = [["x", "x", "r1"], ["x", "r2"], ["x", "r3"]] * 3, [["a", "a", "b"], ["a", "b"], ["a", "b"]] * 3
    X = [[f"{value}{i}" if value != "x" else value for value in own] for i, own in enumerate(X)]
    tagger = HMMTagger("categorical", min_count=2, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tagger.predict([["x", "never seen"]])[0].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([["x"]], None, "target y is None"),
        ([["x"]], [["a"], ["b"]], "y has 2 entries and X has 1 sequences"),
        ([["x"]], [["a", "b"]], r"y\[0\] has 2 tags, and sequence 0 of X has 1 steps"),
        ([["x"]], ["a"], r"y\[0\] is 'a'"),
        ([["x"]], [[None]], "y has no label"),
        (np.zeros((3, 1)), ["a", "b"], "X has 3 steps"),
    ],
)
def test_bad_tags_are_refused_by_name(X, y, message):
    with pytest.raises(ValueError, match=message):
        HMMTagger("categorical").fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [{"loss": "x"}, {"prior": 0}, {"prior": "x"}, {"min_count": 0}, {"unlabelled_weight": -1}, {"tol": -1}],
)
def test_bad_parameters_are_refused_by_name(parameters):
    (name,) = parameters
    with pytest.raises(ValueError, match=f"{name}="):
        HMMTagger(**parameters).fit([["x"]], [["a"]])


@pytest.mark.parametrize("loss", LOSSES)
def test_extreme_input_gives_finite_answers(loss):
    """One step, one tag, an outlier of 1e6 sigma, constant columns, empty sequences."""
    X = [np.array([[0.0, 1.0, 5.0]]), np.zeros((0, 3)), np.array([[1e6, 0.0, 5.0], [0.5, 1.0, 5.0]])] * 3
    for y in ([["a"], [], ["a", "a"]] * 3, [["a"], [], ["b", "a"]] * 3):
        tagger = HMMTagger("gaussian", loss=loss, random_state=0).fit(X, y)
        assert all(np.isfinite(own).all() for own in tagger.predict_proba(X))
        assert np.isfinite(tagger.score_samples(X)).all()
        assert tagger.moments_.is_finite()


# -- words -------------------------------------------------------------------------------------------------------------

SENTENCES = [["the", "dog", "barks"], ["a", "Cat", "sleeps"], ["the", "cat", "walks"], ["a", "dog", "walked", "."]] * 6
NAMED = [["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V"], ["D", "N", "V", "."]] * 6


@pytest.mark.parametrize("loss", LOSSES)
def test_text_tagger_tags_unknown_words(loss, tmp_path):
    tagger = TextTagger(loss=loss, random_state=0).fit(SENTENCES, NAMED)
    assert tagger.score(SENTENCES, NAMED) == 1.0
    found = tagger.predict([["the", "ferret", "jumps"], [], ["walks", None]])
    assert [len(own) for own in found] == [3, 0, 2]
    assert found[0].tolist() == ["D", "N", "V"]
    save(tagger, tmp_path / "tagger.sfc")
    assert load(tmp_path / "tagger.sfc").predict([["the", "ferret", "jumps"]])[0].tolist() == ["D", "N", "V"]
    words, tags = tagger.sample(2, random_state=0)
    assert all(isinstance(word, str) for own in words for word in own)
    assert len(tags) == 2


def test_text_tagger_refuses_what_are_no_sentences():
    with pytest.raises(ValueError, match="list of sentences"):
        TextTagger().fit("the dog", [["a", "b"]])
    with pytest.raises(ValueError, match=r"sentences\[0\] is 'the dog'"):
        TextTagger().fit(["the dog"], [["a", "b"]])
    with pytest.raises(ValueError, match="word 1 of X is 3 of type int"):
        TextTagger().fit([["the", 3]], [["a", "b"]])


def test_neighbours_are_asked_of_held_out_sentences():
    """A word whose tag only the word before tells; and tags of which a tenth are noise, where neighbours tell nothing."""
    generator = np.random.default_rng(0)
    told = [[first, "run"] for first in generator.choice(["to", "the"], 200)]
    tagger = TextTagger(random_state=0).fit(told, [["P", "V"] if own[0] == "to" else ["P", "N"] for own in told])
    assert "word before" in tagger.columns_
    assert tagger.predict([["to", "run"], ["the", "run"]])[1].tolist() == ["P", "N"]
    free = [[str(word) for word in generator.choice(["dog", "runs", "red"], 4)] for _ in range(200)]
    right = {"dog": "N", "runs": "V", "red": "A"}
    tags = [[right[word] if generator.random() > 0.1 else "N" for word in own] for own in free]
    assert "word before" not in TextTagger(random_state=0).fit(free, tags).columns_


def test_names_are_public():
    assert suffice.TextTagger is TextTagger
    assert suffice.text.TextTagger is suffice.hmm.TextTagger is TextTagger


@parametrize_with_checks(
    [HMMTagger(loss=loss, max_iter=30, random_state=0) for loss in LOSSES],
    expected_failed_checks=lambda estimator: {
        **CANNOT_APPLY,
        "check_sample_weight_equivalence_on_sparse_data": ORDER,
        "check_classifiers_one_label_sample_weights": "weights are of sequences, and a 2-D array is one",
        "check_class_weight_classifiers": "there are no class weights",
        "check_classifiers_train": "a list of lists is a list of sequences",
    },
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
