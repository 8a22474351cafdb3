"""Supervised topic models of others, for comparison: test accuracy on the standard splits."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression


def lda_and_regression(split, seed: int, n_topics: int = 50) -> float:
    """Logistic regression on the proportions of our unsupervised topics."""
    from ...estimators.topic import LatentDirichletAllocation

    topics = LatentDirichletAllocation(n_topics, random_state=seed).fit(split.X)
    machine = LogisticRegression(max_iter=1000, C=10.0).fit(topics.transform(split.X), split.y)
    return float(machine.score(topics.transform(split.X_test), split.y_test))


def sklearn_and_regression(split, seed: int, n_topics: int = 50) -> float:
    from sklearn.decomposition import LatentDirichletAllocation

    topics = LatentDirichletAllocation(n_topics, random_state=seed, learning_method="online").fit(split.X)
    machine = LogisticRegression(max_iter=1000, C=10.0).fit(topics.transform(split.X), split.y)
    return float(machine.score(topics.transform(split.X_test), split.y_test))


SLDA_SWEEPS = {"r8": 100, "webkb": 500}


def tomotopy_slda(split, seed: int, n_topics: int = 50, sweeps: int = 500, **options) -> float:
    """One binary response a class; the class of the largest estimated response. Documents without words get the largest class."""
    import tomotopy

    def documents(X):
        return [
            np.repeat(X.indices[a:b], X.data[a:b].astype(int)) for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]

    model = tomotopy.SLDAModel(k=n_topics, vars="b" * split.n_classes, seed=seed + 1, **options)
    for words, label in zip(documents(split.X), split.y, strict=True):
        if len(words):
            model.add_doc([str(w) for w in words], y=np.eye(split.n_classes)[label].tolist())
    model.train(sweeps, workers=1)
    tests = documents(split.X_test)
    known = set(model.used_vocabs)
    rows = [i for i, words in enumerate(tests) if any(str(w) in known for w in words)]
    made = [model.make_doc([str(w) for w in tests[i]], y=[]) for i in rows]
    model.infer(made, iterations=100, workers=1)
    predicted = np.full(len(tests), np.bincount(split.y).argmax())
    predicted[rows] = np.array([model.estimate(document) for document in made]).argmax(axis=1)
    return float((predicted == split.y_test).mean())
