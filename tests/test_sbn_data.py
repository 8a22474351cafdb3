"""The papers' data, read through SUFFICE_DATA: loaders, and a short run that must already beat published numbers."""

import gzip
import os

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_matrix

from suffice.datasets import files
from suffice.datasets.images import idx_array, larochelle_order, load_binarized_mnist, load_ocr_letters
from suffice.datasets.newsgroups2000 import libsvm_counts, load_20news2000, split_tokens
from suffice.datasets.rcv1 import load_rcv1

MATLAB_NAMES = ("wordsTrain", "wordsTest", "wordsHeldout")
needs_data = pytest.mark.skipif("SUFFICE_DATA" not in os.environ, reason="SUFFICE_DATA is not set: the papers' data")


def test_missing_data_says_where_to_get_it(monkeypatch, tmp_path):
    def no_network(url, target, md5=None):
        raise OSError("no network")

    monkeypatch.setattr(files, "download", no_network)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for load in (load_ocr_letters, load_binarized_mnist, load_20news2000, load_rcv1):
        monkeypatch.delenv("SUFFICE_DATA", raising=False)
        with pytest.raises(FileNotFoundError, match=r"tried http.*no network(.|\n)*SUFFICE_DATA"):
            load()


def test_what_is_not_in_the_folder_is_downloaded_once(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SUFFICE_DATA", raising=False)
    visited = []

    def served(url, target, md5=None):
        visited.append(url)
        target.parent.mkdir(parents=True, exist_ok=True)
        if url.endswith(".gz"):
            target.write_bytes(gzip.compress(b".I 1\n.W\na b a\nc\n\n.I 2\n.W\nb b\n\n"))
        elif url.endswith(".mat"):
            words = {name: csc_matrix(np.array([[1, 0], [2, 3], [0, 1]])) for name in MATLAB_NAMES}
            labels = {"labelsTrain": [[1], [2]], "labelsTest": [[2], [1]]}
            savemat(target, words | labels | {"vocabulary": np.array(["x", "yy", "z"], dtype=object)})
        else:
            target.write_text("0 1 0\n1 1 0\n")
        return target

    monkeypatch.setattr(files, "download", served)
    news, images, again = load_rcv1(3, 2), load_binarized_mnist(), load_binarized_mnist()
    assert news.vocabulary == ["a", "b", "c"] and news.train.shape == (8, 3) and news.test.sum() in (4, 6, 8)
    np.testing.assert_array_equal((news.test_observed + news.test_held_out).todense(), news.test.todense())
    np.testing.assert_array_equal(images.valid, [[0, 1, 0], [1, 1, 0]])
    np.testing.assert_array_equal(images.test_labels, [-1, -1])
    np.testing.assert_array_equal(images.train, again.train)
    groups = load_20news2000()
    np.testing.assert_array_equal(groups.test.todense(), [[2, 4, 0], [0, 6, 2]])
    assert groups.vocabulary == ["x", "yy", "z"] and list(groups.test_groups) == [1, 0]
    assert len(visited) == len(set(visited)) == 9


def test_small_formats():
    content = b"\0\0\x08\x02" + np.array([2, 3], ">i4").tobytes() + bytes(range(6))
    np.testing.assert_array_equal(idx_array(content), np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="starts with 00 00 08"):
        idx_array(b"abcd")
    counts, labels = libsvm_counts("3 0:2 4:1\n1 2:5\n", 5)
    np.testing.assert_array_equal(counts.todense(), [[2, 0, 0, 0, 1], [0, 0, 5, 0, 0]])
    np.testing.assert_array_equal(labels, [3, 1])
    observed, held = split_tokens(counts)
    np.testing.assert_array_equal((observed + held).todense(), counts.todense())


@needs_data
@pytest.mark.data
def test_the_data_are_those_of_the_papers():
    letters, documents = load_ocr_letters(), load_20news2000()
    split = files.content("image/ocr_letters/larochelle_split.txt").split()
    np.testing.assert_array_equal(larochelle_order(len(split)), np.array(split, dtype=int))
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
