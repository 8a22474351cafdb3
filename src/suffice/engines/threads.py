"""Sums of statistics over shards of the rows, by one thread or several.

Rows are cut into shards of a fixed size, each shard is summed by one thread, and the shards' sums are added in their order. So
the number of threads changes the time and not a bit of the result. The functions that are summed must let go of Python's lock (products
of matrices and our compiled loops do).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from threading import Thread
from time import sleep
from typing import Any

SHARD = 16384  # rows
REST = 1e-4  # seconds


def n_threads(n_jobs: Any) -> int:
    """None is one thread; -1 is one for every core, -2 one less, and so on."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise ValueError(f"n_jobs={n_jobs!r} is neither None nor a whole number")
    wanted = int(n_jobs)
    return max(1, wanted if wanted >= 0 else (os.cpu_count() or 1) + 1 + wanted)


def shards(n_rows: int, size: int = SHARD) -> list[slice]:
    return [slice(first, min(first + size, n_rows)) for first in range(0, n_rows, size)]


@dataclass
class Engine:
    """`sum(function, parts)` adds what `function` gives for every part, in the order of the parts."""

    n_jobs: int = 1
    _pool: ThreadPoolExecutor | None = field(default=None, repr=False)

    @contextmanager
    def open(self) -> Iterator[Engine]:
        """Threads that live for several sums."""
        if self.n_jobs == 1 or self._pool is not None:
            yield self
            return
        with ThreadPoolExecutor(self.n_jobs) as pool:
            self._pool = pool
            try:
                yield self
            finally:
                self._pool = None

    def sum(self, function: Callable, parts: list):
        results = self.each(function, parts)
        total = next(results)
        for result in results:
            total = total + result
        return total

    def each(self, function: Callable, parts: list) -> Iterator:
        """Results in the order of the parts, with at most a few of them waiting."""
        if self.n_jobs == 1 or len(parts) == 1:
            yield from map(function, parts)
            return
        with self.open():
            assert self._pool is not None
            waiting: deque[Future] = deque()
            rest = iter(parts)
            for part in rest:
                waiting.append(self._pool.submit(function, part))
                if len(waiting) > 2 * self.n_jobs:
                    break
            while waiting:
                result = waiting.popleft().result()
                part = next(rest, None)
                if part is not None:
                    waiting.append(self._pool.submit(function, part))
                yield result

    def all(self, function: Callable, parts: list) -> list:
        """All results in the order of the parts; the calling thread works as well, so that short parts are handed over rarely."""
        if self.n_jobs == 1 or len(parts) < 2:
            return [function(part) for part in parts]
        results: list[Any] = [None] * len(parts)
        rest = iter(range(len(parts)))  # `next` of it is one step of the interpreter: no part is taken twice

        def work() -> None:
            for number in rest:
                results[number] = function(parts[number])

        with self.open():
            assert self._pool is not None
            others = [self._pool.submit(work) for _ in range(min(self.n_jobs, len(parts)) - 1)]
            try:
                work()
            finally:
                for _ in rest:  # after an error nothing more is begun
                    pass
                wait(others)
            for other in others:
                other.result()
        return results


def in_company(work: Callable[[int], bool], n_threads: int) -> None:
    """Call work(0), work(1), ... each on a thread of its own until it says it is done; after a "no" it rests for a moment.

    For work that shares itself out by counters (`kernels.machine.atomic`) in steps of less than a millisecond, where handing over calls
    and results would cost as much: a "no" means that it has waited for the others for long. An error of one ends all.
    """
    errors: list[BaseException] = []

    def drive(thread: int) -> None:
        try:
            while not errors and not work(thread):
                sleep(REST)
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=drive, args=(number,), daemon=True) for number in range(1, n_threads)]
    for thread in threads:
        thread.start()
    drive(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
