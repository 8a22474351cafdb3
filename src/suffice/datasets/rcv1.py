"""RCV1-v2 (Lewis et al. 2004) as counts of its most frequent words: 804,414 news articles, stemmed by their owners.

The token files `lyrl2004_tokens_{train,test_pt0..3}.dat` are read from `SUFFICE_DATA` (below `text/rcv1/`), else downloaded once
(400 MB packed). As in Gan et al. (2015) and Song et al. (2016): 10,000 words, 10,000 random documents for testing, each test
document's tokens dealt 80/20 into a part to condition on and a part to predict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from .files import content
from .newsgroups2000 import Documents, split_tokens

SOURCE = "http://www.ai.mit.edu/projects/jmlr/papers/volume5/lewis04a/a12-token-files"
PARTS = ("train", "test_pt0", "test_pt1", "test_pt2", "test_pt3")
HINT = "Its page: http://www.ai.mit.edu/projects/jmlr/papers/volume5/lewis04a/lyrl2004_rcv1v2_README.htm"


def load_rcv1(n_words: int = 10_000, n_test: int = 10_000, seed: int = 0) -> Documents:
    """Counts of the `n_words` most frequent words; the groups (topics overlap, so there is no single one) are all -1."""
    files = [f"lyrl2004_tokens_{part}.dat" for part in PARTS]
    tables = [content(f"text/rcv1/{file}", [f"{SOURCE}/{file}.gz"], hint=HINT) for file in files]
    documents = [words for table in tables for words in token_documents(table)]
    totals = Counter(word for words in documents for word in words)
    vocabulary = sorted(word for word, _ in totals.most_common(n_words))
    counts = word_counts(documents, vocabulary)
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    train, test = counts[np.sort(order[n_test:])], counts[np.sort(order[:n_test])]
    observed, held_out = split_tokens(test, seed=seed)
    unknown, test_unknown = (np.full(part.shape[0], -1) for part in (train, test))
    return Documents(train, test, observed, held_out, unknown, test_unknown, vocabulary)


def token_documents(table: bytes) -> Iterator[list[str]]:
    """The documents of a token file: `.I number`, `.W`, then lines of words until an empty one."""
    words: list[str] = []
    for line in table.decode("latin-1").splitlines():
        if line.startswith(".I "):
            if words:
                yield words
            words = []
        elif line != ".W":
            words += line.split()
    if words:
        yield words


def word_counts(documents: list[list[str]], vocabulary: list[str]) -> csr_array:
    place = {word: j for j, word in enumerate(vocabulary)}
    indptr: list[int] = [0]
    indices: list[int] = []
    data: list[float] = []
    for words in documents:
        found = Counter(place[word] for word in words if word in place)
        indices += found.keys()
        data += found.values()
        indptr.append(len(indices))
    counts = csr_array(
        (np.array(data, np.float64), np.array(indices, np.int32), np.array(indptr)), (len(documents), len(place))
    )
    counts.sort_indices()
    return counts
