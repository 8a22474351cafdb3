"""Sums of statistics over shards of the rows, by one thread or several.

Rows are cut into shards of a fixed size, each shard is summed by one thread, and the shards' sums are added in their order. So
the number of threads changes the time and not a bit of the result. The functions that are summed must let go of Python's lock (products
of matrices and our compiled loops do).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Thread

SHARD = 16384  # rows


def n_threads(n_jobs: int | None) -> int:
    """None is one thread; -1 is one for every core, -2 one less, and so on."""
    if n_jobs is None:
        return 1
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return n_jobs


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


class Helpers:
    """Threads that wait for calls of one function: for calls of a millisecond, where a pool's futures would cost as much.

    Results come in the order in which they are ready; an error of a helper is raised by `result`.
    """

    def __init__(self, function: Callable, n_helpers: int):
        self._function = function
        self._asked: SimpleQueue = SimpleQueue()
        self._ready: SimpleQueue = SimpleQueue()
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(n_helpers)]

    def _work(self) -> None:
        while (arguments := self._asked.get()) is not None:
            try:
                self._ready.put((self._function(*arguments), None))
            except BaseException as error:
                self._ready.put((None, error))

    def __enter__(self) -> Helpers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        for _thread in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            thread.join()

    def call(self, *arguments) -> None:
        self._asked.put(arguments)

    def result(self):
        value, error = self._ready.get()
        if error is not None:
            raise error
        return value
