"""Sums over blocks of rows that lie somewhere else: in files, or in the memory of other processes.

    source     what a block is made from, in its order: a few bytes with `load()` (rows of a file, a part of a dask collection)
    prepare    makes rows of what was loaded; a value that can be sent
    function   of a module, called as function(rows, *shared) where the rows are

Blocks are fixed by the data and never by who works at them. What they give is added in a fixed tree: FAN neighbours from left to right,
then FAN of those sums, and so on. So the bits of a sum depend neither on threads, processes and machines nor on who was faster or died.

`Threads` works here; `suffice.engines.dask.DaskEngine` sends the work to a cluster. `engine(...)` chooses one for the fits inside it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

from typing_extensions import override

from .threads import Engine, n_threads

FAN = 8
KEPT = 1 << 30  # bytes of prepared rows that stay in this process's memory where nobody says otherwise


class Found(NamedTuple):
    """What a block (or several, added) gave, and the processes that made it."""

    value: Any
    processes: frozenset


@dataclass
class Placed:
    """Blocks as an engine has them: their sources and how rows are made of them; or rows that it keeps."""

    sources: Sequence
    prepare: Any = None
    kept: list | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def some(self, numbers: Iterable[int]) -> Placed:
        """Some of the blocks, in their order."""
        which = sorted(int(number) for number in numbers)
        kept = None if self.kept is None else [self.kept[number] for number in which]
        return Placed([self.sources[number] for number in which], self.prepare, kept)


class Kept:
    """Of every block a value that stays where its rows are, from one sum to the next. A copy, or a file, has the values themselves."""

    _fields = ("values",)

    def __init__(self, values: Any, fetch: Callable | None = None) -> None:
        self.held, self._fetch = values, fetch

    @property
    def values(self) -> list:
        return list(self.held) if self._fetch is None else self._fetch(self.held)

    @property
    def is_elsewhere(self) -> bool:
        return self._fetch is not None

    def __deepcopy__(self, memo: Any) -> Kept:
        from copy import deepcopy

        return Kept(deepcopy(self.values, memo))


def rows_of(source: Any, prepare: Any) -> Any:
    found = source.load()
    return found if prepare is None else prepare(found)


def folded(values: Sequence) -> Any:
    return reduce(add, values)


def fold_found(*parts: Found) -> Found:
    return Found(folded([part.value for part in parts]), frozenset().union(*(part.processes for part in parts)))


def tree(items: Iterable, fold: Callable) -> Any:
    """The fixed tree over items that come in their order; at most FAN of a level are held."""
    levels: list[list] = []

    def push(item: Any, level: int) -> None:
        if level == len(levels):
            levels.append([])
        levels[level].append(item)
        if len(levels[level]) == FAN:
            full, levels[level] = levels[level], []
            push(fold(*full), level + 1)

    for item in items:
        push(item, 0)
    level, last = 0, None
    while level < len(levels):  # what is left of a level is its last group
        own, levels[level] = levels[level], []
        above = any(levels[level + 1 :])
        if own:
            last = own[0] if len(own) == 1 else fold(*own)
            if not above:
                return last
            push(last, level + 1)
        level += 1
    if last is None:
        raise ValueError("a sum of no blocks: the data have no rows")
    return last


class BlockEngine(ABC):
    """Who works at blocks. `rounds`, `bytes` and `processes` say what was done so far."""

    checkpoint: Any = None  # a folder for checkpoints of fits
    rounds: int = 0
    bytes: int = 0  # of records that came back
    processes: frozenset = frozenset()

    @abstractmethod
    def place(self, sources: Sequence, prepare: Any = None, n_bytes: int = 0) -> Placed:
        """Blocks to sum over; their prepared rows of `n_bytes` in all are kept in memory where there is room for them."""

    def publish(self, value: Any) -> Any:
        """A value that all blocks are to see."""
        return value

    @abstractmethod
    def sum(self, function: Callable, blocks: Placed, *shared: Any) -> Any:
        """The sum of `function(rows, *shared)` over the blocks."""

    @abstractmethod
    def sum_keeping(self, function: Callable, blocks: Placed, kept: Kept | None, *shared: Any) -> tuple[Any, Kept]:
        """The sum of the first parts of `function(rows, kept, *shared)`; and the second parts, for `kept` of the next sum."""

    @abstractmethod
    def each(self, function: Callable, blocks: Placed, *shared: Any) -> Iterator:
        """`function(rows, *shared)` of every block, in their order."""

    def one(self, function: Callable, blocks: Placed, number: int, *shared: Any) -> Any:
        """`function(rows, *shared)` of one block."""
        return next(self.each(function, blocks.some([number]), *shared))

    def _noted(self, found: Found) -> Any:
        self.rounds += 1
        self.processes |= found.processes
        self.bytes += size_of(found.value)
        return found.value


@dataclass(eq=False)
class Threads(BlockEngine):
    """This process: one thread or several."""

    n_jobs: int = 1
    checkpoint: Any = None
    keep: bool | None = None  # whether rows stay in memory between passes; None: where they are few

    def __post_init__(self) -> None:
        self._engine = Engine(n_threads(self.n_jobs))

    @override
    def place(self, sources, prepare=None, n_bytes=0) -> Placed:
        placed = Placed(sources, prepare)
        if n_bytes and (n_bytes <= KEPT if self.keep is None else self.keep):
            placed.kept = list(self._engine.each(lambda source: rows_of(source, prepare), list(sources)))
        return placed

    @override
    def sum(self, function, blocks, *shared):
        here = frozenset([os.getpid()])
        return self._noted(tree((Found(value, here) for value in self.each(function, blocks, *shared)), fold_found))

    @override
    def sum_keeping(self, function, blocks, kept, *shared):
        here, stays = frozenset([os.getpid()]), []

        def work(pair: tuple) -> tuple:
            rows = rows_of(pair[0], blocks.prepare) if blocks.kept is None else pair[0]
            return function(rows, pair[1], *shared)

        rows = blocks.sources if blocks.kept is None else blocks.kept
        pairs = list(zip(rows, [None] * len(blocks) if kept is None else kept.values, strict=True))

        def values() -> Iterator[Found]:
            for value, own in self._engine.each(work, pairs):
                stays.append(own)
                yield Found(value, here)

        return self._noted(tree(values(), fold_found)), Kept(stays)

    @override
    def each(self, function, blocks, *shared):
        if blocks.kept is not None:
            yield from self._engine.each(lambda rows: function(rows, *shared), blocks.kept)
        else:
            work = blocks.prepare
            yield from self._engine.each(lambda source: function(rows_of(source, work), *shared), list(blocks.sources))


def size_of(value: Any) -> int:
    """Bytes of the arrays of a value."""
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, (tuple, list)):
        return sum(map(size_of, value))
    return sum(size_of(getattr(value, own.name)) for own in fields(value)) if is_dataclass(value) else 8


_CHOSEN: ContextVar[BlockEngine | None] = ContextVar("engine", default=None)


@contextmanager
def engine(chosen: BlockEngine) -> Iterator[BlockEngine]:
    """Fits inside of the block, on data in blocks, work on this engine.

    Examples
    --------
    >>> import suffice
    >>> from suffice.engines.blocks import Threads
    >>> with suffice.engine(Threads(2)) as chosen:
    ...     chosen.n_jobs
    2
    """
    if not isinstance(chosen, BlockEngine):
        raise TypeError(
            f"engine({chosen!r:.60}): give suffice.DaskEngine(client), or suffice.engines.blocks.Threads(n)"
        )
    token = _CHOSEN.set(chosen)
    try:
        yield chosen
    finally:
        _CHOSEN.reset(token)


def chosen_engine(n_jobs: int | None = None) -> BlockEngine:
    """The engine of the context, or threads here."""
    found = _CHOSEN.get()
    return Threads(n_threads(n_jobs)) if found is None else found
