"""The same mixture by two threads and by two dask workers: seconds, CPU seconds of all processes, and whether the bits are equal.

python -m benchmarks scale. Rows: 2 million x 20, in 16 blocks that are kept. Then the peers on another table (`scale_peers`).
"""

from __future__ import annotations

import resource
import time
import warnings
from dataclasses import dataclass

import numpy as np

from . import scale_peers

ROWS, COLUMNS, BLOCKS, COMPONENTS, PASSES = 2_000_000, 20, 16, 5, 10
OPTIONS: dict = {
    "n_workers": 2,
    "threads_per_worker": 1,
    "dashboard_address": None,
    "host": "127.0.0.1",
    "silence_logs": 50,
}


@dataclass(frozen=True)
class Drawn:
    """Rows drawn where they are used."""

    number: int
    n_rows: int

    @property
    def n_bytes(self) -> int:
        return 8 * self.n_rows * COLUMNS

    def load(self):
        from suffice.files.pieces import Part

        generator = np.random.default_rng(self.number)
        z = generator.integers(0, COMPONENTS, self.n_rows)
        return Part(generator.normal(size=(len(z), COLUMNS)) + z[:, None])


def cpu() -> float:
    own = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in own)


def fitted(chosen):
    import suffice
    from suffice.files.dataset import Blocks

    with warnings.catch_warnings(), suffice.engine(chosen):
        warnings.simplefilter("ignore")
        model = suffice.GaussianMixture(COMPONENTS, covariance_type="diag", random_state=0, tol=0.0, max_iter=PASSES)
        return model.fit(Blocks([Drawn(number, ROWS // BLOCKS) for number in range(BLOCKS)]))


def run() -> None:
    from suffice.engines.blocks import Threads

    fitted(Threads(2))  # compiled
    began, before = time.perf_counter(), cpu()
    here = fitted(Threads(2, keep=True))
    threads = time.perf_counter() - began, cpu() - before
    print(f"two threads        {threads[0]:6.1f} s  {threads[1]:6.1f} CPU s")
    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError:
        print("dask is not there: pip install 'suffice[dask]'")
        return
    from suffice import DaskEngine

    with LocalCluster(**OPTIONS) as cluster, Client(cluster) as client:
        fitted(DaskEngine(client, keep=True))  # imports
        began, before = time.perf_counter(), cpu()
        first = sum(client.run(cpu).values())
        there = fitted(DaskEngine(client, keep=True))
        took, own = time.perf_counter() - began, cpu() - before
        work = own + sum(client.run(cpu).values()) - first
    same = np.array_equal(here.moments_.flat(), there.moments_.flat())
    print(f"two dask workers   {took:6.1f} s  {work:6.1f} CPU s  ({work / threads[1]:.2f} times)  equal bits: {same}")
    scale_peers.compare()


if __name__ == "__main__":
    run()
