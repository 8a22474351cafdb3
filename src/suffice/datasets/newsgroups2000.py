"""20 Newsgroups as counts of 2,000 words, with the 80/20 completion split of its test documents (Gan et al. 2015)."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from .files import DataNotFound, content

MATLAB = "https://raw.githubusercontent.com/mingyuanzhou/DeepLDA_TLASGR_MCMC/5ef748fb75c140194dad115362ff5594da91264d/20news_data.mat"
N_WORDS = 2000


class Documents(NamedTuple):
    """Counts (documents, words), groups from 0, and the two parts of every test document."""

    train: csr_array
    test: csr_array
    test_observed: csr_array
    test_held_out: csr_array
    train_groups: np.ndarray
    test_groups: np.ndarray
    vocabulary: list[str]


def load_20news2000() -> Documents:
    """From the libsvm files of `SUFFICE_DATA`, else from the authors' MATLAB file, downloaded once."""
    try:
        read = {part: _libsvm_part(part) for part in ("train", "test", "test-obs80", "test-held20")}
        vocabulary = content("text/20news2000-vocab.txt").decode().split()
    except DataNotFound:
        return from_matlab(content("text/20news_data.mat", [MATLAB]))
    (train, train_groups), (test, test_groups) = read["train"], read["test"]
    observed, held_out = read["test-obs80"][0], read["test-held20"][0]
    return Documents(train, test, observed, held_out, train_groups - 1, test_groups - 1, vocabulary)


def _libsvm_part(name: str) -> tuple[csr_array, np.ndarray]:
    return libsvm_counts(content(f"text/20news2000-{name}.feat").decode(), N_WORDS)


def from_matlab(table: bytes) -> Documents:
    """The authors' file: words by documents; `wordsHeldout` is the part to condition on, `wordsTest` the part to predict."""
    from scipy.io import loadmat

    matrices = loadmat(io.BytesIO(table), squeeze_me=True)
    train, held_out, observed = (
        csr_array(matrices[name].T.astype(float)) for name in ("wordsTrain", "wordsTest", "wordsHeldout")
    )
    groups, test_groups = (np.asarray(matrices[name]).astype(int) - 1 for name in ("labelsTrain", "labelsTest"))
    words = [str(word) for word in matrices["vocabulary"]]
    return Documents(train, csr_array(observed + held_out), observed, held_out, groups, test_groups, words)


def libsvm_counts(text: str, n_columns: int) -> tuple[csr_array, np.ndarray]:
    """(counts, labels) of libsvm lines `label index:count ...` with indices from 0."""
    indptr, indices, counts, labels = [0], [], [], []
    for line in text.splitlines():
        label, *pairs = line.split()
        labels.append(int(float(label)))
        for pair in pairs:
            index, count = pair.split(":")
            indices.append(int(index))
            counts.append(float(count))
        indptr.append(len(indices))
    shape = (len(labels), n_columns)
    return csr_array((np.array(counts), np.array(indices), np.array(indptr)), shape=shape), np.array(labels)


def split_tokens(counts: Any, share: float = 0.8, seed: int = 0) -> tuple[csr_array, csr_array]:
    """Every token goes to the observed part with probability `share`: the split for documents that have none."""
    counts = csr_array(counts)
    drawn = np.random.default_rng(seed).binomial(counts.data.astype(np.int64), share).astype(float)
    parts = (csr_array((part, counts.indices, counts.indptr), counts.shape) for part in (drawn, counts.data - drawn))
    observed, held_out = parts
    return observed, held_out
