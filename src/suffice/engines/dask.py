"""Blocks on the workers of a dask cluster: sources out, records back, and a lost worker costs time only.

Values that all blocks see travel as tasks and not by `scatter`, whose data die with their worker. Rows that are kept, and parts of
dask collections, are futures: what is lost is made again from its source. A block that kills its workers is named.
"""

from __future__ import annotations

import ctypes
import os
import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from uuid import uuid4

from typing_extensions import override

from .blocks import BlockEngine, Found, Kept, Placed, fold_found, rows_of, tree

IMPORTS = 350 << 20  # bytes of a worker's imports, and some
BLOCKS = 4  # times a block's bytes that a thread of a worker needs
KEPT = 0.3  # of the workers' memory that kept rows may take
SETTLED = 2.0  # seconds in which the scheduler says what else was lost with a worker
RETRIES = 5  # of a task that fails by an error of the machine
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


class DaskEngine(BlockEngine):
    """Fits on a dask cluster.

    Parameters
    ----------
    client : distributed.Client, default=None
        None: the current one.
    checkpoint : str or path, default=None
        A folder. A fit writes its state there and goes on from it when the same fit is begun again after a crash of this process.

    keep : bool, default=None
        Whether workers keep the rows of their blocks between passes; None: where they have room for them. If not, every pass reads.

    Examples
    --------
    >>> from suffice import DaskEngine, engine
    >>> def fitted(model, data, client):
    ...     with engine(DaskEngine(client)):
    ...         return model.fit(data)
    """

    def __init__(self, client: Any = None, checkpoint: Any = None, keep: bool | None = None) -> None:
        try:
            import distributed
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("DaskEngine needs dask: pip install 'suffice[dask]'") from error
        self.client = distributed.default_client() if client is None else client
        self.checkpoint, self.keep = checkpoint, keep
        self._warned: set[str] = set()

    # -- the cluster --------------------------------------------------------------------------------------------------

    def workers(self) -> dict[str, dict]:
        """What the scheduler says of every worker, after waiting for the first one."""
        self.client.wait_for_workers(1, timeout=60)
        return self.client.scheduler_info(n_workers=-1)["workers"]

    def _check(self, sources) -> dict[str, dict]:
        """Refuse workers that cannot hold a block; name those that differ from this process."""
        workers = self.workers()
        largest = max(range(len(sources)), key=lambda number: getattr(sources[number], "n_bytes", 0), default=0)
        block = getattr(sources[largest], "n_bytes", 0) if len(sources) else 0
        for address, info in workers.items():
            limit, threads = info.get("memory_limit") or 0, max(int(info.get("nthreads", 1)), 1)
            need = IMPORTS + BLOCKS * threads * block
            if limit and limit < need:
                raise MemoryError(
                    f"worker {address} may take {limit / 2**20:.0f} MB, and block {largest} of {block / 2**20:.0f} MB needs about "
                    f"{need / 2**20:.0f} MB on its {threads} threads: start workers with a higher --memory-limit or fewer threads, "
                    "or cut the data into smaller blocks (block_rows=)"
                )
        new = [address for address in workers if address not in self._warned]
        if new:
            self._warned.update(new)
            warn_of_others(self.client.run(about_here, workers=new))
        return workers

    @override
    def place(self, sources, prepare=None, n_bytes=0) -> Placed:
        workers = self._check(sources)
        room = KEPT * sum(info.get("memory_limit") or 0 for info in workers.values())
        placed = Placed(list(sources), None if prepare is None else self.publish(prepare))
        if n_bytes and (n_bytes <= room if self.keep is None else self.keep):
            placed.kept = self._submitted("rows", [(made, placed.prepare, *self._part(own)) for own in placed.sources])
        return placed

    def _part(self, source: Any) -> tuple:
        """A source as arguments of a task: what a dask collection holds there is the cluster's to compute."""
        if hasattr(source, "delayed"):
            return source.opener, self.client.compute(source.delayed, retries=RETRIES)
        return (source,)

    @override
    def publish(self, value):
        return self._submitted("shared", [(same, value)])[0]

    def _submitted(self, name: str, calls: list[tuple]) -> list:
        """Futures of calls of one function, sent at once; the number of a task is the last part of its name."""
        name = f"{name}-{uuid4().hex}"
        keys = [f"{name}-{number}" for number in range(len(calls))]
        arguments = [list(own) for own in zip(*(call[1:] for call in calls), strict=True)]
        return self.client.map(calls[0][0], *arguments, key=keys, retries=RETRIES, pure=False)

    def _futures(self, function: Callable, blocks: Placed, shared: tuple, kept: list | None = None) -> list:
        """Of every block; `kept` are futures of what it was left with."""
        from distributed import Future

        own = tuple(value if isinstance(value, Future) else self.publish(value) for value in shared)
        n_shared, name = len(own) + (kept is not None), function.__name__
        calls = []
        for number, source in enumerate(blocks.sources):
            args = own if kept is None else (kept[number], *own)
            if blocks.kept is not None:
                calls.append((work_kept, function, blocks.kept[number], *args))
            else:
                calls.append((work, function, n_shared, *args, blocks.prepare, *self._part(source)))
        return self._submitted(name, calls)

    # -- sums ---------------------------------------------------------------------------------------------------------

    @override
    def sum(self, function, blocks, *shared):
        return self._folded(self._futures(function, blocks, shared), blocks)

    def _folded(self, futures: list, blocks: Placed) -> Any:
        top = tree(futures, lambda *own: self._submitted("fold", [(fold_found, *own)])[0])
        return self._noted(self._result(top, futures, blocks))

    @override
    def sum_keeping(self, function, blocks, kept, *shared):
        if kept is None:
            kept = Kept([None] * len(blocks))
        held = kept.held if kept.is_elsewhere else self._submitted("kept", [(same, value) for value in kept.values])
        pairs = self._futures(function, blocks, shared, held)
        stays = self._submitted("stays", [(second, pair) for pair in pairs])
        total = self._folded(self._submitted("first", [(first, pair) for pair in pairs]), blocks)
        return total, Kept(stays, self.client.gather)

    @override
    def each(self, function, blocks, *shared) -> Iterator:
        futures = self._futures(function, blocks, shared)
        for number, future in enumerate(futures):
            found = self._result(future, futures, blocks)
            futures[number] = None  # its result may go
            self.processes |= found.processes
            yield found.value

    def _result(self, future: Any, futures: list, blocks: Placed) -> Any:
        """Of a future that stands on those of blocks."""
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            left = self.client.scheduler_info(n_workers=-1)["workers"]  # perhaps none
            limits = sorted({(info.get("memory_limit") or 0) >> 20 for info in left.values()})
            raise RuntimeError(
                f"{self._suspects(futures, blocks)} ended the workers that tried it, the last one at {error.last_worker.address}; "
                f"workers may take {limits} MB. Was it their memory? Start them with a higher --memory-limit, or cut the data into "
                "smaller blocks (block_rows=)"
            ) from error

    def _suspects(self, futures: list, blocks: Placed) -> str:
        """Blocks that were on workers when these ended, the largest first: the scheduler blames also one that waits beside another."""
        from distributed import wait

        with suppress(TimeoutError):
            wait([future for future in futures if future is not None], timeout=SETTLED)
        sizes = {
            number: getattr(blocks.sources[number], "n_bytes", 0)
            for number, future in enumerate(futures)
            if future is not None and future.status == "error"
        }
        named = [
            f"block {number} ({blocks.sources[number]!r:.120}, {sizes[number] / 2**20:.0f} MB)"
            for number in sorted(sizes, key=lambda number: -sizes[number])
        ]
        return " or ".join(named) or "a task of no block"


