"""Blocks that hold parts of one sequence, joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from .pieces import Part
from .survey import joined
from .table import DataError

LARGEST = 1 << 30  # bytes of blocks that are joined


@dataclass(frozen=True)
class Joined:
    """The rows of several sources, one after the other."""

    sources: tuple

    @override
    def __repr__(self) -> str:
        return f"{self.sources[0]!r} to {self.sources[-1]!r}"

    @property
    def n_bytes(self) -> int:
        return sum(getattr(source, "n_bytes", 0) for source in self.sources)

    @property
    def delayed(self) -> Any:
        parts = [source.delayed for source in self.sources]  # raises where a source has none, so that `hasattr` says so
        import dask

        return dask.delayed(list)(parts)

    @property
    def opener(self) -> Any:
        return Joined(tuple(source.opener for source in self.sources))

    def __call__(self, raw: Any) -> Part:
        return joined([source(own) for source, own in zip(self.sources, raw, strict=True)])

    def load(self) -> Part:
        return joined([source.load() for source in self.sources])


def joined_sources(sources: Sequence) -> Any:
    if len(sources) == 1:
        return sources[0]
    found = Joined(tuple(sources))
    if found.n_bytes > LARGEST:
        raise DataError(
            f"sequences lie across {found!r}, which are {found.n_bytes / 2**20:.0f} MB together: write the files sorted by sequence"
        )
    return found


def first_of(source: Any) -> Any:
    return source.sources[0] if isinstance(source, Joined) else source


def runs_of(sequences: Sequence[Sequence]) -> list[range]:
    """Numbers of neighbouring blocks that share sequences, directly or by others; `sequences` has those of every block."""
    last = {name: number for number, names in enumerate(sequences) for name in names}
    found: list[range] = []
    end = -1  # the last block that shares a sequence with those since the run began
    for number, names in enumerate(sequences):
        if number > end:
            found.append(range(number, number + 1))
        found[-1] = range(found[-1].start, number + 1)
        end = max([end, *(last[name] for name in names)])
    return found
