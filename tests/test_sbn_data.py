"""The papers' data, read through SUFFICE_DATA: loaders, and a short run that must already beat published numbers."""

import os

import numpy as np
import pytest

from suffice.datasets.images import idx_array, load_binarized_mnist, load_ocr_letters
from suffice.datasets.newsgroups2000 import libsvm_counts, load_20news2000, split_tokens

needs_data = pytest.mark.skipif("SUFFICE_DATA" not in os.environ, reason="SUFFICE_DATA is not set: the papers' data")


def test_missing_data_says_where_to_get_it(monkeypatch, tmp_path):
    for load in (load_ocr_letters, load_binarized_mnist, load_20news2000):
        monkeypatch.delenv("SUFFICE_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match="SUFFICE_DATA, which is not set; get it from http"):
            load()
        monkeypatch.setenv("SUFFICE_DATA", str(tmp_path))
        with pytest.raises(FileNotFoundError, match="get it from http"):
            load()


def test_small_formats():
    content = b"\0\0\x08\x02" + np.array([2, 3], ">i4").tobytes() + bytes(range(6))
    np.testing.assert_array_equal(idx_array(content), np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="starts with 00 00 08"):
        idx_array(b"abcd")
    counts, labels = libsvm_counts("3 0:2 4:1\n1 2:5\n", 5)
    np.testing.assert_array_equal(counts.todense(), [[2, 0, 0, 0, 1], [0, 0, 5, 0, 0]])
    np.testing.assert_array_equal(labels, [3, 1])
    observed, held = split_tokens(counts)
    np.testing.assert_array_equal(observed + held, counts.todense())


@needs_data
@pytest.mark.data
def test_the_data_are_those_of_the_papers():
    letters, documents = load_ocr_letters(), load_20news2000()
    assert [len(part) for part in letters[:3]] == [32152, 10000, 10000]
    assert letters.train_and_valid.shape == (42152, 128) and set(np.unique(letters.test)) == {0, 1}
    assert documents.train.shape == (11284, 2000) and documents.train.sum() == 584661
    assert documents.test_observed.sum() == 295806 and documents.test_held_out.sum() == 79550
    assert (documents.test_observed + documents.test_held_out - documents.test).nnz == 0


@needs_data
@pytest.mark.slow
@pytest.mark.data
def test_ten_passes_over_ocr_letters_beat_the_papers_nvil():
    from suffice.evaluation import annealed_importance_sampling
    from suffice.sbn import SigmoidBeliefNetwork

    letters = load_ocr_letters()
    model = SigmoidBeliefNetwork((200,), max_iter=10, random_state=0).fit(letters.train)
    assert annealed_importance_sampling(model, letters.valid[:300], n_temperatures=200).mean > -40.35
