"""What a person waits for, in one run with the peers: `make bench NAME=waiting`, or `python -m benchmarks.waiting passes choice ...`.

passes    a pass inside `fit` in sparse products X @ W (20ng; hinge and NCLL, stochastic and incremental), and of GaussianNB in
          scikit-learn's fits (200,000 x 50 x 5)
choice    `prior="auto"` in fits at the chosen prior, and GridSearchCV(LinearSVC) (5 values, 5 folds) over our default: whole sets,
          then subsets of 1,000 and 2,000 documents with all their words and bigrams
strings   TextClassifier on the documents of 20ng over TfidfVectorizer().fit_transform
topics    LDAClassifier's default fit, with its accuracy on a fifth of the training documents

CPU seconds, the best of some repeats. Nothing here looks at test documents. SUFFICE_GRID=0 leaves out the grid search.
"""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.naive_bayes import GaussianNB as PlainGaussianNB
from sklearn.svm import LinearSVC

from suffice import GaussianNB, MultinomialNB, datasets
from suffice.text import TextClassifier
from suffice.topic import LDAClassifier

from .text import SETS, STRENGTHS, seconds, spent

N_PASSES, MORE = (
    10,
    30,
)  # fits of so many passes: the first quotient counts what a fit costs besides, the difference does not
SMALL = (1000, 2000)


def per_pass(make, X, y, unit: float, repeats: int = 3) -> str:
    """Units a pass: of a whole fit of N_PASSES, and of each of the passes after them."""
    few, many = (seconds(make(n).fit(X, y), X, y, repeats) for n in (N_PASSES, MORE))
    return f"{few / N_PASSES / unit:.2f} of a fit of {N_PASSES} passes, {(many - few) / (MORE - N_PASSES) / unit:.2f} each after those"


def passes() -> None:
    data = datasets.load("20ng")
    X, y = data.X_train, data.y_train
    W = np.random.default_rng(0).random((X.shape[1], len(np.unique(y))))
    unit = min(spent(lambda: X @ W) for _ in range(30))
    print(f"20ng: a sparse product is {1e3 * unit:.1f} ms")
    for algorithm in ("stochastic", "incremental"):
        for loss, asked in (("hinge", 1.6), ("ncll", 2.2)):

            def words(n: int, loss=loss, algorithm=algorithm) -> MultinomialNB:
                return MultinomialNB(loss=loss, algorithm=algorithm, prior=0.1, max_epochs=n, tol=1e-12, random_state=0)

            print(f"  {algorithm:11} {loss:5}  {per_pass(words, X, y, unit)}  (asked: {asked})", flush=True)
    rows, labels = make_classification(200_000, 50, n_informative=20, n_classes=5, random_state=0)
    plain = seconds(PlainGaussianNB(), rows, labels, 5)
    print(f"200,000 x 50 x 5: scikit-learn's GaussianNB fits in {plain:.3f} s")

    def table(n: int) -> GaussianNB:
        return GaussianNB(algorithm="stochastic", prior=100.0, max_epochs=n, tol=1e-12, random_state=0)

    print(f"  stochastic  ncll   {per_pass(table, rows, labels, plain, 2)}  (asked: 3)", flush=True)


def compared(title: str, X, y, strengths, repeats: int = 3) -> None:
    """A row of the table of `choice`."""
    default = MultinomialNB(random_state=0).fit(X, y)  # compiles
    setting = default.choice_.setting
    if setting is None:
        print(f"| {title} | maximum likelihood was kept |", flush=True)
        return
    given = MultinomialNB(
        prior=setting.strength * default.row_norm_**2, count_power=default.count_power_, random_state=0
    )
    ours, fit = seconds(default, X, y, repeats), seconds(given, X, y, repeats)
    line = f"| {title} | {ours:.3f} | {fit:.3f} | {ours / fit:.1f} |"
    if os.environ.get("SUFFICE_GRID") != "0":
        grid = spent(GridSearchCV(LinearSVC(random_state=0), {"C": strengths}, cv=5).fit, X, y)
        line += f" {grid:.2f} | {grid / ours:.1f} |"
    print(line, flush=True)


def choice(names=SETS) -> None:
    print(
        "| set | auto, s | fit at that prior, s | fits (12; median 8) | grid, s | grid / auto (8) |\n|---|---|---|---|---|---|"
    )
    for name in names:
        data = datasets.load(name)
        tfidf = TfidfTransformer(sublinear_tf=True).fit_transform(data.X_train)
        compared(f"{name}, counts", data.X_train, data.y_train, STRENGTHS["counts"])
        compared(f"{name}, tfidf", tfidf, data.y_train, STRENGTHS["tfidf"])
    for name in names:
        documents = datasets.load(name, raw=True)
        for size in SMALL:
            which = np.random.default_rng(0).permutation(len(documents.y_train))[:size]
            X = CountVectorizer(ngram_range=(1, 2), dtype=np.float64).fit_transform(
                [documents.X_train[i] for i in which]
            )
            y = documents.y_train[which]
            known = np.isin(y, [label for label, n in zip(*np.unique(y, return_counts=True), strict=True) if n >= 5])
            X, y = X[known], y[known]
            compared(f"{name}, {size} documents, bigrams ({X.shape[1]})", X, y, STRENGTHS["counts"])
            tfidf = TfidfTransformer(sublinear_tf=True).fit_transform(X)
            compared(f"{name}, {size} documents, bigrams, tfidf", tfidf, y, STRENGTHS["tfidf"])


def strings() -> None:
    data = datasets.load("20ng", raw=True)
    unit = min(spent(TfidfVectorizer().fit_transform, data.X_train) for _ in range(3))
    TextClassifier(random_state=0).fit(data.X_train[::10], data.y_train[::10])  # compiles
    ours = seconds(TextClassifier(random_state=0), data.X_train, data.y_train, 2)
    print(
        f"20ng as strings: TextClassifier {ours:.2f} s, TfidfVectorizer {unit:.2f} s, ratio {ours / unit:.2f}  (asked: 4)",
        flush=True,
    )


def topics(names=("r8", "webkb")) -> None:
    for name in names:
        data = datasets.load(name)
        splits = list(StratifiedShuffleSplit(3, test_size=0.2, random_state=0).split(data.X_train, data.y_train))
        for loss in ("ncll", "hinge", "nll"):
            took, found = [], []
            for seed, (train, held) in enumerate(splits):
                model = LDAClassifier(loss=loss, random_state=seed)
                took.append(spent(model.fit, data.X_train[train], data.y_train[train]))
                found.append(model.score(data.X_train[held], data.y_train[held]))
            print(f"  {name:6} LDAClassifier {loss:5}  {np.min(took):.2f} s, {np.mean(found):.4f} held out", flush=True)


PARTS = {"passes": passes, "choice": choice, "strings": strings, "topics": topics}


def run(names=tuple(PARTS)) -> None:
    warnings.simplefilter("ignore")
    for name in names:
        PARTS[name]()


if __name__ == "__main__":
    run(sys.argv[1:] or tuple(PARTS))
