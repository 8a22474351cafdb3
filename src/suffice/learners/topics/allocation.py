"""Plain latent Dirichlet allocation: expected or drawn topics of documents given the topics' words (see `structures.topics`).

Documents are cut into the same parts whatever the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...engines.threads import Engine, shards
from ...families.rows import whole_counts

N_PARTS = 4
CODES = {"map": 0, "variational": 1}


@dataclass
class Allocation:
    """Expected counts, and how documents are read with them."""

    count: np.ndarray  # [words, topics], without the prior
    prior: float  # pseudo-count of a word in a topic
    concentration: float
    inference: str = "variational"
    n_jobs: int = 1
    n_steps: int = 100  # of inference at most
    tolerance: float = 1e-3

    @property
    def beta(self) -> np.ndarray:
        smooth = self.count + self.prior
        return smooth / smooth.sum(axis=0)

    @property
    def n_topics(self) -> int:
        return self.count.shape[1]

    def expect(self, X, shapes=None, *, gather: bool = True, beta=None, n_steps: int | None = None):
        """(expected counts or None, shapes, bound) of documents; `shapes` are where inference starts and ends."""
        from ...kernels.structures.allocation import infer_documents

        is_warm = shapes is not None
        shapes = shapes if is_warm else np.empty((X.shape[0], self.n_topics))
        beta = self.beta if beta is None else beta
        code = CODES.get(self.inference, 1)
        rows = (X.indptr, X.indices, X.data)
        options = (float(self.concentration), code, n_steps or self.n_steps, self.tolerance, is_warm)

        def one(part: slice):
            count = np.zeros(self.count.shape) if gather else np.zeros((1, 1))
            return count, infer_documents(rows, part.start, part.stop, beta, *options, shapes, count, gather)

        total, bound = (np.zeros(self.count.shape) if gather else None), 0.0
        for count, part_bound in Engine(self.n_jobs).each(one, parts(X.shape[0])):
            bound += part_bound
            if total is not None:
                total += count
        return total, shapes, bound

    def objective(self, bound: float) -> float:
        """Bound of the documents plus log prior of the topics: what batch EM raises."""
        return bound + self.prior * float(np.log(self.beta).sum())


def parts(n: int) -> list[slice]:
    return shards(n, max(1, -(-n // N_PARTS)))


def word_totals(X) -> np.ndarray:
    """How often every word occurs."""
    return np.asarray(X.sum(axis=0)).ravel()


def start(totals: np.ndarray, n_topics: int, generator: np.random.Generator) -> np.ndarray:
    """Every word's occurrences divided among the topics at random."""
    shares = generator.gamma(1.0, size=(len(totals), n_topics))
    return totals[:, None] * shares / shares.sum(axis=1, keepdims=True)


def online_step(model: Allocation, X, rate: float, scale: float) -> float:
    """One mini-batch: counts move towards those of `scale` times these documents. Returns the bound of the batch."""
    count, _, bound = model.expect(X)
    assert count is not None
    model.count = (1.0 - rate) * model.count + rate * scale * count
    return bound


@dataclass
class Tokens:
    """Documents as tokens, with the state of their chains."""

    words: np.ndarray
    starts: np.ndarray
    topics: np.ndarray
    usage: np.ndarray
    ids: np.ndarray  # what a document's random numbers depend on

    @classmethod
    def of(cls, X, n_topics: int) -> Tokens:
        from ...kernels.structures.allocation import fill_token_words

        counts = whole_counts(X, together=False)
        words = np.empty(int(counts.sum()), dtype=np.int32)
        starts = np.empty(X.shape[0] + 1, dtype=np.int64)
        ids = np.empty(X.shape[0], dtype=np.uint64)
        fill_token_words(X.indptr, X.indices, counts, words, starts, ids)
        return cls(words, starts, np.zeros(len(words), np.int32), np.zeros((X.shape[0], n_topics), np.float32), ids)

    def sweep(
        self, beta: np.ndarray, concentration: float, seed: int, n_jobs: int, *, is_start=False, gather=True
    ) -> Any:
        from ...kernels.structures.allocation import sweep_documents

        table = np.ascontiguousarray(beta, dtype=np.float32)
        totals = table.sum(axis=1)

        def one(part: slice):
            count = np.zeros(table.shape if gather else (1, 1), np.float32)
            sweep_documents(
                self.starts, self.words, part.start, part.stop, table, totals, concentration, seed, self.ids, is_start, self.topics,
                self.usage, count, gather,
            )  # fmt: skip
            return count

        total = np.zeros(table.shape if gather else (1, 1))
        for count in Engine(n_jobs).each(one, parts(len(self.starts) - 1)):
            total += count
        return total


def sampled_proportions(model: Allocation, X, n_burn: int, n_samples: int, seed: int) -> np.ndarray:
    """E[phi] of documents by sweeps given the topics."""
    tokens = Tokens.of(X, model.n_topics)
    beta, a = model.beta, model.concentration
    total = np.zeros(tokens.usage.shape)
    tokens.sweep(beta, a, seed, model.n_jobs, is_start=True, gather=False)
    for sweep in range(n_burn + n_samples):
        tokens.sweep(beta, a, seed + sweep + 1, model.n_jobs, gather=False)
        if sweep >= n_burn:
            total += tokens.usage
    shape = a + total / n_samples
    return shape / shape.sum(axis=1, keepdims=True)
