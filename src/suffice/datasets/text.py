"""The seven text sets of Masegosa (2014, Table 3), with the train/test splits their owners published.

20ng, r8, r52, webkb, cade   Cardoso-Cachopo's stemmed files: a document a line, `label<TAB>words`
imdb                         Maas et al. (2011): word counts in libsvm form and a vocabulary; label = rating of at least 7
amazon12                     Puurula's SGMWeka files, in the form of the first five

The vocabulary is the training documents' (that is the paper's |W|), in alphabetical order; imdb brings its own. Documents without
a word: the paper counts 2785 training documents of webkb (18 empty ones dropped) and 1396 test documents (13 empty ones kept), so
empty documents are dropped from every training part and kept in every test part.
"""

from __future__ import annotations

import tarfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from typing_extensions import override

from .files import DataNotFound, cache_folder, data_folder, download, find, read_bytes, read_lines

MIRROR = "https://www.cs.umb.edu/~smimarog/textmining/datasets"
FUZZY = "https://raw.githubusercontent.com/achyudh/fuzzy-fs/3c8fc8b5d4a1883dde8ead22fee0dfafa7b8c767/data"
CADE = "https://drive.google.com/uc?export=download&id=19zEVR6ZgwZg80kwEAIBmtOBgqibJQQKX"
IMDB = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
CACHOPO = "Cardoso-Cachopo's files are at https://ana.cachopo.org/datasets-for-single-label-text-categorization"
PUURULA = "Amazon12 was published with SGMWeka, https://sourceforge.net/projects/sgmweka/files: convert it to `label<TAB>words` lines"

FOLDERS = {"r8": ["R8"], "webkb": ["WebKB"]}
MD5 = {  # of the published files; those of 20ng are of a rebuilt edition and prove nothing about a download
    "r8-train": "a95a7ed607b4bddd59bc2b63b7e77413",
    "r8-test": "92b899c5d26cef47a74431164e01e64c",
    "r52-train": "f115a957fbbf050a81d38ca08500e5c3",
    "r52-test": "e29d9f65d622f926dee08a6a87b2277a",
    "webkb-train": "6a1a184b73068c65466cb258fa09ec80",
    "webkb-test": "cc9e928850822980e57ac4dc09663a7d",
}


@dataclass(frozen=True, eq=False)
class TextData:
    """Documents of one set: CSR word counts (or, with `raw=True`, lists of strings) and labels."""

    name: str
    X_train: sparse.csr_matrix | list[str]
    y_train: np.ndarray
    X_test: sparse.csr_matrix | list[str]
    y_test: np.ndarray
    vocabulary: np.ndarray

    @override
    def __repr__(self) -> str:
        n = f"{len(self.y_train)} + {len(self.y_test)} documents"
        return f"TextData({self.name!r}: {n}, {len(self.vocabulary)} words, {len(np.unique(self.y_train))} classes)"


def load(name: str, *, raw: bool = False) -> TextData:
    """One of the sets "20ng", "r8", "r52", "webkb", "imdb", "cade", "amazon12".

    Parameters
    ----------
    name : str
    raw : bool, default=False
        Strings instead of counts (imdb has only counts; its strings repeat each word as often as it occurs, without order).
    """
    if name == "imdb":
        return load_imdb(raw)
    (train, y_train), (test, y_test) = (labelled_lines(name, part) for part in ("train", "test"))
    kept = np.flatnonzero([bool(document.strip()) for document in train])
    train, y_train = [train[i] for i in kept], y_train[kept]
    words = sorted({word for document in train for word in document.split()})
    if raw:
        return TextData(name, train, y_train, test, y_test, np.array(words))
    place = {word: j for j, word in enumerate(words)}
    return TextData(name, counts(train, place), y_train, counts(test, place), y_test, np.array(words))


def counts(documents: list[str], place: dict[str, int]) -> sparse.csr_matrix:
    """CSR counts of the words that have a place; others are left out."""
    indptr = np.zeros(len(documents) + 1, dtype=np.int64)
    indices: list[int] = []
    for i, document in enumerate(documents):
        indices.extend(place[word] for word in document.split() if word in place)
        indptr[i + 1] = len(indices)
    X = sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(documents), len(place)))
    X.sum_duplicates()
    return X