# -- what runs on workers ----------------------------------------------------------------------------------------------


def same(value: Any) -> Any:
    return value


def first(found: Found) -> Found:
    return Found(found.value[0], found.processes)


def second(found: Found) -> Any:
    return found.value[1]


def made(prepare: Any, source: Any, *raw: Any) -> Any:
    """Rows of a source, or of what a part of a dask collection held."""
    settled()
    if not raw:
        return rows_of(source, prepare)
    found = source(*raw)
    return found if prepare is None else prepare(found)


def work(function: Callable, n_shared: int, *args: Any) -> Found:
    shared, prepare, part = args[:n_shared], args[n_shared], args[n_shared + 1 :]
    return Found(function(made(prepare, *part), *shared), frozenset([os.getpid()]))


def work_kept(function: Callable, rows: Any, *shared: Any) -> Found:
    settled()
    return Found(function(rows, *shared), frozenset([os.getpid()]))


@cache
def settled() -> None:
    """The process of a worker as sums need it, for as long as it lives.

    Products of matrices use one thread: with more, their bits depend on the machine. Memory of temporary arrays is used again: dask has
    malloc give back all above 64 kB (MALLOC_TRIM_THRESHOLD_), and page faults then cost an E-step half its time again.
    """
    from threadpoolctl import ThreadpoolController

    ThreadpoolController().limit(limits=1, user_api="blas")
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:
        with suppress(OSError, AttributeError):  # another library than glibc
            library = ctypes.CDLL(None)
            library.mallopt(M_MMAP_THRESHOLD, 4 << 20)
            library.mallopt(M_TRIM_THRESHOLD, 64 << 20)


@cache
def about_here() -> dict[str, str]:
    """What the bits of a result may depend on."""
    found = {"Python": platform.python_version(), "CPU": cpu_name()}
    for package in ("suffice", "numpy", "scipy", "numba", "pandas", "pyarrow"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return platform.processor()


def warn_of_others(workers: dict[str, dict[str, str]]) -> None:
    """Say which workers differ from this process, and in what."""
    here = about_here()
    for address, there in workers.items():
        differ = [f"{name} {there.get(name)} (here {own})" for name, own in here.items() if there.get(name) != own]
        if differ:
            warnings.warn(
                f"worker {address} has {', '.join(differ)}: results may differ in their last bits from those of other workers",
                stacklevel=4,
            )
