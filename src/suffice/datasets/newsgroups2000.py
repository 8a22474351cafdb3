"""20 Newsgroups as counts of 2,000 words, with the 80/20 completion split of its test documents (Gan et al. 2015)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from suffice.datasets.images import open_member

SOURCE = "https://github.com/mingyuanzhou/DeepLDA_TLASGR_MCMC (20news_data.mat, as libsvm files)"
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


def load_20news2000() -> Documents:
    def read(name):
        return libsvm_counts(open_member("text", f"20news2000-{name}.feat", source=SOURCE).decode(), N_WORDS)

    train, train_groups = read("train")
    test, test_groups = read("test")
    vocabulary = open_member("text", "20news2000-vocab.txt", source=SOURCE).decode().split()
    observed, held_out = read("test-obs80")[0], read("test-held20")[0]
    return Documents(train, test, observed, held_out, train_groups - 1, test_groups - 1, vocabulary)


def split_tokens(counts, share: float = 0.8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Every token goes to the observed part with probability `share`: the split for documents that have none."""
    dense = np.asarray(counts.todense() if hasattr(counts, "todense") else counts).astype(np.int64)
    observed = np.random.default_rng(seed).binomial(dense, share)
    return observed.astype(float), (dense - observed).astype(float)