def labelled_lines(name: str, part: str) -> tuple[list[str], np.ndarray]:
    if name == "amazon12":
        path = find(f"text/{name}-{part}.txt", hint=PUURULA)
    elif name == "cade":
        path = find_cade(part)
    else:
        file = f"{name}-{part}-stemmed.txt"
        urls = [f"{FUZZY}/{folder}/{file}" for folder in FOLDERS.get(name, [])] + [f"{MIRROR}/{file}"]
        path = find(f"text/{file}", urls, MD5.get(f"{name}-{part}"), CACHOPO)
    pairs = [line.partition("\t") for line in read_lines(path) if line]
    return [words for _, _, words in pairs], np.array([label for label, _, _ in pairs])


def find_cade(part: str) -> Any:
    """Cade12 is one archive on Google Drive; both parts are unpacked from it."""
    file = f"cade-{part}-stemmed.txt"
    try:
        return find(f"text/{file}", [f"{MIRROR}/{file}"], hint=CACHOPO)
    except DataNotFound as missing:
        archive = cache_folder() / "text/cade.tar.gz"
        try:
            if not archive.is_file():
                download(CADE, archive)
            unpack(archive, {f"cade-{which}-stemmed.txt": f"cade-{which}-stemmed.txt" for which in ("train", "test")})
            return find(f"text/{file}")
        except (OSError, tarfile.TarError) as problem:
            archive.unlink(missing_ok=True)
            raise DataNotFound(f"{missing}\n  also tried {CADE}: {problem}") from None


def unpack(archive: Any, members: dict[str, str]) -> None:
    """Write the archive's members whose paths end as the keys say to the cache, under the values."""
    with tarfile.open(archive) as tar:
        for member in tar:
            for ending, target in members.items():
                if member.name.endswith(ending) and (content := tar.extractfile(member)) is not None:
                    (cache_folder() / "text" / target).write_bytes(content.read())


def load_imdb(raw: bool) -> TextData:
    files = {"train": "imdb-train-labeledBow.feat", "test": "imdb-test-labeledBow.feat", "vocab": "imdb.vocab"}
    try:
        paths = {part: find(f"text/{file}") for part, file in files.items()}
    except DataNotFound as missing:
        archive = cache_folder() / "text/aclImdb_v1.tar.gz"
        try:
            if not archive.is_file():
                download(IMDB, archive)
            inside = {
                "/train/labeledBow.feat": files["train"], "/test/labeledBow.feat": files["test"], "/imdb.vocab": files["vocab"]
            }  # fmt: skip
            unpack(archive, inside)
            paths = {part: find(f"text/{file}") for part, file in files.items()}
        except (OSError, tarfile.TarError) as problem:
            raise DataNotFound(f"{missing}\n  tried {IMDB}: {problem}") from None
    words = np.array(read_lines(paths["vocab"]))
    X_train, y_train = libsvm_counts(read_bytes(paths["train"]), len(words))
    X_test, y_test = libsvm_counts(read_bytes(paths["test"]), len(words))
    kept = np.flatnonzero(np.diff(X_train.indptr))
    if len(kept) < len(y_train):
        X_train, y_train = X_train[kept], y_train[kept]
    if raw:
        return TextData("imdb", strings(X_train, words), y_train, strings(X_test, words), y_test, words)
    return TextData("imdb", X_train, y_train, X_test, y_test, words)


def libsvm_counts(content: bytes, n_words: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Lines `rating index:count ...` with indices from 0; the label is 1 for a rating of at least 7."""
    lines = content.splitlines()
    fields = np.array([line.count(b":") for line in lines])
    numbers = np.array(content.replace(b":", b" ").split(), dtype=np.float64)
    starts = np.concatenate([[0], np.cumsum(2 * fields + 1)])
    ratings = numbers[starts[:-1]]
    pairs = np.delete(numbers, starts[:-1]).reshape(-1, 2)
    indptr = np.concatenate([[0], np.cumsum(fields)])
    X = sparse.csr_matrix((pairs[:, 1].copy(), pairs[:, 0].astype(np.int32), indptr), shape=(len(lines), n_words))
    return X, (ratings >= 7).astype(np.int64)


def strings(X: sparse.csr_matrix, words: np.ndarray) -> list[str]:
    """Documents as strings, each word as often as it was counted."""
    repeated = [np.repeat(words[row.indices], row.data.astype(int)) for row in X]
    return [" ".join(document) for document in repeated]


def is_available(name: str) -> bool:
    """Whether the set is on this machine (nothing is downloaded)."""
    file = {"imdb": "imdb-train-labeledBow.feat", "amazon12": "amazon12-train.txt"}.get(
        name, f"{name}-train-stemmed.txt"
    )
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return any((folder / "text" / (file + end)).is_file() for folder in folders for end in ("", ".xz"))
