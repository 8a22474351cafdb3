"""Words in blocks by two threads and by two dask workers: 10^8 non-zeros.

python -m benchmarks.scale_text [MILLIONS [LOSS]]: CPU seconds of all processes for the whole fit, and whether bits are equal. Blocks
are read from files of arrays, 16 of them, and kept.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .scale import OPTIONS, cpu

BLOCKS, WORDS, LENGTH, CLASSES = 16, 50_000, 100, 5


@dataclass(frozen=True)
class Stored:
    """A block of documents in a file."""

    path: str
    n_bytes: int

    def load(self):
        from suffice.files.pieces import Part

        with np.load(self.path) as arrays:
            shape = len(arrays["indptr"]) - 1, WORDS
            return Part(sp.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape), arrays["y"])


def make(folder: str, n_values: int) -> list[Stored]:
    """Words of a Zipf law, some of them more frequent in a class; distinct within a document."""
    n, found = n_values // LENGTH // BLOCKS, []
    step = WORDS // LENGTH  # one word of every stretch, so that they are distinct and in order
    for number in range(BLOCKS):
        generator = np.random.default_rng(number)
        y = generator.integers(0, CLASSES, n)
        within = (step * generator.random((n, LENGTH)) ** 3).astype(np.int32)
        within = (within + 7 * y[:, None] * (generator.random((n, LENGTH)) < 0.1)) % step
        indices = (within + step * np.arange(LENGTH)).astype(np.int32).ravel()
        data = 1.0 + generator.integers(0, 2, n * LENGTH)
        path = f"{folder}/{n}-{number}.npz"
        np.savez(path, indices=indices, data=data, indptr=np.arange(n + 1, dtype=np.int32) * LENGTH, y=y)
        found.append(Stored(path, 12 * n * LENGTH))
    return found


def fitted(sources: list[Stored], loss: str, chosen):
    import suffice
    from suffice.files.dataset import Blocks

    with warnings.catch_warnings(), suffice.engine(chosen):
        warnings.simplefilter("ignore")
        return suffice.MultinomialNB(loss=loss, prior=1.0, random_state=0, tol=1e-2).fit(Blocks(sources))


def compare(n_values: int = 100_000_000, loss: str = "nll") -> None:
    from distributed import Client, LocalCluster

    from suffice import DaskEngine
    from suffice.engines.blocks import Threads

    with tempfile.TemporaryDirectory() as folder:
        small, sources = make(folder, n_values // 100), make(folder, n_values)
        fitted(small, loss, Threads(2, keep=True))  # compiled
        began, before = time.perf_counter(), cpu()
        engine = Threads(2, keep=True)
        here = fitted(sources, loss, engine)
        own = cpu() - before
        print(
            f"two threads        {time.perf_counter() - began:6.1f} s  {own:6.1f} CPU s  {engine.rounds} rounds",
            flush=True,
        )
        with LocalCluster(**OPTIONS) as cluster, Client(cluster) as client:
            fitted(small, loss, DaskEngine(client, keep=True))  # imports
            first, began, before = sum(client.run(cpu).values()), time.perf_counter(), cpu()
            there = fitted(sources, loss, DaskEngine(client, keep=True))
            took, work = time.perf_counter() - began, cpu() - before + sum(client.run(cpu).values()) - first
    same = np.array_equal(here.moments_.flat(), there.moments_.flat())
    print(
        f"two dask workers   {took:6.1f} s  {work:6.1f} CPU s  ({work / own:.2f} times)  equal bits: {same}", flush=True
    )


if __name__ == "__main__":
    given = sys.argv[1:]
    compare(int(float(given[0]) * 1e6) if given else 100_000_000, *given[1:2])
