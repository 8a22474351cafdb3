r"""Topics as points: near ones use the same words.

Distances are roots of Jensen-Shannon divergences, JS(p, q) = H((p + q) / 2) - (H(p) + H(q)) / 2, a metric; the plane is that of
classical scaling (Torgerson 1952): the two largest eigenvectors of -1/2 J D^2 J with J = I - 1/n. A word tells of a topic by

    lambda log p(w | t) + (1 - lambda) log p(w | t) / p(w)          (Sievert and Shirley 2014, lambda = .6)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

RELEVANCE = 0.6


@dataclass(frozen=True)
class TopicMap:
    """Topics with their place, share and words.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import LatentDirichletAllocation
    >>> from suffice.evaluation import topic_map
    >>> X = np.kron(np.eye(2, dtype=int), np.full((10, 3), 4))
    >>> topic_map(LatentDirichletAllocation(2, random_state=0).fit(X)).names
    ['topic 1', 'topic 2']
    """

    names: list[str]
    place: np.ndarray  # (topics, 2)
    share: np.ndarray  # (topics,): of all words
    words: list[list[str]]  # (topics, n_words), the most telling one first
    probability: list[np.ndarray]  # of these words in their topic


def topic_map(model: Any, vocabulary: Any = None, n_words: int = 10) -> TopicMap:
    """The topics of a fitted `LatentDirichletAllocation`, or those of every class of an `LDAClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import LatentDirichletAllocation
    >>> from suffice.evaluation import topic_map
    >>> X = np.kron(np.eye(2, dtype=int), np.full((10, 3), 4))
    >>> found = topic_map(LatentDirichletAllocation(2, random_state=0).fit(X), list("abcxyz"), n_words=3)
    >>> sorted("".join(sorted(words)) for words in found.words)
    ['abc', 'xyz']
    """
    topics = np.asarray(model.topics_, dtype=float)
    names = [f"topic {t + 1}" for t in range(topics.shape[-2])]
    if topics.ndim == 3:
        names = [f"{label}, {name}" for label in model.classes_ for name in names]
        weight = np.reshape(model.moments_.weight, (topics.shape[1], topics.shape[0])).T.ravel()
    else:
        weight = np.asarray(model.components_, dtype=float).sum(axis=1)
    p = topics.reshape(-1, topics.shape[-1])
    p = p / p.sum(axis=1, keepdims=True)
    overall = np.maximum(p.mean(axis=0), 1e-300)
    logs = np.log(np.maximum(p, 1e-300))
    telling = logs - (1 - RELEVANCE) * np.log(overall)
    order = np.argsort(-telling, axis=1)[:, :n_words]
    vocabulary = [f"x{j}" for j in range(p.shape[1])] if vocabulary is None else [str(word) for word in vocabulary]
    words = [[vocabulary[j] for j in row] for row in order]
    return TopicMap(names, _plane(p), weight / weight.sum(), words, [p[t, row] for t, row in enumerate(order)])


def _plane(p: np.ndarray) -> np.ndarray:
    """(n, 2) array: classical scaling of the Jensen-Shannon distances."""
    entropy = -xlogy(p, p).sum(axis=1)
    squared = np.zeros((len(p), len(p)))
    for t in range(len(p)):
        middle = (p + p[t]) / 2
        squared[t] = np.maximum(0.0, -xlogy(middle, middle).sum(axis=1) - (entropy + entropy[t]) / 2)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1)[:, None] + squared.mean()
    values, vectors = np.linalg.eigh(-centred / 2)
    values, vectors = values[::-1][:2], vectors[:, ::-1][:, :2]
    place = np.zeros((len(p), 2))
    place[:, : len(values)] = vectors * np.sqrt(np.maximum(values, 0.0))
    return place
